"""What is asked of every system of a fold: whom, which of their items are relevant, and among which candidates."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.layout import stretch_of
from recassay.data.standings import ALL, TEST
from recassay.designs._places import FEW, POWERS, WIDTH
from recassay.engine.tiles import rows_of
from recassay.errors import InputError

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Lists:
    """A list of places for every query: query q has ``places[offsets[q]:offsets[q + 1]]``."""

    offsets: Int64
    places: Int32


@dataclass(frozen=True, eq=False)
class Question:
    """The users with test ratings, what is relevant for each, what each has seen or rated low, and the base sets.

    Score rows are read in an order of items of their own: ``item`` is the item at each place. It puts the items of a
    cell, which belong to the same base sets and popularity bins, side by side: ``cells`` are their bounds, and
    ``member[b, c]`` says whether cell c is in base set b. ``bins[m]`` is the bin of each cell when the items with a
    test rating are cut into m bins; -1 for the others. ``relevant``, ``seen`` and ``rated`` hold places. ``past`` is
    the training part and what was revealed since; ``weight`` is that of every item (by code) where candidates are
    sampled by popularity.
    """

    train: Interactions
    past: Interactions
    weight: Int64
    users: Int32
    relevant: Lists
    seen: Lists
    rated: Lists
    item: Int32
    cells: Int64
    member: NDArray[np.bool_]
    bins: Mapping[int, Int32]
    how: Mapping[str, Any]
    bases: tuple[str, ...] = (ALL, TEST)

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
    ) -> Question:
        """The question of a fold; test ratings are relevant from a value, or all of them.

        ``mask_seen=False`` leaves items that a user has had among the candidates: a diagnostic, since popular items are
        left out more often, and whoever recommends them meets weaker competition. There are no ``bins`` where they
        would outnumber the items with a test rating.
        """
        train, test = fold.train, fold.test
        past = train if revealed is None else train.followed_by(revealed)
        _refuse_known(past, test)
        users = np.unique(test.users)
        labels, wanted = _labels(fold, tuple(dict.fromkeys(bins)))
        item = np.lexsort((np.arange(train.n_items), *labels[::-1])).astype(np.int32)
        place = np.empty_like(item)
        place[item] = np.arange(item.size, dtype=np.int32)
        inside = labels[:, item]
        begins = np.flatnonzero(np.append(True, (inside[:, 1:] != inside[:, :-1]).any(axis=0))[: item.size])
        tested = inside[0, begins] == 0
        liked = test.liked(relevant_from)
        relevant, low = _pairs(test, liked), _pairs(test, ~liked)
        rated = np.setdiff1d(low, relevant, assume_unique=True)
        seen = _keys(past) if mask_seen else np.empty(0, np.int64)
        return cls(
            train=train,
            past=past,
            weight=train.item_users.astype(np.int64) if popularity == "training" else past.item_users + test.item_users,
            users=users,
            relevant=_of_users(relevant, users, place),
            seen=_of_users(seen, users, place),
            rated=_of_users(rated, users, place),
            item=item,
            cells=np.append(begins, item.size),
            member=np.array([np.ones_like(tested), tested]),
            bins={m: inside[row, begins].astype(np.int32) for row, m in enumerate(wanted, start=1)},
            how={
                **fold.how, "fold": fold.number, "leakage": fold.leakage,
                "relevant_from": relevant_from, "mask_seen": mask_seen, "popularity": popularity,
            },
        )  # fmt: skip

    @functools.cached_property
    def rows(self) -> Int64:
        """The row that each of those who are asked has in a tile."""
        return rows_of(self.queries)

    @property
    def queries(self) -> pl.Series:
        """The ids of those who are asked."""
        return self.train.user_vocabulary.decode(self.users)

    def by_base(self, counts: Int64) -> dict[str, Int64]:
        """Counts by cell (n, cells), summed over the cells of each base set."""
        return {base: counts @ inside for base, inside in zip(self.bases, self.member, strict=True)}

    def pools(self, weight: Int64) -> Int64:
        """For each query and cell the weight (of items, by code) of candidates that are not relevant for it."""
        return self._left(weight).astype(np.int64)

    def _left(self, weight: NDArray[Any]) -> Float:
        """As :func:`pools`, of weights that need not be whole numbers."""
        n_cells, weight = self.cells.size - 1, weight[self.item]
        cell = np.repeat(np.arange(n_cells), np.diff(self.cells))
        whole = np.bincount(cell, weights=weight, minlength=n_cells)
        left: Float = np.broadcast_to(whole, (self.users.size, n_cells)).astype(np.float64, order="C")
        for out in (self.seen, self.relevant):
            at = stretch_of(out.offsets) * n_cells + cell[out.places]
            left -= np.bincount(at, weights=weight[out.places], minlength=left.size).reshape(left.shape)
        return left

    @functools.cached_property
    def others(self) -> dict[str, Int64]:
        """The number of candidates of every user who is not asked, for each base set."""
        idle = np.setdiff1d(np.arange(self.train.user_vocabulary.size), self.users)
        offsets, profile = self.past.by_user
        who, found = stretch_of(offsets), {}
        for base, inside in zip(self.bases, self.member, strict=True):
            member = np.empty(self.item.size, np.bool_)
            member[self.item] = np.repeat(inside, np.diff(self.cells))
            known = np.bincount(who, weights=member[profile], minlength=self.train.user_vocabulary.size)
            size = np.count_nonzero(member)
            found[base] = np.full(idle.size, size) - (known[idle].astype(np.int64) if self.how["mask_seen"] else 0)
        return found

    @functools.cached_property
    def pool_masses(self) -> dict[str, Float]:
        """For each base set and query what its candidates weigh (``Standings.pool_masses``)."""
        mass = self.weight.astype(np.float64)
        sums = [self._left((mass > 0).astype(float)), *(self._left(mass**power) for power in range(1, POWERS + 1))]
        found = {}
        for base, inside in zip(self.bases, self.member, strict=True):
            table = np.zeros((self.users.size, WIDTH))
            table[:, : POWERS + 1] = np.stack([one @ inside for one in sums], axis=1)
            for query in np.flatnonzero(table[:, 0] <= FEW):  # so few that each is known
                free = np.repeat(inside, np.diff(self.cells))
                for out in (self.seen, self.relevant):
                    free[out.places[out.offsets[query] : out.offsets[query + 1]]] = False
                masses = mass[self.item[free]]
                table[query, 1:] = 0
                table[query, 1 : 1 + np.count_nonzero(masses)] = masses[masses > 0]
            found[base] = table
        return found


def _labels(fold: Fold, bins: tuple[int, ...]) -> tuple[Int64, tuple[int, ...]]:
    """For every item whether it lacks a test rating (0, 1), and its bin for each number of bins (-1: in none)."""
    tested = fold.test.item_events > 0
    candidates = np.flatnonzero(tested)
    bins = tuple(m for m in bins if m <= candidates.size)
    parts = [fold.train, fold.test] + ([] if fold.validation is None else [fold.validation])
    popularity = np.sum([part.item_users for part in parts], axis=0)
    labels = np.full((1 + len(bins), tested.size), -1, np.int64)
    labels[0] = ~tested
    order = candidates[np.lexsort((candidates, -popularity[candidates]))]
    for row, m in enumerate(bins, start=1):
        sizes = candidates.size // m + (np.arange(m) < candidates.size % m)
        labels[row, order] = np.repeat(np.arange(m), sizes)
    return labels, bins


def _pairs(log: Interactions, rows: NDArray[np.bool_]) -> Int64:
    """Distinct (user, item) pairs of some rows as one number each, ascending."""
    return np.unique(log.users[rows].astype(np.int64) * max(log.n_items, 1) + log.items[rows])


def _keys(log: Interactions) -> Int64:
    """As :func:`_pairs` for all rows."""
    offsets, profile = log.by_user
    return stretch_of(offsets) * max(log.n_items, 1) + profile


def _of_users(pairs: Int64, users: Int32, place: Int32) -> Lists:
    """The places of the items of those pairs whose user is asked."""
    width = max(place.size, 1)
    lows, highs = (np.searchsorted(pairs, (users.astype(np.int64) + step) * width) for step in (0, 1))
    offsets = np.append(0, np.cumsum(highs - lows))
    rows = np.repeat(lows - offsets[:-1], highs - lows) + np.arange(offsets[-1])
    return Lists(offsets, place[pairs[rows] % width])


def _refuse_known(past: Interactions, test: Interactions) -> None:
    """A pair in the past and in test would be answered by memory."""
    known, asked = _keys(past), test.users.astype(np.int64) * max(past.n_items, 1) + test.items
    place = np.minimum(np.searchsorted(known, asked), max(known.size - 1, 0))
    both = known[place] == asked if known.size else np.zeros(asked.size, np.bool_)
    if both.any():
        row = np.array([np.argmax(both)])
        user, item = test.user_vocabulary.decode(test.users[row])[0], test.item_vocabulary.decode(test.items[row])[0]
        raise InputError(
            "I310",
            f"{int(both.sum()):,} test rows repeat an earlier user and item, the first user {user!r}, item {item!r}",
            hint="keep one of each pair before splitting: filters.distinct()",
        )
