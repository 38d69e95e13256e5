"""The lock of a results folder: one process at a time writes there, and others are told which one.

The operating system holds the lock and releases it when the process ends, however it ends. So a file that a killed
process left is not a lock: the next process takes it over.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from recassay.errors import UsageError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

NAME = ".recassay.lock"
POLL = 0.2  # seconds between two looks at a lock
HOLDER = re.compile(r"process \d+ on [\w.-]{1,80}, since [-+: \d]{1,40}")  # what is written into the file


@contextmanager
def locked(folder: str | Path, *, wait: bool = False, tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the lock of an existing folder; raise U237 if somebody else holds it, or wait until it is free.

    ``tell`` is called once, with a sentence, before the first wait. A file system that has no locks is not locked.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(folder):
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['.recassay.lock']
    """
    path = Path(folder).resolve() / NAME
    while (handle := _acquire(path)) is None:
        if not wait:
            raise UsageError(
                "U237",
                f"another process is writing into this folder: {_holder(path)}",
                where=str(folder),
                hint="wait until it has ended (recassay run --wait does), or choose another folder with -o",
            )
        if tell is not None:
            tell(f"Waiting for {folder}, in use by {_holder(path)}.")
            tell = None
        time.sleep(POLL)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while the lock is held, so that nobody else's file is removed
        os.close(handle)


def _acquire(path: Path) -> int | None:
    """Lock a file and return its handle, or None if somebody has the lock; raise U111 if nothing can be written."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        raise UsageError(
            "U111",
            f"cannot write into the folder: {error.strerror or error}",
            where=str(path.parent),
            hint="choose a folder that can be written to with -o",
        ) from None
    if not _lock(handle):
        os.close(handle)
        return None
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(handle), path.stat()):
            os.ftruncate(handle, 0)
            os.write(handle, _own_name().encode())
            return handle
    os.close(handle)  # the last holder removed the file between the two calls
    return _acquire(path)


def _lock(handle: int) -> bool:
    """Return whether an open file could be locked; it counts as locked if its file system has no locks."""
    try:
        if sys.platform == "win32":
            os.lseek(handle, 1 << 20, os.SEEK_SET)  # far behind the text, which stays readable
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass
    return True


def _own_name() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}, since {time.strftime('%Y-%m-%d %H:%M:%S %z')}"


def _holder(path: Path) -> str:
    """Return text on who holds a lock, as written in its file."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    if text.partition(", ")[0] == _own_name().partition(", ")[0]:
        return "this process itself, in another thread"
    return text if HOLDER.fullmatch(text) else "a process that has just begun"
