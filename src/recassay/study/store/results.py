"""The results of a study as plain rows, their files, the page that is made from these, and whether they are up to date.

A study has changed if its file, its data or the versions have: the sizes and times of files say so, and their content
where only the time of a file differs. Files from which stored results are shown must also have their checksums,
because damage can keep size and time.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import polars as pl

from recassay._version import __version__
from recassay.comparison.verdict import Verdict
from recassay.data.io import write_text
from recassay.data.io.manifest import Manifest
from recassay.errors import masked
from recassay.report.content.verdict import verdict_document
from recassay.results.exhibit import Exhibit
from recassay.results.finding import severe
from recassay.threads import StageProgress

TIMES = "times.json"  # apart from results, which are the same on every run
STATE = Path("cache", "state.json")
CALLS = {"recommend": "query", "update": "update"}
LIBRARIES = ("numpy", "scipy", "numba", "polars")
ADDRESS_STAMP = [0, 0, ""]  # that of no file

Row = dict[str, Any]
Stamp = list[
    Any
]  # size, time of the last change in nanoseconds, digest of the content; without a file the digest alone


@dataclass(frozen=True, eq=False)
class Results:
    """The results of a study: plain rows as in ``summary.json``, the folder of its files, and times.

    A row of ``times`` has the ``seconds`` that it took to ``fit`` a system on a fold, to ``answer`` (compute its lists,
    sequences or predictions), or to ``judge`` (score) all systems. A row of ``calls`` has the times of queries and
    updates of a system on a stream. Times are not part of the document, which is the same on every run. ``settings``
    say how many users were scored, unless all were.
    """

    folder: Path
    rows: tuple[Row, ...]
    comparisons: tuple[Row, ...]
    findings: tuple[Row, ...]
    failures: tuple[Row, ...]
    times: tuple[Row, ...] = ()
    calls: tuple[Row, ...] = ()
    verdict: Verdict = field(default_factory=lambda: Verdict(()))
    recomputed: tuple[str, ...] = ()  # files that were damaged
    groups: tuple[Row, ...] = ()  # means by group of users, with the place of each
    settings: Mapping[str, Any] = field(default_factory=dict)
    work: tuple[str, ...] = ()  # what this run computed and why, in words

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the results in a folder; ``recomputed`` and ``work``, about a run, are empty."""
        summary, times = (json.loads((folder / name).read_text(encoding="utf-8")) for name in ("summary.json", TIMES))
        rows = {
            name: tuple(summary.get(name, ())) for name in ("rows", "comparisons", "findings", "failures", "groups")
        }
        return cls(
            folder,
            **rows,
            times=tuple(times["rows"]),
            calls=tuple(times.get("calls", ())),
            verdict=Verdict.from_dict(summary["verdict"]),
            settings=summary.get("settings", {}),
        )

    def summary(self) -> pl.DataFrame:
        """Return a row per system, design (items ranked), metric and fold; fold ``all`` is that over all folds."""
        rows = [{name: value for name, value in row.items() if name != "parameters"} for row in self.rows]
        return pl.DataFrame([{**row, "fold": str(row["fold"])} for row in rows], infer_schema_length=None)

    def at_least(self, severity: str) -> bool:
        """Return whether any finding (warning about results) has this severity or a higher one."""
        return any(severe(row["severity"], severity) for row in self.findings)

    def document(self) -> dict[str, Any]:
        """Return the results without times as plain values, ready for JSON."""
        parts = {"rows": self.rows, "comparisons": self.comparisons, "findings": self.findings}
        return {
            "recassay": __version__,
            "verdict": verdict_document(self.verdict),
            **{name: list(rows) for name, rows in parts.items()},
            "failures": list(self.failures),
            **({"groups": list(self.groups)} if self.groups else {}),
            **({"settings": dict(self.settings)} if self.settings else {}),
        }


def write_report(folder: str | Path, to: str | Path | None = None, *, progress: StageProgress | None = None) -> Path:
    """Write the HTML page of a folder of results, made from its files, and return the path of the page.

    ``to`` is the path to write; None: the usual place in the folder.
    """
    from recassay.report.folder.page import write_page  # late: an unchanged study shows its results without a page
    from recassay.report.folder.results import read_results

    found = read_results(folder)
    path = found.path / TIMES
    noted = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    exhibits = times_exhibit(noted.get("rows", [])), calls_exhibit(noted.get("calls", []))
    found = replace(found, command=found.command or noted.get("command", ""))
    return write_page(found, to, more=[exhibit for exhibit in exhibits if exhibit is not None], progress=progress)


def times_exhibit(times: Iterable[Mapping[str, Any]]) -> Exhibit | None:
    """Return a bar chart of the mean seconds that each system took over folds and seeds; None if nothing was timed.

    ``times`` are rows as in :attr:`Results.times`.
    """
    rows = [row for row in times if row["system"] is not None]
    if not rows:
        return None
    places = {(row["dataset"], row["split"]) for row in rows}
    several = len({split for _, split in places}) > 1
    table = (
        pl.DataFrame(rows, infer_schema_length=None)
        .with_columns(data=pl.format("{}, {}", "dataset", "split") if several else pl.col("dataset"))
        .group_by("data", "system", "what", maintain_order=True)
        .agg(pl.col("seconds").mean())
    )
    return Exhibit(
        "times",
        "How long systems took",
        "Seconds to fit and to answer, mean over folds and seeds, of the run that computed the answers. They depend on "
        "the load of the machine, and are the only part of this page that differs between runs.",
        table,
        "system",
        "seconds",
        "what",
        facet="data" if len(places) > 1 else None,
        kind="bar",
    )


