"""Results of several folders, such as those of several weeks: one table, one picture, and what may be compared.

A folder is comparable with the one before it if both were scored on the same truth, or from the same data by the same
split, and under the same conventions. The last two are compared as the gate compares a candidate with a baseline.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from recassay.api.gate import gate
from recassay.comparison.gate import Gate
from recassay.data.io.parquet import parquet_schema
from recassay.errors import RecassayError, UsageError
from recassay.metrics.align import Conventions
from recassay.naming.grammar import require_known
from recassay.report.content import wording
from recassay.report.folder.results import ResultFolder, read_results
from recassay.report.tables.model import Field, ResultTable, count, interval, name, table
from recassay.results.exhibit import Exhibit
from recassay.results.scores import worded

ORIGIN = ("data", "filters", "splits", "protocol")  # keys of a study's lock that decide what is scored
TRUTH = "truth"


@dataclass(frozen=True)
class ResultHistory:
    """Means of systems in several folders, in the order of the folders.

    ``breaks`` maps a folder that cannot be compared with the one before it to the reason. ``gates`` maps a system to
    the comparison of the last folder with the one before it, and ``refusals`` a system that cannot be compared to the
    reason. ``level`` is the confidence level of intervals.
    """

    folders: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    breaks: Mapping[str, str]
    gates: Mapping[str, Gate]
    refusals: Mapping[str, str]
    level: float

    def frame(self) -> pl.DataFrame:
        """Return a row per metric, system and folder."""
        return pl.DataFrame(list(self.rows), infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        verdicts = {system: gate.to_dict() for system, gate in self.gates.items()}
        return {
            "rows": list(self.rows),
            "not_comparable": dict(self.breaks),
            "last_two": verdicts,
            "not_compared": dict(self.refusals),
        }

    def exhibits(self) -> list[Exhibit]:
        """Return the picture: means with their intervals over the folders, a part for each metric."""
        caption = "Means with their intervals. Lines do not join folders that are not comparable."
        frame = self.frame().with_columns(pl.col("mean", "low", "high").cast(pl.Float64))
        return [
            Exhibit(
                "history", "Results over time", caption, frame, "folder", "mean", "line", facet="metric", low="low",
                high="high", own_scales=True,
            )
        ]  # fmt: skip


def history_of(
    folders: Sequence[str | Path],
    *,
    metrics: Sequence[str] = (),
    systems: Sequence[str] = (),
    margin: str | float = "1%",
) -> ResultHistory:
    """Return the history of folders of results, oldest first, with only these metrics and systems (none named: all).

    ``margin`` is what a system may lose from the folder before the last to the last one, for the gate's verdict.
    """
    if len(set(map(Path, folders))) < 2:
        raise UsageError("U105", "a history needs at least two folders of results", hint="oldest first")
    results = {label: read_results(path) for label, path in zip(_labels(folders), folders, strict=True)}
    rows = [row for label, found in results.items() for row in _rows(label, found, metrics, systems)]
    for wanted, key in ((metrics, "metric"), (systems, "system")):
        known = {row[key] for row in rows}
        for one in wanted:
            require_known(one, known, "U108", f"no folder has the {key} '{one}'")
    labels = list(results)
    pairs = list(itertools.pairwise(labels))
    breaks = {new: why for old, new in pairs if (why := not_comparable(results[old], results[new]))}
    gates, refusals = {}, {}
    old, new = (results[label] for label in labels[-2:])
    for system in dict.fromkeys(row["system"] for row in rows):
        try:
            gates[system] = _gate(old, new, system, [row["metric"] for row in rows if row["system"] == system], margin)
        except RecassayError as error:
            refusals[system] = error.what
    numbered = _rows_with_lines(rows, labels, breaks)
    return ResultHistory(tuple(labels), tuple(numbered), breaks, gates, refusals, results[labels[-1]].level)


def _labels(folders: Sequence[str | Path]) -> list[str]:
    """Return the name of each folder, or its whole path if two have the same name."""
    names = [Path(folder).name for folder in folders]
    return [name if names.count(name) == 1 else str(folder) for name, folder in zip(names, folders, strict=True)]


def _rows(label: str, folder: ResultFolder, metrics: Sequence[str], systems: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows over all folds with only these metrics and systems (none named: all); ``label`` is the folder."""
    for row in folder.rows:
        is_wanted = (not metrics or row["metric"] in metrics) and (not systems or row["system"] in systems)
        if is_wanted and row.get("fold", "all") == "all":
            place = {axis: row.get(axis) for axis in ("dataset", "split", "design", "seed")}
            numbers = {key: row.get(key) for key in ("mean", "low", "high", "n")}
            yield {"metric": row["metric"], "system": row["system"], **place, "folder": label, **numbers}


