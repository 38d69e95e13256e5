"""The cache of compiled kernels on disk, and the lock that lets one process compile a kernel.

numba keeps compiled kernels beside the code, else in the user's cache folder, and refuses to work if it can write to
neither, as in a container image that is read-only. Then a folder in the system's temporary folder is used; it belongs
to this user and is closed to others, because numba runs what it finds there.

Processes that start together on a new machine would each compile every kernel. With :func:`njit` the first one compiles
a kernel, and the others wait for it and load what it stored. numba is imported when the first kernel is called, so
that mistakes in files and options are reported before. Loading a stored kernel leaves out what only compilation needs,
which numba would import first: 0.2 s, most of it for SciPy's linear algebra.
"""

from __future__ import annotations

import functools
import importlib
import os
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if sys.platform == "win32":
    fcntl = None
else:
    import fcntl

VARIABLE = "NUMBA_CACHE_DIR"
PATIENCE = 60.0  # seconds to wait for the kernel of another process; then it is compiled here
POLL = 0.01  # seconds between two looks at its lock


def use_writable_cache() -> None:
    """Set a temporary folder for compiled kernels if no other can be written to; call this before numba is imported."""
    package = Path(__file__).parent
    if VARIABLE in os.environ or _is_writable(package / "__pycache__") or _is_writable(_user_cache()):
        return
    folder = _private_folder()
    os.environ[VARIABLE] = folder
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder


def _user_cache() -> Path:
    """Return the folder in which numba caches compiled kernels of a user."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "numba"


def _is_writable(folder: Path) -> bool:
    """Return whether a folder, or the nearest one above it that exists, can be written to."""
    try:
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _private_folder() -> str:
    """Return a folder of this user that nobody else can write to: the usual one, else a new one."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    usual = Path(tempfile.gettempdir()) / f"recassay-kernels-{user}"
    try:
        usual.mkdir(mode=0o700, exist_ok=True)
        about = usual.lstat()
        if stat.S_ISDIR(about.st_mode) and about.st_uid == user and not about.st_mode & 0o077:
            return str(usual)
    except OSError:
        pass
    return tempfile.mkdtemp(prefix="recassay-kernels-")


if TYPE_CHECKING:
    from numba import njit as njit  # noqa: PLC0414  # for type checkers it is the one of numba
else:

    def njit(**options: Any) -> Callable[[Callable[..., Any]], Kernel]:
        """Compile a function as ``numba.njit`` does; a kernel that is cached is compiled by one process at a time."""
        return lambda function: Kernel(function, options)


_AT_START: list[Callable[[], None]] = []  # functions that wait for the import of numba
_CREATING = threading.RLock()


def when_numba_starts(function: Callable[[], None]) -> Callable[[], None]:
    """Register a function that prepares numba for kernels, such as new types; return it.

    It is called before the next kernel is compiled.
    """
    _AT_START.append(function)
    return function


class Kernel:
    """A function that numba compiles when it is first called, and otherwise the same as the dispatcher of numba."""

    _dispatcher: Any

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._options = options

    def __call__(self, *arguments: Any) -> Any:
        return self._dispatcher(*arguments)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the dispatcher; numba reads ``_numba_type_`` of a kernel that another one calls."""
        if name.startswith("__"):  # pickle and inspect look for these, and must not import numba
            raise AttributeError(name)
        if name != "_dispatcher":
            return getattr(self._dispatcher, name)
        with _CREATING:  # two dispatchers of one kernel would wait for each other's lock
            if name not in vars(self):
                self._dispatcher = self._compiled()
        return vars(self)[name]

    def __reduce__(self) -> str:
        """Return the name by which pickle finds the kernel in its module."""
        return str(self.__qualname__)

    def _compiled(self) -> Any:
        from numba import njit as compiled_with

        while _AT_START:
            _AT_START.pop(0)()
        dispatcher = compiled_with(**self._options)(self.__wrapped__)
        if not hasattr(dispatcher, "compile"):  # NUMBA_DISABLE_JIT=1: the function itself
            import numpy as np

            return np.errstate(all="ignore")(dispatcher)  # integers wrap in silence, as in a compiled kernel
        if self._options.get("cache") and fcntl is not None:
            _compile_once(dispatcher)
        return dispatcher


def _compile_once(dispatcher: Any) -> None:
    """Change a numba dispatcher: before it compiles, it waits for another process that compiles the same kernel."""
    cache: Any = dispatcher._cache
    load, compile_kernel = _Loader(cache), dispatcher.compile
    function = dispatcher.py_func
    lock = _KernelLock(Path(cache.cache_path) / f"{function.__module__}.{function.__qualname__}.lock")

    def load_or_wait(signature: Any, context: Any) -> Any:
        found = load(signature, context)
        if found is None and lock.acquire():
            found = load(signature, context)  # another process may have compiled it meanwhile
        return found

    def compile_and_release(signature: Any) -> Any:
        try:
            return compile_kernel(signature)
        finally:
            lock.release()

    cache.load_overload, dispatcher.compile = load_or_wait, compile_and_release


class _Loader:
    """Loads stored kernels of one function; numba's typing rules are imported only where a kernel must be compiled.

    A kernel that hashes (with a dict or a set) would need ``numba.cpython.hashing``; recassay has none.
    """

    def __init__(self, cache: Any) -> None:
        self.cache, self.load = cache, cache.load_overload

    def __call__(self, signature: Any, context: Any) -> Any:
        """Return the kernel for the types in ``signature``, or None if the cache does not hold it."""
        if not hasattr(self.cache, "_load_overload"):  # another version of numba
            return self.load(signature, context)
        _add_runtime_symbols()
        return self.cache._load_overload(signature, context)


@functools.cache
def _add_runtime_symbols() -> None:
    """Tell the linker where the functions are that kernels with arrays call.

    numba's own ``rtsys.initialize`` also compiles functions that count references, in 0.02 s. A stored kernel has its
    own copies of them, so they are compiled only if a kernel is.
    """
    runtime: Any = importlib.import_module("numba.core.runtime.nrt")
    for name, address in runtime._nrt.c_helpers.items():
        runtime.ll.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class _KernelLock:
    """A lock that lets one process at a time compile a kernel.

    Within a process numba compiles in one thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.handle, self.guard = path, -1, threading.Lock()

    def acquire(self) -> bool:
        """Wait up to a minute for the lock; return whether it was obtained."""
        if self.handle >= 0:
            return True
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            return False
        if not self._lock(handle):
            os.close(handle)
            return False
        with self.guard:
            self.handle = handle
        return True

    def release(self) -> None:
        """Release the lock, so that other processes can have it."""
        with self.guard:
            if self.handle >= 0:
                os.close(self.handle)
                self.handle = -1

    def _lock(self, handle: int) -> bool:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(POLL)
            except OSError:  # a file system without locks
                return False
            else:
                return True
        return False