def calls_exhibit(calls: Sequence[Mapping[str, Any]]) -> Exhibit | None:
    """Return a bar chart of the times of queries and updates on streams, of the first seed; None if none was timed.

    ``calls`` are rows as in :attr:`Results.calls`.
    """
    rows = [
        {
            "system": row["system"],
            "data": row["dataset"],
            "what": CALLS[kind],
            "microseconds": 1e6 * row[kind]["mean"],
            **{f"{name} (us)": 1e6 * row[kind][name] for name in ("median", "p95", "p99", "first")},
            "calls": row[kind]["calls"],
            "per second": row[kind]["calls"] / row[kind]["total"],
            "machine": row["machine"],
        }
        for row in calls
        if row["seed"] == min(other["seed"] for other in calls)
        for kind in CALLS
        if row[kind]["calls"] and row[kind]["total"]
    ]
    if not rows:
        return None
    return Exhibit(
        "calls",
        "How long a query and an update took",
        "Mean microseconds per query and per update, on one thread; they depend on the load of the machine. The table "
        "has "
        "the median, the 95th and 99th percentile, and the first call, which all of them include.",
        pl.DataFrame(rows),
        "system",
        "microseconds",
        "what",
        facet="data" if len({row["data"] for row in rows}) > 1 else None,
        kind="bar",
    )


# --- whether a study has changed since its results were written ---------------------------------------------------


def request(
    study: str | Path, *, data: str | Path | None, quick: bool, values: Mapping[str, object] | None
) -> dict[str, Any]:
    """Return the arguments of a run and the versions that its numbers depend on, as plain values.

    Two runs with equal requests and unchanged files have equal results. ``values`` override the study's parameters.
    """
    return {
        "study": str(Path(study).resolve()),
        "data": None if data is None else str(Path(data).resolve()),
        "data variable": os.environ.get("RECASSAY_DATA"),
        "quick": quick,
        "values": dict(values or {}),
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Return ``{name: version}`` of recassay, Python and the libraries that numbers depend on."""
    return {"recassay": __version__, "python": platform.python_version()} | {
        library: version(library) for library in LIBRARIES
    }


def stamps(sources: Iterable[Path | str]) -> dict[str, Stamp]:
    """Return the stamp of each file by path: size, time of last change in nanoseconds, and a digest of its content.

    A table at an address has no stamp that says without reading it that nothing changed, so it counts as changed.
    """
    return {
        masked(str(source)): [*_size_and_time(source), _digest(source)] if isinstance(source, Path) else ADDRESS_STAMP
        for source in sources
    }


def store_state(out: Path, arguments: Mapping[str, Any], read: Mapping[str, Stamp]) -> None:
    """Record that a run has finished, so that :func:`changes` can tell later whether its results are up to date.

    The record has the ``arguments`` of the run, from :func:`request`, and the stamps of the files that it read, from
    before it read them. The files that it wrote into the folder ``out`` are in the folder's list of files.
    """
    (out / STATE).parent.mkdir(parents=True, exist_ok=True)
    write_text(json.dumps({"arguments": arguments, "read": read}, ensure_ascii=False), out / STATE)


def changes(out: str | Path, arguments: Mapping[str, Any]) -> list[str]:
    """Return sentences on what has changed since the folder was written; an empty list if nothing has changed.

    ``arguments`` are those of the run that is wanted now, from :func:`request`.

    >>> changes("no such folder", {})
    ['there are no finished results']
    """
    manifest = Manifest.read(out)
    if not manifest.is_intact(manifest.folder / STATE):
        return ["there are no finished results"]
    state = json.loads((manifest.folder / STATE).read_text(encoding="utf-8"))
    before, read = state["arguments"], state["read"]
    found = [f"{name} changed" for name in arguments if before.get(name) != arguments[name]]
    found += [f"{path} changed" for path, known in read.items() if not _is_same(Path(path), known)]
    return [*found, *manifest.problems()]


def _is_same(path: Path, known: Stamp) -> bool:
    """Return whether a file has the size and time in its stamp ``known``, or at least the same size and digest."""
    *before, digest = known
    now = _size_and_time(path)
    return now == before or (now[:1] == before[:1] and digest == (_digest(path) or None))


def _size_and_time(path: Path) -> list[int]:
    try:
        about = path.stat()
    except OSError:
        return []
    return [about.st_size, about.st_mtime_ns]


def _digest(path: Path) -> str:
    """Return a digest of a file's content; an empty text for a folder, or for a file that cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()
    except OSError:
        return ""


def stored_results(out: str | Path, arguments: Mapping[str, Any]) -> Results | None:
    """Return the results in a folder if nothing has changed since they were written, else None.

    ``arguments`` are those of the run that is wanted now, from :func:`request`.
    """
    return None if changes(out, arguments) else Results.read(Path(out))
