"""Truth and training log, in memory or in files: statistics of all users, and the rows of some users on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import pairwise, repeat
from operator import add
from typing import Any

import numpy as np
import polars as pl

from recassay.columnar.vocabulary import concat_ids
from recassay.data.chunks import TableChunks, chunk_boundaries, count_up_to
from recassay.data.interactions import Interactions, ItemCounts
from recassay.data.io.read import RowRange
from recassay.data.truth import Negative, Truth, TruthStatistics, combined_about
from recassay.metrics.base import Metric, truth_statistics_for
from recassay.threads import Progress


@dataclass(frozen=True)
class TableOrigin:
    """The origin of a table read from files: their path, and remarks on them, keyed by the code of a finding."""

    where: str
    remarks: Mapping[str, str]

    @classmethod
    def of(cls, where: str, row_ranges: Sequence[RowRange]) -> TableOrigin:
        """Return the origin of a table in files: its path, and remarks on its files, keyed by the code of a finding.

        If several files have a remark with the same code, the first one is kept.
        """
        return cls(where, {code: text for rows in reversed(row_ranges) for code, text in rows.remarks.items()})


@dataclass(frozen=True, eq=False)
class TruthParts:
    """A truth that may be larger than memory: its statistics, ids of users and items (ascending), and its parts.

    ``about`` has the fingerprint and the counts of the whole truth, to print with results.

    ``cut(ends)`` yields the parts in order: the users up to the first id in ``ends``, those up to the next, and at last
    all users with larger ids.
    """

    statistics: TruthStatistics
    users: pl.Series
    items: pl.Series
    about: Mapping[str, Any]  # fingerprint and counts of the whole truth
    cut: Callable[[Sequence[Any]], Iterator[Truth]]
    chunks: TableChunks | None = None  # None: in memory

    @property
    def size(self) -> int:
        """Return the number of bytes that this object holds in memory, in addition to a truth that is in memory."""
        return 0 if self.chunks is None else int(self.users.estimated_size() + self.items.estimated_size())

    @classmethod
    def in_memory(cls, truth: Truth, metrics: Iterable[Metric]) -> TruthParts:
        """Return a truth in memory that can be cut into parts.

        Its first part has the counts of duplicate rows of the whole truth, the others have 0.
        """

        def cut(ends: Sequence[Any]) -> Iterator[Truth]:
            users = truth.queries
            bounds = [0, *(count_up_to(users, end) for end in ends), users.len()]
            for number, (begin, end) in enumerate(pairwise(bounds)):
                part = truth.take(np.arange(begin, end))
                yield replace(part, merged=0, conflicting=0) if number else part

        return cls(truth_statistics_for(metrics, truth), truth.queries, _items(truth), truth.about, cut)

    @classmethod
    def in_files(
        cls,
        chunks: TableChunks,
        metrics: Sequence[Metric],
        size: float,
        negative: Negative,
        origin: TableOrigin,
        progress: Progress | None,
    ) -> TruthParts:
        """Return a truth in files that can be cut into parts; it is read once, about ``size`` bytes at a time."""
        read = partial(Truth.from_frame, negative=negative, origin=origin.where, remarks=origin.remarks)

        def cut(ends: Sequence[Any]) -> Iterator[Truth]:
            return map(read, chunks.cut(ends))

        statistics, users, items = truth_statistics_for(metrics, Truth.empty()), list[pl.Series](), list[pl.Series]()
        about: dict[str, Any] = {}
        for truth in cut(chunk_boundaries([chunks], size)):
            statistics += truth_statistics_for(metrics, truth)
            users.append(truth.queries)
            about = combined_about(about, truth.about) if about else truth.about
            items = [concat_ids([*items, _items(truth)]).unique()]
            if progress is not None:
                progress(truth.items.size + truth.merged)
        return cls(statistics, concat_ids(users), items[0].sort(), about, cut, chunks)


@dataclass(frozen=True, eq=False)
class TrainingParts:
    """An optional training log that may be larger than memory: the ``whole`` log's statistics, and the log in parts.

    ``cut(ends)`` yields the rows of the log for each part of the users in turn: the users up to the first id in
    ``ends``, those up to the next, and at last all others.
    """

    whole: Interactions | None
    cut: Callable[[Sequence[Any]], Iterator[Interactions | None]]
    chunks: TableChunks | None = None  # None: in memory

    @property
    def size(self) -> int:
        """Return the number of bytes that this object holds in memory, in addition to a log that is in memory."""
        if self.chunks is None or self.whole is None:
            return 0
        counts = self.whole.item_counts
        return int(counts.ids.estimated_size() + counts.users.nbytes + counts.events.nbytes)

    @classmethod
    def in_memory(cls, log: Interactions | None) -> TrainingParts:
        """Return a log in memory (None: no log) as parts; every part of the users gets the whole log."""
        return cls(log, lambda ends: repeat(log, len(ends) + 1))

    @classmethod
    def in_files(
        cls, chunks: TableChunks, size: float, origin: TableOrigin, progress: Progress | None
    ) -> TrainingParts:
        """Return a log in files that can be cut into parts.

        It is read once, about ``size`` bytes at a time, to count items.
        """

        def item_counts() -> Iterator[ItemCounts]:
            for frame in chunks.cut(chunk_boundaries([chunks], size)):
                yield Interactions.from_frame(frame).item_counts
                if progress is not None:
                    progress(frame.height)

        whole = reduce(add, item_counts())
        read = partial(Interactions.from_frame, whole=whole, origin=origin.where, remarks=origin.remarks)

        def cut(ends: Sequence[Any]) -> Iterator[Interactions]:
            return map(read, chunks.cut(ends))

        return cls(read(chunks.empty), cut, chunks)


def _items(truth: Truth) -> pl.Series:
    """Return the ids of the items of a truth, ascending."""
    return truth.vocabulary.decode(np.unique(truth.items))
