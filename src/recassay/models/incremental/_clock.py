"""The monotonic clock, read from inside compiled walks, so that every single call is timed and nothing else."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from llvmlite.binding import address_of_symbol  # type: ignore[import-untyped]
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

Int64 = NDArray[np.int64]

# The function of the C library, called by its name: a compiled walk that holds it can be kept on disk.
TICKS = hasattr(time, "CLOCK_MONOTONIC") and address_of_symbol("clock_gettime") is not None
MONOTONIC = np.int32(time.CLOCK_MONOTONIC if TICKS else 0)
_pointer: Any = types.CPointer
_clock_gettime: Any = types.ExternalFunction("clock_gettime", types.int32(types.int32, _pointer(types.int64)))


def clock(cell: Int64) -> int:  # noqa: ARG001 - its compiled form needs room for two numbers
    """Nanoseconds; always 0 inside a walk where the system has no such clock, and then nothing is reported."""
    return time.monotonic_ns()


@overload(clock)
def _clock(cell: Int64) -> Any:  # noqa: ARG001 - numba asks with types
    def read(cell: Int64) -> Any:
        _clock_gettime(MONOTONIC, cell.ctypes)
        return cell[0] * 1_000_000_000 + cell[1]

    def stand_still(cell: Int64) -> Any:  # noqa: ARG001
        return 0

    return read if TICKS else stand_still
