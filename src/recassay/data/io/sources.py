"""Resolution of paths to files: one file, the part files of a table, or all run files of a folder."""

from __future__ import annotations

import difflib
import glob
from collections.abc import Iterable, Sequence
from pathlib import Path

from recassay.data.io.edge import files_below, regular_file
from recassay.data.io.formats import formats
from recassay.data.io.lake import address_name, is_address
from recassay.data.io.parquet import PARQUET_SUFFIXES
from recassay.errors import InputError, UsageError
from recassay.naming.system_names import TABLE_SUFFIXES, run_name, without_gz

GLOB_CHARACTERS = frozenset("*?[")


def table_suffixes() -> frozenset[str]:
    """Return the suffixes of files that hold tables, those of registered formats included."""
    return TABLE_SUFFIXES.union(*(known.suffixes for known in formats()))


def table_files(source: str | Path) -> list[Path]:
    """Return the files that hold one table: the file itself, what a glob matches, or the part files in a folder.

    Raise I101 for a path that does not exist, and I109 for a folder without tables. Names that begin with ``_`` or
    ``.`` are skipped.
    """
    path = _expanded_home(source)
    if (file := regular_file(path)) is not None:
        return [file]
    if path.is_dir():
        files = [file for file in files_below(path) if _is_table(file.relative_to(path)) and file.is_file()]
        parquet = [file for file in files if file.suffix in PARQUET_SUFFIXES]
        if not files:
            raise _no_tables(path)
        return parquet or files
    return [part for match in _expanded(path) for part in ([match] if match.is_file() else table_files(match))]


def _expanded_home(source: str | Path) -> Path:
    """Return a path whose ``~`` stands for the home folder, unless something of exactly that name is here."""
    path = Path(source)
    try:
        return path if path.exists() else path.expanduser()
    except (OSError, ValueError):  # a name that the system refuses
        return path.expanduser()


def run_sources(paths: str | Path | Iterable[str | Path]) -> list[tuple[str, str | Path]]:
    """Return the name and path of every run: files, globs, folders of run files and addresses, in the order given.

    A run's name is that of its file without suffixes. A folder of ``part-*`` files is one run with the folder's name.
    Raise U109 for two runs with the same name.
    """
    given: Sequence[str | Path] = [paths] if isinstance(paths, str | Path) else list(paths)
    runs: list[tuple[str, str | Path]] = []
    for path in given:
        if isinstance(path, str) and is_address(path):
            runs.append((address_name(path), path))
        else:
            runs += [(run_name(file, table_suffixes()), file) for file in _runs_at(_expanded_home(path))]
    places: dict[str, str | Path] = {}
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
    if (file := regular_file(path)) is not None:
        return [file]
    if _is_one_table(path):
        return [path]
    if not path.is_dir():
        return [run for match in _expanded(path) for run in _runs_at(match)]
    entries = sorted(path.iterdir())
    runs = [entry for entry in entries if _is_one_table(entry) or (entry.is_file() and _is_table(Path(entry.name)))]
    if not runs:
        raise _no_tables(path)
    return runs


def _is_one_table(path: Path) -> bool:
    """Return whether a path is a folder whose only visible contents are ``part-*`` files."""
    if not path.is_dir():
        return False
    visible = [entry for entry in path.iterdir() if entry.name[0] not in "._"]
    return bool(visible) and all(entry.is_file() and entry.name.startswith("part-") for entry in visible)


def _is_table(path: Path) -> bool:
    hidden = any(part[0] in "._" for part in path.parts)
    return not hidden and without_gz(path).suffix.lower() in table_suffixes()


def _expanded(path: Path) -> list[Path]:
    """Return the paths that a glob matches.

    Raise I101 if there are none; the error suggests similar names from the folder.
    """
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
    example = f", for example {siblings[0]!r}" if siblings else ""
    close = " or ".join(map(repr, difflib.get_close_matches(path.name, siblings, n=3)))
    raise InputError(
        "I101",
        f"there is no {path.name!r}",
        where=str(path.absolute()),
        hint=f"did you mean {close}?" if close else f"the folder {folder} has {len(siblings)} entries{example}",
    )


def _no_tables(folder: Path) -> InputError:
    entries = sorted(entry.name for entry in folder.iterdir())
    seen = f"{len(entries)} entries, for example {entries[0]!r}" if entries else "nothing"
    return InputError(
        "I109",
        f"the folder {folder.name} has no run files; it contains {seen}",
        where=str(folder),
        hint=f"files with these suffixes are read: {' '.join(sorted(table_suffixes()))}",
    )
