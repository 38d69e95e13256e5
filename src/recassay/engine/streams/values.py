"""The value of each scored event of a stream under each metric.

Values come from the rank of the event's item, or, with relaxed matching, from hits on items that the user takes at
other events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Bool, Float, Int32, Int64
from recassay.columnar.order import positions_in_groups
from recassay.errors import UsageError
from recassay.metrics.base import CatalogueMetric, Metric, UnitMetric
from recassay.metrics.credit import NEEDS_JUDGED, Credit, JudgedFormula, NoFormula, PairFormula, RankFormula
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.models.incremental._walk import WalkOutput
from recassay.models.incremental.base import grown
from recassay.protocols.prequential import Prequential

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
        in_list = relaxed or lists_only  # only items of the list have a rank
        if metrics is None:
            defaults = [f"{name}@{protocol.at}" for name in (RELAXED[:1] if relaxed else DEFAULTS)]
            metrics = defaults if in_list else [*defaults, "auc"]
        parsed = parse_metrics(metrics)
        formulas = {heading: metric.rank_formula() for heading, metric in parsed.items()}
        listed = {heading: parsed[heading] for heading, formula in formulas.items() if isinstance(formula, NoFormula)}
        for heading, metric in parsed.items():
            formula = formulas[heading]
            why, hint = (_why_no_list if heading in listed else _why_no_rank)(metric, protocol)
            what = f"{heading} has no value for a single event{why}" if why else ""
            if heading in listed and not why and "items" in metric.needed and not items:
                hint = "ra.play(..., items=FEATURES); in a study, `items` next to the data"
                raise UsageError("U105", f"{heading} needs features of items", where=str(protocol), hint=hint)
            if isinstance(formula, PairFormula) and lists_only:
                what, hint = f"{heading} needs scores, but the model gives lists", "leave it out"
            elif isinstance(formula, Credit) and in_list and not why and (formula.cut_of_one or np.inf) > protocol.at:
                what = f"{heading} looks at more than the {protocol.at} items of a list"
                hint = f"{metric.name}@{protocol.at}" + (f", or at={metric.k}" if metric.k else "")
            if what:
                raise UsageError("U192", what, where=str(protocol), hint=hint)
        return cls(parsed, listed)  # type: ignore[arg-type]  # others are refused

    @property
    def of_ranks(self) -> dict[str, Metric]:
        """Return the metrics that are functions of the rank of the event's item, by name."""
        return {heading: metric for heading, metric in self.metrics.items() if heading not in self.listed}

    def __call__(self, shown: WalkOutput) -> dict[str, Float]:
        """Return, by name, the values of the metrics that need only the rank of the event's item, one per query.

        ``shown`` holds the ranks and the numbers of candidates.
        """
        return {heading: _values(metric.rank_formula(), shown) for heading, metric in self.of_ranks.items()}

    def missed(self, events: int) -> dict[str, Float]:
        """Return, for each metric by name, the values of ``events`` events with an empty list (for unknown users)."""
        empty = {heading: getattr(metric, "empty", "zero") for heading, metric in self.metrics.items()}
        return {heading: np.full(events, np.nan if how == "undefined" else 0.0) for heading, how in empty.items()}


def _why_no_list(metric: Metric, protocol: Prequential) -> tuple[str, str]:
    """Return why a metric of whole lists has no value for the list of one event, and a hint; "" if it has one."""
    of_one_list = isinstance(metric, UnitMetric) and metric.family not in ("debiased", "rating")
    is_relevant = "relevant_from" in metric.defaults() and getattr(metric, "relevance_aware", True)
    relaxed = protocol.match != "exact" and (metric.family != "beyond" or is_relevant)
    too_deep = metric.k is not None and metric.k > protocol.at
    return _first((
        (
            isinstance(metric, CatalogueMetric), ": it describes the lists of many events",
            f"stream.catalogue_over_time('{metric}', window=1000) of ra.play(..., lists=True)",
        ),
        (
            not of_one_list or (metric.needed - {"items"} and not hasattr(metric, "bind_at")),
            ": it needs a training log, which grows during a stream",
            "choose ndcg, ild, efd, epc, arp, unexpectedness, ...",
        ),
        (too_deep, f": a list has only {protocol.at} items", f"{metric.name}@{protocol.at}, or at={metric.k}"),
        (relaxed, f": with match={protocol.match!r} it is not clear what is relevant", "match='exact'"),
    ))  # fmt: skip


def _why_no_rank(metric: Metric, protocol: Prequential) -> tuple[str, str]:
    """Return why a metric has no value for the rank of an event's one relevant item, and a hint; "" if it has one."""
    formula, defaults = metric.rank_formula(), metric.defaults()
    ignored = {name for name in metric.list_parameters & set(defaults) if metric.parameters[name] != defaults[name]}
    plain = metric.name in RELAXED and metric.parameters == defaults
    hint = "choose metrics of the rank of one item, such as recall@10, mrr@10, ndcg@10 or auc"
    return _first((
        (
            protocol.match != "exact" and not plain, f" with match={protocol.match!r}",
            f"choose among {', '.join(RELAXED)}, with default parameters",
        ),
        (isinstance(formula, JudgedFormula), f": {NEEDS_JUDGED}", hint),
        (
            isinstance(formula, Credit) and formula.weight is not None,
            ": the credit of an item depends on its number of training users, which grows during a stream", hint,
        ),
        (ignored, f": {', '.join(sorted(ignored))} has no meaning for one event", hint),
    ))  # fmt: skip


