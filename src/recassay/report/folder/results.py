"""A folder of results, as a study, ``recassay score -o`` or the demo writes it: its content, tables and writing.

Every file is complete or absent, because it is written under another name and renamed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from recassay._version import __version__
from recassay.comparison.compare import Comparison
from recassay.comparison.compare import Row as Pair
from recassay.comparison.verdict import Verdict, leads_at, verdict_of
from recassay.data.io import make_folder, write_json, write_parquet, write_text
from recassay.data.io.documents import parse_json, parse_yaml
from recassay.data.io.folder_lock import locked
from recassay.data.io.manifest import Checksum, files_of, manifest_of, recording
from recassay.data.io.write import json_text
from recassay.errors import InputError, UsageError
from recassay.naming.grammar import suggest
from recassay.report.content.csv_text import EXHIBITS, csv_of_rows, csv_text
from recassay.report.content.grids import ResultGrids, Row, design_of, heading, real, result_grids
from recassay.report.content.verdict import verdict_document
from recassay.report.tables.formats import paper
from recassay.report.tables.scores import CSV_HEADINGS, paper_tables
from recassay.results.exhibit import Exhibit
from recassay.results.first_hits import FIRST_HITS
from recassay.results.group_scores import GroupScores
from recassay.results.score_set import Place
from recassay.results.scores import UNIT, Scores, Summary, restored

SUMMARY, LOCK, SCORES, FINDINGS, FOLDS, TIMES, PAGE = (
    "summary.json", "study.lock.yaml", "scores.parquet", "findings.jsonl", "folds", "times.json", "report.html",
)  # fmt: skip
REQUIRED = {"system", "metric", "mean"}  # keys of every row


@dataclass(frozen=True, eq=False)
class ResultFolder:
    """The content of a folder of results: rows, comparisons, findings, failures and tables to draw.

    ``lock`` is the content of the study's lock file, empty if no study wrote the folder; ``settings`` are those of a
    scoring without a study. ``command`` is the command line that wrote the folder. ``groups`` are pairs of a name, such
    as data set and split, and the means by group there; ``compare`` the options of comparisons without a study.
    """

    path: Path
    rows: tuple[Row, ...]
    comparisons: tuple[Row, ...] = ()
    findings: tuple[Row, ...] = ()
    failures: tuple[Row, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()
    lock: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    verdict: Verdict | None = None  # None in folders of older versions
    groups: tuple[tuple[str, GroupScores], ...] = ()  # with the place of each, as text
    compare: Mapping[str, Any] = field(default_factory=dict)  # options of the comparisons, if no study wrote them

    @property
    def scores(self) -> Path:
        """Return the path of the file of values per user (or event), which may be absent."""
        return self.path / SCORES

    @property
    def unit(self) -> str:
        """Return the word for what has a value, such as user or query."""
        return str(self.settings.get(UNIT, "user"))

    @property
    def level(self) -> float:
        """Return the level of intervals and tests, 0.95 if it is not stated."""
        given = (self.lock.get("judge") or self.settings.get("interval") or {}).get("level")
        return float(given or 0.95)

    @property
    def testing(self) -> dict[str, Any]:
        """Return the options of the comparisons: baseline, test, correction, level and seed, as far as known."""
        judge = {name: value for name, value in (self.lock.get("judge") or {}).items() if name in ("level", "seed")}
        return {**judge, **(self.lock.get("compare") or {}), **self.compare}


def read_results(folder: str | Path) -> ResultFolder:
    """Return the content of a folder of results; raise I316 without a summary, and I318 if a file is malformed."""
    home = Path(folder)
    if not (home / SUMMARY).is_file():
        raise InputError("I316", f"there is no {SUMMARY}", where=str(home), hint=_hint(home))
    manifest_of(home).require_intact(files_read(home))
    summary = _document(home / SUMMARY)
    rows = tuple(restored(row) for row in _rows(summary, "rows", home / SUMMARY))
    comparisons = _rows(summary, "comparisons", home / SUMMARY)
    if any(REQUIRED - row.keys() for row in rows):
        raise _format_error(home / SUMMARY, f"a row needs {', '.join(sorted(REQUIRED))}")
    lock = _document(home / LOCK, lambda text: parse_yaml(text)[0]) if (home / LOCK).is_file() else {}
    try:
        verdict = Verdict.from_dict(summary["verdict"]) if summary.get("verdict") else None
        groups = _rows(summary, "groups", home / SUMMARY)
        by_place = tuple((heading(Place.of(row), " · "), GroupScores.from_dict(row)) for row in groups)
    except (KeyError, TypeError, ValueError) as error:
        raise _format_error(home / SUMMARY, f"its verdict or its groups cannot be read: {error!r}") from None
    return ResultFolder(
        home,
        rows,
        comparisons,
        _findings(home, summary),
        _rows(summary, "failures", home / SUMMARY),
        _exhibits(manifest_of(home).listed(EXHIBITS, ".json")),
        lock,
        summary.get("settings") or {},
        summary.get("command") or "",
        verdict,
        by_place,
        summary.get("compare") or {},
    )


def files_read(home: Path) -> list[Path]:
    """Return the files of a folder that its tables, page and comparisons are made from; some may be absent."""
    listed = [path for folder in (EXHIBITS, FOLDS) for path in manifest_of(home).listed(folder, ".json")]
    return [*(home / name for name in (SUMMARY, LOCK, FINDINGS, TIMES)), *files_of(home / SCORES), *listed]


def _findings(home: Path, summary: Mapping[str, Any]) -> tuple[Row, ...]:
    """Return the findings (warnings) in ``findings.jsonl``, or those in the summary if there is no such file."""
    path = home / FINDINGS
    if not path.is_file():
        return _rows(summary, "findings", home / SUMMARY)
    lines = _document(path, lambda text: {"findings": [parse_json(one, str(path)) for one in text.split("\n") if one]})
    return _rows(lines, "findings", path)


def _exhibits(paths: Iterable[Path]) -> tuple[Exhibit, ...]:
    """Return the exhibits (tables to draw) in the order of the study; titles name data set and split if several."""
    documents = [_document(path) for path in paths]
    documents.sort(key=lambda document: document.get("order", 0))
    several = len({(document.get("dataset"), document.get("split")) for document in documents}) > 1
    exhibits = []
    for document in documents:
        where = ", ".join(str(document[key]) for key in ("dataset", "split") if document.get(key))
        title = f"{document['title']} ({where})" if several and where else document["title"]
        exhibits.append(Exhibit.from_dict({**document, "title": title}))
    return tuple(exhibits)


def _rows(content: Mapping[str, Any], part: str, path: Path) -> tuple[Row, ...]:
    rows = content.get(part, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _format_error(path, f"'{part}' is not a list of objects")
    return tuple(rows)


def _document(path: Path, parse: Callable[[str], Any] | None = None) -> dict[str, Any]:
    """Return the mapping in a file: JSON, or what ``parse`` makes of its text."""
    try:
        text = path.read_text(encoding="utf-8")
        content = parse_json(text, str(path)) if parse is None else parse(text)
    except ValueError as error:
        raise _format_error(path, str(error)) from None
    if not isinstance(content, dict):
        raise _format_error(path, "it does not hold an object of names and values")
    return content


def _format_error(path: Path, why: str) -> InputError:
    return InputError(
        "I318", f"{path.name} does not have the structure that recassay writes: {why}", where=str(path),
        hint="write it again with recassay run or recassay score -o",
    )  # fmt: skip


def _hint(home: Path) -> str:
    """Return a hint that names a folder of results near the given one, or says which folders are accepted."""
    if home.suffix in (".yaml", ".yml"):
        return f"a study is checked by recassay run {home} -o FOLDER, before anything is computed"
    parent = home if home.is_dir() else home.parent
    others = sorted(path.parent.name for path in parent.glob(f"*/{SUMMARY}")) if parent.is_dir() else []
    if others:
        return suggest(home.name, others)
    return "give the folder that recassay run, score -o or demo wrote"


Identity = dict[str, Any]


def document(scores: Scores, comparison: Comparison | None = None, where: Identity | None = None) -> dict[str, Any]:
    """Return the results as one JSON document, that of ``summary.json``: verdict, rows, comparisons and findings.

    ``where`` names the data set, split, protocol, design and seed, as far as known.
    """
    place = Place.of(where or {})._asdict()
    return {
        "recassay": __version__,
        "verdict": verdict_document(verdict_of_scores(scores, comparison, where), scores.unit),
        "rows": [{"system": row.system, **place, "metric": row.metric, **row.to_dict()} for row in scores.rows],
        "comparisons": [{**place, **row} for row in comparison.to_dicts()] if comparison else [],
        "findings": [finding.to_dict() for finding in scores.findings],
        **({"groups": [{**place, **groups.to_dict()} for groups in scores.groups]} if scores.groups else {}),
        "settings": dict(scores.settings),
        **({"compare": _testing(comparison)} if comparison else {}),
    }


def verdict_of_scores(scores: Scores, comparison: Comparison | None, where: Identity | None = None) -> Verdict:
    """Return the verdict (which system is best by each metric) on scores.

    ``where`` names their data set, split, protocol, design and seed, as far as known.
    """
    level = float((scores.settings.get("interval") or {}).get("level") or 0.95)
    leads = leads_at(Place.of(where or {}), scores, comparison)
    return verdict_of(leads, level=comparison.level if comparison else level)


def write_results(
    scores: Scores,
    comparison: Comparison | None,
    folder: str | Path,
    identity: Identity | None = None,
    *,
    command: str = "",
) -> Path:
    """Write all results into a folder, which is created if needed, and return its path.

    ``identity`` names the data set, split, protocol, design and seed, as far as known. ``command`` is the command line
    that reproduces the results. Raise U111 if the folder has files of a study or of another program.
    """
    from recassay.report.folder.page import write_page  # late: results without a folder have no page

    target = make_folder(folder)
    identity = identity or {}
    with locked(target, wait=True), recording(target) as manifest:
        if LOCK in manifest.entries:
            what = "the folder holds the results of a study, which scoring would replace"
            raise UsageError("U111", what, where=str(target), hint="choose another folder with -o")
        if scores.unit_metrics:
            manifest.refuse_to_replace(target / SCORES)
            scores.write(target / SCORES, **identity)
            for path in files_of(target / SCORES):
                if manifest.state(path) != "intact":  # written by tasks of Spark
                    manifest.add(path, Checksum.of(path))
        else:
            manifest.remove(target / SCORES)  # of an earlier call, with other metrics
        if scores.first_hits is None:
            manifest.remove(target / FIRST_HITS)  # of earlier scores
        else:
            scores.first_hits.write(target)
        write_groups(scores.groups, target)
        made_by = {"command": command} if command else {}
        write_json(document(scores, comparison, identity) | made_by, target / SUMMARY)
        write_text("".join(json_text(one.to_dict()) + "\n" for one in scores.findings), target / FINDINGS)
        manifest.write()
        write_page(read_results(target))
        manifest.write()
    return target


def _testing(comparison: Comparison) -> dict[str, Any]:
    row = comparison.rows[0]
    tested = {"baseline": comparison.baseline, "test": row.test, "correction": row.correction}
    return {**tested, "level": comparison.level, "seed": comparison.seed}


def write_groups(groups: Sequence[GroupScores], target: Path, **identity: Sequence[Any]) -> None:
    """Write means by group and their gaps as Parquet and CSV; without groups, remove files of earlier scores.

    ``identity`` are columns to put in front, such as ``dataset``, with a value for each of ``groups``.
    """
    for name, frames in (
        ("groups", [one.frame() for one in groups]),
        ("group-gaps", [one.gaps_frame() for one in groups]),
    ):
        parquet, text = target / f"{name}.parquet", target / f"{name}.csv"
        if not frames:
            manifest_of(target).remove(parquet)
            manifest_of(target).remove(text)
            continue
        stamped = [
            frame.select(*(pl.lit(values[at]).alias(column) for column, values in identity.items()), pl.all())
            for at, frame in enumerate(frames)
        ]
        table = pl.concat(stamped, how="vertical_relaxed")
        write_parquet(table, parquet)
        write_text(csv_text(table.with_columns(cs.float().fill_nan(None))), text)


def tables(folder: ResultFolder, form: str) -> str:
    """Return tables of the results as text; ``form`` is markdown, latex or csv.

    Markdown and LaTeX have a heading and a table per data set, split, design and seed; CSV has all rows in one table.
    """
    if form == "csv":
        return csv_of_rows(folder.rows, ["dataset", "split", "protocol", "seed", "design", "fold", *CSV_HEADINGS])
    every = list(parts(folder))
    headings = [heading(part.place) if len(every) > 1 else "" for part in every]
    named = zip(headings, every, strict=True)
    return paper(form, [(name, paper_tables(one.scores, one.comparison)) for name, one in named if one.scores.rows])


@dataclass(frozen=True, eq=False)
class SettingResults:
    """Scores and comparison on one data set, split, seed and design (which items are ranked), no values per user."""

    place: Place
    scores: Scores
    comparison: Comparison | None


def parts(folder: ResultFolder) -> Iterator[SettingResults]:
    """Yield the results for each data set, split, seed and design (which items are ranked), in row order."""
    for results in result_grids(folder.rows, folder.comparisons):
        for design in dict.fromkeys(design for grid in results.grids for design in grid.designs):
            scores = _scores(results, design, folder)
            yield SettingResults(results.place._replace(design=design), scores, _comparison(results, design, folder))


def _scores(results: ResultGrids, design: str, folder: ResultFolder) -> Scores:
    rows = [
        Summary.of(system, grid.metric, grid.value(system, design), row, higher_is_better=grid.higher_is_better)
        for grid in results.grids
        for system in grid.systems
        if (row := grid.rows.get((system, design))) is not None
    ]
    systems, metrics = (tuple(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("system", "metric"))
    known = {(row.system, row.metric) for row in rows}
    complete = tuple(metric for metric in metrics if all((system, metric) in known for system in systems))
    rows = [row for row in rows if row.metric in complete]
    settings = {**folder.settings, "interval": {"level": folder.level, **(folder.settings.get("interval") or {})}}
    return Scores(pl.Series("unit", []), systems, complete, {}, rows=tuple(rows), settings=settings)


def _comparison(results: ResultGrids, design: str, folder: ResultFolder) -> Comparison | None:
    names = [field.name for field in fields(Pair)]
    compared_rows = [row for row in results.comparisons if design_of(row) == design]
    if not compared_rows:
        return None
    pairs = tuple(_pair({name: row.get(name) for name in names}) for row in compared_rows)
    baseline = (folder.lock.get("compare") or {}).get("baseline")
    second = {pair.b for pair in pairs}
    if baseline is None and len(second) == 1 and len(pairs) > 1:
        baseline = second.pop()
    return Comparison(rows=pairs, baseline=baseline, family="metric", effect="d_z", level=folder.level, seed=0)


def _pair(row: dict[str, Any]) -> Pair:
    floats = ("difference", "low", "high", "p", "p_adjusted", "effect")
    return Pair(**{**row, **{name: real(row[name]) for name in floats}, "note": row["note"] or ""})
