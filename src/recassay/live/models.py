"""Models scored on the same interactions: the list that each would have shown, and the item that the user took.

An interaction is a use of an item that no exposure led to. Each model that is compared adds an event with its list. Two
models are paired where user, item and time agree. The difference of their values lies within the range of the metric,
so :func:`recassay.stats.anytime.boundary` bounds its sum at every look, even if interactions depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.comparison.over_time.windows import FEWEST
from recassay.live.buckets import Buckets, codes_of
from recassay.live.clock import HOUR
from recassay.live.join import Closed
from recassay.live.judging import ExposureJudge
from recassay.stats.anytime import boundary
from recassay.stats.exact_sums import GroupSums
from recassay.stats.significance import mcnemar_p, mcnemar_signed

KEY = ("time", "user_id", "item_id")  # what two models must agree in to be judged on the same event
PARTS = 3  # columns of sums per metric: the difference, and whether only the first or only the second is ahead
BETWEEN = "\x1f"  # the two models of a pair


class ModelSums:
    """Exact sums by period over interactions: the values of each model, and how each pair of models differs.

    ``judge`` scores the lists, ``every`` is the length of a period in microseconds, and ``check`` raises if a value is
    outside the limits of its metric.
    """

    def __init__(self, judge: ExposureJudge, every: int, check: Callable[[NDArray[np.float64]], None]) -> None:
        self.judge, self.metrics, self.every, self.check = judge, list(judge.headings), every, check
        self.means = Buckets(len(self.metrics))
        self.pairs = Buckets(PARTS * len(self.metrics))

    def add(self, events: pl.DataFrame) -> None:
        """Add interactions in order of time; all events of one time must come together."""
        if not events.height:
            return
        names = events["arm"].unique().sort().to_list()
        arms, times = codes_of(events["arm"], names), events["time"].to_numpy()
        taken = events.select(pl.int_range(pl.len(), dtype=pl.Int64).alias("at"), "item_id", "kind", "value")
        values = self.judge.judge(Closed(events, taken), arms, len(names)).values
        self.check(values)
        self.means.count(times, arms, [(name,) for name in names], self.every, values)
        first = (
            events.select(*KEY, "arm").with_row_index("row").unique([*KEY, "arm"], keep="first", maintain_order=True)
        )
        for a, b in combinations(names, 2):
            both = first.filter(arm=a).join(first.filter(arm=b), on=KEY, maintain_order="left")
            if both.height:
                self._add_pair(a, b, times, values, both["row"].to_numpy(), both["row_right"].to_numpy())
        for store in (self.means, self.pairs):
            store.coarsen(int(times[-1]) // HOUR * HOUR)

    def _add_pair(
        self,
        a: str,
        b: str,
        times: NDArray[np.int64],
        values: NDArray[np.float64],
        rows_a: NDArray[np.uint32],
        rows_b: NDArray[np.uint32],
    ) -> None:
        """Add how models ``a`` and ``b`` differ on the interactions for which both made a list.

        ``values`` has a row of scores per list, and ``times`` the time of each row. ``rows_a[i]`` and ``rows_b[i]`` are
        the rows of the lists of ``a`` and of ``b`` for the i-th of these interactions.
        """
        found = values[rows_a] - values[rows_b]
        columns = np.stack([found, np.where(found > 0, 1.0, found * 0), np.where(found < 0, 1.0, found * 0)], axis=2)
        nobody, name = np.zeros(rows_a.size, np.int64), f"{a}{BETWEEN}{b}"
        self.pairs.count(times[rows_a], nobody, [(name,)], self.every, columns.reshape(rows_a.size, -1))

    def means_by_model(self) -> dict[str, Any]:
        """Return ``{model: {metric: {"mean": mean, "n": number of interactions}}}``, over all interactions."""
        by_model = {model: self.means.select(arm=model) for model in self.means.names()}
        return {
            model: {
                name: {"mean": sums.mean(0, at), "n": int(sums.counts[0, at])} for at, name in enumerate(self.metrics)
            }
            for model, sums in by_model.items()
        }

    def comparisons(self, limits: Mapping[str, tuple[float, float]], alpha: float) -> list[dict[str, Any]]:
        """Return a row per pair of models and metric, with the mean ``difference`` and its bounds ``low`` and ``high``.

        The other keys are those of :meth:`_counts`; ``signed`` is McNemar's chi-square over all interactions, positive
        if the first model is ahead. ``limits``
        are the smallest and largest value of metrics; without them a metric has no bounds. The bounds hold at every
        look with probability 1 - ``alpha``. A p-value would hold at a single look only, so there is none.
        """
        rows = []
        for pair in self.pairs.names():
            sums = self.pairs.select(arm=pair)
            for at, metric in enumerate(self.metrics):
                row = self._counts(sums, pair, at)
                bounds = {"difference": sums.mean(0, PARTS * at), "low": None, "high": None}
                if metric in limits and row["n"]:
                    wide = limits[metric][1] - limits[metric][0]
                    squares = float(sums.squares(0, PARTS * at)) / wide**2
                    half = wide * float(boundary(np.array([squares]), alpha / 2)[0]) / row["n"]
                    bounds["low"] = max(bounds["difference"] - half, -wide)
                    bounds["high"] = min(bounds["difference"] + half, wide)
                rows.append({**row, **bounds})
        return rows

    def over_time(self, alpha: float, *, length: int = HOUR, since: int | None = None) -> list[dict[str, Any]]:
        """Return signed McNemar in consecutive windows of ``length`` microseconds, a row per window, pair and metric.

        ``better`` is 1 where the first model is ahead, -1 where the second is, and 0 if p is at least ``alpha`` or the
        models differ on fewer than 10 interactions. Windows older than 2 days are at least an hour, and those older
        than 60 days a day. Windows that begin before ``since`` are left out.
        """
        rows = []
        for pair in self.pairs.names():
            for period, sums in self.pairs.periods(arm=pair, length=length):
                if since is not None and period.begin < since:
                    continue
                for at in range(len(self.metrics)):
                    row = self._counts(sums, pair, at)
                    apart = row["only_a"] + row["only_b"]
                    p = float(mcnemar_p(*(np.array([row[name]]) for name in ("only_a", "only_b")))[0])
                    ahead = int(np.sign(row["signed"])) if p < alpha and apart >= FEWEST else 0
                    rows.append({"begin": period.begin, "length": period.length, **row, "p": p, "better": ahead})
        return rows

    def _counts(self, sums: GroupSums, pair: str, at: int) -> dict[str, Any]:
        """Return a dict for one pair of models and one metric: counts of interactions and signed McNemar.

        The keys are the metric, the models ``a`` and ``b``, ``n`` (interactions for which both made a list), ``only_a``
        and ``only_b`` (how often each was better) and ``signed``. ``sums`` are those of the pair, whose name is
        ``pair``, and ``at`` is the index of the metric.
        """
        a, _, b = pair.partition(BETWEEN)
        only = [int(float(sums.total(0, PARTS * at + part))) for part in (1, 2)]
        signed = float(mcnemar_signed(*(np.array([one]) for one in only))[0])
        return {
            "metric": self.metrics[at], "a": a, "b": b, "n": int(sums.counts[0, PARTS * at]), "only_a": only[0],
            "only_b": only[1], "signed": signed,
        }  # fmt: skip
