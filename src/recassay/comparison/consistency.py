"""Agreement of system orders across metrics, designs, splits, data sets and seeds.

Two orders are compared with Kendall's tau-b. Its interval, and the share of resamples in which two systems change
places, come from resampling users with replacement; both orders use the same users where both have them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from recassay.arrays import Float
from recassay.comparison.tables import frame_of
from recassay.data.io.write import finite
from recassay.errors import UsageError
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import suggest
from recassay.results.design_scores import DesignScores
from recassay.results.score_set import AXES, Place, ScoreSet, score_set
from recassay.results.scores import Scores
from recassay.rng import derive_seed
from recassay.shown import Displayable
from recassay.stats.ranks import kendall_taus
from recassay.stats.resampling import Progress, ResamplingOptions, bootstrap_sums

METRIC = "metric"
ALONG = (METRIC, "design", "split", "dataset", "seed")
RESAMPLES = 1_000


@dataclass(frozen=True)
class Agreement:
    """The agreement of two orders of the same systems.

    The orders are those under the values ``a`` and ``b`` of one coordinate (``along``), such as two metrics or two data
    sets. All other coordinates, named in ``setting``, are equal. ``tau`` is Kendall's tau-b of the two orders. ``low``
    and ``high`` are the interval of tau. ``swaps`` is the number of pairs of systems that change places, and ``sure``
    the number of those that do so in most resamples.
    """

    along: str
    a: str
    b: str
    setting: str
    systems: int
    tau: float
    low: float
    high: float
    swaps: int
    sure: int


@dataclass(frozen=True)
class OrderSwap:
    """A pair of systems that changes order: ``ahead`` is better than ``behind`` under ``a`` and worse under ``b``.

    ``a`` and ``b`` are values of one coordinate, such as two metrics. Leads are differences of means, signed so that
    more is better. ``share`` is the share of resamples in which both leads occur.
    """

    along: str
    a: str
    b: str
    setting: str
    ahead: str
    behind: str
    lead_a: float
    lead_b: float
    share: float


@dataclass(frozen=True, repr=False)
class Consistency(Displayable):
    """Agreement between orders of systems, the pairs of systems that swap places, and the options used.

    There is a row for each pair of orders, such as those by two metrics or on two data sets.
    """

    rows: tuple[Agreement, ...]
    swaps: tuple[OrderSwap, ...]
    level: float
    resamples: int
    seed: int

    def frame(self) -> pl.DataFrame:
        """Return a row per pair of orders of systems: how far they agree, and in which coordinate they differ."""
        return frame_of(self.rows, Agreement)

    def swapped(self) -> pl.DataFrame:
        """Return a row per pair of systems that is in one order by one value of a coordinate, reversed by another.

        The most certain reversals come first.
        """
        return frame_of(sorted(self.swaps, key=lambda one: -one.share), OrderSwap)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON; undefined numbers are None."""
        return dict(finite(asdict(self)))


