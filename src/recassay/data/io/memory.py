"""The available memory, and whether a table needs more than that before it is read."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from recassay.data.io.head import is_archive, open_unpacked
from recassay.errors import InputError, UsageError, out_of_memory

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


def refuse_too_large_text(path: Path) -> None:
    """Raise U143 for a text file, or an archive, that does not fit into the available memory.

    Raise I117 for an archive that grows to more than 40 times its size. One that could do so is unpacked once to count
    its bytes; the size stated at its end is not trusted.
    """
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
