"""Compile kernels when they are first called, each in one process at a time.

numba is imported when the first kernel is called, so that mistakes in files and options are reported before. Processes
that start together on a new machine would each compile every kernel; here the first one compiles a kernel, and the
others wait for it and load what it stored.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if sys.platform == "win32":
    fcntl = None
else:
    import fcntl

_CREATING = threading.RLock()
announce: Callable[[], object] = object  # called before a kernel is compiled that is not cached

if TYPE_CHECKING:
    from numba import njit as njit  # noqa: PLC0414  # for type checkers it is the one of numba
else:

    def njit(**options: Any) -> Callable[[Callable[..., Any]], Kernel]:
        """Compile a function as ``numba.njit`` does; a kernel that is cached is compiled by one process at a time."""
        return lambda function: Kernel(function, options)


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
        numba: Any = importlib.import_module("numba")
        if os.environ.get("NUMBA_DISABLE_JIT") == "1":
            import numpy as np

            return np.errstate(all="ignore")(self.__wrapped__)  # integers wrap in silence, as in a compiled kernel
        compiled = numba.njit(**self._options)
        try:
            dispatcher = compiled(self.__wrapped__)
        except RuntimeError:  # neither the installation nor the home folder can be written to
            numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = _private_folder()
            dispatcher = compiled(self.__wrapped__)
        if self._options.get("cache"):
            _compile_once(dispatcher)
        return dispatcher


def _private_folder() -> str:
    """Return a temporary folder that only this user can write to, because numba runs what it finds there."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    usual = Path(tempfile.gettempdir()) / f"recassay-kernels-{user}"
    usual.mkdir(mode=0o700, exist_ok=True)
    about = usual.lstat()
    if usual.is_symlink() or about.st_uid != user or about.st_mode & 0o077:
        return tempfile.mkdtemp(prefix="recassay-kernels-")
    return str(usual)


def _compile_once(dispatcher: Any) -> None:
    """Change a numba dispatcher: before it compiles, it waits for another process that compiles the same kernel.

    Within a process numba compiles in one thread at a time.
    """
    cache, compile_kernel = dispatcher._cache, dispatcher.compile
    lock = Path(cache.cache_path) / f"{dispatcher.__module__}.{dispatcher.__qualname__}.lock"
    handles: list[int] = []

    def load_or_wait(signature: Any, context: Any) -> Any:
        _add_runtime_symbols()
        kernel = cache._load_overload(signature, context)
        if kernel is None and fcntl is not None and not handles:
            handles.append(os.open(lock, os.O_RDWR | os.O_CREAT, 0o666))
            fcntl.flock(handles[0], fcntl.LOCK_EX)
            kernel = cache._load_overload(signature, context)  # another process may have compiled it meanwhile
        if kernel is None:
            announce()
        return kernel

    def compile_and_release(signature: Any) -> Any:
        try:
            return compile_kernel(signature)
        finally:
            while handles:
                os.close(handles.pop())

    cache.load_overload, dispatcher.compile = load_or_wait, compile_and_release


@functools.cache
def _add_runtime_symbols() -> None:
    """Tell the linker where the functions are that kernels with arrays call.

    This takes the place of ``context.refresh()``, which imports all that only compilation needs: 0.2 s, most of it for
    SciPy's linear algebra. A kernel that hashes (with a dict or a set) would need it; recassay has none.
    """
    runtime: Any = importlib.import_module("numba.core.runtime.nrt")
    for name, address in runtime._nrt.c_helpers.items():
        runtime.ll.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
