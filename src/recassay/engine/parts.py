"""Runs in parts: what is known of some users, and how it adds up to what is known of all.

A part is the lists and the answers of some users, each of whom is in one part only. Its values stand in columns, one
place a user; the columns of all parts, one behind the other, are those of the whole. Everything else that a judgement
is made of adds up: counts, exposures, what checks count, and whether run and truth know anything in common, which some
users alone cannot tell. One part that is everything is the ordinary case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Literal, TypeVar

import numpy as np
import polars as pl

from recassay.data.scores import Values
from recassay.diagnose.counts import Counted
from recassay.errors import InputError
from recassay.metrics.align import Conventions, Met
from recassay.metrics.base import Piece
from recassay.metrics.catalogue.exposure import Exposure
from recassay.metrics.refusals import Acquaintance, refuse

Order = Literal["pessimistic", "optimistic"]  # of tied rows: the worst and the best there is
Column = tuple[Literal["value", "weight"] | Order, str]  # of a heading
Columns = Mapping[Column, Values]
Something = TypeVar("Something")


@dataclass(frozen=True, eq=False)
class Tally:
    """What of a part adds up.

    By heading: ``short`` lists, the ``pieces`` of what accompanies a mean, and ``exposures``. ``strangers`` are errors
    by code, None where run and log, or run and features, turned out to have an item in common.
    """

    met: Met
    known: Acquaintance
    strangers: Mapping[str, InputError | None]
    short: Mapping[str, int]
    pieces: Mapping[str, Mapping[str, Piece]]
    exposures: Mapping[str, Exposure]
    counted: Counted
    some_zero: bool  # a value of 0 under any metric
    low_scores: bool  # a score of 0 or less
    longest: int  # list of a user of the truth

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.met + other.met,
            self.known + other.known,
            _acquainted(self.strangers, other.strangers),
            _added(self.short, other.short),
            {heading: _added(pieces, other.pieces[heading]) for heading, pieces in self.pieces.items()},
            _added(self.exposures, other.exposures),
            _added(self.counted, other.counted),
            self.some_zero or other.some_zero,
            self.low_scores or other.low_scores,
            max(self.longest, other.longest),
        )

    def refuse(self, conventions: Conventions) -> None:
        """Raise for what cannot be judged; of all parts together, and never of one."""
        refuse(self.met, self.known, conventions)
        for error in self.strangers.values():
            if error is not None:
                raise error


@dataclass(frozen=True, eq=False)
class Part:
    """What some users were worth. ``columns`` lack the orders of ties where none of these users has any."""

    units: pl.Series
    columns: Columns
    tally: Tally


def joined(parts: Iterable[Part]) -> Part:
    """Parts in the order of their users as one; users ascend from part to part."""
    given = list(parts)
    keys = dict.fromkeys(key for part in given for key in part.columns)
    return Part(
        pl.concat([part.units for part in given]),
        {key: np.concatenate([column_of(part, key) for part in given]) for key in keys},
        reduce(add, (part.tally for part in given)),
    )


def column_of(part: Part, key: Column) -> Values:
    """A column of a part that some other part has: without ties the worst order and the best are the one there is."""
    kind, heading = key
    if key in part.columns or kind not in ("pessimistic", "optimistic"):
        return part.columns.get(key, np.empty(0))  # only a part of nobody has no weights where others have
    return part.columns["value", heading]


def _added(one: Mapping[str, Something], other: Mapping[str, Something]) -> dict[str, Something]:
    return {name: found + other[name] for name, found in one.items()}  # type: ignore[operator]


def _acquainted(
    one: Mapping[str, InputError | None], other: Mapping[str, InputError | None]
) -> dict[str, InputError | None]:
    """By code: nothing to say once any part has met; what one has not looked for the other speaks for."""
    codes = dict.fromkeys([*one, *other])
    return {
        code: None if None in (one.get(code, 0), other.get(code, 0)) else one.get(code, other.get(code))
        for code in codes
    }
