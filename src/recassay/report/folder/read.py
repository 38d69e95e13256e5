"""Reading of a folder of results, written by a study, ``recassay score -o`` or the demo."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recassay.comparison.verdict import Verdict
from recassay.data.io.documents import parse_json, parse_yaml
from recassay.data.io.manifest import files_of, manifest_of
from recassay.errors import InputError
from recassay.naming.grammar import suggest
from recassay.report.content.csv_text import EXHIBITS
from recassay.report.content.grids import heading
from recassay.results.exhibit import Exhibit
from recassay.results.group_scores import GroupScores
from recassay.results.score_set import Place
from recassay.results.scores import restored

Row = Mapping[str, Any]
SUMMARY, LOCK, SCORES, FINDINGS, FOLDS, TIMES, PAGE = (
    "summary.json", "study.lock.yaml", "scores.parquet", "findings.jsonl", "folds", "times.json", "report.html",
)  # fmt: skip
REQUIRED = {"system", "metric", "mean"}  # keys of every row


@dataclass(frozen=True, eq=False)
class ResultFolder:
    """The content of a folder of results: rows, comparisons, findings, failures and tables to draw.

    ``lock`` is the content of the study's lock file, empty if no study wrote the folder; ``settings`` are those of a
    scoring without a study. ``command`` is the command line that wrote the folder.
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
    rows = tuple(restored(row) for row in _rows(summary, "rows", home))
    comparisons = _rows(summary, "comparisons", home)
    if any(REQUIRED - row.keys() for row in rows):
        raise _malformed(home / SUMMARY, f"a row needs {', '.join(sorted(REQUIRED))}")
    lock = _document(home / LOCK, lambda text: parse_yaml(text)[0]) if (home / LOCK).is_file() else {}
    verdict, groups = _judged(summary, home)
    return ResultFolder(
        home,
        rows,
        comparisons,
        _findings(home, summary),
        _rows(summary, "failures", home),
        _exhibits(manifest_of(home).listed(EXHIBITS, ".json")),
        lock,
        summary.get("settings") or {},
        summary.get("command") or "",
        verdict,
        groups,
        summary.get("compare") or {},
    )


def files_read(home: Path) -> list[Path]:
    """Return the files of a folder that its tables, page and comparisons are made from; some may be absent."""
    named = [home / name for name in (SUMMARY, LOCK, FINDINGS, TIMES)]
    return [
        *named,
        *files_of(home / SCORES),
        *manifest_of(home).listed(EXHIBITS, ".json"),
        *manifest_of(home).listed(FOLDS, ".json"),
    ]


def _judged(summary: Mapping[str, Any], home: Path) -> tuple[Verdict | None, tuple[tuple[str, GroupScores], ...]]:
    """Return the verdict, None if there is none, and the means by group, each with its data set and so on as text."""
    rows = _rows(summary, "groups", home)
    try:
        verdict = Verdict.from_dict(summary["verdict"]) if summary.get("verdict") else None
        return verdict, tuple((heading(Place.of(row), " · "), GroupScores.from_dict(row)) for row in rows)
    except (KeyError, TypeError, ValueError) as error:
        raise _malformed(home / SUMMARY, f"its verdict or its groups cannot be read: {error!r}") from None


def _findings(home: Path, summary: Mapping[str, Any]) -> tuple[Row, ...]:
    """Return the findings in ``findings.jsonl``, or those in the summary if there is no such file."""
    path = home / FINDINGS
    if not path.is_file():
        return _rows(summary, "findings", home)
    try:
        rows = tuple(parse_json(line, str(path)) for line in path.read_text(encoding="utf-8").split("\n") if line)
    except ValueError as error:
        raise _malformed(path, str(error)) from None
    if not all(isinstance(row, dict) for row in rows):
        raise _malformed(path, "a line is not an object")
    return rows


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


def _rows(summary: Mapping[str, Any], part: str, home: Path) -> tuple[Row, ...]:
    rows = summary.get(part, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _malformed(home / SUMMARY, f"'{part}' is not a list of objects")
    return tuple(rows)


def _document(path: Path, parse: Callable[[str], Any] | None = None) -> dict[str, Any]:
    """Return the mapping in a file: JSON, or what ``parse`` makes of its text."""
    try:
        text = path.read_text(encoding="utf-8")
        content = parse_json(text, str(path)) if parse is None else parse(text)
    except ValueError as error:
        raise _malformed(path, str(error)) from None
    if not isinstance(content, dict):
        raise _malformed(path, "it does not hold an object of names and values")
    return content


def _malformed(path: Path, why: str) -> InputError:
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
