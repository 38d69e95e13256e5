"""The sealed answers: which items were right for each query, and how right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data._kernels import sort_judged
from recassay.data.io import Columns
from recassay.data.layout import (
    LISTS_PER_BLOCK,
    Rows,
    grouped,
    ids_of,
    offsets_without,
    picked,
    readonly,
    repeated,
    stretch_of,
)
from recassay.data.vocabulary import Vocabulary
from recassay.errors import InputError
from recassay.threads import each_block

Negative = Literal["error", "unjudged"]

SCHEMA = {"user_id": "integer or string", "item_id": "integer or string", "gain": "Float64"}


@dataclass(frozen=True, eq=False)
class Truth:
    """Judged items per query (queries ascending), highest gain first, then ascending by id.

    A gain of 0 is a judgement too: not relevant. Rows that repeat a (query, item) are merged into the highest gain
    and counted in ``merged``; ``conflicting`` of them disagreed.

    >>> truth = Truth.from_frame(pl.DataFrame({"user_id": [1, 1, 1], "item_id": [5, 9, 9], "gain": [1, 2, 2]}))
    >>> truth.items.tolist(), truth.gains.tolist(), truth.merged
    ([9, 5], [2.0, 1.0], 1)
    """

    queries: pl.Series
    offsets: NDArray[np.int64]
    items: NDArray[np.int32]
    gains: NDArray[np.float64]
    vocabulary: Vocabulary
    merged: int = 0
    conflicting: int = 0
    origin: str = field(default="", repr=False)
    remarks: Mapping[str, str] = field(default_factory=dict, repr=False)  # what findings say of its file, by code

    @classmethod
    def from_frame(
        cls,
        frame: Rows,
        *,
        negative: Negative = "error",
        origin: str = "",
        remarks: Mapping[str, str] | None = None,
    ) -> Truth:
        """Lay out a table with columns user_id, item_id and, if judgements are graded, gain (absent: 1).

        ``negative="unjudged"`` keeps negative gains, which then mean «in the pool but unjudged» as in TREC.
        ``remarks`` are what findings say of the file, if that is not known of the ``frame``.
        """
        if remarks is None:
            remarks = frame.remarks if isinstance(frame, Columns) else {}
        frame, queries, offsets = grouped(frame, "user_id")
        vocabulary, items = Vocabulary.encode(ids_of(frame, "item_id"))
        gains = _gains(frame, negative, origin, items.size)
        items, gains = _best_first(offsets, items, gains)
        again = repeated(offsets, items)
        merged, conflicting = int(again.sum()), 0
        if merged:
            conflicting = _conflicts(offsets, items, gains, again)
            items, gains, offsets = items[~again], gains[~again], offsets_without(offsets, again)
        return cls(queries, offsets, items, gains, vocabulary, merged, conflicting, origin, remarks)

    @classmethod
    def of_nobody(cls) -> Truth:
        """A truth without users, where the users of a truth are judged elsewhere, or some at a time."""
        nothing = pl.Series("user_id", [], dtype=pl.Int64)
        return cls(nothing, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0), Vocabulary(None))

    def take(self, which: NDArray[np.integer]) -> Truth:
        """The answers to some queries, by their place, ascending."""
        rows, offsets = picked(self.offsets, which)
        gains = np.broadcast_to(np.ones(()), rows.size) if self.gains.strides == (0,) else self.gains[rows]
        return replace(self, queries=self.queries.gather(which), offsets=offsets, items=self.items[rows], gains=gains)

    def frame(self) -> pl.DataFrame:
        """The truth as a table: user_id, item_id, gain."""
        return pl.DataFrame(
            {
                "user_id": self.queries.gather(stretch_of(self.offsets)),
                "item_id": self.vocabulary.decode(self.items),
                "gain": pl.Series(np.ascontiguousarray(self.gains)),
            }
        )


def _gains(frame: Rows, negative: Negative, where: str, rows: int) -> NDArray[np.float64]:
    if "gain" not in frame.columns:
        return np.broadcast_to(np.ones(()), rows)  # one number that stands for all: nothing of the size of the truth
    gains = frame["gain"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    for code, bad, what, hint in (
        ("I306", ~np.isfinite(gains), "missing, NaN or infinite", "give every judged item a gain of 0 or more"),
        (
            "I303",
            gains < 0 if negative == "error" else np.zeros(0, np.bool_),
            "negative",
            "gains are 0 (not relevant) or more; if negative means unjudged, as in TREC pools, say --negative unjudged",
        ),
    ):
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                code,
                f"{int(bad.sum()):,} of {gains.size:,} gains are {what}, the first ({gains[row]}) for user "
                f"{frame['user_id'][row]!r}, item {frame['item_id'][row]!r}",
                where=where,
                hint=hint,
            )
    return gains


def _best_first(
    offsets: NDArray[np.int64], items: NDArray[np.int32], gains: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Judged items of each query by gain descending, then item ascending."""
    offsets, items = readonly(offsets), _own(items)
    graded = gains.strides != (0,)
    keys = _own(gains) if graded else np.empty(0)  # all alike: only items are sorted
    each_block(lambda begin, end: sort_judged(offsets, items, keys, begin, end), offsets.size - 1, size=LISTS_PER_BLOCK)
    return items, keys if graded else gains


def _own(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself if we made it, a copy if it is a read-only view of what was handed in."""
    return array if array.flags.writeable else array.copy()


def _conflicts(
    offsets: NDArray[np.int64], items: NDArray[np.int32], gains: NDArray[np.float64], again: NDArray[np.bool_]
) -> int:
    """Repeated rows whose gain is not that of the row kept."""
    rows = np.flatnonzero(again)
    stretches = np.searchsorted(offsets, rows, side="right") - 1
    pairs = pl.DataFrame({"query": stretch_of(offsets), "item": items, "gain": np.ascontiguousarray(gains)})
    touched = pl.DataFrame({"query": stretches, "item": items[rows]}).unique()
    differing = (
        pairs.join(touched, on=["query", "item"], how="semi")
        .group_by("query", "item")
        .agg((pl.col("gain") < pl.col("gain").max()).sum().alias("lower"))
    )
    return int(differing["lower"].sum())
