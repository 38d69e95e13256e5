"""The ranking task of a fold, the same for every system: query users, their relevant items, and the candidates."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.arrays import Bool, Float, Int32, Int64
from recassay.columnar.layout import ranges, readonly, row_groups
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.standings import ALL, TEST
from recassay.designs._places import FEW, POWERS, WIDTH
from recassay.engine.ranks.blocks import row_in_block
from recassay.errors import InputError
from recassay.protocols.base import Step


@dataclass(frozen=True, eq=False)
class PlacesByQuery:
    """A set of items for each query, such as the relevant ones, as positions in a row of scores.

    Query q has the positions ``places[offsets[q]:offsets[q + 1]]``.
    """

    offsets: Int64
    places: Int32

    def of(self, query: int) -> Int32:
        """Return the positions of the items of a query."""
        return self.places[self.offsets[query] : self.offsets[query + 1]]


@dataclass(frozen=True, eq=False)
class RankingTask:
    """The users with test ratings, the relevant, seen and low-rated items of each, and the base sets of candidates.

    A base set is what designs take candidates from: all items, or the items with a test rating. In a row of scores,
    items have an order of their own, so that items of the same base sets and popularity bins are adjacent; such items
    are a range.

    - ``train``, ``past``: the training part, and the training part plus events revealed since
    - ``weight``: for each item code, the weight of the item in draws by popularity
    - ``users``: the codes of the query users
    - ``relevant``, ``seen``, ``rated``: for each query, positions of relevant, seen and low-rated items in a row of
      scores
    - ``item``: the item code at each position of a row of scores
    - ``cells``: range c of items has the positions ``cells[c]:cells[c + 1]``
    - ``member[b, c]``: whether range c is in base set b, of those named in ``bases``
    - ``bins[m]``: the bin of each range when the items with a test rating are cut into m bins, -1 for other items
    - ``how``: how the fold and the task were made
    - ``steps``: the steps of the protocol, for the driver
    - ``seen_too``: the same task with the items of users' histories among the candidates, if designs that take all
      candidates rank among them
    """

    train: Interactions
    past: Interactions
    weight: Int64
    users: Int32
    relevant: PlacesByQuery
    seen: PlacesByQuery
    rated: PlacesByQuery
    item: Int32
    cells: Int64
    member: Bool
    bins: Mapping[int, Int32]
    how: Mapping[str, Any]
    bases: tuple[str, ...] = (ALL, TEST)
    steps: tuple[Step, ...] = ()
    seen_too: RankingTask | None = None

    @classmethod
    def of(
        cls,
        fold: Fold,
        *,
        relevant_from: float | None = None,
        bins: Iterable[int] = (10,),
        mask_seen: bool = True,
        revealed: Interactions | None = None,
        popularity: Literal["training", "all"] = "training",
        equal_mass: bool = False,
        bins_from: Literal["training", "all"] = "all",
    ) -> RankingTask:
        """Return the task of a fold; test ratings of at least ``relevant_from`` are relevant, by default all.

        The task is the users to query and the items to rank. ``bins`` are numbers of popularity bins; those that exceed
        the number of items with a test rating are left out. By default a user's training items are not candidates (they
        are masked); ``mask_seen=False`` keeps them, to see what masking changes: popular items are masked more often,
        so with masking a system that recommends them meets weaker competition. ``revealed`` are events known before the
        queries, in addition to the training part. The weight of an item in draws by popularity is counted in the
        training part, or with ``popularity="all"`` also among ``revealed`` and in the test part. With ``equal_mass``,
        bins have equal numbers of ratings, else of items; ``bins_from`` says in which parts ratings are counted.
        """
        train, test = fold.train, fold.test
        past = train if revealed is None else train.concat(revealed)
        _refuse_repeated_pairs(past, test)
        users = np.unique(test.users)
        labels, bin_counts = _item_labels(fold, tuple(dict.fromkeys(bins)), equal_mass, bins_from)
        cut = {"equal_mass": equal_mass, "bins_from": bins_from}
        as_usual = {"equal_mass": False, "bins_from": "all"}
        item = np.lexsort((np.arange(train.n_items), *labels[::-1])).astype(np.int32)
        place = np.empty_like(item)
        place[item] = np.arange(item.size, dtype=np.int32)
        inside = labels[:, item]
        begins = np.flatnonzero(np.append(True, (inside[:, 1:] != inside[:, :-1]).any(axis=0))[: item.size])
        tested = inside[0, begins] == 0
        liked = test.liked(relevant_from)
        relevant, low = _distinct_pairs(test, liked), _distinct_pairs(test, ~liked)
        rated = np.setdiff1d(low, relevant, assume_unique=True)
        seen = _all_pairs(past) if mask_seen else np.empty(0, np.int64)
        return cls(
            train=train,
            past=past,
            weight=train.item_users.astype(np.int64) if popularity == "training" else past.item_users + test.item_users,
            users=users,
            relevant=_places_by_query(relevant, users, place),
            seen=_places_by_query(seen, users, place),
            rated=_places_by_query(rated, users, place),
            item=item,
            cells=np.append(begins, item.size),
            member=np.array([np.ones_like(tested), tested]),
            bins={m: inside[row, begins].astype(np.int32) for row, m in enumerate(bin_counts, start=1)},
            how={
                **fold.how, "fold": fold.number, "leakage": fold.leakage,
                "relevant_from": relevant_from, "mask_seen": mask_seen, "popularity": popularity,
                **({} if cut == as_usual else cut),
            },
        )  # fmt: skip

    def bin_of_items(self, m: int) -> Int32:
        """Return the popularity bin of each item code, of ``m`` bins; -1 for an item without a test rating."""
        return np.repeat(self.bins[m], np.diff(self.cells))[self.place]

    @functools.cached_property
    def place(self) -> Int32:
        """Return the position of each item in a row of scores; the items are in the order of their codes."""
        place = np.empty_like(self.item)
        place[self.item] = np.arange(place.size, dtype=np.int32)
        return readonly(place)

    def inside(self, base: str) -> Bool:
        """Return, for each position in score rows, whether its item is in the base set ``base``."""
        return np.repeat(self.member[self.bases.index(base)], np.diff(self.cells))

    def exclude(self, free: Bool, query: int) -> Bool:
        """Return the mask ``free`` of positions in score rows, without the seen and the relevant items of a query."""
        free = free.copy()
        for excluded in (self.seen, self.relevant):
            free[excluded.of(query)] = False
        return free

    @functools.cached_property
    def block_rows(self) -> Int64:
        """Return, for each query, its row in the block of queries that are scored together."""
        return row_in_block(self.queries)

    @functools.cached_property
    def everyone(self) -> Int32:
        """Return the codes of the users whom means can include: all of the log, or only those with training events.

        Some of them may have no query.
        """
        known = np.diff(self.train.by_user[0]) > 0
        return np.flatnonzero(known if "population" in self.how else np.ones_like(known)).astype(np.int32)

    @property
    def queries(self) -> pl.Series:
        """Return the ids of the query users."""
        return self.train.user_vocabulary.decode(self.users)

    def by_base(self, counts: Int64) -> dict[str, Int64]:
        """Return, for each base set by name, the sum of ``counts`` (a column per range of items) over its ranges.

        A base set is what designs take candidates from: AI (all items) or TI (items with a test rating).
        """
        return {base: counts @ inside for base, inside in zip(self.bases, self.member, strict=True)}

    @functools.cached_property
    def pool_sizes(self) -> Int64:
        """Return a table (row: query, column: range of items) of the number of candidates in each range.

        A range holds adjacent items of the same base sets and popularity bins.
        """
        return readonly(self._candidate_weight(np.ones_like(self.weight)).astype(np.int64))

    @functools.cached_property
    def bin_sizes(self) -> Mapping[int, Int64]:
        """Return, for each number of bins, a table (row: query, column: bin) of the number of candidates in the bin."""
        return {m: readonly(self.pool_sizes @ (bins[:, None] == np.arange(m))) for m, bins in self.bins.items()}

    @functools.cached_property
    def pool_weights(self) -> Int64:
        """Return a table (row: query, column: range of items) of the candidates' total weight in each range.

        A range holds adjacent items of the same base sets and popularity bins.
        """
        return readonly(self._candidate_weight(self.weight).astype(np.int64))

    def _candidate_weight(self, weight: NDArray[Any]) -> Float:
        """Return a table (row: query, column: range of items) of the candidates' total weight in each range.

        Candidates are neither relevant nor seen by the user. ``weight`` has the weight of each item code.
        """
        n_cells, weight = self.cells.size - 1, weight[self.item]
        cell = np.repeat(np.arange(n_cells), np.diff(self.cells))
        whole = np.bincount(cell, weights=weight, minlength=n_cells)
        left: Float = np.broadcast_to(whole, (self.users.size, n_cells)).astype(np.float64, order="C")
        for excluded in (self.seen, self.relevant):
            at = row_groups(excluded.offsets) * n_cells + cell[excluded.places]
            left -= np.bincount(at, weights=weight[excluded.places], minlength=left.size).reshape(left.shape)
        return left

    @functools.cached_property
    def others(self) -> dict[str, Int64]:
        """Return, for each base set by name, the number of candidates of each user without a query.

        A base set is what designs take candidates from: AI (all items) or TI (items with a test rating).
        """
        idle = np.setdiff1d(self.everyone, self.users)
        offsets, profile = self.past.by_user
        owner, found = row_groups(offsets), {}
        for base in self.bases:
            member = self.inside(base)[self.place]
            known = np.bincount(owner, weights=member[profile], minlength=self.train.user_vocabulary.size)
            size = np.count_nonzero(member)
            found[base] = np.full(idle.size, size) - (known[idle].astype(np.int64) if self.how["mask_seen"] else 0)
        return found

    @functools.cached_property
    def pool_masses(self) -> dict[str, Float]:
        """Return, for each base set by name, a table with a row per query that describes the weights of its candidates.

        A row is the number of candidates, then their weights if there are at most seven, else the sums of their powers
        1 to 4. A base set is what designs take candidates from: AI (all items) or TI (items with a test rating).
        """
        mass = self.weight.astype(np.float64)
        sums = [
            self._candidate_weight((mass > 0).astype(float)),
            *(self._candidate_weight(mass**power) for power in range(1, POWERS + 1)),
        ]
        found = {}
        for base, inside in zip(self.bases, self.member, strict=True):
            table = np.zeros((self.users.size, WIDTH))
            table[:, : POWERS + 1] = np.stack([cell_sums @ inside for cell_sums in sums], axis=1)
            for query in np.flatnonzero(table[:, 0] <= FEW).tolist():  # few enough to list each weight
                masses = mass[self.item[self.exclude(self.inside(base), query)]]
                table[query, 1:] = 0
                table[query, 1 : 1 + np.count_nonzero(masses)] = masses[masses > 0]
            found[base] = table
        return found


def _item_labels(
    fold: Fold, bins: tuple[int, ...], equal_mass: bool, bins_from: Literal["training", "all"]
) -> tuple[Int64, tuple[int, ...]]:
    """Return a table of labels with a column per item, and the numbers of bins that were kept.

    Row 0 is 1 for an item without a test rating, else 0. Each further row has the popularity bin of each item for one
    of the kept numbers of bins, -1 for an item without a test rating. A number of bins above the number of items with a
    test rating is left out. With ``equal_mass``, bins have equal numbers of ratings, else of items; ``bins_from`` says
    whether training ratings or all are counted.
    """
    tested = fold.test.item_events > 0
    candidates = np.flatnonzero(tested)
    bins = tuple(m for m in bins if m <= candidates.size)
    parts = [fold.train] if bins_from == "training" else [fold.train, fold.test]
    if bins_from == "all" and fold.validation is not None:
        parts.append(fold.validation)
    popularity = np.sum([part.item_users for part in parts], axis=0)
    labels = np.full((1 + len(bins), tested.size), -1, np.int64)
    labels[0] = ~tested
    order = candidates[np.lexsort((candidates, -popularity[candidates]))]
    for row, m in enumerate(bins, start=1):
        if equal_mass:
            labels[row, order] = _bins_of_mass(popularity[order], m)
        else:
            sizes = candidates.size // m + (np.arange(m) < candidates.size % m)
            labels[row, order] = np.repeat(np.arange(m), sizes)
    return labels, bins


def _bins_of_mass(counts: Int64, m: int) -> Int64:
    """Return the bin of each item, from numbers of ratings in descending order: floor(m * share before it).

    The share is the part of all ratings that earlier items have. A very popular item may leave the next bins empty.

    >>> _bins_of_mass(np.array([5, 3, 2, 1, 1, 0]), 2).tolist(), _bins_of_mass(np.array([9, 1, 1, 1]), 3).tolist()
    ([0, 0, 1, 1, 1, 1], [0, 2, 2, 2])
    """
    total = max(int(counts.sum()), 1)
    return np.asarray(np.minimum(m * (np.cumsum(counts) - counts) // total, m - 1), np.int64)


def _distinct_pairs(log: Interactions, rows: Bool) -> Int64:
    """Return the distinct (user, item) pairs of the rows in a mask, ascending, each pair encoded as one number."""
    return np.unique(log.users[rows].astype(np.int64) * max(log.n_items, 1) + log.items[rows])


def _all_pairs(log: Interactions) -> Int64:
    """Return the distinct (user, item) pairs of all rows, ascending, each pair encoded as one number."""
    offsets, profile = log.by_user
    return row_groups(offsets) * max(log.n_items, 1) + profile


def _places_by_query(pairs: Int64, users: Int32, place: Int32) -> PlacesByQuery:
    """Return, for each query user, the positions in score rows of the items in the user's ``pairs``.

    ``pairs`` are ascending (user, item) pairs as :func:`_distinct_pairs` encodes them, and ``place`` is the position of
    each item in score rows.
    """
    width = max(place.size, 1)
    lows, highs = (np.searchsorted(pairs, (users.astype(np.int64) + step) * width) for step in (0, 1))
    offsets = np.append(0, np.cumsum(highs - lows))
    return PlacesByQuery(offsets, place[pairs[ranges(lows, highs - lows)] % width])


def _refuse_repeated_pairs(past: Interactions, test: Interactions) -> None:
    """Raise I310 if a user and item are in both ``past`` and ``test``: a model could rank the item by memory."""
    known, pairs = _all_pairs(past), test.users.astype(np.int64) * max(past.n_items, 1) + test.items
    place = np.minimum(np.searchsorted(known, pairs), max(known.size - 1, 0))
    both = known[place] == pairs if known.size else np.zeros(pairs.size, np.bool_)
    if both.any():
        row = np.array([np.argmax(both)])
        user, item = test.user_vocabulary.decode(test.users[row])[0], test.item_vocabulary.decode(test.items[row])[0]
        raise InputError(
            "I310",
            f"{int(both.sum()):,} test rows repeat an earlier user and item, the first user {user!r}, item {item!r}",
            hint="keep one of each pair before splitting: filters.distinct()",
        )
