"""One scoring pass over all queries: standings under every base set, and the top of each list.

A thread scores a tile of users and reads it while it is in cache; nothing of size users x items is ever held. The tile
is a constant, because a matrix product rounds by the shape of its operands; inside a tile products run on one thread.
Who stands where in a tile is said by :mod:`recassay.engine.tiles`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
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
from recassay.designs._places import WIDTH
from recassay.engine import _kernels
from recassay.engine.question import Question
from recassay.engine.tiles import NOBODY, TILE, tiles_of
from recassay.errors import InputError
from recassay.metrics.context import known_ids
from recassay.models.base import checked
from recassay.threads import Progress, each_block

Int32 = NDArray[np.int32]
Table = NDArray[np.floating]
Rows = Callable[[Int32], Table]  # of a tile


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
    """A function from a tile of queries to their scores of all items, in the question's order; nobody has any."""
    return _product(question, fitted, name) if hasattr(fitted, "item_factors") else _given(question, fitted, name)


def side_by_side(rows: Rows, row: NDArray[np.int64], begin: int, end: int) -> Table:
    """Scores of the queries begin..end, one below the other; ``row`` is that of each query in its tile."""
    tiles = tiles_of(row[begin:end])
    tiles[tiles != NOBODY] += begin
    table = rows(tiles[0])
    found = np.empty((end - begin, table.shape[1]), table.dtype)
    for place, asked in enumerate(tiles):
        there = asked != NOBODY
        found[asked[there] - begin] = (rows(asked) if place else table)[there]
    return found


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
    tied_masses = np.zeros((bases, pairs if popularity else 0, WIDTH))
    weight = question.weight
    weights = weight[question.item].astype(np.int32) if popularity else np.empty(0, np.int32)
    bins = np.array([*question.bins.values()], np.int32).reshape(-1, question.cells.size - 1)
    places, values = np.empty((n, k), np.int32), np.empty((n, k))
    tiles = tiles_of(question.rows)

    def work(some: Int32, tile: int, _: int) -> None:
        asked = some[tile]
        table = rows(asked)
        best = np.empty((TILE, k), table.dtype)
        _kernels.stand(
            table, readonly(asked), readonly(question.seen.offsets), readonly(question.seen.places),
            readonly(question.relevant.offsets), relevant, readonly(question.item), readonly(question.cells),
            readonly(question.member), readonly(bins), readonly(question.rated.offsets),
            readonly(question.rated.places), readonly(weights), above, tied, mass_above, mass_tied, tied_masses,
            tie_relevant, bottom, places, best,
        )  # fmt: skip
        there = asked != NOBODY
        values[asked[there]] = best[there]

    def told(some: Int32) -> Progress | None:
        users = iter((some != NOBODY).sum(axis=1).tolist())
        return None if progress is None else lambda _: progress(next(users))

    with threadpool_limits(1):
        # The first by itself: what a system gets wrong shows here, before threads are kept busy for hours.
        for some in (tiles[:1], tiles[1:]):
            each_block(partial(work, some), len(some), size=1, threads=threads, progress=told(some))
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
        tied_masses=dict(zip(question.bases, tied_masses, strict=True)) if popularity else {},
        pool_masses=question.pool_masses if popularity else {},
        percentiles={
            m: _percentiles(question, m, relevant, pools, above[:, place], tied[:, place])
            for place, m in enumerate(question.bins, start=bases)
        },
        others=question.others,
        users=question.train.user_vocabulary.size,
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
    expected = (question.train.user_vocabulary.size, question.train.n_items)
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
    lost_users, lost_items = _lost(question, fitted)
    own = threading.local()  # a table per thread, written again and again: fresh memory costs as much as the product

    def rows(asked: Int32) -> Table:
        if not hasattr(own, "table"):
            own.table = np.empty((TILE, question.item.size), np.float32)
        there = asked != NOBODY
        tile = np.zeros((TILE, users.shape[1]), np.float32)
        tile[there] = users[question.users[asked[there]]]
        table: Table = np.matmul(tile, columns, out=own.table)
        if lost_items.size:
            table[:, lost_items] = -np.inf
        if lost_users is not None:
            table[there] = np.where(lost_users[question.users[asked[there]], None], -np.inf, table[there])
        return table

    return rows


def _lost(question: Question, fitted: Any) -> tuple[NDArray[np.bool_] | None, NDArray[np.int64]]:
    """Users without factors, if there are any, and the places of items without."""
    users, items = getattr(fitted, "lost_users", None), getattr(fitted, "lost_items", None)
    places = np.empty(0, np.int64) if items is None else np.flatnonzero(items[question.item])
    return users if users is not None and users.any() else None, places


def _given(question: Question, fitted: Any, name: str) -> Rows:
    """Score rows as the system gives them; every tile has the same number of users."""

    def rows(asked: Int32) -> Table:
        there = asked != NOBODY
        tile = np.zeros(TILE, np.int32)
        tile[there] = question.users[asked[there]]
        table = checked(fitted.scores(tile), (TILE, question.item.size), name)
        return np.take(table, question.item, axis=1)

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

    def rows(asked: Int32) -> Table:
        table = np.full((TILE, question.item.size), -np.inf, np.float32)
        length = np.where(asked != NOBODY, lengths[asked], 0)
        query = np.repeat(np.arange(TILE), length)
        at = np.arange(query.size) - np.repeat(np.cumsum(length) - length, length) + lows[asked][query]
        known = item[at] >= 0
        depth = (level[at] - lows[asked][query]).astype(np.float32)
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
