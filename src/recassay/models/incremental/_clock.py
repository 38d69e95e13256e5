"""The monotonic clock, read inside compiled loops over a stream to time single calls of a model."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import when_numba_starts

Int64 = NDArray[np.int64]


def has_clock() -> bool:
    """Return whether compiled code can read a monotonic clock on this machine."""
    from llvmlite.binding import address_of_symbol  # type: ignore[import-untyped]

    return hasattr(time, "CLOCK_MONOTONIC") and address_of_symbol("clock_gettime") is not None


def clock(buffer: Int64) -> int:  # noqa: ARG001 - the compiled version writes two numbers to it
    """Return the time in nanoseconds; ``buffer`` is memory that the compiled version writes the reading to.

    Compiled code returns 0 if the system lacks a monotonic clock, and no times are reported.
    """
    return time.monotonic_ns()


@when_numba_starts
def _compile_clock() -> None:
    """Tell numba how to compile :func:`clock`: by the name of the C function, so that compiled loops can be cached."""
    from numba import types
    from numba.extending import overload

    monotonic = np.int32(getattr(time, "CLOCK_MONOTONIC", 0))
    pointer: Any = types.CPointer
    clock_gettime: Any = types.ExternalFunction("clock_gettime", types.int32(types.int32, pointer(types.int64)))

    @overload(clock)
    def compiled(buffer: Int64) -> Any:  # noqa: ARG001 - numba calls it with types
        def read(buffer: Int64) -> Any:
            clock_gettime(monotonic, buffer.ctypes)
            return buffer[0] * 1_000_000_000 + buffer[1]

        def zero(buffer: Int64) -> Any:  # noqa: ARG001
            return 0

        return read if has_clock() else zero