@checks_types
def consistency(
    scores: ScoreSet | Scores | DesignScores | Mapping[str, Scores],
    *,
    along: str | Iterable[str] | None = None,
    metrics: Sequence[str] | None = None,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Consistency:
    """Compare the order of systems between all values of a coordinate, one coordinate at a time.

    ``along`` is one or several of metric, design, split, dataset and seed; by default all that have two values. A swap
    (one system leads under one value, the other under the other value) is certain if both leads occur in at least
    ``level`` of the resamples. The interval of tau is the middle ``level`` of the resampled values; it shows how stable
    the agreement is, and lies below tau where systems are close.

    >>> values = {"a": [0.9, 0.8, 0.7, 0.9], "b": [0.1, 0.2, 0.1, 0.3]}
    >>> per_unit = {(name, "mrr"): np.array(one) for name, one in values.items()}
    >>> per_unit |= {(name, "novelty"): 1 - np.array(one) for name, one in values.items()}
    >>> scores = Scores(pl.Series(range(4)), ("a", "b"), ("mrr", "novelty"), per_unit)
    >>> found = consistency(scores)
    >>> found.rows[0].tau, found.swaps[0].ahead, found.swaps[0].share
    (-1.0, 'a', 1.0)
    """
    score_sets = score_set(scores).only(metrics)
    axes = _axes(score_sets, along)
    orders = _orders(score_sets, ResamplingOptions(seed, resamples, threads, progress))
    rows: list[Agreement] = []
    swaps: list[OrderSwap] = []
    for axis in axes:
        for setting, choices in _settings(orders, axis):
            for a, b in itertools.combinations(choices, 2):
                shared = [name for name in choices[a].systems if name in choices[b].systems]
                if len(shared) > 1:
                    about, (here, there) = (axis, str(a), str(b), setting), (choices[one].of(shared) for one in (a, b))
                    swapped = _swaps(about, here, there)
                    sure = sum(swap.share >= level for swap in swapped)
                    rows.append(Agreement(*about, len(shared), *_tau(here, there, level), len(swapped), sure))
                    swaps += swapped
    return Consistency(tuple(rows), tuple(swaps), level, resamples, seed)


class _Order(NamedTuple):
    """Means of systems by one metric in one setting, signed so that more is better.

    ``resampled`` are the means in each resample of the users.
    """

    systems: tuple[str, ...]
    means: Float  # (systems,)
    resampled: Float  # (resamples, systems)

    def of(self, systems: Sequence[str]) -> _Order:
        """Return the means of the named systems only."""
        places = [self.systems.index(name) for name in systems]
        return _Order(tuple(systems), self.means[places], self.resampled[:, places])


Key = tuple[Place, str]  # place, metric


def _axes(given: ScoreSet, along: str | Iterable[str] | None) -> list[str]:
    choices = {axis: given.metrics if axis == METRIC else given.along(axis) for axis in ALONG}
    if along is None:
        axes = [axis for axis in ALONG if len(choices[axis]) > 1]
        if not axes:
            what = "there is only one metric in one setting, so there is only one order of systems"
            raise UsageError("U215", what, hint="give two metrics, designs, splits, data sets or seeds")
        return axes
    axes = [along] if isinstance(along, str) else list(along)
    for axis in axes:
        if axis not in ALONG:
            raise UsageError("U215", f"orders cannot be compared along {axis!r}", hint=suggest(axis, ALONG))
        if len(choices[axis]) < 2:
            values = ", ".join(map(str, choices[axis]))
            raise UsageError("U215", f"there is one {axis} alone, {values}", hint=f"give two {axis}s or more")
    return axes


def _settings(orders: Mapping[Key, _Order], axis: str) -> Iterator[tuple[str, dict[Any, _Order]]]:
    """Yield (setting, {value of ``axis``: order}) for orders that differ only in the coordinate ``axis``.

    An order is the means of all systems, signed so that more is better. ``setting`` is text: the values of those other
    coordinates that vary.
    """
    by_setting: dict[tuple[Any, ...], dict[Any, _Order]] = {}
    for (place, metric), order in orders.items():
        rest = tuple(place) if axis == METRIC else (*place.without(axis), metric)
        by_setting.setdefault(rest, {})[metric if axis == METRIC else getattr(place, axis)] = order
    telling = [position for position in range(len(AXES)) if len({rest[position] for rest in by_setting}) > 1]
    for rest, choices in by_setting.items():
        yield ", ".join(str(rest[position]) for position in telling), choices


def _tau(one: _Order, other: _Order, level: float) -> tuple[float, float, float]:
    drawn = kendall_taus(one.resampled, other.resampled)[1]
    drawn = drawn[~np.isnan(drawn)]
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2]).tolist() if drawn.size else (math.nan, math.nan)
    return float(kendall_taus(one.means, other.means)[1]), low, high


def _swaps(about: tuple[str, str, str, str], one: _Order, other: _Order) -> list[OrderSwap]:
    swaps = []
    for pair in itertools.combinations(range(len(one.systems)), 2):
        first, second = pair if one.means[pair[0]] > one.means[pair[1]] else pair[::-1]
        lead, back = (float(order.means[first] - order.means[second]) for order in (one, other))
        if lead > 0 > back:
            here, there = (order.resampled[:, first] - order.resampled[:, second] for order in (one, other))
            share = float(np.mean((here > 0) & (there < 0)))
            swaps.append(OrderSwap(*about, one.systems[first], one.systems[second], lead, back, share))
    return swaps


def _orders(given: ScoreSet, how: ResamplingOptions) -> dict[Key, _Order]:
    """Return the means of systems, keyed by (place, metric); a place is a data set, split, design and seed.

    Users are resampled as ``how`` says; all metrics and places of a data set share their resamples.
    """
    orders: dict[Key, _Order] = {}
    for dataset in given.along("dataset"):
        sheets = {place: scores for place, scores in given if place.dataset == dataset}
        units = pl.concat([scores.units for scores in sheets.values()]).unique().sort()
        options = replace(how, seed=derive_seed(how.seed, "consistency", str(dataset)))
        for place, scores in sheets.items():
            at = units.search_sorted(scores.units).to_numpy()
            for metric in scores.unit_metrics:
                higher = next((row.higher_is_better for row in scores.rows if row.metric == metric), True)
                if higher is not None:
                    orders[place, metric] = _order(scores, metric, at, units.len(), 1.0 if higher else -1.0, options)
    return orders


def _order(scores: Scores, metric: str, at: Any, size: int, sign: float, how: ResamplingOptions) -> _Order:
    k = len(scores.systems)
    columns = np.zeros((2 * k, size))  # weighted values, then weights
    for number, system in enumerate(scores.systems):
        values, weights = scores.values(system, metric), scores.weights(system, metric)
        weight = np.where(np.isnan(values), 0.0, 1.0 if weights is None else weights)
        columns[number, at], columns[k + number, at] = np.where(weight > 0, values, 0.0) * weight, weight
    sums = bootstrap_sums(columns, how.n_resamples(RESAMPLES), how)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = columns[:k].sum(axis=1) / columns[k:].sum(axis=1)
        return _Order(scores.systems, sign * means, np.ascontiguousarray(sign * (sums[:k] / sums[k:]).T))
