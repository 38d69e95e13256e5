"""Events of a stream, in batches: from a log, a fold, a file larger than memory, or any iterable of tables.

Users and items get codes by first appearance, so codes do not depend on how the stream is cut into batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.identity import mix, pair_keys
from recassay.columnar.times import require_times
from recassay.columnar.vocabulary import Vocabulary, id_types_differ
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.io.edge import reading
from recassay.data.io.parquet import PARQUET_SUFFIXES, scan_parquet
from recassay.data.read import read_interactions
from recassay.data.times import TimeValues, time_values
from recassay.errors import InputError, UsageError
from recassay.models.incremental.base import distinct_by_appearance
from recassay.protocols.prequential import Prequential
from recassay.split.partitions import vocabulary_keys

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
ROWS = 1 << 20  # read at a time from a Parquet file
ROWS_IN_ORDER = "choose prequential(order='row') if its rows are in the order of events"
LENGTHS = "give the length in events, such as batch=1000"


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive events of a stream: a log, the number of each event in the stream (from 0), and its time.

    ``moved`` marks the events that sorting the table by time moved forward.
    """

    log: Interactions
    event_numbers: Int64
    moments: TimeValues | None
    moved: NDArray[np.bool_]  # whether sorting by time moved an event forward

    def __len__(self) -> int:
        return int(self.event_numbers.size)

    def take(self, rows: NDArray[np.bool_] | slice) -> Batch:
        """Return the events selected by a mask or a slice."""
        which = np.arange(len(self))[rows]
        moments = None if self.moments is None else self.moments[which]
        return Batch(self.log.take(which), self.event_numbers[which], moments, self.moved[which])


