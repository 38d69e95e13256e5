"""Partial results: the evaluation of some of the users, and how parts combine to the evaluation of all users.

A part holds the lists and the truth of some users; each user is in exactly one part. A part has one value per user and
metric, in columns: concatenated over the parts, they are the columns of the whole. Everything else adds up over parts:
counts, exposures, counts of checks, and whether run and truth share any ids, which no single part can decide. A run
evaluated in one go is a single part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Literal, TypeVar

import numpy as np
import polars as pl

from recassay.checks.counts import CheckCounts
from recassay.errors import InputError
from recassay.metrics.align import AlignmentCounts, Conventions
from recassay.metrics.base import Addend
from recassay.metrics.catalogue.exposure import Exposure
from recassay.metrics.refusals import SharedIds, raise_if_unusable
from recassay.results.scores import Values

Order = Literal["pessimistic", "optimistic"]  # of tied rows: the worst and the best possible
ORDERS: tuple[Order, Order] = ("pessimistic", "optimistic")
Column = tuple[
    Literal["value", "weight", "first", "named"] | Order, str
]  # kind and metric heading, or which part of it
Columns = Mapping[Column, Values]
Addable = TypeVar("Addable")


@dataclass(frozen=True, eq=False)
class PartialCounts:
    """Counts from the evaluation of some of the users, such as the number of short lists.

    Those of several groups of users add up. ``short`` is the number of lists shorter than the cut-off, by metric.
    ``addends`` are sums over users, by metric, from which numbers to report with the mean are computed, and
    ``exposures`` say how often items are recommended. ``unmatched`` has, by error code, the error to raise if no id of
    the training log (or of the item features) ever matches the run, or None once one has.
    """

    alignment: AlignmentCounts
    shared_ids: SharedIds
    unmatched: Mapping[str, InputError | None]
    short: Mapping[str, int]
    addends: Mapping[str, Mapping[str, Addend]]
    exposures: Mapping[str, Exposure]
    counted: CheckCounts
    some_zero: bool  # some metric has a value of 0
    low_scores: bool  # some score is 0 or less
    longest: int  # the longest list of a user in the truth

    def __add__(self, other: PartialCounts) -> PartialCounts:
        return PartialCounts(
            self.alignment + other.alignment,
            self.shared_ids + other.shared_ids,
            _merge_unmatched(self.unmatched, other.unmatched),
            _add_by_name(self.short, other.short),
            {heading: _add_by_name(addends, other.addends[heading]) for heading, addends in self.addends.items()},
            _add_by_name(self.exposures, other.exposures),
            _add_by_name(self.counted, other.counted),
            self.some_zero or other.some_zero,
            self.low_scores or other.low_scores,
            max(self.longest, other.longest),
        )

    def raise_if_unusable(self, conventions: Conventions) -> None:
        """Raise for input that cannot be evaluated; call it on the sum of all parts, as one part cannot show it."""
        raise_if_unusable(self.alignment, self.shared_ids, conventions)
        for error in self.unmatched.values():
            if error is not None:
                raise error


@dataclass(frozen=True, eq=False)
class PartialResult:
    """The evaluation of some of the users: ``columns`` of values per user, and counts (``tally``).

    Columns for the worst and best order of ties are absent if none of these users has ties.
    """

    units: pl.Series
    columns: Columns
    tally: PartialCounts


def concat_parts(parts: Iterable[PartialResult]) -> PartialResult:
    """Join the results of all parts of the users; user ids must ascend from part to part."""
    given = list(parts)
    keys = dict.fromkeys(key for part in given for key in part.columns)
    return PartialResult(
        pl.concat([part.units for part in given]),
        {key: np.concatenate([column_or_value(part, key) for part in given]) for key in keys},
        reduce(add, (part.tally for part in given)),
    )


def column_or_value(part: PartialResult, key: Column) -> Values:
    """Return the column ``key`` (kind, metric heading) of a part of the users.

    The kinds ``pessimistic`` and ``optimistic`` are values in the worst and the best order of ties. A part without ties
    has no such columns: return the plain values, which are the same. Any other missing column is returned as an array
    of length 0.
    """
    kind, heading = key
    if key in part.columns or kind not in ("pessimistic", "optimistic"):
        return part.columns.get(key, np.empty(0))  # only a part without users lacks weights that others have
    return part.columns["value", heading]


def _add_by_name(left: Mapping[str, Addable], right: Mapping[str, Addable]) -> dict[str, Addable]:
    return {name: value + right[name] for name, value in left.items()}  # type: ignore[operator]


def _merge_unmatched(
    left: Mapping[str, InputError | None], right: Mapping[str, InputError | None]
) -> dict[str, InputError | None]:
    """Return, by code, the errors noted for two groups of users: ids of a table that never matched the run.

    A code has the value None if the ids matched in one of the groups. A group that lacks a code did not need these ids.
    """
    codes = dict.fromkeys([*left, *right])
    return {
        code: None if None in (left.get(code, 0), right.get(code, 0)) else left.get(code, right.get(code))
        for code in codes
    }
