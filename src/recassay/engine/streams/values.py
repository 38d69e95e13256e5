"""The value of each scored event of a stream under each metric.

Values come from the rank of the event's item, or, with relaxed matching, from hits on items that the user takes at
other events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recassay.engine.streams import _kernels
from recassay.errors import UsageError
from recassay.metrics.base import CatalogueMetric, Metric, UnitMetric
from recassay.metrics.credit import NEEDS_JUDGED, Credit, JudgedFormula, NoFormula, PairFormula
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.models.incremental._walk import WalkOutput
from recassay.models.incremental.base import grown
from recassay.protocols.prequential import Prequential

Values = NDArray[np.float64]
Bool = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

ERROR = "absolute_error"
RELAXED = ("recall", "hit")  # the metrics with relaxed matching, where several items of a list may be right
DEFAULTS = ("recall", "mrr", "ndcg")


@dataclass(frozen=True)
class StreamMetrics:
    """The metrics of a stream by name.

    One item is relevant per event, so most metrics are functions of its rank. Metrics in ``listed`` read all items
    of a list.
    """

    metrics: Mapping[str, Metric]
    listed: Mapping[str, UnitMetric] = field(default_factory=dict)

    @classmethod
    def of(
        cls, metrics: Metrics | None, protocol: Prequential, *, lists_only: bool, items: bool = False
    ) -> StreamMetrics:
        """Return the requested metrics, or the default ones; raise U192 for a metric without a value per event.

        ``lists_only`` says that the model gives lists but no scores, and ``items`` that features of items were given.
        """
        relaxed = protocol.match != "exact"
        if metrics is None:
            defaults = [f"{name}@{protocol.at}" for name in (RELAXED[:1] if relaxed else DEFAULTS)]
            metrics = defaults if relaxed or lists_only else [*defaults, "auc"]
        parsed = parse_metrics(metrics)
        listed = {heading: metric for heading, metric in parsed.items() if _reads_lists(metric)}
        for heading, metric in listed.items():
            _refuse_unlisted(heading, metric, protocol, items=items)
        for heading, metric in parsed.items():
            if heading in listed:
                continue
            formula = _formula_of_event(heading, metric, protocol)
            if isinstance(formula, PairFormula):
                if lists_only:
                    what = f"{heading} needs scores, but the model gives lists"
                    raise UsageError("U192", what, where=str(protocol), hint="leave it out")
                continue
            cut = formula.cut_of_one
            if (relaxed or lists_only) and (cut is None or cut > protocol.at):
                what = f"{heading} looks at more than the {protocol.at} items of a list"
                hint = f"{metric.name}@{protocol.at}" + (f", or at={metric.k}" if metric.k else "")
                raise UsageError("U192", what, where=str(protocol), hint=hint)
        return cls(parsed, listed)  # type: ignore[arg-type]  # others are refused

    @property
    def of_ranks(self) -> dict[str, Metric]:
        """Return the metrics that are functions of the rank of the event's item, by name."""
        return {heading: metric for heading, metric in self.metrics.items() if heading not in self.listed}

    def __call__(self, shown: WalkOutput) -> dict[str, Values]:
        """Return, by name, the values of the metrics that need only the rank of the event's item, one per query.

        ``shown`` holds the ranks and the numbers of candidates.
        """
        return {heading: _values(_formula(metric), shown) for heading, metric in self.of_ranks.items()}

    def missed(self, events: int) -> dict[str, Values]:
        """Return, by metric, the values of ``events`` events with an empty list: the model does not know their user."""
        empty = {heading: getattr(metric, "empty", "zero") for heading, metric in self.metrics.items()}
        return {heading: np.full(events, np.nan if how == "undefined" else 0.0) for heading, how in empty.items()}


def _reads_lists(metric: Metric) -> bool:
    """Return whether a metric is measured on whole lists, because no function of one rank gives it on streams."""
    formula = metric.rank_formula()
    if isinstance(formula, JudgedFormula):
        return False  # it needs judged items that are not relevant
    return isinstance(formula, NoFormula)


