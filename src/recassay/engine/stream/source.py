"""Events of a stream, in batches: from a log, a fold, a file that is larger than memory, or anything that gives tables.

Users and items get codes by first appearance, so codes do not depend on how the stream was cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.fold import Fold
from recassay.data.identity import mix, pair_keys
from recassay.data.interactions import Interactions
from recassay.data.io.sources import PARQUET_SUFFIXES
from recassay.data.read import read_interactions
from recassay.data.time_kind import require_times
from recassay.data.times import Moments, moments
from recassay.data.vocabulary import Vocabulary, mixed_kinds
from recassay.errors import InputError, UsageError
from recassay.models.incremental.base import in_order_met
from recassay.protocols.prequential import Prequential
from recassay.split.lots import keys_of

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
ROWS = 1 << 20  # read at a time from a file of columns
ROWS_IN_ORDER = "say prequential(order='row') if its rows stand in the order of events"
LENGTHS = "count in events, as batch=1000 does"


@dataclass(frozen=True, eq=False)
class Batch:
    """Events in the order of the stream: ``places`` from 0, codes, and what was said of them."""

    log: Interactions
    places: Int64
    moments: Moments | None
    moved: NDArray[np.bool_]  # whether an event stood behind later ones

    def __len__(self) -> int:
        return int(self.places.size)

    def take(self, rows: NDArray[np.bool_] | slice) -> Batch:
        """Some of the events."""
        which = np.arange(len(self))[rows]
        moments = None if self.moments is None else self.moments[which]
        return Batch(self.log.take(which), self.places[which], moments, self.moved[which])


class Codes:
    """Codes of ids by first appearance; those of ``catalogue`` that have not appeared yet come behind, in any order.

    >>> codes = Codes("item")
    >>> vocabulary, dense = Vocabulary.dense(pl.Series(["y", "x", "y"]))
    >>> codes.of(dense, vocabulary).tolist(), codes.ids.to_list(), codes.order().tolist()
    ([0, 1, 0], ['y', 'x'], [1, 0])
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.code: dict[Any, int] = {}
        self.vocabulary = Vocabulary(pl.Series([], dtype=pl.Int64))

    @property
    def ids(self) -> pl.Series:
        """The id of every code."""
        assert self.vocabulary.ids is not None, "it is made of a table"
        return self.vocabulary.ids

    def of(self, dense: Int32, vocabulary: Vocabulary) -> Int32:
        """Codes of ids that are the places of a vocabulary."""
        met = in_order_met(dense, vocabulary.size)
        ids = vocabulary.decode(met)
        before = len(self.code)
        if before and self.vocabulary.kind != vocabulary.kind:
            raise mixed_kinds(self.what, self.vocabulary, vocabulary)
        found = [self.code.setdefault(one, len(self.code)) for one in ids.to_list()]
        known = np.array(found, np.int32)
        if len(self.code) > before:
            new = ids.filter(pl.Series(known >= before))
            self.vocabulary = Vocabulary(pl.concat([self.ids.cast(new.dtype), new]) if before else new)
        code = np.zeros(vocabulary.size, np.int32)
        code[met] = known
        return code[dense]

    def with_catalogue(self, catalogue: pl.Series | None) -> pl.Series:
        """The id of every code, and behind them the ids of a catalogue that have none yet."""
        ids = self.ids
        if catalogue is None:
            return ids
        return pl.concat([ids.cast(catalogue.dtype), catalogue.filter(~catalogue.is_in(ids.implode()))])

    def order(self, catalogue: pl.Series | None = None) -> Int32:
        """The rank of the id of every code, in ascending order."""
        ids = self.with_catalogue(catalogue)
        ranks = np.empty(ids.len(), np.int32)
        ranks[ids.arg_sort().to_numpy()] = np.arange(ids.len(), dtype=np.int32)
        return ranks


