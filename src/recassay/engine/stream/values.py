"""What a scored event is worth, from where its item stands; and relaxed matching, from lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.engine.stream import _kernels
from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.models.incremental._walk import Shown
from recassay.models.incremental.base import grown
from recassay.portable.elementary import log2
from recassay.protocols.prequential import Prequential

Values = NDArray[np.float64]
Bool = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

ERROR = "absolute_error"
OF_POSITION: Mapping[str, Callable[[Values, int | None], Values]] = {
    "recall": lambda position, _: np.ones_like(position),
    "hit": lambda position, _: np.ones_like(position),
    "precision": lambda position, k: np.full_like(position, 1 / (k or np.inf)),
    "mrr": lambda position, _: 1 / position,
    "ndcg": lambda position, _: 1 / log2(position + 1),
}
RELAXED = ("recall", "hit")  # what lists with several right items are judged by here
DEFAULTS = ("recall", "mrr", "ndcg")


@dataclass(frozen=True)
class Measures:
    """The metrics of a stream, by heading: one item is right, so each is a function of its position, or of counts."""

    metrics: Mapping[str, Metric]

    @classmethod
    def of(cls, metrics: Metrics | None, protocol: Prequential, *, lists_only: bool) -> Measures:
        """Those that were asked for, or the usual ones; refused where they cannot be had."""
        relaxed = protocol.match != "exact"
        if metrics is None:
            usual = [f"{name}@{protocol.at}" for name in (RELAXED[:1] if relaxed else DEFAULTS)]
            metrics = usual if relaxed or lists_only else [*usual, "auc"]
        found = parse_metrics(metrics)
        known = RELAXED if relaxed else (*OF_POSITION, "auc")
        for heading, metric in found.items():
            if metric.name not in known or metric.parameters != type(metric).defaults():
                what = f"{heading} has no value for one event" + (f" with match={protocol.match!r}" * relaxed)
                raise UsageError(
                    "U192", what, where=str(protocol), hint=f"choose among {', '.join(known)}, as they are"
                )
            if metric.name == "auc" and lists_only:
                raise UsageError(
                    "U192", "auc needs scores, and the model gives lists", where=str(protocol), hint="leave it out"
                )
            if (relaxed or lists_only) and (metric.k is None or metric.k > protocol.at):
                what = f"{heading} looks beyond the list, which is {protocol.at} long"
                raise UsageError(
                    "U192", what, where=str(protocol), hint=f"{metric.name}@{protocol.at}, or at={metric.k}"
                )
            if metric.name == "precision" and metric.k is None:
                raise UsageError("U103", "precision needs a cut-off here", hint=f"precision@{protocol.at}")
        return cls(found)

    def __call__(self, shown: Shown) -> dict[str, Values]:
        """The values of every question."""
        return {heading: self._value(metric, shown) for heading, metric in self.metrics.items()}

    def _value(self, metric: Metric, shown: Shown) -> Values:
        if metric.name == "auc":
            return auc(shown)
        position = shown.position.astype(np.float64)
        hit = (position > 0) & (position <= (np.inf if metric.k is None else metric.k))
        worth = np.zeros(position.size)
        worth[hit] = OF_POSITION[metric.name](position[hit], metric.k)
        return worth


def auc(shown: Shown) -> Values:
    """The share of the other candidates that stand below the item, ties counting half; 0 for an item that is none."""
    others = (shown.candidates - 1).astype(np.float64)
    below = others - shown.above - shown.tied / 2
    share = np.divide(below, others, out=np.full(others.size, np.nan), where=others > 0)
    return np.where(shown.position > 0, share, 0.0)


class Previous:
    """The last lists that every user was shown."""

    def __init__(self, reach: int, at: int) -> None:
        self.reach, self.at = reach, at
        self.shown, self.turn = np.zeros((0, reach, at), np.int32), np.zeros(0, np.int64)

    def __call__(self, users: Int32, items: Int32, lists: Int32) -> Values:
        """1 where the item stands in the list of now or in one of the last ones of its user."""
        room = int(users.max(initial=-1)) + 1
        self.shown = grown(
            self.shown, room, lambda begin, end: np.full((end - begin, self.reach, self.at), -1, np.int32)
        )
        self.turn = grown(self.turn, room)
        hit = np.empty(users.size, np.bool_)
        _kernels.show(users, items, lists, self.shown, self.turn, hit)
        return hit.astype(np.float64)


class Ahead:
    """What every user takes from an event on, in so many events or in all that are left; made from a whole stream."""

    def __init__(self, users: Int32, items: Int32, reach: int | None, *, exclude: bool) -> None:
        self.n_items = int(items.max(initial=-1)) + 1
        order = np.argsort(users, kind="stable")
        offsets = np.append(0, np.cumsum(np.bincount(users)))
        self.ordinal = np.empty(users.size, np.int64)  # of each event among those of its user
        self.ordinal[order] = np.arange(users.size) - offsets[users[order]]
        pairs = users.astype(np.int64) * self.n_items + items
        self.pairs, pair = np.unique(pairs, return_inverse=True)
        self.span = int(self.ordinal.max(initial=0)) + 1
        self.met = np.sort(pair * self.span + self.ordinal)  # every event, by pair and then in time
        self.reach = self.span if reach is None else reach
        first = np.zeros(users.size, np.bool_)
        first[np.unique(pairs, return_index=True)[1]] = True
        counts = first[order] if exclude else np.ones(users.size, np.bool_)
        found = np.zeros(users.size, np.int64)
        _kernels.distinct(offsets, items[order], counts, self.reach, self.n_items, found)
        self.targets = np.empty(users.size, np.int64)
        self.targets[order] = found

    def hits(self, events: Int64, users: Int32, lists: Int32) -> Bool:
        """Which places of the lists that were shown at some events hold what the user takes from then on."""
        wanted = users[:, None].astype(np.int64) * self.n_items + lists
        pair = np.searchsorted(self.pairs, wanted)
        pair = np.minimum(pair, self.pairs.size - 1)
        known = (lists >= 0) & (lists < self.n_items) & (self.pairs[pair] == wanted)
        begin = pair * self.span + self.ordinal[events][:, None]
        following = self.met[np.minimum(np.searchsorted(self.met, begin), self.met.size - 1)]
        there: Bool = (
            known & (following >= begin) & (following < np.minimum(begin + self.reach, (pair + 1) * self.span))
        )
        return there

    def __call__(self, events: Int64, users: Int32, lists: Int32, k: int, *, share: bool) -> Values:
        """1 for a hit, or the share of what could be hit."""
        hits = self.hits(events, users, lists[:, :k]).sum(axis=1).astype(np.float64)
        most = np.minimum(k, self.targets[events]).astype(np.float64)
        worth: Values = hits / most if share else np.minimum(hits, 1.0)
        return worth
