"""Truth and training log where they are, in memory or in files: what is known of all, and some users at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import pairwise, repeat
from operator import add
from typing import Any

import numpy as np
import polars as pl

from recassay.data.interactions import Interactions
from recassay.data.io import Stretch
from recassay.data.item_counts import ItemCounts
from recassay.data.pieces import Pieces, borders, place_behind
from recassay.data.truth import Negative, Truth
from recassay.data.truth_facts import TruthFacts
from recassay.data.vocabulary import stacked
from recassay.metrics.base import Metric, facts_for
from recassay.threads import Progress


@dataclass(frozen=True)
class Origin:
    """The files of a table: where they are, and what findings say of them, by code."""

    where: str
    remarks: Mapping[str, str]

    @classmethod
    def of(cls, where: str, stretches: Sequence[Stretch]) -> Origin:
        """Of the files of one table; the first that has something to say speaks."""
        return cls(where, {code: text for one in reversed(stretches) for code, text in one.remarks.items()})


@dataclass(frozen=True, eq=False)
class Answers:
    """A truth: facts of it, its users and its items, ascending; ``cut`` hands it out in parts, by borders of users."""

    facts: TruthFacts
    users: pl.Series
    items: pl.Series
    cut: Callable[[Sequence[Any]], Iterator[Truth]]
    pieces: Pieces | None = None  # None: it is in memory

    @property
    def size(self) -> int:
        """Bytes of memory that it takes beside a truth that is there anyway."""
        return 0 if self.pieces is None else int(self.users.estimated_size() + self.items.estimated_size())

    @classmethod
    def in_memory(cls, truth: Truth, metrics: Iterable[Metric]) -> Answers:
        """A truth that is there; what was merged in it is counted with the first part."""

        def cut(ends: Sequence[Any]) -> Iterator[Truth]:
            users = truth.queries
            places = [0, *(place_behind(users, end) for end in ends), users.len()]
            for number, (begin, end) in enumerate(pairwise(places)):
                part = truth.take(np.arange(begin, end))
                yield replace(part, merged=0, conflicting=0) if number else part

        return cls(facts_for(metrics, truth), truth.queries, _items(truth), cut)

    @classmethod
    def in_files(
        cls,
        pieces: Pieces,
        metrics: Sequence[Metric],
        size: float,
        negative: Negative,
        origin: Origin,
        progress: Progress | None,
    ) -> Answers:
        """A truth that is read, here once, about ``size`` bytes at a time."""

        made = partial(Truth.from_frame, negative=negative, origin=origin.where, remarks=origin.remarks)

        def cut(ends: Sequence[Any]) -> Iterator[Truth]:
            return map(made, pieces.cut(ends))

        facts, users, items = facts_for(metrics, Truth.of_nobody()), list[pl.Series](), list[pl.Series]()
        for truth in cut(borders([pieces], size)):
            facts += facts_for(metrics, truth)
            users.append(truth.queries)
            items = [stacked([*items, _items(truth)]).unique()]
            if progress is not None:
                progress(truth.items.size + truth.merged)
        return cls(facts, stacked(users), items[0].sort(), cut, pieces)


@dataclass(frozen=True, eq=False)
class Past:
    """A training log, if there is one: what is known of the ``whole``; ``cut`` hands out what parts of users need."""

    whole: Interactions | None
    cut: Callable[[Sequence[Any]], Iterator[Interactions | None]]
    pieces: Pieces | None = None  # None: it is in memory

    @property
    def size(self) -> int:
        """Bytes of memory that it takes beside a log that is there anyway."""
        if self.pieces is None or self.whole is None:
            return 0
        counts = self.whole.item_counts
        return int(counts.ids.estimated_size() + counts.users.nbytes + counts.events.nbytes)

    @classmethod
    def in_memory(cls, log: Interactions | None) -> Past:
        """A log that is there, for all parts; or none."""
        return cls(log, lambda ends: repeat(log, len(ends) + 1))

    @classmethod
    def in_files(cls, pieces: Pieces, size: float, origin: str, progress: Progress | None) -> Past:
        """A log that is read, here once, about ``size`` bytes at a time, to count how many users had each item."""

        def counted() -> Iterator[ItemCounts]:
            for frame in pieces.cut(borders([pieces], size)):
                yield Interactions.from_frame(frame).item_counts
                if progress is not None:
                    progress(frame.height)

        made = partial(Interactions.of_some, whole=reduce(add, counted()), origin=origin)

        def cut(ends: Sequence[Any]) -> Iterator[Interactions]:
            return map(made, pieces.cut(ends))

        return cls(made(pieces.empty), cut, pieces)


def _items(truth: Truth) -> pl.Series:
    """Ids of the items of a truth, ascending."""
    return truth.vocabulary.decode(np.unique(truth.items))
