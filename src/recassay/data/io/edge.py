"""The edge between recassay and files from outside: any exception of a reader becomes an error with a code.

A reader (of Parquet, JSON, text, or a registered format) may raise almost anything on a damaged or hostile
file. Here that becomes an error with a code, and what cannot be a table at all is refused before it is read. Mistakes
in the code of recassay itself are not hidden: they are raised unchanged.
"""

from __future__ import annotations

import atexit
import itertools
import os
import select
import shutil
import stat
import struct
import sys
import tempfile
import traceback
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from recassay.data.io.table import Table
from recassay.data.io.write import is_full, unwritten
from recassay.errors import InputError, RecassayError, out_of_memory

MOST_FILES = 100_000  # in a folder that is searched for the parts of a table
STDIN = "-"
QUIET = 2.0  # seconds without a writer after which a line says which pipe is waited for
PACKAGE = Path(__file__).parents[2]
ABOUT_CONTENT = (
    ValueError, OverflowError, EOFError, OSError, MemoryError, RecursionError, zlib.error, struct.error,
    pl.exceptions.PolarsError, pl.exceptions.PanicException,
)  # fmt: skip
MEMORY = ("memory allocation", "out of memory", "cannot allocate", "capacity overflow")

Result = TypeVar("Result")


@contextmanager
def reading(where: str) -> Iterator[None]:
    """Turn exceptions of a reader into errors with a code, within the context.

    The code is I104 if the file is to blame, and I110, U143 or U238 if the operating system is. ``where`` names the
    file.

    >>> with reading("run.json"):
    ...     raise OverflowError("int too big to convert")
    Traceback (most recent call last):
    recassay.errors.InputError: [I104] run.json cannot be read as a table: OverflowError: int too big to convert.
      Where: run.json
      Try:   write it again, as Parquet or CSV with a row per item
    """
    try:
        yield
    except (RecassayError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic of Polars is no Exception
        if _is_own_mistake(error):
            raise
        raise _coded(error, where) from error


def _is_own_mistake(error: BaseException) -> bool:
    """Return whether an exception comes from a mistake in recassay's code, not from a library or from a file's content.

    A function written in C has no frame in the traceback, so what it raises about content, such as ``int("x")``, is
    recognised by its type.
    """
    if isinstance(error, ABOUT_CONTENT):
        return False
    frames = list(traceback.walk_tb(error.__traceback__))
    return bool(frames) and PACKAGE in Path(frames[-1][0].f_code.co_filename).parents


def _coded(error: BaseException, where: str) -> RecassayError:
    said = (str(error).splitlines() or [""])[0][:300]
    if isinstance(error, MemoryError) or any(word in said.lower() for word in MEMORY):
        return out_of_memory(error, where=where)
    if is_full(error):
        return unwritten(error, where)
    if isinstance(error, OSError) and not isinstance(error, pl.exceptions.PolarsError):
        return InputError("I110", f"cannot open {Path(where).name}: {error.strerror or error}", where=where)
    name = Path(where).name or where
    if isinstance(error, RecursionError):
        return InputError("I117", f"{name} is nested too deeply", where=where, hint="write it as Parquet or CSV")
    return InputError(
        "I104",
        f"{name} cannot be read as a table: {type(error).__name__}: {said}",
        where=where,
        hint="write it again, as Parquet or CSV with a row per item",
    )


def guarded(table: Table) -> Table:
    """Return the table with reading functions that raise only errors with a code."""
    functions = ("read", "rows", "narrow", "rows_from", "pack", "sample")
    own = {name: getattr(table, name) for name in functions}
    safe: dict[str, Any] = {name: _guarded(made, table.where) for name, made in own.items() if made is not None}
    return replace(table, **safe)


def _guarded(function: Callable[..., Result], where: str) -> Callable[..., Result]:
    @wraps(function)
    def call(*arguments: Any) -> Result:
        with reading(where):
            return function(*arguments)

    return call


def regular_file(path: Path) -> Path | None:
    """Return the file at a path, or a copy of what a pipe or standard input (``-``) holds.

    Return None for a folder, and if there is nothing at the path. Raise I107 for a device.
    """
    path = Path("/dev/stdin") if str(path) == STDIN else path
    with reading(str(path)[:200]):
        try:
            kind = os.stat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.S_ISREG(kind):
            return path
        if stat.S_ISDIR(kind):
            return None
        if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
            return _copy(path)
    raise InputError(
        "I107",
        f"{path} is a device, not a file",
        where=str(path),
        hint="name a file; to read what a program prints, pipe it in: program | recassay score truth.csv -",
    )


def require_utf8_name(path: Path) -> None:
    """Raise I110 for a path whose bytes are not UTF-8, which libraries of tables cannot open."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        where = os.fsencode(path).decode("utf-8", "backslashreplace")
        hint = "rename it; in a shell, a pipe reads it as it is: recassay score truth.csv - < FILE"
        raise InputError("I110", "the name of the file is not UTF-8", where=where, hint=hint) from None


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder; raise I110 for a name that the operating system refuses."""
    with reading(str(path)[:200]):
        return path.is_dir()


def files_below(folder: Path) -> list[Path]:
    """Return all files in a folder and its subfolders, sorted; raise I107 if there are more than a table can have."""
    if folder.resolve() == Path(folder.resolve().anchor):
        raise _not_a_table(folder, "is the root of the file system")
    found = list(itertools.islice(_walk(folder), MOST_FILES + 1))
    if len(found) > MOST_FILES:
        raise _not_a_table(folder, f"holds more than {MOST_FILES:,} files")
    return sorted(found)


def _walk(folder: Path) -> Iterator[Path]:
    for home, _, names in os.walk(folder):
        yield from (Path(home, name) for name in names)


def _not_a_table(folder: Path, why: str) -> InputError:
    hint = "name the folder that directly holds the files"
    return InputError("I107", f"{folder} {why}, so it is not a table", where=str(folder), hint=hint)


_copies: dict[str, Path] = {}  # of pipes, which can be read only once


def _copy(pipe: Path) -> Path:
    """Return a temporary file with all that a pipe holds; it is removed when the program ends."""
    if str(pipe) not in _copies:
        folder = Path(tempfile.mkdtemp(prefix="recassay-pipe-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        source = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # to wait for a writer aloud
        if not select.select([source], [], [], QUIET)[0]:
            print(f"Waiting for {pipe}: nothing has been written to it yet", file=sys.stderr)
            select.select([source], [], [])
        os.set_blocking(source, True)
        with open(source, "rb") as pipe_end, (folder / pipe.name).open("wb") as target:
            shutil.copyfileobj(pipe_end, target)
        _copies[str(pipe)] = folder / pipe.name
    return _copies[str(pipe)]
