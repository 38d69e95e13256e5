"""One scoring pass over all queries: standings under every base set, and the top of each list.

A thread scores a tile of users and reads it while it is in cache; nothing of size users x items is ever held. The tile
is a constant, because a matrix product rounds by the shape of its operands; inside a tile products run on one thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from recassay.data.layout import readonly, stretch_of
from recassay.data.recoding import Recoding
from recassay.data.run import Run
from recassay.data.standings import RATED, Percentiles, Standings
from recassay.data.vocabulary import Vocabulary, mixed_kinds, positions
from recassay.engine import _kernels
from recassay.engine.question import Question
from recassay.errors import InputError
from recassay.metrics.context import known_ids
from recassay.models.base import checked
from recassay.threads import Progress, each_block

TILE = 64

Table = NDArray[np.floating]
Rows = Callable[[int, int], Table]


def stand(
    question: Question,
    fitted: Any,
    name: str,
    *,
    k: int = 0,
    popularity: bool = True,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[Standings, Run | None]:
    """The standings of a system, and its top k as a run (none for k = 0).

    ``fitted`` has ``user_factors`` and ``item_factors``, whose products are its scores, or ``scores``, which gives a
    row of scores over all items for an array of user codes. With ``popularity`` the mass above each relevant item is
    taken too, for sampling in proportion to an item's users in training.
    """
    rows = score_rows(question, fitted, name)
    return _read(question, rows, name, k=k, popularity=popularity, threads=threads, progress=progress)


def score_rows(question: Question, fitted: Any, name: str) -> Rows:
    """A function from a tile of at most ``TILE`` queries to their scores of all items, in the question's order."""
    return _product(question, fitted, name) if hasattr(fitted, "item_factors") else _given(question, fitted, name)


def stand_lists(question: Question, run: Run, *, popularity: bool = True, threads: int | None = None) -> Standings:
    """Standings from ranked lists, as far as they reach: what a list does not hold ties at its end.

    A list that says nothing of an item may have left it out for any reason, so an item that a user has in training
    counts in no list. Rows that tie in the run tie here. Users of the run that are not asked are let go.
    """
    standings, _ = _read(question, _listed(question, run), run.name, k=0, popularity=popularity, threads=threads)
    return standings


def _read(
    question: Question,
    rows: Rows,
    name: str,
    *,
    k: int,
    popularity: bool,
    threads: int | None,
    progress: Progress | None = None,
) -> tuple[Standings, Run | None]:
    pairs, n, bases = question.relevant.places.size, question.users.size, len(question.bases)
    relevant, tie_relevant, bottom = (
        question.relevant.places.copy(),
        np.zeros(pairs, np.int32),
        np.zeros(pairs, np.bool_),
    )
    above, tied = (np.zeros((pairs, bases + len(question.bins) + 1), np.int32) for _ in range(2))
    mass_above, mass_tied = (np.zeros((pairs if popularity else 0, bases), np.int64) for _ in range(2))
    weight = question.weight
    weights = weight[question.item].astype(np.int32) if popularity else np.empty(0, np.int32)
    bins = np.array([*question.bins.values()], np.int32).reshape(-1, question.cells.size - 1)
    places, values = np.empty((n, k), np.int32), np.empty((n, k))

    def work(begin: int, end: int) -> None:
        table = rows(begin, end)
        best = np.empty((end - begin, k), table.dtype)
        _kernels.stand(
            table, begin, readonly(question.seen.offsets), readonly(question.seen.places),
            readonly(question.relevant.offsets), relevant, readonly(question.item), readonly(question.cells),
            readonly(question.member), readonly(bins), readonly(question.rated.offsets),
            readonly(question.rated.places), readonly(weights), above, tied, mass_above, mass_tied, tie_relevant,
            bottom, places[begin:end], best,
        )  # fmt: skip
        values[begin:end] = best

    first = min(TILE, n)
    with threadpool_limits(1):
        work(0, first)  # by itself: what a system gets wrong shows here, before threads are kept busy for hours
        each_block(
            lambda begin, end: work(first + begin, first + end), n - first, size=TILE, threads=threads,
            progress=progress,
        )  # fmt: skip
    columns = [*question.bases, *question.bins, RATED]

    def named(table: NDArray[np.integer], names: Iterable[str]) -> dict[str, NDArray[np.int64]]:
        return {name: table[:, columns.index(name)].astype(np.int64) for name in names}

    pools = question.pools(np.ones_like(weight))
    masses = question.pools(weight) if popularity else pools
    standings = Standings(
        name=name,
        queries=question.queries,
        offsets=question.relevant.offsets,
        item=question.item[relevant],
        vocabulary=question.train.item_vocabulary,
        tie_relevant=tie_relevant,
        above=named(above, (*question.bases, RATED)),
        tied=named(tied, (*question.bases, RATED)),
        pool={**question.by_base(pools), RATED: np.diff(question.rated.offsets)},
        mass_above=named(mass_above, question.bases) if popularity else {},
        mass_tied=named(mass_tied, question.bases) if popularity else {},
        mass=question.by_base(masses) if popularity else {},
        percentiles={
            m: _percentiles(question, m, relevant, pools, above[:, place], tied[:, place])
            for place, m in enumerate(question.bins, start=bases)
        },
        users=question.train.n_users,
        everyone=question.train.user_vocabulary.ids,
        popularity=weight,
        unlisted=int(bottom.sum()),
        how=question.how,
    )
    return standings, _run(question, places, values, name) if k else None


