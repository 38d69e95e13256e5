"""The available memory, whether a file needs more than that before it is read, and freed memory that is used again."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import zlib
from pathlib import Path

import numpy as np

from recassay.data.io.head import is_archive
from recassay.errors import InputError, UsageError, out_of_memory

LARGEST_RATIO = 1032  # of deflate: no archive grows by more
LIKELY_RATIO = 40  # a table that grows by more holds next to nothing: logs grow by 3 to 10
HARMLESS = 1 << 28  # bytes of text that an archive may have whatever its ratio
TEXT_COPIES = 2  # memory that text takes while it is read, in multiples of its size
VALUE_BYTES = 12  # memory that a value of a table takes while it is read and grouped
BLOCK = 1 << 20
LEARNT_FROM = (32 << 20) - (64 << 10)  # just below the largest freed block by which glibc moves its thresholds


@functools.cache
def keep_freed_memory() -> None:
    """Let the C library keep up to 64 MB of freed memory for the next arrays, from now on in this process.

    glibc gives a large freed block back to the system, which fills its pages with zeros when they are needed again;
    that took a tenth of the time of scoring dicts. What is large is learnt: the size of the largest block freed so far,
    up to 32 MB (see ``M_MMAP_THRESHOLD`` in mallopt(3)). So one such block is freed here, before any of its memory is
    used. With another C library nothing changes.
    """
    with contextlib.suppress(MemoryError):
        np.empty(LEARNT_FROM, np.uint8)


def available_memory() -> int:
    """Return how many more bytes this process can use, given the limits of machine, container and process."""
    known = [_meminfo("MemAvailable"), _of_container(), _of_process()]
    return min((free for free in known if free is not None), default=1 << 62)


def refuse_too_large_text(path: Path) -> None:
    """Raise U143 for a text file, or an archive, that does not fit into the available memory.

    Raise I117 for an archive that grows to more than 40 times its size. One that could do so is unpacked once to count
    its bytes; the size stated at its end is not trusted.
    """
    size, free = path.stat().st_size, available_memory()
    packed = is_archive(path)
    if packed and size * LARGEST_RATIO > min(HARMLESS, free // TEXT_COPIES):
        likely = max(size * LIKELY_RATIO, HARMLESS)
        unpacked = _unpacked_size(path, min(likely, free // TEXT_COPIES))
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
    budget = max(free // 2 >> 20, 64)
    return out_of_memory(
        f"{name} has {what}, and {_shown(free)} are free",
        where=where,
        hint=f"score it in parts, as Parquet or plain text: --memory {budget}MB",
    )


def _unpacked_size(path: Path, most: int) -> int:
    """Return the unpacked size of an archive; once it exceeds ``most``, stop and return the size so far."""
    size, unpacker = 0, zlib.decompressobj(wbits=31)
    with path.open("rb") as file:
        data = file.read(BLOCK)
        while data and size <= most:
            try:
                size += len(unpacker.decompress(data, BLOCK))
            except zlib.error:  # reported where the file is read
                return size
            data = unpacker.unconsumed_tail
            if unpacker.eof:  # an archive may have several members
                data, unpacker = unpacker.unused_data, zlib.decompressobj(wbits=31)
            data = data or file.read(BLOCK)
    return size


def _meminfo(key: str) -> int | None:
    try:
        found = re.search(rf"^{key}:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) << 10 if found else None


def _of_container() -> int | None:
    """Return the bytes that the container's control group still allows; None if it has no limit."""
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        return None if limit == "max" else max(int(limit) - used, 0)
    except (OSError, ValueError):
        return None


def _of_process() -> int | None:
    """Return the bytes that the limit ``ulimit -v`` still allows; None if there is no such limit."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return None
        return max(limit - int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE"), 0)
    except (ImportError, OSError, ValueError):
        return None


def _shown(size: int) -> str:
    return f"{size / 2**30:,.1f} GB" if size >= 2**30 else f"{size / 2**20:,.0f} MB"
