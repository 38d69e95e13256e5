"""Bounds for means of arms and their differences that hold however often one looks, and a test of the assignment.

Units (users, or exposures) are assigned to arm a with a known probability p_a. For two arms, a unit with the value x in
[0, 1] contributes d = (x - g) / p_a if it is in a, and -(x - g) / p_b if it is in b. For any g the expectation of d is
the difference of the means, if g is known before the unit: here g is the mean of all units in earlier periods. Divided
by c = max(1/p_a, 1/p_b), d lies in [-1, 1], and :func:`recassay.stats.anytime.boundary` bounds its sum. Without arms
the same holds for the mean of x with d = x - g. Means that change over time are allowed: the bounds are for the mean of
the expectations so far.

The sums are updated at the end of each period of event time. So the bounds depend neither on when somebody looks at
them nor on how events come in batches.

The assignment of units to arms is tested by the ratio of the likelihood under a Dirichlet mixture to that under the
stated shares. It is a martingale, so its largest value so far bounds the p-value at any time (Lindon and Malek 2022).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from recassay.live.settings import Rule
from recassay.stats.anytime import TUNED_FOR, best_rho, boundary, log_mixture
from recassay.stats.exact_sums import GroupSums
from recassay.stats.significance import adjust

CONCENTRATION = 200.0  # of the Dirichlet mixture: it looks for deviations of some percent
FEWEST_EXPECTED = 10  # units of an arm after which it is missing: by chance none comes once in 20,000 times
MOST_UNITS = 1e6  # how many times as many units as now are considered


@dataclass
class Running:
    """The number, sum and sum of squares of terms in [-1, 1]; each unit (a user or an exposure) adds one term.

    ``best`` is the largest log likelihood ratio so far in favour of a mean that is not 0.
    """

    n: int = 0
    total: float = 0.0
    squares: float = 0.0
    best: float = 0.0

    def radius(self, alpha: float) -> float:
        """Return a distance from 0 that the sum ever exceeds on one side with probability at most ``alpha``.

        This holds for the whole course of the sum, if the mean of the terms is 0.
        """
        return float(boundary(np.array([max(self.squares, 0.0)]), alpha)[0])

    def add(
        self,
        units: Mapping[str, tuple[int, float, float]],
        known: Mapping[str, tuple[int, float]],
        weights: Mapping[str, float],
    ) -> None:
        """Add a term for each unit of a period: the weight of its arm times (its value minus a guess of the mean).

        ``units`` maps each arm to (number, sum, sum of squares) of the values of the period. ``known`` maps it to
        (number, sum) of earlier periods, whose mean is the guess. ``weights`` has the weight of each arm.
        """
        n, total = (sum(numbers) for numbers in zip(*(known[arm] for arm in weights), strict=True))
        guess = total / (n + 1)
        for arm in [arm for arm in weights if arm in units]:
            count, value, square = units[arm]
            self.n += count
            self.total += weights[arm] * (value - count * guess)
            self.squares += weights[arm] ** 2 * (square - 2 * guess * value + count * guess * guess)

    @property
    def p(self) -> float:
        """Return the two-sided p-value of "the mean of the terms is 0"; it is valid however often one looks at it."""
        return min(1.0, 2 * math.exp(-self.best))


class Interval(NamedTuple):
    """The mean of an arm over ``n`` units (users or exposures) with its lower and upper bound; NaN without units."""

    n: int = 0
    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan


class Difference(NamedTuple):
    """The difference of two arms over ``n`` units (users or exposures) with its bounds; NaN without units.

    ``difference`` is that of the means. ``adjusted`` weights each unit by one over the share of its arm, after the mean
    of earlier units is subtracted; it is the centre of the bounds. The two agree where each arm gets its stated share.
    """

    n: int = 0
    difference: float = math.nan
    adjusted: float = math.nan
    low: float = math.nan
    high: float = math.nan


@dataclass
class Evidence:
    """The sums from which means of arms and their differences are tested, updated after each period of time.

    ``limits`` are the smallest and largest possible value of each metric; a metric without limits is not tested.
    ``alpha`` is the error probability of bounds, and ``shares`` are the probabilities of the arms (up to a common
    factor); an arm that is not in it has the factor 1. ``rules`` are claims to decide, and ``decisions`` those that
    were established. ``single`` and ``pair`` have the running sums of each arm and of each pair of arms, by metric, and
    ``assigned`` the number of units of each arm.
    """

    limits: Mapping[str, tuple[float, float]]
    alpha: float = 0.05
    shares: Mapping[str, float] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    arms: list[str] = field(default_factory=list)
    single: dict[tuple[str, str], Running] = field(default_factory=dict)
    pair: dict[tuple[str, str, str], Running] = field(default_factory=dict)
    means: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict)  # units and their sum, from 0 to 1
    assigned: dict[str, int] = field(default_factory=dict)
    mismatch: float = 0.0  # the largest log of the evidence against the shares
    decisions: dict[str, dict[str, Any]] = field(default_factory=dict)

    def share(self, arm: str) -> float:
        """Return the relative probability with which units are assigned to an arm; 1 if none was stated."""
        return float(self.shares.get(arm, 1.0))

    def update(self, end: int, sums: Mapping[str, GroupSums], metrics: list[str]) -> None:
        """Add the sums of a period that ends at time ``end``, by arm, and decide the rules.

        ``sums`` maps each arm to the sums over its units, with a column for each of ``metrics``.
        """
        self.arms = sorted({*self.arms, *sums})
        for at, metric in enumerate(metrics):
            if metric in self.limits:
                self._update_metric(metric, {arm: self._unit_sums(one, at, metric) for arm, one in sums.items()})
        self._weigh()
        self._decide(end)

    def _weigh(self) -> None:
        """Update, for each pair of arms and metric, the largest log likelihood ratio so far that the arms differ."""
        sizes = np.array([abs(one.total) for one in self.pair.values()])
        spreads = np.array([max(one.squares, 0.0) for one in self.pair.values()])
        ratios = log_mixture(sizes, spreads, best_rho(TUNED_FOR, self.alpha / 2))
        for one, ratio in zip(self.pair.values(), ratios.tolist(), strict=True):
            one.best = max(one.best, ratio)

    def _unit_sums(self, sums: GroupSums, at: int, metric: str) -> tuple[int, float, float]:
        """Return number, sum and sum of squares of the values in column ``at``, scaled to the range 0 to 1.

        The metric's smallest possible value becomes 0, its largest 1.
        """
        low, high = self.limits[metric]
        n, wide = int(sums.counts[0, at]), high - low
        total, squares = float(sums.total(0, at)), float(sums.squares(0, at))
        if low:
            squares, total = squares - 2 * low * total + n * low * low, total - n * low
        return n, total / wide, squares / (wide * wide)

    def _update_metric(self, metric: str, units: Mapping[str, tuple[int, float, float]]) -> None:
        known = {arm: self.means.get((arm, metric), (0, 0.0)) for arm in self.arms}
        for arm, (n, total, _) in sorted(units.items()):
            self.means[arm, metric] = (known[arm][0] + n, known[arm][1] + total)
            self.single.setdefault((arm, metric), Running()).add(units, known, {arm: 1.0})
        for a, b in itertools.combinations(self.arms, 2):
            if a in units or b in units:
                scale = (self.share(a) + self.share(b)) / self._largest(a, b)
                weights = {a: scale / self.share(a), b: -scale / self.share(b)}
                self.pair.setdefault((a, b, metric), Running()).add(units, known, weights)

    def _largest(self, a: str, b: str) -> float:
        both = self.share(a) + self.share(b)
        return max(both / self.share(a), both / self.share(b))

    def mean(self, arm: str, metric: str) -> Interval:
        """Return the mean of an arm over its units, with bounds at error rate :attr:`alpha`.

        ``metric`` is the metric whose values are averaged; a unit is a user or an exposure.
        """
        running = self.single.get((arm, metric))
        if running is None or not running.n:
            return Interval()
        low, high = self.limits[metric]
        n, total = self.means[arm, metric]
        middle, half, wide = total / n, running.radius(self.alpha / 2) / n, high - low
        bounds = (low + wide * max(middle - half, 0.0), low + wide * min(middle + half, 1.0))
        return Interval(n, low + wide * middle, *bounds)

    def difference(self, a: str, b: str, metric: str, alpha: float | None = None) -> Difference:
        """Return the difference of two arms in ``metric``, a minus b.

        Its bounds hold with probability 1 - ``alpha``; with None that is :attr:`alpha`.
        """
        if a > b:
            turned = self.difference(b, a, metric, alpha)
            return Difference(turned.n, -turned.difference, -turned.adjusted, -turned.high, -turned.low)
        running = self.pair.get((a, b, metric))
        if running is None or not running.n:
            return Difference()
        radius, scale = running.radius((alpha or self.alpha) / 2), self._scale(a, b, metric)
        most = self.limits[metric][1] - self.limits[metric][0]
        totals = (running.total, running.total - radius, running.total + radius)
        adjusted = (min(max(scale * total, -most), most) for total in totals)
        (n_a, sum_a), (n_b, sum_b) = (self.means.get((arm, metric), (0, 0.0)) for arm in (a, b))
        plain = most * (sum_a / n_a - sum_b / n_b) if n_a and n_b else math.nan
        return Difference(running.n, plain, *adjusted)

    def _scale(self, a: str, b: str, metric: str) -> float:
        """Return the factor that makes the sum of :attr:`pair` for arms ``a`` < ``b`` and a metric their difference."""
        low, high = self.limits[metric]
        return (high - low) * self._largest(a, b) / self.pair[a, b, metric].n

    def comparisons(self, control: str | None = None) -> list[dict[str, Any]]:
        """Return a row per pair of arms and metric: the fields of :class:`Difference`, and two p-values.

        With ``control`` only the other arms minus this one are compared. ``p_adjusted`` has Holm's correction over all
        rows, ``p`` has none. Bounds and p-values are valid however often one looks at them.
        """
        keys = [key for key in sorted(self.pair) if control in (None, *key[:2])]
        p = np.array([self.pair[key].p for key in keys])
        corrected = adjust(p) if p.size else p
        rows = []
        for (a, b, metric), raw, holm in zip(keys, p.tolist(), corrected.tolist(), strict=True):
            first, second = (b, a) if a == control else (a, b)
            numbers = self.difference(first, second, metric)._asdict()
            rows.append({"metric": metric, "a": first, "b": second, **numbers, "p": raw, "p_adjusted": holm})
        return rows

    def level(self, rule: Rule) -> float:
        """Return the error probability of a rule: that it is decided although its claim is false."""
        return rule.alpha if rule.alpha is not None else self.alpha / len(self.rules)

    def claimed(self, rule: Rule) -> Difference:
        """Return the difference that a rule is about; its lower bound is one-sided, at the level of the rule."""
        return self.difference(*rule.arms, rule.metric, min(2 * self.level(rule), 0.999999))

    def units_needed(self, rule: Rule) -> int | None:
        """Return about how many units (users or exposures) decide a rule, if the difference stays as it is.

        The result is None if the difference is not above the rule's margin, or if a million times as many units are
        needed.
        """
        a, b = sorted(rule.arms)
        adjusted = self.claimed(rule).adjusted
        if not adjusted > rule.margin:  # also where it is undefined
            return None
        running, scale, times = self.pair[a, b, rule.metric], self._scale(a, b, rule.metric), 1.0
        while times < MOST_UNITS:
            more = Running(squares=running.squares * times)
            if scale * more.radius(self.level(rule)) / times < adjusted - rule.margin:
                return math.ceil(running.n * times)
            times *= 1.1
        return None

    def undecidable(self, arms: list[str], control: str | None, *, ended: bool) -> dict[str, str]:
        """Return the reason for each rule that cannot be decided, and for ``control`` if that arm has no exposure.

        ``arms`` are those whose exposures have come. Any other arm counts as missing once the events have ``ended``, or
        once ten of its units should have come.
        """
        units, whole = sum(self.assigned.values()), sum(self.share(arm) for arm in arms)

        def missing(arm: str) -> bool:
            expected = units * self.share(arm) / (whole + self.share(arm))
            return arm not in arms and (ended or expected >= FEWEST_EXPECTED)

        named = {str(rule): [*rule.arms] for rule in self.rules}
        if control is not None:
            named[f"--control {control}"] = [control]
        absent = {name: [arm for arm in both if missing(arm)] for name, both in named.items()}
        came = f"has come (arms: {', '.join(arms) or 'none'})"
        reasons = {name: f"no exposure of {' or '.join(both)} {came}" for name, both in absent.items() if both}
        unlimited = {str(rule): rule.metric for rule in self.rules if rule.metric not in self.limits}
        return reasons | {name: f"{metric} has no limits" for name, metric in unlimited.items()}

    def _decide(self, end: int) -> None:
        """Record each rule whose claim is established at the end of a period, at time ``end``."""
        for rule in self.rules:
            if str(rule) in self.decisions or rule.metric not in self.limits:
                continue
            claim = self.claimed(rule)
            if claim.n and claim.low > rule.margin:
                self.decisions[str(rule)] = {
                    "rule": str(rule), "time": end, "n": claim.n, "difference": claim.difference,
                    "adjusted": claim.adjusted, "low": claim.low, "alpha": self.level(rule), "harm": rule.harm,
                }  # fmt: skip

    def assign(self, counts: Mapping[str, int]) -> None:
        """Add the numbers of new units (users or exposures) by arm, and test again whether they fit the stated shares.

        If an arm is new, the evidence so far is dropped, because the expected shares change with it.
        """
        if set(counts) - set(self.assigned) and self.assigned:
            self.mismatch = 0.0  # another arm began: the shares are others from now on
        for arm, n in counts.items():
            self.assigned[arm] = self.assigned.get(arm, 0) + n
        self.mismatch = max(self.mismatch, self._mismatch())

    def _mismatch(self) -> float:
        """Return the log likelihood ratio of the numbers of units by arm against the stated shares.

        The alternative to the stated shares is a Dirichlet mixture of shares around them. The result is 0 for a single
        arm.
        """
        arms = sorted(self.assigned)
        if len(arms) < 2:
            return 0.0
        whole = sum(self.share(arm) for arm in arms)
        ratio = math.lgamma(CONCENTRATION) - math.lgamma(CONCENTRATION + sum(self.assigned.values()))
        for arm in arms:
            share, n = self.share(arm) / whole, self.assigned[arm]
            ratio += math.lgamma(CONCENTRATION * share + n) - math.lgamma(CONCENTRATION * share) - n * math.log(share)
        return ratio

    @property
    def mismatch_p(self) -> float:
        """Return the p-value of "the arms get their stated shares of the units"; valid however often one looks."""
        return min(1.0, math.exp(-self.mismatch))