def _percentiles(
    question: Question,
    m: int,
    relevant: NDArray[np.int32],
    pools: NDArray[np.int64],
    above: NDArray[np.int32],
    tied: NDArray[np.int32],
) -> Percentiles:
    """Counts within bins, and the pool of each pair's own bin."""
    bin_of_cell = question.bins[m]
    own = bin_of_cell[np.searchsorted(question.cells, relevant, side="right") - 1]
    of_bin = pools @ (bin_of_cell[:, None] == np.arange(m))
    pool = of_bin[stretch_of(question.relevant.offsets), own]
    return Percentiles(m, own, above.astype(np.int64), tied.astype(np.int64), pool)


def _product(question: Question, fitted: Any, name: str) -> Rows:
    """Score rows as products of factors, with the items already in the question's order."""
    users, items = np.asarray(fitted.user_factors, np.float32), np.asarray(fitted.item_factors, np.float32)
    expected = (question.train.n_users, question.train.n_items)
    if (users.shape[0], items.shape[0]) != expected or users.shape[1:] != items.shape[1:]:
        raise InputError(
            "I308",
            f"{name} has factors of shapes {users.shape} and {items.shape} for {expected[0]:,} users and "
            f"{expected[1]:,} items",
            hint="give a row of factors per user and per item of the fold, all of one width",
        )
    largest = float(np.abs(users).max(initial=0)) * float(np.abs(items).max(initial=0)) * max(users.shape[1], 1)
    if not largest < float(np.finfo(np.float32).max):  # then no product is NaN, and no row must be looked through
        raise InputError(
            "I309", f"{name} has NaN, infinite or huge factors", hint="look at how it was fitted: it did not converge"
        )
    columns = np.ascontiguousarray(items[question.item].T)
    own = threading.local()  # a table per thread, written again and again: fresh memory costs as much as the product

    def rows(begin: int, end: int) -> Table:
        if not hasattr(own, "table"):
            own.table = np.empty((TILE, question.item.size), np.float32)
        tile = np.zeros((TILE, users.shape[1]), np.float32)
        tile[: end - begin] = users[question.users[begin:end]]
        table: Table = np.matmul(tile, columns, out=own.table)[: end - begin]
        return table

    return rows


def _given(question: Question, fitted: Any, name: str) -> Rows:
    """Score rows as the system gives them; every tile has the same number of users."""

    def rows(begin: int, end: int) -> Table:
        tile = np.zeros(TILE, np.int32)
        tile[: end - begin] = question.users[begin:end]
        table = checked(fitted.scores(tile), (TILE, question.item.size), name)
        return np.take(table[: end - begin], question.item, axis=1)

    return rows


def _listed(question: Question, run: Run) -> Rows:
    """Score rows from ranked lists: minus infinity for what is not listed, equal scores for rows that tie."""
    train = question.train
    place = np.empty_like(question.item)
    place[question.item] = np.arange(question.item.size, dtype=np.int32)
    item = Recoding.between(run.vocabulary, known_ids(train.item_vocabulary))(run.items)
    level = np.arange(run.items.size) if run.tied is None else np.maximum.accumulate(
        np.where(run.tied, 0, np.arange(run.items.size))
    )  # fmt: skip
    ours, theirs = Vocabulary(question.queries), Vocabulary(run.queries)
    if ours.kind != theirs.kind:
        raise mixed_kinds("user", ours, theirs)
    row = positions(question.queries, run.queries)
    lows = np.where(row >= 0, run.offsets[row], 0)
    lengths = np.where(row >= 0, run.offsets[row + 1] - run.offsets[row], 0)

    def rows(begin: int, end: int) -> Table:
        table = np.full((end - begin, question.item.size), -np.inf, np.float32)
        length = lengths[begin:end]
        query = np.repeat(np.arange(end - begin), length)
        at = np.arange(query.size) - np.repeat(np.cumsum(length) - length, length) + np.repeat(lows[begin:end], length)
        known = item[at] >= 0
        depth = (level[at] - lows[begin:end][query]).astype(np.float32)
        np.maximum.at(
            table, (query[known], place[item[at[known]]]), -depth[known]
        )  # a repeated item keeps its first place
        return table

    return rows


def _run(question: Question, places: NDArray[np.int32], values: NDArray[np.float64], name: str) -> Run:
    """The lists of those who have one."""
    filled = places >= 0
    lengths = filled.sum(axis=1)
    return Run(
        name=name,
        queries=question.queries.filter(pl.Series(lengths > 0)),
        offsets=np.append(0, np.cumsum(lengths[lengths > 0])),
        items=question.item[places[filled]],
        vocabulary=question.train.item_vocabulary,
        order="rank",
        score_column=pl.Series(values[filled]),
    )
