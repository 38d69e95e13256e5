"""The loop over a stream ("walk") that compiled models share, and the arrays that it reads and writes.

A walk processes one block of a stream. It answers the queries of :class:`StreamQueries` in order, and before each query
it learns the events of :class:`StreamEvents` that are revealed by then. So the same loop serves learning event by
event, in batches, with a delay, or never. A model consists of two kernels, one that learns an event and one that scores
all items for a user; :func:`make_walk` makes the walk of the model from them.

``tests/property/test_streams.py`` checks the walks against a readable version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.arrays import Float, Int32, Int64
from recassay.columnar._top import Scores, top_k

UNKNOWN_ITEM = np.float32(-3.0e38)  # score of a candidate the model has never seen: below every other score


class StreamEvents(NamedTuple):
    """Events to learn, in order: user codes, item codes and ratings (1 without a rating)."""

    users: Int32
    items: Int32
    values: Float

    def each(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> StreamEvents:
        """Return the events with ``change`` applied to each array, such as a function that selects some entries."""
        columns: Any = [change(column) for column in self]
        return StreamEvents(*columns)


class StreamQueries(NamedTuple):
    """Queries, a row each: the user, the item that the user actually chose, and what the model knows by then.

    ``n_learned`` events of :class:`StreamEvents` are learned before the query. Items with codes below ``known`` have
    occurred in a learned event by then. Items with codes below ``universe`` are candidates, except ``pool[begin:end]``,
    the items that the user has consumed. ``order`` has the rank of each item's id, by which ties are ordered.
    """

    users: Int32
    items: Int32
    n_learned: Int64
    known: Int64
    universe: Int64
    begin: Int64
    end: Int64
    pool: Int32
    order: Int32  # the rank of each item's id: ties are in this order


class WalkOutput(NamedTuple):
    """The answers of a model to the queries of a block of a stream, a row per query.

    ``position`` is the rank of the item that the user chose, from 1; 0 means that it could not be recommended.
    ``above`` and ``tied`` count the other candidates with a higher and with the same score, and ``candidates`` all of
    them (-1 if the model returned NaN). ``lists`` are the best items, in as many columns as requested, possibly none.
    ``answer_ns`` and ``learn_ns`` are nanoseconds per query and per learned event, written by the caller.
    """

    position: Int32
    above: Int32
    tied: Int32
    candidates: Int32
    lists: Int32
    answer_ns: Int64
    learn_ns: Int64

    @classmethod
    def empty(cls, n_queries: int, n_events: int, list_length: int) -> WalkOutput:
        """Return results full of zeros for ``n_queries`` queries and ``n_events`` events, to be written to.

        Lists have ``list_length`` columns, filled with -1.
        """
        position, above, tied, candidates = np.zeros((4, n_queries), np.int32)
        lists = np.full((n_queries, list_length), -1, np.int32)
        answer_ns, learn_ns = np.zeros(n_queries, np.int64), np.zeros(n_events, np.int64)
        return cls(position, above, tied, candidates, lists, answer_ns, learn_ns)

    def head(self, n_queries: int) -> WalkOutput:
        """Return the results of the first ``n_queries`` queries."""
        per_query = (name for name in self._fields if name != "learn_ns")
        return self._replace(**{name: getattr(self, name)[:n_queries] for name in per_query})


@njit(cache=True, nogil=True)
def learned_before(events: StreamEvents, queries: StreamQueries) -> Int64:
    """Return how many events are learned before each query; the last entry is the number of all events.

    The loop has this array because reading a field of a tuple of arrays costs more than the loop's other work.
    """
    return np.append(queries.n_learned, np.int64(events.users.size))


def make_walk(learn: Any, score: Any) -> Any:
    """Return the compiled loop over a stream for a model that is given by two functions.

    Both functions get the ``state`` of the model, a tuple of arrays. ``learn(state, user, item, value)`` learns an
    event. ``score(state, user, item, known, universe, row)`` writes the scores of the first ``known`` items to ``row``,
    and returns what :func:`own_score_and_counts` does. The functions of fast models are inlined: a call with a tuple of
    arrays takes up to 0.3 µs.
    """

    @njit(cache=True, nogil=True)
    def walk(state: Any, row: Scores, events: StreamEvents, queries: StreamQueries, output: WalkOutput) -> None:
        """Answer every query after learning the events before it, and write its results to a row of ``output``.

        The remaining events are learned at the end. ``row`` has the type and the size of the scores of all items.
        """
        learned, row = 0, np.empty_like(row)  # aligned, which an array of NumPy is not: up to 15 % of the time
        for query, until in enumerate(learned_before(events, queries)):
            for event in range(learned, until):
                learn(state, events.users[event], events.items[event], events.values[event])
            learned = until
            if query == queries.users.size:
                break
            item, known, universe = queries.items[query], queries.known[query], queries.universe[query]
            own_score, counts = score(state, queries.users[query], item, known, universe, row)
            output.position[query], output.above[query], output.tied[query], output.candidates[query] = rank_counted(
                row, item, own_score, counts, known, universe, queries.pool[queries.begin[query] : queries.end[query]],
                queries.order, output.lists, query,
            )  # fmt: skip

    return walk


@njit(cache=True, nogil=True)
def own_score_and_counts(row: Scores, item: int, known: int, universe: int) -> tuple[Any, tuple[Any, Any, Any]]:
    """Return (score of ``item``, (how many of the first ``known`` scores in ``row`` are higher, are equal, are NaN)).

    These items have been learned. Other items below ``universe`` can be recommended too, and score ``UNKNOWN_ITEM``. An
    item from ``universe`` on cannot, and scores NaN.
    """
    own_score = row.dtype.type(UNKNOWN_ITEM if item < universe else np.nan)
    if item < known:
        own_score = row[item]
    return own_score, compare(row[:known], own_score)


@njit(cache=True, nogil=True)
def rank_item(row: Scores, queries: StreamQueries, query: int, output: WalkOutput) -> None:
    """Write to ``output`` the rank of the query's item among the candidates, and the top list if requested.

    ``query`` is the number of the query. ``row`` has the scores of all items and is overwritten. Ties are ordered by
    id. An item with score -inf cannot be recommended. ``output.candidates`` gets the number of candidates, or -1 if the
    model returned NaN.
    """
    item, known, universe = queries.items[query], queries.known[query], queries.universe[query]
    own_score, counts = own_score_and_counts(row, item, known, universe)
    output.position[query], output.above[query], output.tied[query], output.candidates[query] = rank_counted(
        row, item, own_score, counts, known, universe, queries.pool[queries.begin[query] : queries.end[query]],
        queries.order, output.lists, query,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def rank_counted(
    row: Scores, item: int, own_score: Any, counts: tuple[Any, Any, Any], known: int, universe: int, consumed: Int32,
    order: Int32, lists: Int32, query: int,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Return (position, above, tied, candidates) of a query, as :func:`rank_item` writes them; write its list.

    ``counts`` is what :func:`compare` counted in the scores of the known items, compared to ``own_score``, that of the
    query's item. ``consumed`` are the items that the user had.
    """
    above, n_equal, n_nan = counts
    if known < universe:
        row[known:universe] = UNKNOWN_ITEM
        more, equal, _ = compare(row[known:universe], own_score)
        above, n_equal = above + more, n_equal + equal
    line = row[:universe]
    above, n_equal, n_nan, n_consumed, excluded = mask(line, consumed, item, own_score, above, n_equal, n_nan)
    if lists.shape[1]:
        top_k(line, order, lists[query], np.empty(lists.shape[1], row.dtype))
    candidates = -1 if n_nan else universe - n_consumed
    if excluded or not own_score > -np.inf:
        return 0, 0, 0, candidates
    first = tied_before(line, own_score, item, order) if n_equal > 1 else 0
    return above + first + 1, above, n_equal - 1, candidates