def _first(reasons: Iterable[tuple[object, str, str]]) -> tuple[str, str]:
    """Return the text and the hint of the first reason that holds, from (holds, text, hint); "" if none does."""
    return next(((why, hint) for holds, why, hint in reasons if holds), ("", ""))


def _values(formula: RankFormula, shown: WalkOutput) -> Float:
    """Return the value of each query under a metric's formula, from the rank of its item; 0 if it was not a candidate.

    ``shown`` holds the ranks and the numbers of candidates. The formula is a sum of credits for ranks, or a function of
    the pairs of items in the wrong order (AUC), which has no value without other candidates: NaN.
    """
    assert isinstance(formula, Credit | PairFormula), "StreamMetrics.of refuses other metrics"
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
    """A memory of the last ``reach`` lists recommended to each user, each of ``at`` items."""

    def __init__(self, reach: int, at: int) -> None:
        self.reach, self.at = reach, at
        self.shown, self.n_shown = np.zeros((0, reach, at), np.int32), np.zeros(0, np.int64)

    def __call__(self, users: Int32, items: Int32, lists: Int32) -> Float:
        """Return 1 for each query whose item is in the new list or in its user's last ``reach`` lists, else 0.

        The new lists are then stored.
        """
        n_users = int(users.max(initial=-1)) + 1
        self.shown = grown(
            self.shown, n_users, lambda begin, end: np.full((end - begin, self.reach, self.at), -1, np.int32)
        )
        self.n_shown = grown(self.n_shown, n_users)
        hit = np.empty(users.size, np.bool_)
        show(users, items, lists, self.shown, self.n_shown, hit)
        return hit.astype(np.float64)


class UpcomingItems:
    """The items that the user of each event takes from that event on, in the user's next ``reach`` events or all."""

    def __init__(self, protocol: Prequential, users: Int32, items: Int32) -> None:
        self.n_items = int(items.max(initial=-1)) + 1
        self.ordinal = positions_in_groups(users)  # of each event among the events of its user
        self.span = int(self.ordinal.max(initial=0)) + 1
        self.reach = protocol.reach if protocol.match == "window" else self.span
        pairs = users.astype(np.int64) * self.n_items + items
        keys = pairs * self.span + self.ordinal
        by_pair = np.argsort(keys, kind="stable")
        self.events = keys[by_pair]  # every event, by pair and then in time
        again = np.flatnonzero(np.diff(pairs[by_pair]) == 0) + 1
        previous = np.full(users.size, -1)  # the user's event before with the same item
        previous[by_pair[again]] = self.ordinal[by_pair[again - 1]]
        # An event is a target of the user's events after the previous one with its item, as far back as lists reach.
        counted = (previous < 0) | (protocol.repeats == "allow")
        place = np.argsort(np.argsort(users, kind="stable"), kind="stable")  # among all events, ordered by user
        first = place - self.ordinal + np.maximum(previous, self.ordinal - self.reach) + 1
        begins, ends = (np.bincount(at[counted], minlength=users.size + 1) for at in (first, place + 1))
        self.targets = np.cumsum(begins - ends)[place]

    def hits(self, events: Int64, users: Int32, lists: Int32) -> Bool:
        """Return a mask with the shape of ``lists``: true for items that the user takes at the list's event or later.

        Only the user's next ``reach`` events count, the list's event included. ``events`` and ``users`` are the event
        and the user of each list.
        """
        first = (users[:, None].astype(np.int64) * self.n_items + lists) * self.span  # of the pair of user and item
        begin = first + self.ordinal[events][:, None]
        following = self.events[np.minimum(np.searchsorted(self.events, begin), self.events.size - 1)]
        in_reach = (following >= begin) & (following < np.minimum(begin + self.reach, first + self.span))
        return np.asarray((lists >= 0) & (lists < self.n_items) & in_reach)

    def __call__(self, events: Int64, users: Int32, lists: Int32, k: int, *, share: bool) -> Float:
        """Return the value of each list: 1 if one of its first ``k`` items is a hit, else 0.

        An item is a hit if the user takes it at the list's event or later (as far as ``reach`` goes). With ``share``,
        return the number of hits divided by the largest possible number: ``k``, or the number of different items that
        the user takes in that time, whichever is smaller. ``events`` and ``users`` are the event and the user of each
        list.
        """
        hits = self.hits(events, users, lists[:, :k]).sum(axis=1).astype(np.float64)
        return np.asarray(hits / np.minimum(k, self.targets[events]) if share else np.minimum(hits, 1.0))


@njit(cache=True, nogil=True)
def show(users: Int32, items: Int32, lists: Int32, shown: Int32, turn: Int64, hit: Bool) -> None:
    """Write to ``hit[i]`` whether ``items[i]`` is in ``lists[i]`` or in an earlier list recommended to ``users[i]``.

    Row i is a query: its user, the item the user took, and the recommended list. ``shown[u]`` holds the last few lists
    of user u (the oldest is overwritten by each new one), and ``turn[u]`` is the number of lists so far; both are
    updated.
    """
    for row in range(users.size):
        user = users[row]
        found = False
        for listed in lists[row]:
            found |= listed == items[row]
        for listed in shown[user].ravel():
            found |= listed == items[row]
        hit[row] = found
        shown[user, turn[user] % shown.shape[1]] = lists[row]
        turn[user] += 1