def _refuse_unlisted(heading: str, metric: Metric, protocol: Prequential, *, items: bool) -> None:
    """Raise U192 for a metric that has no value for the list of one event, U105 for one that lacks features."""
    hint, why = "", ""
    if isinstance(metric, CatalogueMetric):
        why = "it describes the lists of many events"
        hint = f"stream.catalogue_over_time('{heading}', window=1000) of ra.play(..., lists=True)"
    elif not isinstance(metric, UnitMetric) or metric.family in ("debiased", "rating"):
        why, hint = "it needs a training log, which grows during a stream", "choose ndcg, ild, efd, epc, arp, ..."
    elif (metric.needed - {"items"}) and not hasattr(metric, "bind_at"):
        why, hint = (
            "it needs a training log, which grows during a stream",
            "choose ild, efd, epc, arp, unexpectedness, ...",
        )
    elif metric.k is not None and metric.k > protocol.at:
        why, hint = f"a list has only {protocol.at} items", f"{metric.name}@{protocol.at}, or at={metric.k}"
    elif protocol.match != "exact" and (metric.family != "beyond" or _reads_relevance(metric)):
        why, hint = f"with match={protocol.match!r} it is not clear what is relevant", "match='exact'"
    if why:
        raise UsageError("U192", f"{heading} has no value for a single event: {why}", where=str(protocol), hint=hint)
    if "items" in metric.needed and not items:
        hint = "ra.play(..., items=FEATURES); in a study, `items` next to the data"
        raise UsageError("U105", f"{heading} needs features of items", where=str(protocol), hint=hint)


def _reads_relevance(metric: Metric) -> bool:
    return "relevant_from" in metric.defaults() and getattr(metric, "relevance_aware", True)


def _formula(metric: Metric) -> Credit | PairFormula:
    """Return how a checked metric is computed from ranks; it is not kept, as a checkpoint cannot store its functions.

    The result is a sum of credits for ranks, or a function of the pairs of items in the wrong order (AUC).
    """
    formula = metric.rank_formula()
    assert isinstance(formula, Credit | PairFormula), "StreamMetrics.of refuses other metrics"
    return formula


def _formula_of_event(heading: str, metric: Metric, protocol: Prequential) -> Credit | PairFormula:
    """Return how a metric is computed from the rank of an event's one relevant item; raise U192 if it cannot be.

    A ``Credit`` gives a value for a rank, a ``PairFormula`` for the number of items above and below (AUC). ``heading``
    is the metric as text, for the error.
    """
    formula = metric.rank_formula()
    defaults = metric.defaults()
    ignored = {name for name in metric.list_parameters & set(defaults) if metric.parameters[name] != defaults[name]}
    hint = "choose metrics of the rank of one item, such as recall@10, mrr@10, ndcg@10 or auc"
    if protocol.match != "exact" and (metric.name not in RELAXED or metric.parameters != defaults):
        why = f" with match={protocol.match!r}"
        hint = f"choose among {', '.join(RELAXED)}, with default parameters"
    elif isinstance(formula, JudgedFormula):
        why = f": {NEEDS_JUDGED}"
    elif isinstance(formula, Credit) and formula.weight is not None:
        why = ": the credit of an item depends on its number of training users, which grows during a stream"
    elif ignored:
        why = f": {', '.join(sorted(ignored))} has no meaning for one event"
    else:
        assert not isinstance(formula, NoFormula), "metrics without a formula are measured on lists"
        return formula
    raise UsageError("U192", f"{heading} has no value for a single event{why}", where=str(protocol), hint=hint)


def _values(formula: Credit | PairFormula, shown: WalkOutput) -> Values:
    """Return the value of each query under a metric's formula, from the rank of its item; 0 if it was not a candidate.

    ``shown`` holds the ranks and the numbers of candidates. The value is NaN for AUC without other candidates.
    """
    is_candidate = shown.position > 0
    values = np.zeros(is_candidate.size)
    if isinstance(formula, PairFormula):
        others = (shown.candidates - 1).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):  # an item without competitors has no value
            shares = formula.share(shown.above + shown.tied / 2, others)
        return np.where(is_candidate, np.where(others > 0, shares, np.nan), 0.0)
    values[is_candidate] = formula.of_one(shown.position[is_candidate].astype(np.float64))
    return values


