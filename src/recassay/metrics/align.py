"""Alignment of a run with the truth: the only module that matches their users and items.

:func:`align` fixes once what every metric must agree on: the order of lists, ties, duplicates, and which query and item
of the run is which of the truth. It counts what it finds. The result yields blocks of queries
(:class:`AlignedBlock`) with their *marks*: the positions of judged items in each list. Metrics read blocks only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.arrays import Bool, Float, Int32, Int64
from recassay.columnar.layout import count_groups_with, is_one_number, ranges, readonly, row_groups
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.errors import InputError
from recassay.metrics import _kernels
from recassay.metrics.refusals import SharedIds, list_positions, raise_if_unusable
from recassay.metrics.ties import OF_ROWS, Ties, tie_bounds, with_tie_order
from recassay.naming import choices

if TYPE_CHECKING:
    from recassay.metrics.base import Metric

WHOLE_LIST = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Conventions:
    """Rules for reading lists before any metric is computed.

    Rules that are not the default are printed with the result.

    order:       ``given`` (by rank if there is one, else by score, else by row); ``score``, ignoring ranks; or ``row``,
                 the order of the file, ignoring ranks and scores
    ties:        order of tied rows: ascending ``id``; ``id_descending``; ``trec`` (descending id as text); ``row``, as
                 they were read; ``ranx``, as ``row`` in lists of up to 15 rows, and in longer ones as the sort of ranx
                 leaves them (lists ordered by ranks: as ``row``); or the ``expected``, ``optimistic`` or
                 ``pessimistic`` value over their orders
    precision:   ``double``; ``single`` rounds scores to C floats, as trec_eval does
    duplicates:  repeated items of a list: ``first`` keeps the first row; ``last`` keeps the first position with the
                 score of the last row, as a dict of items does; ``error``; or ``keep`` (every row counts)
    missing:     a query without a list: ``allow`` (each metric's ``missing`` decides) or ``error``
    users:       the users that means are over: ``all`` of the truth, or the ``known`` ones, with training events
    """

    order: choices.ListOrder = "given"
    ties: Ties = "id"
    precision: choices.Precision = "double"
    duplicates: choices.Duplicates = "first"
    missing: Literal["allow", "error"] = "allow"
    users: choices.Population = "all"

    @property
    def reads_scores(self) -> bool:
        """Return whether these rules need the scores of the lists, not their ranks alone."""
        return self.order == "score" or self.precision == "single" or self.duplicates == "last" or self.ties == "ranx"

    @property
    def reads_rows(self) -> bool:
        """Return whether these rules read the order of rows in the file, for ties or to keep the last repeat."""
        return self.ties in OF_ROWS or self.duplicates == "last"


@dataclass(frozen=True)
class AlignmentCounts:
    """Numbers of mismatches found when a run is aligned with the truth, and an example of each kind of mismatch.

    They are missing lists, users without a truth, repeated items, ties and scores that are not numbers.
    """

    queries: int
    lists: int
    missing: int
    extra_queries: int
    duplicate_rows: int
    duplicate_lists: int
    tied_rows: int
    tied_lists: int
    nan_scores: int
    unsettled_rows: int
    examples: dict[str, object] = field(default_factory=dict)

    def __add__(self, other: AlignmentCounts) -> AlignmentCounts:
        """Return the sum of the counts of two groups of users of one run; the groups have no user in common.

        The example of each kind is that of the user with the lowest id.
        """
        counts = {field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)[:-1]}
        return AlignmentCounts(**counts, examples=joined(min, self.examples, other.examples))


def joined(join: Callable[[Any, Any], Any], mine: Mapping[Any, Any], theirs: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return two mappings as one; ``join`` combines the two values of a key that both have.

    >>> joined(min, {"a": 3, "b": 1}, {"a": 2, "c": 5})
    {'a': 2, 'b': 1, 'c': 5}
    """
    return {**mine, **theirs, **{name: join(mine[name], theirs[name]) for name in mine if name in theirs}}


@dataclass(frozen=True, eq=False)
class Alignment:
    """One run aligned with the truth; :meth:`block` returns blocks of its lists for metrics.

    ``match`` is the index of the list of each query of the truth (-1: none), and ``items`` are the run's items in the
    codes of the truth. ``tie_first`` and ``tie_last`` are, for each row, the first and last position of the rows that
    tie with it. ``bound`` maps a metric to what it prepared for the run in :meth:`Metric.bind
    <recassay.metrics.base.Metric.bind>`. ``unmatched`` maps an error code to the error about data (such as item
    features) whose ids match nothing in the run, or to None if some id matches. ``whole`` says that the run has all
    users, not only a part of them.
    """

    run: Run
    truth: Truth
    match: Int64  # for each query of the truth the index of its list in the run, or -1
    items: Int32  # the run's items in the truth's codes
    conventions: Conventions
    counts: AlignmentCounts
    tie_first: Int32 | None = None
    tie_last: Int32 | None = None
    bound: dict[Metric, Any] = field(default_factory=dict)  # what each metric prepared for this run with Metric.bind
    whole: bool = True  # all users, not a partition of them: no id in common is then an error
    # Of a partition, by code: the error that no id of the context matches the run; None if one does
    unmatched: dict[str, InputError | None] = field(default_factory=dict)

    @functools.cached_property
    def longest(self) -> int:
        """Return the length of the longest list."""
        return int(self.run.lengths.max(initial=0))

    @functools.cached_property
    def judged_lengths(self) -> Int64:
        """Return the lengths of the lists of the queries of the truth; queries without a list have no entry."""
        if self.counts.lists == self.match.size == self.run.queries.len():  # the same queries on both sides
            return self.run.lengths
        return np.asarray(self.run.lengths[self.match[self.match >= 0]])

    def block(self, begin: int, end: int, depth: int = WHOLE_LIST) -> AlignedBlock:
        """Return queries ``begin`` up to ``end`` with their lists, and the judged items in the first ``depth`` rows."""
        run, truth, match, ties = self.run, self.truth, self.match, self.conventions.ties
        lists = match[begin:end]
        has_list = lists >= 0
        length = np.where(has_list, run.lengths[lists], 0) if run.lengths.size else np.zeros(end - begin, np.int64)
        offsets = truth.offsets[begin : end + 1]
        reach = depth if self.tie_first is None else WHOLE_LIST
        most = length if self.conventions.duplicates == "keep" else np.minimum(length, np.diff(offsets))
        capacity = int(most.sum())
        start = np.empty(end - begin + 1, np.int64)
        rank, judged = np.empty(capacity, np.int32), np.empty(capacity, np.int64)
        count = _kernels.find_marks(
            readonly(run.offsets), readonly(self.items), readonly(match), readonly(truth.offsets),
            readonly(truth.items), begin, end, reach, start, rank, judged,
        )  # fmt: skip
        rank, judged = rank[:count], judged[:count]
        first, last, listed = rank, rank, None
        if self.tie_first is not None and self.tie_last is not None:
            query = row_groups(start)
            rows = run.offsets[lists[query]] + rank - 1
            first, last = self.tie_first[rows], self.tie_last[rows]
            if ties in ("optimistic", "pessimistic"):
                order, ranks = _extreme_tie_order(query, first, last, truth.gains[judged], best=ties == "optimistic")
                judged, listed = judged[order], rank[order]
                rank = first = last = ranks
        return AlignedBlock(
            self, truth, begin, end, end - begin, slice(int(offsets[0]), int(offsets[-1])), offsets - offsets[0],
            length, has_list, start, rank, first, last, judged, listed,
        )  # fmt: skip


def _extreme_tie_order(
    query: Int64, first: Int32, last: Int32, grade: Float, best: bool
) -> tuple[NDArray[np.intp], Int32]:
    """Return (order, ranks) of the judged items in lists, with ties broken in the ``best`` order, or the worst.

    In the best order, judged items that tie are sorted by descending grade and get the first of the ranks that the tied
    rows of the list share. In the worst, they are sorted by ascending grade and get the last. Item ``order[i]`` gets
    ``ranks[i]``. ``query``, ``grade`` and the range ``first`` to ``last`` of shared ranks have an entry per item.
    """
    order = np.lexsort((-grade if best else grade, first, query))
    begins = np.flatnonzero(np.append(True, (np.diff(first) != 0) | (np.diff(query) != 0)))
    sizes = np.diff(np.append(begins, first.size))
    top = first if best else last - np.repeat(sizes, sizes) + 1
    return order, (top + np.arange(first.size) - np.repeat(begins, sizes)).astype(np.int32)


@dataclass(frozen=True, eq=False)
class AlignedBlock:
    """A block of lists aligned with the truth: where each list holds judged items.

    ``truth`` is the whole truth. The block has its queries from ``begin`` up to ``end``, ``size`` in number; their rows
    in the truth are ``truth_rows``, those of query q ``truth_offsets[q]:truth_offsets[q+1]`` within these. A mark is a
    judged item that a list holds. ``start[q]:start[q+1]`` are the marks of query q, ascending by ``rank``. ``first``
    and ``last`` are the first and the last position that a tied mark may have; without ties they are ``rank`` itself.
    ``judged`` is the mark's row in the truth. Metrics of the items of a list see tied rows in the order of the run,
    which is ascending by id.
    """

    alignment: Alignment
    truth: Truth
    begin: int
    end: int
    size: int
    truth_rows: slice
    truth_offsets: Int64
    length: Int64
    found: Bool
    start: Int64
    rank: Int32
    first: Int32
    last: Int32
    judged: Int64
    listed_rank: Int32 | None = None  # positions in the run, where a tie policy moved marks
    _memo: dict[object, NDArray[np.generic]] = field(default_factory=dict, repr=False)

    @property
    def distinct(self) -> bool:
        """Return whether no list holds an item twice: always, except under ``duplicates="keep"``."""
        return self.alignment.conventions.duplicates != "keep"

    @property
    def tied(self) -> bool:
        """Return whether judged items may tie with other rows, so that each has a range of possible positions."""
        return self.first is not self.last

    @functools.cached_property
    def grade(self) -> Float:
        """Return the gain of each mark (judged item in a list)."""
        return self.truth.gains[self.judged]

    def bound(self, metric: Metric) -> Any:
        """Return what a metric prepared for this run in :meth:`Metric.bind <recassay.metrics.base.Metric.bind>`."""
        return self.alignment.bound[metric]

    def remember(self, key: object, make: Callable[[], NDArray[np.generic]]) -> NDArray[np.generic]:
        """Return the value stored under ``key``; ``make()`` computes it on first use, and all metrics share it."""
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]

    def is_relevant(self, relevant_from: float) -> Bool:
        """Return a mask of the relevant marks (judged items in lists): their gain is at least ``relevant_from``."""
        return self.remember(("marks", relevant_from), lambda: self.grade >= relevant_from)  # type: ignore[return-value]

    def relevant(self, relevant_from: float) -> Int64:
        """Return R, the number of relevant items of each query."""
        return self.remember(("R", relevant_from), lambda: self._judged_between(relevant_from, np.inf))  # type: ignore[return-value]

    def nonrelevant(self, relevant_from: float) -> Int64:
        """Return |N|, the number of items of each query that were judged not relevant.

        Their gain is below ``relevant_from`` and at least 0; a negative gain marks an unjudged item.
        """
        return self.remember(("N", relevant_from), lambda: self._judged_between(0.0, relevant_from))  # type: ignore[return-value]

    def _judged_between(self, low: float, high: float) -> Int64:
        gains = self.truth.gains
        if is_one_number(gains):
            inside = gains.size > 0 and low <= gains[0] < high
            return np.diff(self.truth_offsets) if inside else np.zeros(self.size, np.int64)
        gains = gains[self.truth_rows]
        counted = np.append(0, np.cumsum((gains >= low) & (gains < high)))
        return np.asarray(np.diff(counted[self.truth_offsets]))

    @property
    def rows(self) -> Int64:
        """Return, for each mark (judged item in a list), its row in the run."""
        lists = self.alignment.match[self.begin : self.end]
        top = self.alignment.run.offsets[lists[row_groups(self.start)]]
        return np.asarray(top + (self.rank if self.listed_rank is None else self.listed_rank) - 1)

    def places(self, k: int | None) -> tuple[Int64, Int64]:
        """Return (offsets, rows): the rows in the run of the first k items of each list; of all its items if k is None.

        The rows of query q are ``rows[offsets[q]:offsets[q + 1]]``.
        """
        shown = self.length if k is None else np.minimum(self.length, k)
        lists = self.alignment.match[self.begin : self.end]
        top = (
            self.alignment.run.offsets[lists] if self.alignment.run.offsets.size > 1 else np.zeros(self.size, np.int64)
        )
        return np.append(0, np.cumsum(shown)), ranges(top, shown)

    def cutoffs(self, k: int | None) -> Int64:
        """Return an array with the same cut-off for each query: k, but at most the length of the run's longest list.

        If k is None, the cut-off is that length.
        """
        return np.full(self.size, self.depth(k), np.int64)

    def depth(self, k: int | None) -> int:
        """Return the smaller of k and the length of the run's longest list; that length if k is None."""
        longest = max(self.alignment.longest, int(self.length.max(initial=1)))
        return longest if k is None else min(k, longest)

    def expected_sum(self, value: Float, weight: Float, cutoff: Int64) -> Float:
        """Return, for each query, the expected sum of value x weight(position) over the marks of its list.

        A mark is a judged item in a list. ``value`` has an entry per mark; ``weight`` holds position p at index p - 1
        and covers the longest list or the largest cut-off. Positions beyond ``cutoff`` (an entry per query) add
        nothing. The expectation is over the orders of tied rows.
        """
        out = np.empty(self.size)
        cumulative = np.append(0.0, np.cumsum(weight))
        _kernels.weighted_sum(self.start, self.first, self.last, value, weight, cumulative, cutoff, out)
        return out

    def hits(self, k: int | None, relevant_from: float) -> Float:
        """Return, for each query, the number of relevant items in the first k places: its expectation if rows tie."""

        def count() -> Float:
            ones = np.ones(self.depth(k))
            return self.expected_sum(self.is_relevant(relevant_from).astype(np.float64), ones, self.cutoffs(k))

        return self.remember(("hits", self.depth(k), relevant_from), count)  # type: ignore[return-value]

    def first_relevant(self, k: int | None, relevant_from: float) -> Float:
        """Return, for each query, the rank of its first relevant item: the expected rank if rows tie.

        It is 0 if the first k places hold no relevant item.
        """
        depth, out = self.depth(k), np.empty(self.size)
        places, relevant = np.arange(1.0, depth + 1), self.is_relevant(relevant_from)
        _kernels.first_hit(self.start, self.first, self.last, relevant, places, depth, out)
        return out


