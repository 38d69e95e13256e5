"""The only place where a run meets the truth.

:func:`meet` settles once what every metric must agree on (order, ties, duplicates, which query is which, which item
is which) and counts what it met. The result hands out :class:`Aligned` blocks: for each query the *marks*, that is,
the ranks at which judged items stand in its list. Metrics see blocks and nothing else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.data.layout import readonly, stretch_of
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.errors import InputError
from recassay.metrics import _kernels
from recassay.metrics.refusals import Acquaintance, places_of, refuse
from recassay.metrics.ties import OF_ROWS, Ties, settled, tie_bounds

if TYPE_CHECKING:
    from recassay.metrics.base import Metric

WHOLE_LIST = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Conventions:
    """How lists are read before any metric looks at them. Every choice is named and printed with the result.

    order:       ``given`` (rank if there is one, else score, else row); ``score`` whatever the ranks say; or ``row``,
                 as the rows stand, whatever ranks and scores say
    ties:        rows the order does not separate: ascending ``id``; ``id_descending``; ``trec`` (descending id as
                 text); ``row``, as they were read; ``ranx``, the same in lists of up to 15 rows, and in longer ones
                 as the sort of ranx leaves them (in an order by ranks as ``row``); or judged as the ``expected``,
                 ``optimistic`` or ``pessimistic`` order
    precision:   ``double``; ``single`` sees scores as C floats, as trec_eval does
    duplicates:  an item again in a list: the ``first`` is kept; ``last``: its first place with the score of its last
                 row, as a dict of items holds it; ``error``; or ``keep`` (counts again)
    missing:     a query without a list: ``allow`` (each metric's ``missing`` decides) or ``error``
    """

    order: Literal["given", "score", "row"] = "given"
    ties: Ties = "id"
    precision: Literal["double", "single"] = "double"
    duplicates: Literal["first", "last", "error", "keep"] = "first"
    missing: Literal["allow", "error"] = "allow"

    @property
    def reads_scores(self) -> bool:
        """Whether lists cannot be read by their ranks alone."""
        return self.order == "score" or self.precision == "single" or self.duplicates == "last" or self.ties == "ranx"

    @property
    def reads_rows(self) -> bool:
        """Return whether the order of rows in a file can decide."""
        return self.ties in OF_ROWS or self.duplicates == "last"


@dataclass(frozen=True)
class Met:
    """What the meeting of one run with the truth found: counts, and an example of each kind."""

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

    def __add__(self, other: Met) -> Met:
        """Both together, of two parts of one run: counts add, and examples are of the first user in either."""
        counts = {one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)[:-1]}
        examples: dict[str, Any] = dict(self.examples)
        for kind, found in other.examples.items():
            examples[kind] = min(examples.get(kind, found), found)
        return Met(**counts, examples=examples)


@dataclass(frozen=True, eq=False)
class Meeting:
    """One run and the truth, ready to be judged block by block."""

    run: Run
    truth: Truth
    match: NDArray[np.int64]  # for each query of the truth the place of its list in the run, or -1
    items: NDArray[np.int32]  # the run's items in the truth's codes
    conventions: Conventions
    met: Met
    tie_first: NDArray[np.int32] | None = None
    tie_last: NDArray[np.int32] | None = None
    bound: dict[Metric, Any] = field(default_factory=dict)  # what each metric prepared for this run
    whole: bool = True  # not just some of the users: then that nothing is known in common is no accident
    strangers: dict[str, InputError | None] = field(default_factory=dict)  # by code, for parts: None where some met

    @functools.cached_property
    def longest(self) -> int:
        """Length of the longest list."""
        return int(self.run.lengths.max(initial=0))

    @functools.cached_property
    def judged_lengths(self) -> NDArray[np.int64]:
        """Lengths of the lists of queries that are in the truth."""
        if self.met.lists == self.match.size == self.run.queries.len():  # the same queries on both sides
            return self.run.lengths
        return np.asarray(self.run.lengths[self.match[self.match >= 0]])

    def block(self, begin: int, end: int, depth: int = WHOLE_LIST) -> Aligned:
        """Queries begin..end of the truth; marks in the first ``depth`` places (and what ties with them)."""
        run, truth, match = self.run, self.truth, self.match
        own = match[begin:end]
        found = own >= 0
        length = np.where(found, run.lengths[own], 0) if run.lengths.size else np.zeros(end - begin, np.int64)
        judged_per_query = np.diff(truth.offsets[begin : end + 1])
        reach = depth if self.tie_first is None else WHOLE_LIST
        most = length if self.conventions.duplicates == "keep" else np.minimum(length, judged_per_query)
        capacity = int(most.sum())
        start = np.empty(end - begin + 1, np.int64)
        rank, judged = np.empty(capacity, np.int32), np.empty(capacity, np.int64)
        count = _kernels.find_marks(
            readonly(run.offsets), readonly(self.items), readonly(match), readonly(truth.offsets),
            readonly(truth.items), begin, end, reach, start, rank, judged,
        )  # fmt: skip
        rank, judged = rank[:count], judged[:count]
        first = last = rank
        if self.tie_first is not None and self.tie_last is not None:
            rows = run.offsets[own[stretch_of(start)]] + rank - 1
            first, last = self.tie_first[rows], self.tie_last[rows]
        lists = Aligned(self, begin, end, length, found, start, rank, first, last, judged)
        return lists.resolved(self.conventions.ties)


@dataclass(frozen=True, eq=False)
class Aligned:
    """A block of queries in which lists met truth. Marks of query q: ``start[q]:start[q+1]``, ascending by rank.

    ``first`` and ``last`` bound the position of a mark that ties; without ties they are ``rank`` itself.
    ``judged`` is the mark's row in the truth. Metrics that look at the items of a list see tied rows as the run has
    them laid out, ascending by id.
    """

    meeting: Meeting
    begin: int
    end: int
    length: NDArray[np.int64]
    found: NDArray[np.bool_]
    start: NDArray[np.int64]
    rank: NDArray[np.int32]
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    judged: NDArray[np.int64]
    standing: NDArray[np.int32] | None = None  # ranks in the run as laid out, where ties moved marks elsewhere
    _memo: dict[object, NDArray[np.generic]] = field(default_factory=dict, repr=False)

    @property
    def size(self) -> int:
        """Number of queries in the block."""
        return self.end - self.begin

    @property
    def distinct(self) -> bool:
        """Whether lists hold no item twice (always, unless duplicates were asked to count)."""
        return self.meeting.conventions.duplicates != "keep"

    @property
    def tied(self) -> bool:
        """Whether marks stand for stretches of positions."""
        return self.first is not self.last

    @property
    def any_missing(self) -> bool:
        """Whether some query has no list."""
        return not bool(self.found.all())

    @property
    def truth(self) -> Truth:
        """The truth; its rows of this block are :attr:`truth_rows`."""
        return self.meeting.truth

    @property
    def truth_rows(self) -> slice:
        """Rows of the truth that belong to this block."""
        offsets = self.meeting.truth.offsets
        return slice(int(offsets[self.begin]), int(offsets[self.end]))

    @property
    def truth_offsets(self) -> NDArray[np.int64]:
        """Offsets of the block's queries into its truth rows, from 0."""
        offsets = self.meeting.truth.offsets[self.begin : self.end + 1]
        return np.asarray(offsets - offsets[0])

    def bound(self, metric: Metric) -> Any:
        """What a metric prepared for this run before any block was judged."""
        return self.meeting.bound[metric]

    def remember(self, key: object, make: Callable[[], NDArray[np.generic]]) -> NDArray[np.generic]:
        """A value several metrics of one block share, computed once."""
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]

    @property
    def grade(self) -> NDArray[np.float64]:
        """Gain of each mark."""
        return self.remember("grade", lambda: self.truth.gains[self.judged])  # type: ignore[return-value]

    def is_relevant(self, relevant_from: float) -> NDArray[np.bool_]:
        """Whether each mark is relevant."""
        return self.remember(("marks", relevant_from), lambda: self.grade >= relevant_from)  # type: ignore[return-value]

    def relevant(self, relevant_from: float) -> NDArray[np.int64]:
        """Number of relevant items of each query, R."""
        return self.remember(("R", relevant_from), lambda: self._judged_between(relevant_from, np.inf))  # type: ignore[return-value]

    def nonrelevant(self, relevant_from: float) -> NDArray[np.int64]:
        """Number of judged items of each query that are not relevant, |N|."""
        return self.remember(("N", relevant_from), lambda: self._judged_between(0.0, relevant_from))  # type: ignore[return-value]

    def _judged_between(self, low: float, high: float) -> NDArray[np.int64]:
        gains = self.truth.gains
        if gains.strides == (0,):  # all alike
            inside = gains.size > 0 and low <= gains[0] < high
            return np.diff(self.truth_offsets) if inside else np.zeros(self.size, np.int64)
        gains = gains[self.truth_rows]
        counted = np.append(0, np.cumsum((gains >= low) & (gains < high)))
        return np.asarray(np.diff(counted[self.truth_offsets]))

    @property
    def rows(self) -> NDArray[np.int64]:
        """Row of each mark in the run."""
        own = self.meeting.match[self.begin : self.end]
        top = self.meeting.run.offsets[own[stretch_of(self.start)]]
        return np.asarray(top + (self.rank if self.standing is None else self.standing) - 1)

    def places(self, k: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first k places of every list: offsets by query, and the rows of the run that stand there."""
        shown = self.length if k is None else np.minimum(self.length, k)
        offsets = np.append(0, np.cumsum(shown))
        own = self.meeting.match[self.begin : self.end]
        top = self.meeting.run.offsets[own] if self.meeting.run.offsets.size > 1 else np.zeros(self.size, np.int64)
        return offsets, np.repeat(top - offsets[:-1], shown) + np.arange(offsets[-1])

    def cutoffs(self, k: int | None) -> NDArray[np.int64]:
        """The cut-off of each query, the same for all: k, or the longest list."""
        return np.full(self.size, self.depth(k), np.int64)

    def depth(self, k: int | None) -> int:
        """The last position that can matter under cut-off k: no list is longer."""
        longest = max(self.meeting.longest, int(self.length.max(initial=1)))
        return longest if k is None else min(k, longest)

    def expected_sum(
        self, value: NDArray[np.float64], weight: NDArray[np.float64], cutoff: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Per query the (expected) sum of value x weight(position) over its marks up to its cut-off.

        ``weight`` holds position p in place p - 1 and covers the longest list or the largest cut-off.
        """
        out = np.empty(self.size)
        cumulative = np.append(0.0, np.cumsum(weight))
        _kernels.weighted_sum(self.start, self.first, self.last, value, weight, cumulative, cutoff, out)
        return out

    def hits(self, k: int | None, relevant_from: float) -> NDArray[np.float64]:
        """Per query the (expected) number of relevant items in the first k places."""

        def count() -> NDArray[np.float64]:
            ones = np.ones(self.depth(k))
            return self.expected_sum(self.is_relevant(relevant_from).astype(np.float64), ones, self.cutoffs(k))

        return self.remember(("hits", self.depth(k), relevant_from), count)  # type: ignore[return-value]

    def first_relevant(self, k: int | None, relevant_from: float) -> NDArray[np.float64]:
        """Per query the (expected) place of the first relevant item in the first k places; 0 where there is none."""
        depth, out = self.depth(k), np.empty(self.size)
        places, relevant = np.arange(1.0, depth + 1), self.is_relevant(relevant_from)
        _kernels.first_hit(self.start, self.first, self.last, relevant, places, depth, out)
        return out

    def resolved(self, ties: Ties) -> Aligned:
        """Marks that tie put in the best or the worst order, if that was asked for."""
        if ties not in ("optimistic", "pessimistic") or not self.tied:
            return self
        query = stretch_of(self.start)
        best_first = -self.grade if ties == "optimistic" else self.grade
        order = np.lexsort((best_first, self.first, query))
        group_start = np.flatnonzero(np.append(True, (np.diff(self.first) != 0) | (np.diff(query) != 0)))
        group = np.repeat(np.arange(group_start.size), np.diff(np.append(group_start, self.first.size)))
        place = np.arange(self.first.size) - group_start[group]
        sizes = np.bincount(group)
        top = self.first if ties == "optimistic" else self.last - sizes[group].astype(np.int32) + 1
        rank = (top + place).astype(np.int32)
        return Aligned(
            self.meeting, self.begin, self.end, self.length, self.found, self.start, rank, rank, rank,
            self.judged[order], self.rank[order],
        )  # fmt: skip


def meet(run: Run, truth: Truth, conventions: Conventions | None = None, *, whole: bool = True) -> Meeting:
    """Settle order, ties, duplicates and identities of one run against the truth, and count what was met.

    What cannot be judged is refused, unless this is not the ``whole``: then :func:`~recassay.metrics.refusals.refuse`
    is for whoever has all parts.
    """
    conventions = conventions or Conventions()
    given = run = run if conventions.reads_rows else run.without_rows()
    run = run.with_last_scores() if conventions.duplicates == "last" else run
    run = run.by_score() if conventions.order == "score" else run
    run = run.by_row() if conventions.order == "row" else run
    run = run.rounded() if conventions.precision == "single" else run
    tied_rows = 0 if run.tied is None else int(run.tied.sum())
    tied_lists = 0 if run.tied is None else int(np.unique(stretch_of(run.offsets)[run.tied]).size)
    run = settled(run, conventions.ties)
    listed = given if conventions.duplicates == "last" else run
    again = listed.repeated()
    duplicate_lists = int(np.unique(stretch_of(listed.offsets)[again]).size) if again.any() else 0
    examples = _example(listed, again, "duplicate")
    if conventions.duplicates in ("first", "error"):  # an error is raised when all parts are counted
        run = run.without(again)
    lost = conventions.duplicates == "last" and not given.knows_rows
    unsettled = given.contradicting() if lost else np.zeros(0, np.bool_)
    examples |= _example(given, unsettled, "unsettled")
    match = places_of(run, truth)
    found = match >= 0
    items = run.vocabulary.translate(run.items, truth.vocabulary)
    missing, lists = int((~found).sum()), int(found.sum())
    if missing:
        examples["missing"] = truth.queries[int(np.argmin(found))]
    if lists < run.queries.len():
        asked = np.zeros(run.queries.len(), np.bool_)
        asked[match[found]] = True
        examples["extra_query"] = run.queries[int(np.argmin(asked))]
    met = Met(
        match.size, lists, missing, run.queries.len() - lists, int(again.sum()), duplicate_lists, tied_rows, tied_lists,
        run.nan_scores, int(unsettled.sum()), examples,
    )  # fmt: skip
    bounds = tie_bounds(run) if conventions.ties in ("expected", "optimistic", "pessimistic") else (None, None)
    meeting = Meeting(run, truth, match, items, conventions, met, *bounds, whole=whole)
    if whole:
        refuse(met, Acquaintance.of(meeting), conventions)
    return meeting


def _example(run: Run, rows: NDArray[np.bool_], kind: str) -> dict[str, object]:
    """User and item of the first of some rows."""
    if not rows.any():
        return {}
    row = int(np.argmax(rows))
    query = int(np.searchsorted(run.offsets, row, side="right")) - 1
    return {kind: (run.queries[query], run.vocabulary.decode(run.items[row : row + 1])[0])}
