"""The lock of a results folder: one process at a time writes there, and others are told which one.

The operating system holds the lock and releases it when the process ends, however it ends. So a file that a killed
process left is not a lock: the next process takes it over.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from recassay.data.io.json_text import parse_json
from recassay.errors import RecassayError, UsageError

NAME = ".recassay.lock"
POLL = 0.2  # seconds between two looks at a lock
UNSUPPORTED = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)  # file systems without locks

_held: set[Path] = set()  # by this process, because a process does not exclude itself


@contextmanager
def locked(folder: str | Path, *, wait: bool = False, tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the lock of an existing folder; raise U237 if another process holds it, or wait until it is free.

    ``tell`` is called once, with a sentence, before the first wait. A file system that has no locks is not locked.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(folder):
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['.recassay.lock']
    """
    path = Path(folder).resolve() / NAME
    handle = _acquire(path)
    while handle is None:
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
        handle = _acquire(path)
    try:
        yield
    finally:
        _held.discard(path)
        if handle != UNLOCKED:
            path.unlink(missing_ok=True)  # while the lock is held, so that nobody else's file is removed
            os.close(handle)


UNLOCKED = -1  # in place of a file handle where the file system has no locks


@contextmanager
def exclusively(handle: int) -> Iterator[None]:
    """Wait for the lock of an open file, and hold it within the context; some file systems have no locks."""
    with suppress(OSError):
        while not _lock(handle):
            time.sleep(POLL / 100)
    yield  # closing the file ends the lock


def _acquire(path: Path) -> int | None:
    """Lock a file and return its handle; return None if another process, or this one, has the lock.

    Return ``UNLOCKED`` if the file system has no locks, and raise U111 if the folder cannot be written to.
    """
    if path in _held:
        return None
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        raise UsageError(
            "U111",
            f"cannot write into the folder: {error.strerror or error}",
            where=str(path.parent),
            hint="choose a folder that can be written to with -o",
        ) from None
    try:
        taken = _lock(handle)
        if taken and not _is_at(handle, path):  # the last holder removed the file between the two calls
            os.close(handle)
            return _acquire(path)
    except OSError as error:
        os.close(handle)
        if error.errno not in UNSUPPORTED:
            raise
        path.unlink(missing_ok=True)
        return UNLOCKED
    if not taken:
        os.close(handle)
        return None
    about = {"process": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S %z")}
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(about).encode(), 0) if hasattr(os, "pwrite") else None
    _held.add(path)
    return handle


def _is_at(handle: int, path: Path) -> bool:
    """Return whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> bool:
        """Return whether the file could be locked; its bytes stay readable, the lock is far behind them."""
        try:
            os.lseek(handle, 1 << 20, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def _lock(handle: int) -> bool:
        """Return whether the file could be locked."""
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True


def _holder(path: Path) -> str:
    """Return text on who holds a lock, as written in its file."""
    if path in _held:
        return "this process itself, in another thread"
    try:
        about = parse_json(path.read_text(encoding="utf-8", errors="replace"), str(path))
        return f"process {int(about['process'])} on {about['host']!s:.80}, since {about['since']!s:.40}"
    except (OSError, ValueError, KeyError, TypeError, RecassayError):
        return "a process that has just begun"
