"""Detection of changes to a study since its results were written, from the sizes and times of files.

Files from which stored results are shown must also have their checksums, because damage can keep size and time. This
module imports little, because the results of an unchanged study are read from its files. Where only the time of a
file has changed, its content decides.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recassay._version import __version__

if TYPE_CHECKING:
    from recassay.study.store.results import Results

STATE = Path("cache", "state.json")
LIBRARIES = ("numpy", "scipy", "numba", "polars")
Stamp = list[int]  # size, and time of the last change in nanoseconds


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
        "versions": {"recassay": __version__, "python": platform.python_version()}
        | {name: version(name) for name in LIBRARIES},
    }


def stamps(paths: Iterable[Path]) -> dict[str, Stamp | None]:
    """Return the stamp of each file by path: size in bytes and time of last change in nanoseconds, or None."""
    return {str(path): stamp(path) for path in paths}


def store_state(out: Path, arguments: Mapping[str, Any], read: Mapping[str, Stamp | None]) -> None:
    """Record that a run has finished, so that :func:`changes` can tell later whether its results are up to date.

    The record has the ``arguments`` of the run, from :func:`request`, the stamps (size and time) and digests of the
    files it read. The files that it wrote into the folder ``out`` are in the folder's list of files.
    """
    from recassay.data.io.write import write_text

    known = {path: _with_digest(Path(path), one) for path, one in read.items()}
    state: dict[str, Any] = {"arguments": arguments, "read": known}
    (out / STATE).parent.mkdir(parents=True, exist_ok=True)
    write_text(json.dumps(state, ensure_ascii=False), out / STATE)


def forget_state(out: Path) -> None:
    """Remove the record that a run in this folder has finished, so that an interrupted run never counts as such."""
    (out / STATE).unlink(missing_ok=True)


def changes(out: str | Path, arguments: Mapping[str, Any]) -> list[str]:
    """Return sentences on what has changed since the folder was written; an empty list if nothing has changed.

    ``arguments`` are those of the run that is wanted now, from :func:`request`.

    >>> changes("no such folder", {})
    ['there are no finished results']
    """
    from recassay.data.io.manifest import Manifest

    manifest = Manifest.read(out)
    if not manifest.is_intact(manifest.folder / STATE):
        return ["there are no finished results"]
    state = json.loads((manifest.folder / STATE).read_text(encoding="utf-8"))
    before, read = state["arguments"], state["read"]
    found = [f"{name} changed" for name in arguments if before.get(name) != arguments[name]]
    found += [f"{path} changed" for path, known in read.items() if not _is_same(Path(path), known)]
    return [*found, *manifest.problems()]


def _with_digest(path: Path, known: Stamp | None) -> list[int | str] | None:
    """Return the stamp of a file and a digest of its content, or an empty text if it has changed since the stamp."""
    if known is None:
        return None
    return [*known, _digest(path) if stamp(path) == known else ""]


def _is_same(path: Path, known: list[Any] | None) -> bool:
    """Return whether a file has the recorded stamp, or at least the recorded size and digest."""
    now = stamp(path)
    if now is None or known is None:
        return now == known
    size, time, *digest = known
    return now == [size, time] or (now[0] == size and digest not in ([], [""]) and digest == [_digest(path)])


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
    folder = Path(out)
    if changes(folder, arguments):
        return None
    from recassay.comparison.verdict import Verdict
    from recassay.study.store.results import Results

    summary, times = (
        json.loads((folder / name).read_text(encoding="utf-8")) for name in ("summary.json", "times.json")
    )
    rows, comparisons, findings, failures = (
        tuple(summary[name]) for name in ("rows", "comparisons", "findings", "failures")
    )
    seconds, calls = (tuple(times.get(name, ())) for name in ("rows", "calls"))
    verdict = Verdict.from_dict(summary["verdict"])
    more: dict[str, Any] = {"groups": tuple(summary.get("groups", ())), "settings": summary.get("settings", {})}
    return Results(folder, rows, comparisons, findings, failures, seconds, calls, verdict, **more)


def stamp(path: Path) -> Stamp | None:
    """Return the size in bytes and the time of last change in nanoseconds of a file; None if it does not exist."""
    try:
        about = path.stat()
    except OSError:
        return None
    return [about.st_size, about.st_mtime_ns]