class RecentLists:
    """The last ``reach`` lists of ``at`` items that were recommended to each user."""

    def __init__(self, reach: int, at: int) -> None:
        self.reach, self.at = reach, at
        self.shown, self.n_shown = np.zeros((0, reach, at), np.int32), np.zeros(0, np.int64)

    def __call__(self, users: Int32, items: Int32, lists: Int32) -> Values:
        """Return 1 for each query whose item is in the new list or in its user's last ``reach`` lists, else 0.

        The new lists are then stored.
        """
        n_users = int(users.max(initial=-1)) + 1
        self.shown = grown(
            self.shown, n_users, lambda begin, end: np.full((end - begin, self.reach, self.at), -1, np.int32)
        )
        self.n_shown = grown(self.n_shown, n_users)
        hit = np.empty(users.size, np.bool_)
        _kernels.show(users, items, lists, self.shown, self.n_shown, hit)
        return hit.astype(np.float64)


class UpcomingItems:
    """The items that the user of each event takes from that event on, in the user's next ``reach`` events or all."""

    def __init__(self, users: Int32, items: Int32, reach: int | None, *, exclude: bool) -> None:
        self.n_items = int(items.max(initial=-1)) + 1
        order = np.argsort(users, kind="stable")
        offsets = np.append(0, np.cumsum(np.bincount(users)))
        self.ordinal = np.empty(users.size, np.int64)  # of each event among the events of its user
        self.ordinal[order] = np.arange(users.size) - offsets[users[order]]
        pairs = users.astype(np.int64) * self.n_items + items
        self.pairs, pair = np.unique(pairs, return_inverse=True)
        self.span = int(self.ordinal.max(initial=0)) + 1
        self.events = np.sort(pair * self.span + self.ordinal)  # every event, by pair and then in time
        self.reach = self.span if reach is None else reach
        first = np.zeros(users.size, np.bool_)
        first[np.unique(pairs, return_index=True)[1]] = True
        counts = first[order] if exclude else np.ones(users.size, np.bool_)
        found = np.zeros(users.size, np.int64)
        _kernels.distinct(offsets, items[order], counts, self.reach, self.n_items, found)
        self.targets = np.empty(users.size, np.int64)
        self.targets[order] = found

    @classmethod
    def of(cls, protocol: Prequential, users: Int32, items: Int32) -> UpcomingItems | None:
        """Return the later items of each user, with which relaxed matching compares lists.

        Return None if the protocol matches exactly or compares items with earlier lists.
        """
        if protocol.match not in ("future", "window"):
            return None
        reach = protocol.reach if protocol.match == "window" else None
        return cls(users, items, reach, exclude=protocol.repeats == "exclude")

    def hits(self, events: Int64, users: Int32, lists: Int32) -> Bool:
        """Return a mask (lists, places): true for recommended items that the user takes at the list's event or later.

        Only the user's next ``reach`` events count, the list's event included. ``events`` and ``users`` are the event
        and the user of each list.
        """
        wanted = users[:, None].astype(np.int64) * self.n_items + lists
        pair = np.searchsorted(self.pairs, wanted)
        pair = np.minimum(pair, self.pairs.size - 1)
        known = (lists >= 0) & (lists < self.n_items) & (self.pairs[pair] == wanted)
        begin = pair * self.span + self.ordinal[events][:, None]
        following = self.events[np.minimum(np.searchsorted(self.events, begin), self.events.size - 1)]
        is_hit: Bool = (
            known & (following >= begin) & (following < np.minimum(begin + self.reach, (pair + 1) * self.span))
        )
        return is_hit

    def __call__(self, events: Int64, users: Int32, lists: Int32, k: int, *, share: bool) -> Values:
        """Return the value of each list: 1 if one of its first ``k`` items is a hit, else 0.

        An item is a hit if the user takes it at the list's event or later (as far as ``reach`` goes). With ``share``,
        return the number of hits divided by the largest possible number: ``k``, or the number of different items that
        the user takes in that time, whichever is smaller. ``events`` and ``users`` are the event and the user of each
        list.
        """
        hits = self.hits(events, users, lists[:, :k]).sum(axis=1).astype(np.float64)
        most = np.minimum(k, self.targets[events]).astype(np.float64)
        values: Values = hits / most if share else np.minimum(hits, 1.0)
        return values
