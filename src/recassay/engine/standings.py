"""One scoring pass over all queries: standings under every base set, and the top of each list.

A thread scores a tile of users and reads it while it is in cache; nothing of size users x items is ever held. The tile
is a constant, because a matrix product rounds by the shape of its operands; inside a tile products run on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.layout import readonly
from recassay.data.run import Run
from recassay.data.standings import ALL, TEST, Standings
from recassay.engine import _kernels
from recassay.errors import InputError
from recassay.metrics.base import sums
from recassay.threads import Progress, each_block

TILE = 64

Score = Callable[[NDArray[np.int32]], NDArray[np.floating]]


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of every system of a fold: its users with test ratings, their relevant items, the base sets.

    Score rows are read in an order of items of their own: ``item`` is the item at each place. It puts the items of a
    cell, which belong to the same base sets, side by side: ``cells`` are their bounds, and ``member[b, c]`` says
    whether cell c is in base set b. ``relevant`` (``offsets``) and ``seen`` (``seen_offsets``) hold places.
    """

    train: Interactions
    users: NDArray[np.int32]
    offsets: NDArray[np.int64]
    relevant: NDArray[np.int32]
    seen_offsets: NDArray[np.int64]
    seen: NDArray[np.int32]
    item: NDArray[np.int32]
    cells: NDArray[np.int64]
    member: NDArray[np.bool_]
    bases: tuple[str, ...] = (ALL, TEST)

    @classmethod
    def of(cls, fold: Fold, *, relevant_from: float | None = None) -> Question:
        """The question of a fold; test ratings are relevant from a value, or all of them."""
        train, test = fold.train, fold.test
        _refuse_known(train, test)
        liked = np.ones(len(test), np.bool_)
        if relevant_from is not None:
            if test.ratings is None:
                raise InputError("I307", "relevance from a rating was asked for, and the log has no ratings")
            liked = test.ratings >= relevant_from
        users = np.unique(test.users)
        pairs = np.unique(test.users[liked].astype(np.int64) * test.n_items + test.items[liked])
        offsets = np.append(np.searchsorted(pairs, users.astype(np.int64) * test.n_items), pairs.size)
        profile_offsets, profile = train.by_user
        lengths = profile_offsets[users + 1] - profile_offsets[users]
        seen_offsets = np.append(0, np.cumsum(lengths))
        rows = np.repeat(profile_offsets[users] - seen_offsets[:-1], lengths) + np.arange(seen_offsets[-1])
        tested = np.bincount(test.items, minlength=test.n_items) > 0
        item = np.argsort(~tested, kind="stable").astype(np.int32)  # items with test ratings first
        place = np.empty_like(item)
        place[item] = np.arange(item.size, dtype=np.int32)
        return cls(
            train, users, offsets, place[pairs % max(test.n_items, 1)], seen_offsets, place[profile[rows]], item,
            np.array([0, tested.sum(), item.size]), np.array([[True, True], [True, False]]),
        )  # fmt: skip

    def pool(self, weight: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """For each base set the weight of all candidates of each query that are not relevant for it."""
        pools = []
        for cells in self.member:
            inside = np.repeat(cells, np.diff(self.cells))
            worth = np.where(inside, weight[self.item], 0.0)
            pools.append(
                worth.sum() - sums(self.seen_offsets, worth[self.seen]) - sums(self.offsets, worth[self.relevant])
            )
        return pools


def stand(
    question: Question,
    score: Score,
    name: str,
    *,
    k: int = 0,
    popularity: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[Standings, Run | None]:
    """The standings of a system, and its top k as a run (none for k = 0).

    ``score`` gives a row of scores over all items for an array of user codes. With ``popularity`` the mass above each
    relevant item is taken too, for sampling in proportion to an item's users in training.
    """
    pairs, n, cells = int(question.offsets[-1]), question.users.size, question.cells.size - 1
    relevant, tie_relevant = question.relevant.copy(), np.zeros(pairs, np.int32)
    above, tied = np.zeros((pairs, cells), np.int32), np.zeros((pairs, cells), np.int32)
    weight = question.train.item_users.astype(np.float64)
    weights = weight[question.item] if popularity else np.empty(0)
    mass_above, mass_tied = (np.zeros((pairs if popularity else 0, cells)) for _ in range(2))
    places, values = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
    n_items = question.item.size

    def work(begin: int, end: int) -> None:
        tile = np.zeros(TILE, np.int32)
        tile[: end - begin] = question.users[begin:end]
        table = np.take(_checked(score(tile), name, n_items)[: end - begin], question.item, axis=1)
        _kernels.stand(
            table, begin, readonly(question.seen_offsets), readonly(question.seen), readonly(question.offsets),
            relevant, readonly(question.item), readonly(question.cells), readonly(weights), above, tied, mass_above,
            mass_tied, tie_relevant, places[begin:end], values[begin:end],
        )  # fmt: skip

    with threadpool_limits(1):
        each_block(work, n, size=TILE, threads=threads, progress=progress)

    def by_base(counts: NDArray[np.generic]) -> dict[str, NDArray[Any]]:
        return {
            base: counts[:, inside].sum(axis=1) for base, inside in zip(question.bases, question.member, strict=True)
        }

    counts, masses = question.pool(np.ones(n_items)), question.pool(weight) if popularity else []
    standings = Standings(
        name=name,
        queries=question.train.user_vocabulary.decode(question.users),
        offsets=question.offsets,
        item=question.item[relevant],
        vocabulary=question.train.item_vocabulary,
        tie_relevant=tie_relevant,
        above=by_base(above.astype(np.int64)),
        tied=by_base(tied.astype(np.int64)),
        pool={base: pool.astype(np.int64) for base, pool in zip(question.bases, counts, strict=True)},
        mass_above=by_base(mass_above.astype(np.int64)) if popularity else {},
        mass_tied=by_base(mass_tied.astype(np.int64)) if popularity else {},
        mass={base: mass.astype(np.int64) for base, mass in zip(question.bases, masses, strict=popularity)},
    )
    return standings, _run(question, places, values, name) if k else None


def _checked(table: NDArray[np.floating], name: str, n_items: int) -> NDArray[np.float32]:
    """Scores of a tile as a table of its own that may be written to."""
    if table.shape != (TILE, n_items):
        raise InputError(
            "I308",
            f"{name} gave scores of shape {table.shape} for {TILE} users and {n_items:,} items",
            hint=f"give an array of shape ({TILE}, {n_items}): a row per user, a column per item of the fold",
        )
    if np.isnan(table).any():
        count = int(np.isnan(table).sum())
        raise InputError(
            "I309", f"{name} gave {count:,} NaN scores for {TILE} users", hint="give -inf for what cannot be scored"
        )
    return table.astype(np.float32, copy=False)


def _run(question: Question, places: NDArray[np.int32], values: NDArray[np.float32], name: str) -> Run:
    row, rank = np.nonzero(places >= 0)
    frame = pl.DataFrame(
        {
            "user_id": question.train.user_vocabulary.decode(question.users[row]),
            "item_id": question.train.item_vocabulary.decode(question.item[places[row, rank]]),
            "rank": pl.Series(rank + 1, dtype=pl.Int32),
            "score": values[row, rank].astype(np.float64),
        }
    )
    return Run.from_frame(frame, name)


def _refuse_known(train: Interactions, test: Interactions) -> None:
    """A pair in train and test would be answered by memory."""
    width = max(train.n_items, 1)
    known = np.unique(train.users.astype(np.int64) * width + train.items)
    asked = test.users.astype(np.int64) * width + test.items
    place = np.minimum(np.searchsorted(known, asked), max(known.size - 1, 0))
    both = known[place] == asked if known.size else np.zeros(asked.size, np.bool_)
    if both.any():
        row = int(np.argmax(both))
        user, item = (
            test.user_vocabulary.decode(test.users[[row]])[0],
            test.item_vocabulary.decode(test.items[[row]])[0],
        )
        raise InputError(
            "I310",
            f"{int(both.sum()):,} test rows repeat a user and item of training, the first user {user!r}, item {item!r}",
            hint="keep one of each pair before splitting",
        )
