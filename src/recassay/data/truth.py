"""The truth: which items are relevant for each query, and how relevant; and statistics of a whole truth."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar._kernels import sort_by_gain
from recassay.columnar.groups import GroupedRows, Rows
from recassay.columnar.identity import SECOND, STEP, id_keys, mix, value_keys
from recassay.columnar.layout import (
    chosen_rows,
    different_numbers,
    groups_per_block,
    is_one_number,
    mark_repeated,
    offsets_without,
    one_number,
    readonly,
    row_groups,
    rows_of_groups,
)
from recassay.columnar.vocabulary import Vocabulary, count_codes
from recassay.errors import InputError
from recassay.naming import choices
from recassay.shown import Displayable
from recassay.threads import each_block

Negative = choices.Negative


@dataclass(frozen=True, eq=False, repr=False)
class Truth(Displayable):
    """Judged items per query (queries ascending), highest gain first, then ascending by id.

    A gain of 0 is a judgement too: not relevant. Rows that repeat a (query, item) are merged to the highest gain and
    counted in ``merged``; ``conflicting`` counts those with a different gain. ``remarks`` maps the code of a finding (a
    problem that results report) to a text about the truth's file. ``unit`` is the word for what the ids of users stand
    for: user, query or session.

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
    remarks: Mapping[str, str] = field(default_factory=dict, repr=False)
    unit: str = "user"

    @classmethod
    def from_frame(
        cls,
        frame: Rows,
        *,
        negative: Negative = "error",
        origin: str = "",
        remarks: Mapping[str, str] | None = None,
    ) -> Truth:
        """Return the truth of a table with columns user_id, item_id and optionally gain (default 1).

        ``negative="unjudged"`` keeps negative gains, which then mean «in the pool but unjudged» as in TREC.
        ``remarks`` are texts that findings report about the file, if ``frame`` does not carry them.
        """
        rows = GroupedRows(frame, "user_id")
        queries, offsets = rows.users, rows.offsets
        vocabulary, items = rows.encode("item_id")
        gains = _gains(rows, negative, origin, items.size)
        items, gains, may_repeat = _sorted_by_gain(offsets, items, gains)
        merged = conflicting = 0
        if may_repeat and (again := mark_repeated(offsets, items)).any():
            merged = int(again.sum())
            conflicting = _conflicts(offsets, items, gains, again)
            items, gains, offsets = items[~again], gains[~again], offsets_without(offsets, again)
        return cls(
            queries, offsets, items, gains, vocabulary, merged, conflicting, origin,
            rows.remarks if remarks is None else remarks, rows.unit,
        )  # fmt: skip

    @classmethod
    def empty(cls) -> Truth:
        """Return a truth without users, for evaluations whose users are handled elsewhere or in parts."""
        nothing = pl.Series("user_id", [], dtype=pl.Int64)
        return cls(nothing, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0), Vocabulary(None))

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return a digest of the judgements; the type of an id counts, the order of rows does not.

        >>> rows = pl.DataFrame({"user_id": [1, 2], "item_id": ["a", "b"]})
        >>> Truth.from_frame(rows).fingerprint == Truth.from_frame(rows[::-1]).fingerprint
        True
        """
        users, salts = mix(id_keys(self.queries)), np.array([[1], [2]], np.uint64)
        gains = value_keys(pl.Series(np.ascontiguousarray(different_numbers(self.gains))))
        table = None if self.vocabulary.ids is None else self._item_keys()

        def digests(begin: int, end: int) -> list[int]:
            rows = slice(int(self.offsets[begin]), int(self.offsets[end]))
            codes, of_user = self.items[rows], np.repeat(users[begin:end], np.diff(self.offsets[begin : end + 1]))
            keys = mix(codes.astype(np.int64).view(np.uint64) ^ SECOND) if table is None else table[codes]
            keys = keys + (gains if gains.size == 1 else gains[rows]) * STEP
            found: list[int] = mix(mix(of_user ^ salts) + keys).sum(axis=1, dtype=np.uint64).tolist()
            return found

        size = groups_per_block(self.queries.len(), self.items.size)
        sums = each_block(digests, self.queries.len(), size=size)
        kinds = "".join(
            "i" if whole else "s" for whole in (self.queries.dtype.is_integer(), self.vocabulary.kind == "integer")
        )
        return kinds + "".join(f"{sum(one[place] for one in sums) % 2**64:016x}" for place in (0, 1))

    @functools.cached_property
    def item_counts(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the codes of the judged items, ascending, and the number of judgements of each."""
        return count_codes(self.items)

    def _item_keys(self) -> NDArray[np.uint64]:
        """Return a hash of the id of each item, by item code; 0 if the item is not judged."""
        codes, _ = self.item_counts
        keys = np.zeros(self.vocabulary.size, np.uint64)
        keys[codes] = mix(id_keys(self.vocabulary.decode(codes)) ^ SECOND)
        return keys

    @property
    def about(self) -> dict[str, Any]:
        """Return what results record: ``fingerprint`` of the truth, and numbers of ``users`` and ``judged`` items."""
        return {"fingerprint": self.fingerprint, "users": self.queries.len(), "judged": int(self.items.size)}

    def take(self, which: NDArray[np.integer]) -> Truth:
        """Return the judgements of only the queries at ``which``, ascending positions."""
        which = chosen_rows(which, self.offsets.size - 1)
        rows, offsets = rows_of_groups(self.offsets, which)
        gains = one_number(1.0, rows.size) if is_one_number(self.gains) else self.gains[rows]
        return replace(self, queries=self.queries.gather(which), offsets=offsets, items=self.items[rows], gains=gains)

    def of_items(self, items: NDArray[np.int32]) -> tuple[Truth, NDArray[np.intp]]:
        """Return the judgements of some items, and the positions of the queries that have one.

        ``items`` are codes, in any order.

        >>> truth = Truth.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": [5, 9, 5]}))
        >>> some, queries = truth.of_items(np.array([9], np.int32))
        >>> some.frame().rows(), queries.tolist()
        ([(1, 9, 1.0)], [0])
        """
        dropped = ~np.isin(self.items, items)
        offsets = offsets_without(self.offsets, dropped)
        kept = np.flatnonzero(np.diff(offsets))
        gains = np.ascontiguousarray(self.gains[~dropped])
        found = replace(
            self,
            queries=self.queries.gather(kept),
            offsets=np.append(offsets[:-1][kept], offsets[-1]),
            items=self.items[~dropped],
            gains=gains,
        )
        return found, kept

    def frame(self) -> pl.DataFrame:
        """Return the truth as a table: user_id, item_id, gain."""
        return pl.DataFrame(
            {
                "user_id": self.queries.gather(row_groups(self.offsets)),
                "item_id": self.vocabulary.decode(self.items),
                "gain": pl.Series(np.ascontiguousarray(self.gains)),
            }
        )