def _rows_with_lines(
    rows: Sequence[dict[str, Any]], labels: Sequence[str], breaks: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield the rows sorted by metric, system and time, each with the ``line`` of the chart that it belongs to.

    A folder that cannot be compared with the one before it (``breaks``) begins a new line.
    """
    piece = {label: sum(one in breaks for one in labels[: at + 1]) for at, label in enumerate(labels)}
    metrics, systems = (list(dict.fromkeys(row[key] for row in rows)) for key in ("metric", "system"))
    for row in sorted(rows, key=lambda row: (metrics.index(row["metric"]), systems.index(row["system"]))):
        part = f" ({piece[row['folder']] + 1})" if breaks else ""
        yield {**row, "line": f"{row['system']}{part}", "comparable": row["folder"] not in breaks}


def not_comparable(old: ResultFolder, new: ResultFolder) -> str:
    """Return why the means of two folders cannot be compared; an empty text if they can."""
    first, second = (found.settings.get(TRUTH) or {} for found in (old, new))
    if first and second:
        if first["fingerprint"] != second["fingerprint"]:
            sizes = [f"{truth['users']:,} users with {truth['judged']:,} judged items" for truth in (second, first)]
            return worded(f"another truth: {sizes[0]}, before {sizes[1]}", new.unit)
    elif old.lock and new.lock:
        changed = [key for key in ORIGIN if old.lock.get(key) != new.lock.get(key)]
        if changed:
            return f"another study: {wording.series(changed)} changed"
    else:
        return "nothing says whether both are of one truth"
    defaults = asdict(Conventions())
    sides = [defaults | (found.settings.get("conventions") or {}) for found in (old, new)]
    changed = [f"{key}={sides[1][key]}, before {sides[0][key]}" for key in defaults if sides[0][key] != sides[1][key]]
    texts = [found.settings.get("metrics") or {} for found in (old, new)]
    both = {key: (text, texts[1].get(key, text)) for key, text in texts[0].items()}
    changed += [f"{key} is {now}, before {before}" for key, (before, now) in both.items() if before != now]
    return f"other conventions: {wording.series(changed)}" if changed else ""


def _gate(old: ResultFolder, new: ResultFolder, system: str, metrics: Sequence[str], margin: str | float) -> Gate:
    stored = [parquet_schema(found.scores) if found.scores.is_file() else {} for found in (old, new)]
    scored = [{row["metric"] for row in found.rows} for found in (old, new)]
    both = [one for one in dict.fromkeys(metrics) if all(one in known for known in (*stored, *scored))]
    if not both:
        raise UsageError("U113", "no metric has a value for every user in both folders")
    return gate(f"{new.path}:{system}", f"{old.path}:{system}", None, both, margin=margin)


def history_table(history: ResultHistory, *, grouped: bool = True) -> ResultTable:
    """Return a table with a row per metric, system and folder, and notes that say why folders are not comparable.

    With ``grouped``, rows of the same metric are together and only the first one names the metric.
    """
    fields = [
        name("metric"), name("system"), name("folder"), Field("mean", "mean"), interval(history.level), count("n"),
        name("said", "comparable with the one before"),
    ]  # fmt: skip
    first = history.folders[0]
    rows = [
        {**row, "said": "" if row["folder"] == first else "yes" if row["comparable"] else "no"} for row in history.rows
    ]
    notes = [f"{folder} is not comparable with the folder before it: {why}." for folder, why in history.breaks.items()]
    return table(rows, fields, grouped=grouped, title="Results over time", notes=tuple(notes))
