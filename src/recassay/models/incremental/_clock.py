"""The monotonic clock, read inside compiled loops over a stream to time single calls of a model."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from llvmlite.binding import address_of_symbol  # type: ignore[import-untyped]
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

Int64 = NDArray[np.int64]

# The C library's function is called by name, so numba can cache compiled walks that use it.
HAS_CLOCK = hasattr(time, "CLOCK_MONOTONIC") and address_of_symbol("clock_gettime") is not None
MONOTONIC = np.int32(time.CLOCK_MONOTONIC if HAS_CLOCK else 0)
_pointer: Any = types.CPointer
_clock_gettime: Any = types.ExternalFunction("clock_gettime", types.int32(types.int32, _pointer(types.int64)))


def clock(buffer: Int64) -> int:  # noqa: ARG001 - the compiled version writes two numbers to it
    """Return the time in nanoseconds; ``buffer`` is memory that the compiled version writes the reading to.

    Compiled code returns 0 if the system lacks a monotonic clock, and no times are reported.
    """
    return time.monotonic_ns()


@overload(clock)
def _clock(buffer: Int64) -> Any:  # noqa: ARG001 - numba calls it with types
    def read(buffer: Int64) -> Any:
        _clock_gettime(MONOTONIC, buffer.ctypes)
        return buffer[0] * 1_000_000_000 + buffer[1]

    def zero(buffer: Int64) -> Any:  # noqa: ARG001
        return 0

    return read if HAS_CLOCK else zero
