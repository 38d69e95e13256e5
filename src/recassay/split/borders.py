"""Places in the order of all rows of a log in parts: exact, by counting, whatever the number of rows.

>>> import polars as pl
>>> from recassay.data.order import float_of, ordinals
>>> from recassay.data.times import times
>>> from recassay.split.in_parts import Whole
>>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": [*"bab"], "timestamp": [4, 9, 7]}))
>>> found = borders(Whole(log), lambda part: ordinals(times(part) * 1.0), lambda n: [0, n - 1])
>>> [float_of(border.key) for border in found]
[4.0, 9.0]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.order import Keys
from recassay.split.in_parts import InParts, Rows
from recassay.split.lots import places_by_lot

DIGIT = 16  # bits of a key that are counted at a time
FEW = 1 << 16  # so many keys are looked at one by one

KeysOf = Callable[[Interactions], Keys]


class Border(NamedTuple):
    """A place in the order of rows by key: before it are lower keys, and ``ties`` of the rows that have its key.

    Rows of one key stand by time and rating, then by row order; they must be of one user, as those of one lot are.
    """

    place: int
    key: int
    ties: int

    def before(self, log: Interactions, keys: Keys) -> Rows:
        """The rows before it."""
        found = keys < np.uint64(self.key)
        if self.ties:
            same = np.flatnonzero(keys == np.uint64(self.key))
            one_group = np.zeros(same.size, np.int32)
            found[same[places_by_lot(log.take(same), one_group, keys[same]) < self.ties]] = True
        return found


@dataclass
class _Search:
    """One place on the way to its key: keys begin with ``head``, and ``rest`` of those are before it."""

    place: int
    head: int
    rest: int


def borders(log: InParts, keys: KeysOf, wanted: Callable[[int], Sequence[int]]) -> list[Border]:
    """The borders at some places 0, 1, ... in the order of all keys; ``wanted`` is told how many keys there are.

    Digits are counted from the highest on, until few keys are left. A place behind all keys has all before it.
    """
    span = log.total(partial(_span, keys))
    shift = -(-(span.low ^ span.high).bit_length() // DIGIT) * DIGIT
    asked = wanted(span.n)
    searches = {place: _Search(place, span.low >> shift, place) for place in asked if place < span.n}
    left = span.n
    while searches and shift and left > FEW:
        shift -= DIGIT
        heads = sorted({one.head for one in searches.values()})
        counts = dict(zip(heads, log.total(partial(_digits, keys, heads, shift)), strict=True))
        left = sum(dict(_narrow(one, counts[one.head]) for one in searches.values()).values())
    heads = sorted({one.head for one in searches.values()})
    few = (
        np.sort(np.concatenate(log.total(partial(_few, keys, heads, shift))))
        if shift and heads
        else np.empty(0, np.uint64)
    )
    found = {place: _ended(one, few, shift) for place, one in searches.items()}
    return [found.get(place, Border(place, span.high, span.n)) for place in asked]


@dataclass(frozen=True)
class _Span:
    """How many keys there are, the least and the greatest."""

    n: int = 0
    low: int = 0
    high: int = 0

    def __add__(self, other: _Span) -> _Span:
        if not (self.n and other.n):
            return self if self.n else other
        return _Span(self.n + other.n, min(self.low, other.low), max(self.high, other.high))


def _span(keys: KeysOf, log: Interactions) -> _Span:
    found = keys(log)
    return _Span(found.size, int(found.min()), int(found.max())) if found.size else _Span()


def _digits(keys: KeysOf, heads: Sequence[int], shift: int, log: Interactions) -> NDArray[np.int64]:
    """For each head, how many keys go on with which digit."""
    digits = keys(log) >> np.uint64(shift)
    begins = digits >> np.uint64(DIGIT)
    rows = (digits[begins == np.uint64(head)] & np.uint64((1 << DIGIT) - 1) for head in heads)
    return np.array([np.bincount(one.astype(np.int64), minlength=1 << DIGIT) for one in rows])


def _narrow(one: _Search, counts: NDArray[np.int64]) -> tuple[int, int]:
    """Add a digit to the head; the head, and how many keys begin with it."""
    ends = np.cumsum(counts)
    digit = int(np.searchsorted(ends, one.rest, side="right"))
    one.rest -= int(ends[digit] - counts[digit])
    one.head = one.head << DIGIT | digit
    return one.head, int(counts[digit])


def _few(keys: KeysOf, heads: Sequence[int], shift: int, log: Interactions) -> list[Keys]:
    """The keys that begin with one of the heads."""
    found = keys(log)
    return [found[np.isin(found >> np.uint64(shift), np.array(heads, np.uint64))]]


def _ended(one: _Search, few: NDArray[np.uint64], shift: int) -> Border:
    """The border, where all digits are known or few keys are left."""
    if not shift:
        return Border(one.place, one.head, one.rest)
    place = int(np.searchsorted(few, np.uint64(one.head << shift))) + one.rest
    return Border(one.place, int(few[place]), place - int(np.searchsorted(few, few[place])))