@njit(cache=True, nogil=True)
def compare(line: Scores, own_score: Any) -> tuple[Any, Any, Any]:
    """Return how many scores of ``line`` are above ``own_score``, how many are equal to it, and how many are NaN."""
    above, n_equal, n_nan = np.int32(0), np.int32(0), np.int32(0)
    for place in range(line.size):
        score = line[place]
        above = np.int32(above + np.int32(score > own_score))
        n_equal = np.int32(n_equal + np.int32(score == own_score))
        n_nan = np.int32(n_nan + np.int32(np.isnan(score)))
    return above, n_equal, n_nan


@njit(cache=True, nogil=True)
def mask(
    line: Scores, consumed: Int32, item: int, own_score: Any, above: Any, n_equal: Any, n_nan: Any
) -> tuple[Any, Any, Any, Any, bool]:
    """Set the scores of consumed items to NaN, and return the counts of :func:`compare` without these items.

    ``above``, ``n_equal`` and ``n_nan`` are these counts with them: scores of ``line`` above ``own_score``, equal, NaN.

    The two further results are how many items of ``line`` were consumed, and whether ``item`` is one of them. Counting
    first and correcting the counts is faster than masking first: vector reads wait for single writes right before them.
    """
    n_consumed, universe, excluded = np.int32(0), np.int32(line.size), False
    for place in range(consumed.size):
        other = consumed[place]
        excluded |= other == item
        if other < universe:
            score = line[np.uint32(other)]
            above = np.int32(above - np.int32(score > own_score))
            n_equal = np.int32(n_equal - np.int32(score == own_score))
            n_nan = np.int32(n_nan - np.int32(np.isnan(score)))
            line[np.uint32(other)] = np.nan
            n_consumed = np.int32(n_consumed + np.int32(1))
    return above, n_equal, n_nan, n_consumed, excluded


@njit(cache=True, nogil=True)
def tied_before(line: Scores, own_score: Any, item: int, order: Int32) -> int:
    """Return how many items of ``line`` have the score ``own_score`` and come before ``item`` by ``order``."""
    before = 0
    for other in range(line.size):
        before += line[other] == own_score and order[other] < order[item]
    return before