class IdCodes:
    """Integer codes for the ids of users or items: 0 for the first id of the stream, 1 for the next new one, ...

    >>> codes = IdCodes("item")
    >>> vocabulary, dense = Vocabulary.dense(pl.Series(["y", "x", "y"]))
    >>> codes.encode(dense, vocabulary).tolist(), codes.ids.to_list(), codes.order().tolist()
    ([0, 1, 0], ['y', 'x'], [1, 0])
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind  # user or item, for messages
        self.code_of: dict[Any, int] = {}
        self.vocabulary = Vocabulary(pl.Series([], dtype=pl.Int64))

    @property
    def ids(self) -> pl.Series:
        """Return the id of every code."""
        assert self.vocabulary.ids is not None, "it comes from a table"
        return self.vocabulary.ids

    def encode(self, dense: Int32, vocabulary: Vocabulary) -> Int32:
        """Return the stream codes of ``dense``, which are codes of ``vocabulary``; new ids get the next codes."""
        appeared = distinct_by_appearance(dense, vocabulary.size)
        ids = vocabulary.decode(appeared)
        before = len(self.code_of)
        if before and self.vocabulary.kind != vocabulary.kind:
            raise id_types_differ(self.kind, self.vocabulary, vocabulary)
        codes = np.array([self.code_of.setdefault(each, len(self.code_of)) for each in ids.to_list()], np.int32)
        if len(self.code_of) > before:
            new = ids.filter(pl.Series(codes >= before))
            self.vocabulary = Vocabulary(pl.concat([self.ids.cast(new.dtype), new]) if before else new)
        stream_code = np.zeros(vocabulary.size, np.int32)
        stream_code[appeared] = codes
        return stream_code[dense]

    def with_catalogue(self, catalogue: pl.Series | None) -> pl.Series:
        """Return the id of every code, then the ids of the catalogue that have not appeared yet."""
        ids = self.ids
        if catalogue is None:
            return ids
        return pl.concat([ids.cast(catalogue.dtype), catalogue.filter(~catalogue.is_in(ids.implode()))])

    def order(self, catalogue: pl.Series | None = None) -> Int32:
        """Return, for every code, the rank of its id (from 0) among all ids in ascending order.

        With a ``catalogue``, its ids that have not appeared yet are included, with the next codes.
        """
        ids = self.with_catalogue(catalogue)
        ranks = np.empty(ids.len(), np.int32)
        ranks[ids.arg_sort().to_numpy()] = np.arange(ids.len(), dtype=np.int32)
        return ranks


@dataclass(frozen=True, eq=False)
class StreamSource:
    """A stream that is read from its start, once or repeatedly.

    The ``order`` of the protocol says what happens when time goes backwards: rows of one table may be sorted, and a
    table that begins before the last one ended is refused.
    """

    given: Any
    protocol: Prequential

    @property
    def rereadable(self) -> bool:
        """Return whether the stream can be read more than once."""
        return not isinstance(self.given, Iterator)

    @property
    def in_memory(self) -> bool:
        """Return whether all events are in memory."""
        return isinstance(self.given, Interactions | Fold)

    def catalogue(self) -> pl.Series:
        """Return the ids of all items of the stream; raise U192 if it can be read only once."""
        if isinstance(self.given, Fold):
            vocabulary = self.given.train.item_vocabulary
            return vocabulary.decode(np.arange(vocabulary.size, dtype=np.int32))
        if not self.rereadable:
            what = "candidates='all' needs all items in advance, but the stream can be read only once"
            raise UsageError("U192", what, hint="give a log or a file, or choose candidates='seen'")
        ids = [part.item_vocabulary.decode(np.unique(part.items)) for part, _ in self._tables()]
        return pl.concat(ids).unique().sort()

    def batches(self) -> Iterator[Batch]:
        """Yield all events in batches, in the order of the stream; raise an error for unusable times."""
        begin, latest = 0, -np.inf
        for part, follows in self._tables():
            self._check_times(part)
            batch = self._sorted(part, begin)
            if batch.moments is not None and len(part):
                if follows and batch.moments[0] < latest:
                    raise self._backwards(begin, latest, batch.moments[0], 1, "a table begins before the last one ends")
                latest = float(batch.moments[-1])
            begin += len(part)
            yield batch

    def _tables(self) -> Iterator[tuple[Interactions, bool]]:
        """Yield (table, whether it must not begin before the previous table ended) for each table of the stream."""
        given = self.given
        are_tables = isinstance(given, list | tuple) and len(given) > 0 and all(map(_is_table, given))
        if isinstance(given, Fold):
            yield from ((part, False) for part in (given.train, given.validation, given.test) if part is not None)
        elif isinstance(given, str | Path) and Path(given).suffix in PARQUET_SUFFIXES and Path(given).is_file():
            with reading(str(given)):
                rows = scan_parquet(given).select(pl.len()).collect().item()
            for first in range(0, rows, ROWS):
                yield read_interactions(scan_parquet(given).slice(first, ROWS)), True
        elif isinstance(given, Iterator) or are_tables:
            yield from ((read_interactions(part), True) for part in given)
        else:
            yield given if isinstance(given, Interactions) else read_interactions(given), True

    def _check_times(self, part: Interactions) -> None:
        """Raise an error if the times of a table cannot order its events, or cannot measure a length of time."""
        timed = self.protocol.timed
        missing, instead = ("I201", LENGTHS) if timed else ("I383", ROWS_IN_ORDER)
        require_times(part, self.protocol.needs, self.protocol, missing=missing, instead=instead)
        if not timed or part.timestamps is None or part.timestamps.dtype.is_temporal():
            return
        if (unit := part.time_scale.unit) not in (None, "seconds"):
            what = f"the times of the stream are in {unit}, but {self.protocol} has a length of time in seconds"
            hint = "give the times in seconds, or as dates"
            raise InputError("I385", what, where=part.origin or "the stream", hint=hint)

    def _sorted(self, part: Interactions, begin: int) -> Batch:
        """Return a table as a batch whose first event is number ``begin``, sorted by time if the protocol allows it."""
        numbers, none_moved = np.arange(begin, begin + len(part)), np.zeros(len(part), np.bool_)
        if part.timestamps is None or self.protocol.order == "row":
            return Batch(part, numbers, None, none_moved)
        when = time_values(part.timestamps, part.origin)
        highest = np.maximum.accumulate(when) if when.size else when
        late = when < highest
        if not late.any():
            return Batch(part, numbers, when, none_moved)
        if self.protocol.order == "error":
            row = int(np.argmax(late))
            raise self._backwards(begin + row, highest[row], when[row], int(late.sum()), "time goes backwards")
        order = np.argsort(when, kind="stable")
        return Batch(part.take(order), numbers, when[order], late[order])

    def _backwards(self, event: int, before: float, after: float, count: int, why: str) -> InputError:
        what = f"{why}: event {event:,} is at {after:,g}, and an earlier one at {before:,g} ({count:,} such events)"
        hint = "sort the whole stream by time; prequential(order='sort') sorts the rows of one table"
        return InputError("I383", what, where="the stream", hint=hint)


def _is_table(given: Any) -> bool:
    """Return whether a value in a list is a table, rather than a row of one."""
    return isinstance(given, Interactions) or hasattr(given, "__arrow_c_stream__")


def digest(batch: Batch) -> int:
    """Return a 64-bit digest of the events of a batch and their numbers.

    The digest of several batches is the sum of their digests, modulo 2^64.
    """
    log = batch.log
    users, items = vocabulary_keys(log.user_vocabulary), vocabulary_keys(log.item_vocabulary)
    pairs = pair_keys(log.users, log.items, users, items, 0)
    return int(mix(pairs + mix(batch.event_numbers.astype(np.uint64))).sum(dtype=np.uint64))