def align(run: Run, truth: Truth, conventions: Conventions | None = None, *, whole: bool = True) -> Alignment:
    """Return a run aligned with the truth: its order, ties and repeated items follow ``conventions``.

    If this is the ``whole`` run, raise an error if it cannot be judged. If the run has only some of the users, that
    cannot be decided yet: the caller adds up the counts of all groups of users and then calls
    :func:`~recassay.metrics.refusals.raise_if_unusable`.
    """
    conventions = conventions or Conventions()
    original = run = run if conventions.reads_rows else run.without_row_order()
    run = run.with_last_scores() if conventions.duplicates == "last" else run
    run = run.by_score() if conventions.order == "score" else run
    run = run.by_row() if conventions.order == "row" else run
    run = run.with_float32_ties() if conventions.precision == "single" else run
    tied_rows = tied_lists = 0
    if run.tied is not None:
        tied_rows, tied_lists = int(np.count_nonzero(run.tied)), count_groups_with(run.offsets, run.tied)
        run = with_tie_order(run, conventions.ties)
    listed = original if conventions.duplicates == "last" else run
    repeated = listed.repeated()
    duplicate_lists = count_groups_with(listed.offsets, repeated) if repeated.any() else 0
    examples = _example(listed, repeated, "duplicate")
    if conventions.duplicates in ("first", "error"):  # an error is raised once all partitions are counted
        run = run.without(repeated)
    order_unknown = conventions.duplicates == "last" and not original.has_row_order
    unsettled = original.conflicting_repeats() if order_unknown else np.zeros(0, np.bool_)
    examples |= _example(original, unsettled, "unsettled")
    match = list_positions(run, truth)
    has_list = match >= 0
    items = run.vocabulary.translate(run.items, truth.vocabulary)
    lists = int(np.count_nonzero(has_list))
    missing = has_list.size - lists
    if missing:
        examples["missing"] = truth.queries[int(np.argmin(has_list))]
    if lists < run.queries.len():
        in_truth = np.zeros(run.queries.len(), np.bool_)
        in_truth[match[has_list]] = True
        examples["extra_query"] = run.queries[int(np.argmin(in_truth))]
    counts = AlignmentCounts(
        match.size, lists, missing, run.queries.len() - lists, int(np.count_nonzero(repeated)), duplicate_lists,
        tied_rows, tied_lists, run.nan_scores, int(np.count_nonzero(unsettled)), examples,
    )  # fmt: skip
    bounds = tie_bounds(run) if conventions.ties in ("expected", "optimistic", "pessimistic") else (None, None)
    alignment = Alignment(run, truth, match, items, conventions, counts, *bounds, whole=whole)
    if whole:
        raise_if_unusable(counts, SharedIds.of(alignment), conventions)
    return alignment


def _example(run: Run, rows: Bool, kind: str) -> dict[str, object]:
    """Return {kind: (user, item)} for the first row that is True in the mask ``rows``; an empty dict if none is."""
    if not rows.any():
        return {}
    row = int(np.argmax(rows))
    query = int(np.searchsorted(run.offsets, row, side="right")) - 1
    return {kind: (run.queries[query], run.vocabulary.decode(run.items[row : row + 1])[0])}
