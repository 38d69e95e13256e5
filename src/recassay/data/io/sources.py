"""Which files a path stands for: one file, the part files of a table, or all the run files of a folder."""

from __future__ import annotations

import difflib
import glob
from collections.abc import Iterable, Sequence
from pathlib import Path

from recassay.errors import InputError, UsageError

TABLE_SUFFIXES = frozenset(
    f".{name}"
    for name in (
        *("parquet", "pq", "csv", "tsv", "txt", "json", "jsonl", "ndjson"),
        *("run", "trec", "res", "qrels", "inter", "item", "dat", "data", "uirt"),
    )
)
PARQUET_SUFFIXES = frozenset({".parquet", ".pq"})
GLOB_CHARACTERS = frozenset("*?[")


def parts_of(source: str | Path) -> list[Path]:
    """The files that hold one table: the file itself, what a glob matches, or the part files in a folder.

    A path that leads nowhere is I101, a folder without tables I109. Names that begin with ``_`` or ``.``
    are passed over.
    """
    path = Path(source).expanduser()
    if path.is_file():
        return [path]
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if file.is_file() and _is_table(file.relative_to(path))]
        parquet = [file for file in files if file.suffix in PARQUET_SUFFIXES]
        if not files:
            raise _no_tables(path)
        return parquet or files
    return [part for match in _expanded(path) for part in parts_of(match)]


def run_sources(paths: str | Path | Iterable[str | Path]) -> list[tuple[str, Path]]:
    """The name and path of every run: files, globs and folders of run files, in the order given.

    A run is named by its file without the suffixes. A folder of ``part-*`` files is one run, named as the folder. Two
    runs of one name are U109.
    """
    given: Sequence[str | Path] = [paths] if isinstance(paths, str | Path) else list(paths)
    runs = [(_name(file), file) for path in given for file in _runs_at(Path(path).expanduser())]
    places: dict[str, Path] = {}
    for name, file in runs:
        if name in places:
            raise UsageError(
                "U109",
                f"two runs have the name {name!r}",
                where=f"{places[name]} and {file}",
                hint="rename one of the files: a run is named by its file without the suffixes",
            )
        places[name] = file
    return runs


def _runs_at(path: Path) -> list[Path]:
    if path.is_file() or _is_one_table(path):
        return [path]
    if not path.is_dir():
        return [run for match in _expanded(path) for run in _runs_at(match)]
    entries = sorted(path.iterdir())
    runs = [entry for entry in entries if _is_one_table(entry) or (entry.is_file() and _is_table(Path(entry.name)))]
    if not runs:
        raise _no_tables(path)
    return runs


def _is_one_table(path: Path) -> bool:
    """A folder whose only visible contents are ``part-*`` files."""
    if not path.is_dir():
        return False
    visible = [entry for entry in path.iterdir() if entry.name[0] not in "._"]
    return bool(visible) and all(entry.is_file() and entry.name.startswith("part-") for entry in visible)


def _is_table(path: Path) -> bool:
    hidden = any(part[0] in "._" for part in path.parts)
    return not hidden and _without_packing(path).suffix.lower() in TABLE_SUFFIXES


def _without_packing(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def _name(path: Path) -> str:
    bare = _without_packing(path)
    while bare.suffix.lower() in TABLE_SUFFIXES:
        bare = bare.with_suffix("")
    return bare.name


def _expanded(path: Path) -> list[Path]:
    """What a glob matches, or I101 with the siblings whose names are close."""
    matches = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]
    if matches:
        return matches
    if GLOB_CHARACTERS & set(str(path)):
        raise InputError(
            "I101", f"no file matches {path.name}", where=str(path.absolute()), hint="check the pattern and the folder"
        )
    folder = path.absolute().parent
    while not folder.is_dir():
        path, folder = folder, folder.parent
    siblings = sorted(entry.name for entry in folder.iterdir())
    close = difflib.get_close_matches(path.name, siblings, n=3)
    if close:
        hint = f"did you mean {' or '.join(map(repr, close))}?"
    else:
        hint = f"the folder {folder} holds {len(siblings)} entries" + (
            f", for example {siblings[0]!r}" if siblings else ""
        )
    raise InputError("I101", f"there is no {path.name!r}", where=str(path.absolute()), hint=hint)


def _no_tables(folder: Path) -> InputError:
    entries = sorted(entry.name for entry in folder.iterdir())
    seen = f"{len(entries)} entries, for example {entries[0]!r}" if entries else "nothing at all"
    return InputError(
        "I109",
        f"the folder {folder.name} has no run files; it holds {seen}",
        where=str(folder),
        hint=f"files with these suffixes are read: {' '.join(sorted(TABLE_SUFFIXES))}",
    )