def _gains(table: GroupedRows, negative: Negative, where: str, rows: int) -> NDArray[np.float64]:
    """Return the gains as floats; raise I303 if one is invalid.

    ``negative`` says whether negative gains are an error, ``where`` names the table, and ``rows`` is its number of
    rows.
    """
    if "gain" not in table.columns:
        return one_number(1.0, rows)
    gains = table["gain"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    for code, bad, what, hint in (
        ("I303", ~np.isfinite(gains), "missing, NaN or infinite", "give every judged item a gain of 0 or more"),
        (
            "I303",
            gains < 0 if negative == "error" else np.zeros(0, np.bool_),
            "negative",
            "gains are 0 (not relevant) or more; if negative means unjudged, as in TREC, pass --negative unjudged",
        ),
    ):
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                code,
                f"{int(bad.sum()):,} of {gains.size:,} gains are {what}, the first ({gains[row]}) for user "
                f"{table['user_id'][row]!r}, item {table['item_id'][row]!r}",
                where=where,
                hint=hint,
            )
    return gains


def _sorted_by_gain(
    offsets: NDArray[np.int64], items: NDArray[np.int32], gains: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64], bool]:
    """Return (items, gains, whether a query may have an item twice): each query's rows by gain, descending, then item.

    ``items`` and ``gains`` are the judged item and its gain in each row, and ``offsets[q]:offsets[q + 1]`` the rows of
    query q. Two rows of an item are neighbours afterwards if all gains are equal; else they may be apart.
    """
    offsets, items = readonly(offsets), np.require(items, requirements="W")  # a copy of the caller's data
    graded = not is_one_number(gains)
    keys = np.require(gains, requirements="W") if graded else np.empty(0)  # all gains are equal: only items are sorted
    groups = offsets.size - 1
    repeats = each_block(
        lambda begin, end: sort_by_gain(offsets, items, keys, begin, end),
        groups,
        size=groups_per_block(groups, items.size),
    )
    return items, keys if graded else gains, graded or any(repeats)


