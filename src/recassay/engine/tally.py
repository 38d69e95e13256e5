"""Tallies: the values of some users, and the counts of their lists. Tallies of other users can be added.

Each user is in one part. Values are columns with a value per user: joined over the parts, they are the columns of the
whole. Everything else adds up: counts, exposures, counts of checks, and whether run and truth share any ids, which no
single part can decide. A run that is evaluated in one go is a single part.
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
    """Return (values, weights) of n units, both by metric heading; only weighted metrics have weights.

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

    Those of several groups of users add up. ``unmatched`` has, by error code, the error to raise if no id of the
    training log (or of the item features) ever matches the run, or None once one has. ``short`` is the number of lists
    shorter than the cut-off, by metric. ``addends`` are sums over users, by metric, from which numbers to report with
    the mean are computed, and ``exposures`` say how often items are recommended.
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
    """The values (``columns``) and ``counts`` of some users (``units``), under designs sums over target sets as counts.

    Columns for the worst and best order of ties are absent if none of these users has ties.
    """

    units: pl.Series
    columns: Columns
    counts: Any

    def __add__(self, other: UserTally) -> UserTally:
        """Return the tally of the users of both; the ids of the other's users are larger."""
        keys = dict.fromkeys([*self.columns, *other.columns])
        columns = {key: np.concatenate([self.column(key), other.column(key)]) for key in keys}
        return UserTally(concat_ids([self.units, other.units]), columns, self.counts + other.counts)

    def column(self, key: Column) -> Values:
        """Return the column ``key`` (kind, metric heading).

        Without ties, the values in the worst and best order of ties are the plain ones. Any other column is absent only
        if there are no users.
        """
        kind, heading = key
        plain: Column = ("value", heading) if kind in ORDERS else key
        return self.columns.get(key, self.columns.get(plain, np.empty(0)))


class TallyFiles:
    """A tally that grows part by part, with its columns in temporary files.

    A file is removed together with its array.
    """

    def __init__(self) -> None:
        self._files: dict[Column, IO[bytes]] = {}
        self._counts: list[Any] = []  # one, once there is a part

    def add(self, part: UserTally) -> None:
        """Append the values of the users in a part to the columns, and add its counts."""
        for key in part.columns:
            if key not in self._files:
                self._files[key] = self._new(key)
        for key, file in self._files.items():
            file.write(np.ascontiguousarray(part.column(key)).data)
        self._counts = [reduce(add, [*self._counts, part.counts])]

    def whole(self, units: pl.Series, order: NDArray[np.intp] | None = None) -> UserTally:
        """Return the tally of all users, ``units``, with arrays on disk; nothing can be added after that.

        ``order`` has the position of each user among those that were added; by default they were added in this order.
        """
        return UserTally(units, {key: _mapped(file, order) for key, file in self._files.items()}, self._counts[0])

    def _new(self, key: Column) -> IO[bytes]:
        """Return a new file for a column.

        A column for the best or worst order of ties begins as a copy of the plain column, because the users so far had
        no ties.
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
