"""Results of a stream while it is played, chunk by chunk."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]


@dataclass(eq=False)
class OutcomeChunks:
    """The results of a stream so far, in chunks that are concatenated at the end.

    ``event``, ``values``, ``users`` and ``times`` have an entry per scored event; ``lists`` are tables of recommended
    items. Users are codes of the stream. ``known`` counts the items that had occurred before each event whose list is
    kept. ``asking`` and ``learning`` are nanoseconds per query and per learned event.
    """

    event: list[Int64] = field(default_factory=list)
    values: list[dict[str, Float]] = field(default_factory=list)
    users: list[Int32] = field(default_factory=list)
    times: list[pl.Series] = field(default_factory=list)
    lists: list[pl.DataFrame] = field(default_factory=list)
    known: list[Int64] = field(default_factory=list)  # items of earlier events, for each event with a kept list
    asking: list[Int64] = field(default_factory=list)  # nanoseconds per query
    learning: list[Int64] = field(default_factory=list)  # nanoseconds per learned event
