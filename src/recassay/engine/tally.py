"""Tallies: a tally holds the values and counts of some users, and tallies of different users can be added.

Values are arrays with a value per user: those of all users are the arrays of the parts, joined. Everything else adds
up: counts, exposures, counts of checks, and whether run and truth share any ids, which no single part can decide. A run
that is evaluated in one go is a single part.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import IO, Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.checks.counts import CheckCounts
from recassay.columnar.vocabulary import concat_ids
from recassay.errors import InputError
from recassay.metrics.align import AlignmentCounts, joined
from recassay.metrics.base import Addend
from recassay.metrics.catalogue import Exposure
from recassay.metrics.refusals import SharedIds
from recassay.results.scores import Values
from recassay.threads import Progress, each_block

Order = Literal["pessimistic", "optimistic"]  # of tied rows: the worst and the best possible
ORDERS: tuple[Order, Order] = ("pessimistic", "optimistic")
Column = tuple[
    Literal["value", "weight", "first", "named"] | Order, str
]  # kind and metric heading, or which part of it
Columns = Mapping[Column, Values]


def measure_blocks(
    metrics: Mapping[str, Any],
    n: int,
    block_of: Callable[[int, int], Any],
    *,
    size: int,
    threads: int | None,
    progress: Progress | None = None,
) -> tuple[dict[str, Values], dict[str, Values]]:
    """Return (values, weights) of n units, both keyed by metric heading; only weighted metrics have weights.

    ``block_of(begin, end)`` is the block of units that metrics read; blocks of ``size`` units run in parallel.
    """
    values, weights = {heading: np.empty(n) for heading in metrics}, dict[str, Values]()

    def fill(begin: int, end: int) -> dict[str, Values | None]:
        block = block_of(begin, end)
        for heading, metric in metrics.items():
            values[heading][begin:end] = metric.checked(block)
        return {heading: metric.weights(block) for heading, metric in metrics.items()}

    parts = each_block(fill, n, size=size, threads=threads, progress=progress)
    for heading in values if parts else ():
        blocks = [block for part in parts if (block := part[heading]) is not None]
        if blocks:
            weights[heading] = np.concatenate(blocks)
    return values, weights


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts from the evaluation of some of the users, such as the number of short lists.

    Those of several groups of users add up. ``unmatched`` maps an error code to the error to raise if no id of the
    training log (or of the item features) matches the run in any part, or to None once an id has matched. ``short`` is
    the number of lists shorter than the cut-off, by metric. ``addends`` are sums over users, by metric; from them
    numbers that are reported with the mean are computed, and ``exposures`` say how often items are recommended.
    """

    alignment: AlignmentCounts
    shared_ids: SharedIds
    unmatched: Mapping[str, InputError | None]
    short: Mapping[str, int]
    addends: Mapping[str, Mapping[str, Addend]]
    exposures: Mapping[str, Exposure]
    counted: CheckCounts

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.alignment + other.alignment,
            self.shared_ids + other.shared_ids,
            joined(lambda mine, theirs: theirs and mine, self.unmatched, other.unmatched),
            joined(add, self.short, other.short),
            joined(partial(joined, add), self.addends, other.addends),
            joined(add, self.exposures, other.exposures),
            self.counted + other.counted,
        )


@dataclass(frozen=True, eq=False)
class UserTally:
    """The values and counts of some users (``units``), such as the users of one part of the truth.

    ``columns`` has an array with a value per user for each (kind, metric heading). Those for the worst and best order
    of ties are absent if none of these users has ties. ``counts`` is anything that can be added: counts of lists, or
    for evaluation by designs sums over target sets.
    """

    units: pl.Series
    columns: Columns
    counts: Any

    def __add__(self, other: UserTally) -> UserTally:
        """Return the values and counts of the users of both; all user ids of ``other`` are larger."""
        keys = dict.fromkeys([*self.columns, *other.columns])
        columns = {key: np.concatenate([self.column(key), other.column(key)]) for key in keys}
        return UserTally(concat_ids([self.units, other.units]), columns, self.counts + other.counts)

    def column(self, key: Column) -> Values:
        """Return the array of the ``key`` (kind, metric heading), with a value per user.

        Without ties, the values in the worst and best order of ties are the plain ones. Any other array is absent only
        if there are no users.
        """
        kind, heading = key
        plain: Column = ("value", heading) if kind in ORDERS else key
        return self.columns.get(key, self.columns.get(plain, np.empty(0)))


class TallyFiles:
    """Values and counts of users that are added part by part; the values are appended to temporary files.

    There is a file for each kind of value and metric. It is deleted once its array is no longer used.
    """

    def __init__(self) -> None:
        self._files: dict[Column, IO[bytes]] = {}
        self._counts: list[Any] = []  # one, once there is a part

    def add(self, part: UserTally) -> None:
        """Append the values of the users of a part to the files, and add its counts."""
        for key in part.columns:
            if key not in self._files:
                self._files[key] = self._new(key)
        for key, file in self._files.items():
            file.write(np.ascontiguousarray(part.column(key)).data)
        self._counts = [reduce(add, [*self._counts, part.counts])]

    def whole(self, units: pl.Series, order: NDArray[np.intp] | None = None) -> UserTally:
        """Return the values and counts of all users, ``units``, with arrays on disk; nothing can be added after that.

        ``order`` has, for each user of ``units``, the position at which the user was added; by default they were added
        in this order.
        """
        return UserTally(units, {key: _mapped(file, order) for key, file in self._files.items()}, self._counts[0])

    def _new(self, key: Column) -> IO[bytes]:
        """Return a new file for the values with the ``key`` (kind, metric heading).

        A file for the best or worst order of ties begins as a copy of the plain values, because no earlier user has
        ties.
        """
        file: IO[bytes] = tempfile.TemporaryFile(prefix="recassay-")  # noqa: SIM115 (it stays open while it is filled)
        kind, heading = key
        values = self._files.get(("value", heading))
        if kind in ORDERS and values is not None:
            values.seek(0)
            shutil.copyfileobj(values, file)
        return file


def _mapped(file: IO[bytes], order: NDArray[np.intp] | None) -> Values:
    file.flush()
    with file:
        empty = file.tell() == 0
        values = np.empty(0) if empty else np.asarray(np.memmap(file, np.float64, mode="r"))
    if order is None or empty:
        return values
    sorted_file: IO[bytes] = tempfile.TemporaryFile(prefix="recassay-")  # noqa: SIM115 (_mapped closes it)
    sorted_file.write(values[order].data)
    return _mapped(sorted_file, None)