def _conflicts(
    offsets: NDArray[np.int64], items: NDArray[np.int32], gains: NDArray[np.float64], again: NDArray[np.bool_]
) -> int:
    """Return the number of repeated (query, item) rows whose gain differs from that of the row kept.

    ``again`` marks the repeated rows, and ``offsets[q]:offsets[q + 1]`` are the rows of query q.
    """
    rows = np.flatnonzero(again)
    queries = np.searchsorted(offsets, rows, side="right") - 1
    pairs = pl.DataFrame({"query": row_groups(offsets), "item": items, "gain": np.ascontiguousarray(gains)})
    touched = pl.DataFrame({"query": queries, "item": items[rows]}).unique()
    differing = (
        pairs.join(touched, on=["query", "item"], how="semi")
        .group_by("query", "item")
        .agg((pl.col("gain") < pl.col("gain").max()).sum().alias("lower"))
    )
    return int(differing["lower"].sum())


def combined_about(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fingerprint and counts (:attr:`Truth.about`) of a truth from those of two parts with different users.

    >>> rows = pl.DataFrame({"user_id": [1, 2, 2], "item_id": ["a", "b", "c"]})
    >>> parts = [Truth.from_frame(rows[begin:end]).about for begin, end in ((0, 1), (1, 3))]
    >>> combined_about(*parts) == Truth.from_frame(rows).about
    True
    """
    first, second = str(one["fingerprint"]), str(other["fingerprint"])
    kinds, digests = first[:-32], ((int(first[at:][:16], 16), int(second[at:][:16], 16)) for at in (-32, -16))
    return {
        "fingerprint": kinds + "".join(f"{(a + b) % 2**64:016x}" for a, b in digests),
        "users": one["users"] + other["users"],
        "judged": one["judged"] + other["judged"],
    }


@dataclass(frozen=True)
class TruthStatistics:
    """Statistics of the judgements of some users; the statistics of disjoint groups of users add up.

    ``max_gain`` is the highest gain, -inf if nothing is judged. ``users_without_lower`` maps a threshold of relevance
    to the number of users all of whose judged items reach it, so no non-relevant item is known for them.

    >>> import polars as pl
    >>> rows = {"user_id": [1, 1, 2, 3], "item_id": [5, 9, 9, 5], "gain": [1, 0, 4, 2]}
    >>> truth = Truth.from_frame(pl.DataFrame(rows))
    >>> first, others = (TruthStatistics.of(truth.take(np.array(users)), [1.0, 3.0]) for users in ([0], [1, 2]))
    >>> first + others
    TruthStatistics(users=3, max_gain=4.0, users_without_lower={1.0: 2, 3.0: 1}, origin='')
    """

    users: int
    max_gain: float
    users_without_lower: Mapping[float, int]
    origin: str = ""

    @classmethod
    def of(cls, truth: Truth, below: Iterable[float] = ()) -> TruthStatistics:
        """Return the statistics of a truth; ``below`` are the thresholds of relevance to count users for."""
        return cls(
            truth.queries.len(),
            float(different_numbers(truth.gains).max(initial=-np.inf)),
            {threshold: _without_any_below(truth, threshold) for threshold in sorted(set(below))},
            truth.origin,
        )

    def __add__(self, other: TruthStatistics) -> TruthStatistics:
        return TruthStatistics(
            self.users + other.users,
            max(self.max_gain, other.max_gain),
            {
                threshold: users + other.users_without_lower[threshold]
                for threshold, users in self.users_without_lower.items()
            },
            self.origin or other.origin,
        )


def _without_any_below(truth: Truth, threshold: float) -> int:
    """Return the number of users without a judged item below a threshold; items of negative gain are not judged."""
    judged = np.append(0, np.cumsum((truth.gains >= 0) & (truth.gains < threshold)))
    return int((np.diff(judged[truth.offsets]) == 0).sum())
