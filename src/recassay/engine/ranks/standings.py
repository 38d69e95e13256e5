"""One scoring pass over all queries: candidates above and tied with each relevant item, and the top of each list.

A thread scores a block of users and reads the scores while they are in cache; no users x items table is ever held. The
block size is constant, because a matrix product rounds by the shape of its operands; inside a block products run on one
thread. :mod:`recassay.engine.ranks.blocks` assigns users to the rows of blocks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.arrays import Float, Int32, Int64
from recassay.columnar.layout import ranges, readonly, row_groups
from recassay.columnar.vocabulary import Recoding, Vocabulary, id_types_differ, rows_in_table
from recassay.data.run import Run
from recassay.data.standings import RATED, BinnedStandings, Standings
from recassay.designs._places import WIDTH
from recassay.engine.ranks import _kernels
from recassay.engine.ranks.blocks import BLOCK_ROWS, EMPTY, alike_rows, query_blocks
from recassay.engine.ranks.task import RankingTask
from recassay.errors import InputError
from recassay.models.base.capabilities import HasFactors, MissesFactors, score_function, unknown_users
from recassay.models.base.model import NO_ITEM, checked_scores
from recassay.threads import Progress, each_block, one_library_thread, worth_starting

Table = NDArray[np.floating]

FEW_QUERIES = 4_096  # from here on empty rows cost more than finding out which rows of a product are rounded alike


@dataclass(frozen=True)
class BlockScorer:
    """A function ``scores`` from a block of queries to a table with their scores, and labels of the rows of a block.

    ``alike`` are the labels: a query gets the same scores in all rows with the same label. If it is None, the scores
    may differ from row to row.
    """

    scores: Callable[[Int32], Table]
    alike: Int64 | None = None

    def blocks(self, rows: Int64) -> Int32:
        """Return blocks of all queries to be scored; ``rows`` has the row of each query in its block."""
        return query_blocks(rows, self.alike)


def compute_standings(
    task: RankingTask,
    fitted: Any,
    name: str,
    *,
    k: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[Standings, Run | None]:
    """Return the standings of a system, and its top k lists as a run (None for k = 0).

    Standings have, for each relevant item, the numbers of candidates above it and tied with it. ``fitted`` has
    ``user_factors`` and ``item_factors``, whose products are its scores, or ``scores``, which returns a row of scores
    of all items for each user code.
    """
    return _standings_and_top(task, block_scorer(task, fitted, name), name, k=k, threads=threads, progress=progress)


def block_scorer(task: RankingTask, fitted: Any, name: str) -> BlockScorer:
    """Return a function from a block of queries to a table with a row of scores of all items for each query.

    Columns are in the order in which ``task`` has the items. ``name`` is that of the system, for errors.
    """
    return _factor_scorer(task, fitted, name) if isinstance(fitted, HasFactors) else _model_scorer(task, fitted, name)


def score_queries(scorer: BlockScorer, task: RankingTask, begin: int, end: int) -> Table:
    """Return a row of scores of all items for each query from ``begin`` up to ``end``.

    ``scorer`` scores a block of queries of the ``task``.
    """
    blocks = scorer.blocks(task.block_rows[begin:end])
    blocks[blocks != EMPTY] += begin
    first = scorer.scores(blocks[0])
    scores = np.empty((end - begin, first.shape[1]), first.dtype)
    for number, queries in enumerate(blocks):
        filled = queries != EMPTY
        scores[queries[filled] - begin] = (scorer.scores(queries) if number else first)[filled]
    rank_unanswered_last(task, scores, np.arange(begin, end, dtype=np.int32))
    return scores


def rank_unanswered_last(task: RankingTask, table: Table, queries: Int32) -> NDArray[np.intp]:
    """Rank the relevant items of queries without any score behind all other items, in place; return their rows.

    Row i of ``table`` has the scores for ``queries[i]``, or for none if the number is negative. A system without a
    score for a user therefore gets no credit among enough candidates, as for a list that a run lacks. If the items
    tied, every order of them would be equally likely, and the system would be credited with the mean of random lists.
    """
    none = np.isneginf(table[:, :1]).any(axis=1) & (queries >= 0)
    rows = np.array([row for row in np.flatnonzero(none) if np.isneginf(table[row]).all()], np.intp)
    for row, query in zip(rows, queries[rows], strict=True):
        table[row] = 0
        table[row, task.relevant.of(query)] = -np.inf
    return rows


def standings_of_lists(task: RankingTask, run: Run, *, threads: int | None = None) -> Standings:
    """Return the standings (ranks of relevant items) of ranked lists: items that a list lacks tie at its end.

    The relevant items of a user without a list are behind all others. A user's training items are excluded, whether or
    not they are listed, because a list may lack an item for any reason. Rows that tie in the run tie here. Users of the
    run without a query are ignored.
    """
    return _standings_and_top(task, _list_scorer(task, run), run.name, k=0, threads=threads)[0]


def _standings_and_top(
    task: RankingTask,
    scorer: BlockScorer,
    name: str,
    *,
    k: int,
    threads: int | None,
    progress: Progress | None = None,
) -> tuple[Standings, Run | None]:
    """Return the standings (ranks of relevant items) of a system and its top k lists, from one pass over all queries.

    ``scorer`` returns the scores of a block of queries; blocks run over threads. The run is None for ``k`` = 0.
    """
    n_pairs, n, n_bases = task.relevant.places.size, task.users.size, len(task.bases)
    relevant, tie_relevant, bottom = (
        task.relevant.places.copy(),
        np.zeros(n_pairs, np.int32),
        np.zeros(n_pairs, np.bool_),
    )
    above, tied = (np.zeros((n_bases + len(task.bins) + 1, n_pairs), np.int64) for _ in range(2))
    mass_above, mass_tied = (np.zeros((n_bases, n_pairs), np.int64) for _ in range(2))
    tied_masses = np.zeros((n_bases, n_pairs, WIDTH))
    weights = task.weight[task.item].astype(np.int32)
    bins = np.array([*task.bins.values()], np.int32).reshape(-1, task.cells.size - 1)
    places, values = np.empty((n, k), np.int32), np.empty((n, k))
    blocks = scorer.blocks(task.block_rows)
    before: list[Any] = [task.seen.offsets, task.seen.places, task.relevant.offsets]
    behind: list[Any] = [task.item, task.cells, task.member, bins, task.rated.offsets, task.rated.places, weights]
    before, behind = ([readonly(array) for array in arrays] for arrays in (before, behind))
    kernels: Any = _kernels  # mypy does not see the parameters of compiled functions

    def work(some_blocks: Int32, number: int, _: int) -> None:
        queries = some_blocks[number]
        table = scorer.scores(queries)
        unanswered = rank_unanswered_last(task, table, queries)
        bits = table.view(f"u{table.itemsize}")
        kernels.read_block(
            table, bits, readonly(queries), *before, relevant, *behind, above, tied, mass_above, mass_tied, tied_masses,
            tie_relevant, bottom, places, values,
        )  # fmt: skip
        places[queries[unanswered]] = NO_ITEM

    def block_progress(some_blocks: Int32) -> Progress | None:
        users = iter((some_blocks != EMPTY).sum(axis=1).tolist())
        return None if progress is None else lambda _: progress(next(users))

    threads = threads or worth_starting(n * weights.size)
    with one_library_thread():
        # The first block alone: errors of a system show here, before the threads are busy for hours.
        for some in (blocks[:1], blocks[1:]):
            each_block(partial(work, some), len(some), size=1, threads=threads, progress=block_progress(some))
    rows = [*task.bases, *task.bins, RATED]

    def by_name(table: Int64, names: Iterable[str]) -> dict[str, Int64]:
        return {name: table[rows.index(name)] for name in names}

    standings = Standings(
        name=name,
        queries=task.queries,
        offsets=task.relevant.offsets,
        item=task.item[relevant],
        vocabulary=task.train.item_vocabulary,
        tie_relevant=tie_relevant,
        above=by_name(above, (*task.bases, RATED)),
        tied=by_name(tied, (*task.bases, RATED)),
        pool={**task.by_base(task.pool_sizes), RATED: np.diff(task.rated.offsets)},
        mass_above=by_name(mass_above, task.bases),
        mass_tied=by_name(mass_tied, task.bases),
        mass=task.by_base(task.pool_weights),
        tied_masses=dict(zip(task.bases, tied_masses, strict=True)),
        pool_masses=task.pool_masses,
        percentiles={
            m: _binned_standings(task, m, relevant, above[row], tied[row])
            for row, m in enumerate(task.bins, start=n_bases)
        },
        others=task.others,
        users=task.everyone.size,
        everyone=task.train.user_vocabulary.decode(task.everyone),
        popularity=task.weight,
        unlisted=int(bottom.sum()),
        how=task.how,
    )
    return standings, _top_lists(task, places, values, name) if k else None


def _binned_standings(
    task: RankingTask,
    m: int,
    relevant: Int32,
    above: Int64,
    tied: Int64,
) -> BinnedStandings:
    """Return, for each relevant item, the numbers of candidates in its popularity bin, for ``m`` bins.

    They are the candidates above it, tied with it and in all. ``relevant`` is the position of each item in score rows.
    ``above`` and ``tied`` are the numbers of candidates in the item's bin that score above the item and equal to it.
    """
    own = np.repeat(task.bins[m], np.diff(task.cells))[relevant]
    pool = task.bin_sizes[m][row_groups(task.relevant.offsets), own]
    return BinnedStandings(m, own, above, tied, pool)


def _factor_scorer(task: RankingTask, fitted: Any, name: str) -> BlockScorer:
    """Return a function that scores blocks of queries by multiplying user and item factors.

    Users or items without factors score minus infinity. Raise I308 for factors of the wrong shape, and for factors that
    are not finite or so large that products may overflow.
    """
    users, items = np.asarray(fitted.user_factors, np.float32), np.asarray(fitted.item_factors, np.float32)
    expected = (task.train.user_vocabulary.size, task.train.n_items)
    if (users.shape[0], items.shape[0]) != expected or users.shape[1:] != items.shape[1:]:
        raise InputError(
            "I308",
            f"{name} has factors of shapes {users.shape} and {items.shape} for {expected[0]:,} users and "
            f"{expected[1]:,} items",
            hint="give a row of factors per user and per item of the fold, all of one width",
        )
    largest = float(np.abs(users).max(initial=0)) * float(np.abs(items).max(initial=0)) * max(users.shape[1], 1)
    if not largest < float(np.finfo(np.float32).max):  # then no product is NaN, and scores need no check
        raise InputError(
            "I308", f"{name} has NaN, infinite or huge factors", hint="the fit did not converge: check its settings"
        )
    columns = np.ascontiguousarray(items[task.item].T)
    unknown = unknown_users(fitted)
    missing_items = fitted.missing_items[task.item] if isinstance(fitted, MissesFactors) else np.empty(0, np.bool_)
    own = threading.local()  # one reused table per thread: fresh memory costs as much as the product

    def score(queries: Int32) -> Table:
        if not hasattr(own, "table"):
            own.table = np.empty((BLOCK_ROWS, task.item.size), np.float32)
        filled = queries != EMPTY
        block = np.zeros((BLOCK_ROWS, users.shape[1]), np.float32)
        block[filled] = users[task.users[queries[filled]]]
        table: Table = np.matmul(block, columns, out=own.table)
        if missing_items.any():
            table[:, missing_items] = -np.inf
        if unknown is not None:
            table[np.flatnonzero(filled)[unknown[task.users[queries[filled]]]]] = -np.inf
        return table

    many = task.users.size >= FEW_QUERIES
    return BlockScorer(score, alike_rows(users.shape[1], task.item.size) if many else None)


def _model_scorer(task: RankingTask, fitted: Any, name: str) -> BlockScorer:
    """Return a function that scores blocks of queries by ``fitted.scores``, called with equally many users each time.

    Rows of the block without a query are filled with user 0.
    """
    scores = score_function(fitted)
    assert scores is not None, "the caller has checked that it gives scores"

    def score(queries: Int32) -> Table:
        filled = queries != EMPTY
        block = np.zeros(BLOCK_ROWS, np.int32)
        block[filled] = task.users[queries[filled]]
        table = checked_scores(scores(block), (BLOCK_ROWS, task.item.size), name)
        return np.take(table, task.item, axis=1)

    return BlockScorer(score)


def _list_scorer(task: RankingTask, run: Run) -> BlockScorer:
    """Return a function that makes rows of scores from ranked lists; items that a list lacks get minus infinity.

    Rows of the run that tie get equal scores.
    """
    train = task.train
    item = Recoding.between(run.vocabulary, train.item_vocabulary.stored_ids)(run.items)
    level = np.arange(run.items.size) if run.tied is None else np.maximum.accumulate(
        np.where(run.tied, 0, np.arange(run.items.size))
    )  # fmt: skip
    ours, theirs = Vocabulary(task.queries), Vocabulary(run.queries)
    row = rows_in_table(task.queries, run.queries)
    if ours.kind != theirs.kind and not (row >= 0).any():
        raise id_types_differ("user", ours, theirs)
    lows = np.where(row >= 0, run.offsets[row], 0)
    lengths = np.where(row >= 0, run.offsets[row + 1] - run.offsets[row], 0)

    def score(queries: Int32) -> Table:
        table = np.full((BLOCK_ROWS, task.item.size), -np.inf, np.float32)
        length = np.where(queries != EMPTY, lengths[queries], 0)
        query = np.repeat(np.arange(BLOCK_ROWS), length)
        at = ranges(lows[queries], length)
        known = item[at] >= 0
        depth = (level[at] - lows[queries][query]).astype(np.float32)
        np.maximum.at(
            table, (query[known], task.place[item[at[known]]]), -depth[known]
        )  # a repeated item keeps its first place
        return table

    return BlockScorer(score, np.zeros(BLOCK_ROWS, np.int64))


def _top_lists(task: RankingTask, places: Int32, values: Float, name: str) -> Run:
    """Return the top lists (queries, k) as a run without empty lists.

    ``places`` are the listed items by position in score rows, -1 behind the end of a list, and ``values`` their scores.
    """
    filled = places >= 0
    lengths = filled.sum(axis=1)
    return Run(
        name=name,
        queries=task.queries.filter(pl.Series(lengths > 0)),
        offsets=np.append(0, np.cumsum(lengths[lengths > 0])),
        items=task.item[places[filled]],
        vocabulary=task.train.item_vocabulary,
        order="rank",
        score_column=pl.Series(values[filled]),
    )
