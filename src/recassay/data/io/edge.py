"""The edge between recassay and files from outside: any exception of a reader becomes an error with a code.

A reader (of Parquet, JSON, text, or a registered format) may raise almost anything on a damaged or hostile
file. Here that becomes an error with a code, and what cannot be a table at all is refused before it is read. Mistakes
in the code of recassay itself are not hidden: they are raised unchanged.
"""

from __future__ import annotations

import atexit
import itertools
import os
import re
import select
import shutil
import stat
import struct
import sys
import tempfile
import traceback
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl

from recassay.data.io.head import is_archive, open_unpacked
from recassay.data.io.parquet import PARQUET_SUFFIXES
from recassay.data.io.write import is_full, unwritten
from recassay.errors import InputError, RecassayError, UsageError, out_of_memory

MOST_FILES = 100_000  # in a folder that is searched for the parts of a table
STDIN = "-"
QUIET = 2.0  # seconds without a writer after which a line says which pipe is waited for
PACKAGE = Path(__file__).parents[2]
ABOUT_CONTENT = (
    ValueError, OverflowError, EOFError, OSError, MemoryError, RecursionError, zlib.error, struct.error,
    pl.exceptions.PolarsError, pl.exceptions.PanicException,
)  # fmt: skip
MEMORY = ("memory allocation", "out of memory", "cannot allocate", "capacity overflow")


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
        hint="write or copy the file again; if it is not Parquet, give it the suffix of what it is"
        if Path(where).suffix in PARQUET_SUFFIXES
        else "write it again, as Parquet or CSV with a row per item",
    )


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


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder; raise I110 for a name that the operating system refuses."""
    with reading(str(path)[:200]):
        return path.is_dir()


def files_below(folder: Path) -> list[Path]:
    """Return all files in a folder and its subfolders, sorted; raise I107 if there are more than a table can have."""
    if folder.resolve() == Path(folder.resolve().anchor):
        raise _not_a_table(folder, "is the root of the file system")
    files = (Path(home, name) for home, _, names in os.walk(folder) for name in names)
    found = list(itertools.islice(files, MOST_FILES + 1))
    if len(found) > MOST_FILES:
        raise _not_a_table(folder, f"holds more than {MOST_FILES:,} files")
    return sorted(found)


def _not_a_table(folder: Path, why: str) -> InputError:
    return InputError(
        "I107",
        f"{folder} {why}, so it is not a table",
        where=str(folder),
        hint="name the folder that directly holds the files",
    )


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


LARGEST_RATIO = 1032  # of deflate: no archive grows by more
LIKELY_RATIO = 40  # a table that grows by more holds next to nothing: logs grow by 3 to 10
HARMLESS = 1 << 28  # bytes of text that an archive may have whatever its ratio
TEXT_COPIES = 2  # memory that text takes while it is read, in multiples of its size
VALUE_BYTES = 12  # memory that a value of a table takes while it is read and grouped
BLOCK = 1 << 20


def available_memory() -> int:
    """Return how many more bytes this process can use, given the limits of machine, container and process."""
    free = [1 << 62]
    with suppress(OSError, TypeError):
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
        free.append(int(found[1]) << 10)  # type: ignore[index]
    with suppress(OSError, ValueError):  # a container without a limit says "max"
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        free.append(int(Path("/sys/fs/cgroup/memory.max").read_text()) - used)
    with suppress(ImportError, OSError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        free.append(free[0] if limit == resource.RLIM_INFINITY else limit - used)
    return max(min(free), 0)


def check_file(path: Path) -> None:
    """Raise U143 for a text file, or an archive, that does not fit into the available memory.

    Raise I117 for an archive that grows to more than 40 times its size. One that could do so is unpacked once to count
    its bytes; the size stated at its end is not trusted. Raise I110 for a path whose bytes are not UTF-8, which
    libraries of tables cannot open.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InputError(
            "I110",
            "the name of the file is not UTF-8",
            where=os.fsencode(path).decode("utf-8", "backslashreplace"),
            hint="rename it; in a shell, a pipe reads it as it is: recassay score truth.csv - < FILE",
        ) from None
    if path.suffix in PARQUET_SUFFIXES:
        return
    size, free = path.stat().st_size, available_memory()
    packed = is_archive(path)
    if packed and size * LARGEST_RATIO > min(HARMLESS, free // TEXT_COPIES):
        likely = max(size * LIKELY_RATIO, HARMLESS)
        unpacked = 0
        with open_unpacked(path) as file:
            while unpacked <= min(likely, free // TEXT_COPIES) and (block := file.read(BLOCK)):
                unpacked += len(block)
        if unpacked > likely:
            raise InputError(
                "I117",
                f"{path.name} is a gzip archive of {_shown(size)} that unpacks to {_shown(unpacked)} or more",
                where=str(path),
                hint=f"check what it holds: gzip -dc '{path}' | head; if it is meant, unpack it and name the file",
            )
        size = unpacked
    if size * TEXT_COPIES > free:
        raise _too_large(path.name, f"{'at least ' if packed else ''}{_shown(size)} of text", free, str(path))


def refuse_too_many_values(rows: int, columns: int, where: str) -> None:
    """Raise U143 for a table whose rows do not fit into the available memory."""
    free = available_memory()
    if rows * columns * VALUE_BYTES > free:
        raise _too_large("the table", f"{rows:,} rows of {columns} columns", free, where)


def _too_large(name: str, what: str, free: int, where: str) -> UsageError:
    return out_of_memory(
        f"{name} has {what}, and {_shown(free)} are free",
        where=where,
        hint=f"score it in parts, as Parquet or plain text: --memory {max(free // 2 >> 20, 64)}MB",
    )


def _shown(size: int) -> str:
    return f"{size / 2**30:,.1f} GB" if size >= 2**30 else f"{size / 2**20:,.0f} MB"