@dataclass(frozen=True, eq=False)
class Source:
    """A stream that can be read from its begin, once or again and again.

    ``training`` events stand before those that are to be judged. The ``order`` of the protocol is what is done about a
    time that is before the one before it: rows of one table are sorted, and tables that run back refused.
    """

    given: Any
    protocol: Prequential

    @property
    def training(self) -> int:
        """Events of a fold's training and validation parts, which come first."""
        if not isinstance(self.given, Fold):
            return 0
        return len(self.given.train) + (0 if self.given.validation is None else len(self.given.validation))

    @property
    def again(self) -> bool:
        """Whether it can be read more than once."""
        return not isinstance(self.given, Iterator)

    @property
    def whole(self) -> bool:
        """Whether all events are in memory."""
        return isinstance(self.given, Interactions | Fold)

    def catalogue(self) -> pl.Series:
        """The ids of all items there are."""
        if isinstance(self.given, Interactions):
            return self.given.compact().item_vocabulary.decode(np.unique(self.given.compact().items))
        if isinstance(self.given, Fold):
            vocabulary = self.given.train.item_vocabulary
            return vocabulary.decode(np.arange(vocabulary.size, dtype=np.int32))
        if not self.again:
            what = "candidates='all' needs to know all items beforehand, and the stream can be read once"
            raise UsageError("U192", what, hint="give a log or a file, or take candidates='seen'")
        ids = [part.item_vocabulary.decode(np.unique(part.items)) for part, _ in self._parts()]
        return pl.concat(ids).unique().sort()

    def batches(self) -> Iterator[Batch]:
        """All events, in order."""
        begin, latest = 0, -np.inf
        for part, follows in self._parts():
            self._check(part)
            self._check_times(part)
            batch = self._sorted(part, begin)
            if batch.moments is not None and len(part):
                if follows and batch.moments[0] < latest:
                    raise self._backwards(begin, latest, batch.moments[0], 1, "a table begins before the last one ends")
                latest = float(batch.moments[-1])
            begin += len(part)
            yield batch

    def _parts(self) -> Iterator[tuple[Interactions, bool]]:
        """Tables, and whether each has to be later than the one before."""
        given = self.given
        if isinstance(given, Interactions):
            yield given, True
        elif isinstance(given, Fold):
            for part in (given.train, given.validation, given.test):
                if part is not None:
                    yield part, False
        elif isinstance(given, str | Path):
            if Path(given).suffix not in PARQUET_SUFFIXES or not Path(given).is_file():
                yield read_interactions(given), True
                return
            rows = pl.scan_parquet(given).select(pl.len()).collect().item()
            for first in range(0, rows, ROWS):
                yield read_interactions(pl.scan_parquet(given).slice(first, ROWS)), True
        elif isinstance(given, Iterator) or _are_tables(given):
            for part in given:
                yield read_interactions(part), True
        else:
            yield read_interactions(given), True

    def _check(self, part: Interactions) -> None:
        for kind, vocabulary, codes in (
            ("user", part.user_vocabulary, part.users),
            ("item", part.item_vocabulary, part.items),
        ):
            missing = vocabulary.ids.is_null().to_numpy() if vocabulary.ids is not None else np.zeros(0, np.bool_)
            if missing.any():
                rows = np.flatnonzero(missing[codes])
                what = f"{rows.size:,} events have no {kind}, the first is in row {rows[0]:,}"
                raise InputError("I304", what, where=part.origin, hint="drop these rows, or give them an id")

    def _check_times(self, part: Interactions) -> None:
        """Raise where the times of a table do not put its events into an order, or measure no length of time."""
        timed = self.protocol.timed
        missing, instead = ("I201", LENGTHS) if timed else ("I383", ROWS_IN_ORDER)
        require_times(part, self.protocol.needs, self.protocol, missing=missing, instead=instead)
        if not timed or part.timestamps is None or part.timestamps.dtype.is_temporal():
            return
        if (unit := part.time_scale.unit) not in (None, "seconds"):
            what = f"the times of the stream are numbers in {unit}, and {self.protocol} has a length of time in seconds"
            hint = "give the times in seconds, or as dates"
            raise InputError("I389", what, where=part.origin or "the stream", hint=hint)

    def _sorted(self, part: Interactions, begin: int) -> Batch:
        places, still = np.arange(begin, begin + len(part)), np.zeros(len(part), np.bool_)
        if part.timestamps is None or self.protocol.order == "row":
            return Batch(part, places, None, still)
        when = moments(part.timestamps, part.origin)
        highest = np.maximum.accumulate(when) if when.size else when
        back = when < highest
        if not back.any():
            return Batch(part, places, when, still)
        if self.protocol.order == "error":
            row = int(np.argmax(back))
            raise self._backwards(begin + row, highest[row], when[row], int(back.sum()), "time goes backwards")
        order = np.argsort(when, kind="stable")
        return Batch(part.take(order), places, when[order], back[order])

    def _backwards(self, place: int, before: float, after: float, times: int, why: str) -> InputError:
        what = f"{why}: event {place:,} is at {after:,g}, and the one before at {before:,g} ({times:,} in all)"
        hint = "sort the whole stream by time; prequential(order='sort') sorts the rows of one table"
        return InputError("I371", what, where="the stream", hint=hint)


def _are_tables(given: Any) -> bool:
    """Whether a list holds tables, and not the rows of one."""
    tables = isinstance(given, list | tuple) and len(given) > 0
    return tables and all(isinstance(one, Interactions) or hasattr(one, "__arrow_c_stream__") for one in given)


def digest(batch: Batch) -> int:
    """A number for the events of a batch and their places; those of two batches add up to that of both together."""
    log = batch.log
    pairs = pair_keys(log.users, log.items, keys_of(log.user_vocabulary), keys_of(log.item_vocabulary), 0)
    return int(mix(pairs + mix(batch.places.astype(np.uint64))).sum(dtype=np.uint64))
