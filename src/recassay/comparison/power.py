"""The number of users that a comparison needs, from how much the differences vary over users.

Reference: Cohen, Statistical power analysis for the behavioral sciences (1988), on paired t-tests.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import nctdtr, ndtri, stdtrit

from recassay.comparison.compare import pairs_of
from recassay.comparison.pairs import PairMetric, pair_up
from recassay.comparison.tables import frame_of
from recassay.data.io.write import finite
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.results.scores import Scores
from recassay.shown import Displayable
from recassay.stats.differences import largest_magnitude, standard_deviation
from recassay.stats.intervals import means

LARGE = 5_000  # users from which the t distribution is as good as normal for counting users
MOST = 10**12


@dataclass(frozen=True)
class Need:
    """The number of users needed to distinguish two systems by one metric.

    ``users`` are needed to detect a true difference of ``wanted``; ``detectable`` is the smallest true difference that
    the ``n`` users at hand can detect. ``per_comparison`` is the level of the single test after Bonferroni.
    """

    metric: str
    a: str
    b: str
    difference: float
    sd: float
    n: int
    wanted: float
    users: int | None
    enough: bool
    detectable: float
    per_comparison: float


@dataclass(frozen=True, repr=False)
class Power(Displayable):
    """The number of users needed for every pair of systems, and the assumptions behind these numbers."""

    rows: tuple[Need, ...]
    level: float
    chance: float
    observed: bool
    correction: str

    def frame(self) -> pl.DataFrame:
        """Return a row per metric and pair of systems: the numbers of users, and the smallest detectable difference."""
        return frame_of(self.rows, Need)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a dictionary per metric and pair of systems, ready for JSON; undefined numbers are None."""
        return list(finite([asdict(row) for row in self.rows]))

    @property
    def assumptions(self) -> str:
        """Return the assumptions behind the numbers of users, such as the power of the test, as a sentence."""
        what = "as large as observed, which a small study overstates" if self.observed else "as large as wanted"
        shared = " over all pairs of a metric, as Bonferroni divides it" if self.correction != "none" else ""
        return (
            f"Users needed to find a true difference {what}, with a power of {100 * self.chance:.0f} % in a paired, "
            f"two-sided t test at {1 - self.level:.4g}{shared}; more users of the same kind, whose differences vary as "
            "these do."
        )


@checks_types
def users_needed(
    scores: Scores,
    *,
    wanted: float | None = None,
    baseline: str | None = None,
    metrics: Sequence[str] | None = None,
    chance: float = 0.8,
    level: float = 0.95,
    correction: choices.Correction = "holm",
) -> Power:
    """Return the number of users needed to tell systems apart, for every pair or against a baseline, on every metric.

    ``wanted`` is the smallest difference worth detecting. By default it is the observed difference, which explains a
    past result but cannot plan a new one: a difference found by luck is too large. ``chance`` is the power of the test.
    From a few hundred users on, permutation and bootstrap tests of the mean need as many users as the t test.

    >>> import numpy as np
    >>> users, noise = 400, np.tile([0.1, -0.1], 200)
    >>> values = {("a", "mrr"): 0.30 + noise, ("b", "mrr"): np.full(users, 0.30)}
    >>> scores = Scores(pl.Series(range(users)), ("a", "b"), ("mrr",), values)
    >>> row = users_needed(scores, wanted=0.01).rows[0]
    >>> row.users, row.enough, round(row.detectable, 4)
    (789, False, 0.0141)
    """
    chosen = [one for one in scores.unit_metrics if metrics is None or one in metrics]
    pairs = pairs_of(scores.systems, baseline)
    alpha = round(1 - level, 12) / (1 if correction == "none" else len(pairs))
    rows = []
    for metric, (a, b) in itertools.product(chosen, pairs):
        paired = pair_up(scores, PairMetric(metric, a, b))
        d, scale = paired.differences, largest_magnitude(paired.shares_a, paired.shares_b)
        mean = float(means(d[:, None])[0])
        sd = standard_deviation(d, scale) if d.size > 1 and np.isfinite(d).all() else float("nan")
        goal = abs(mean) if wanted is None else wanted
        users = None if not goal > 0 or math.isnan(sd) else users_for(goal / sd if sd else math.inf, alpha, chance)
        enough = users is not None and d.size >= users
        reach = detectable(d.size, alpha, chance) * sd if d.size > 1 else float("nan")
        rows.append(Need(metric, a, b, mean, sd, d.size, goal, users, enough, reach, alpha))
    return Power(tuple(rows), level, chance, wanted is None, correction)


def users_for(effect: float, alpha: float, chance: float) -> int | None:
    """Return the fewest users with which a paired two-sided t test detects an effect (mean / sd).

    ``alpha`` is the level of the test, and ``chance`` the power it must reach. Return None if more than 10^12
    users are needed.

    >>> users_for(0.5, 0.05, 0.8), users_for(0.1, 0.05, 0.8)
    (34, 787)
    """
    if math.isinf(effect):
        return 2
    root = float((ndtri(chance) - ndtri(alpha / 2)) / effect)
    if not root < math.sqrt(MOST):
        return None
    guess = root**2
    if guess > LARGE:
        return math.ceil(guess + float(ndtri(alpha / 2)) ** 2 / 2)  # what t costs more (Guenther 1981)
    return 2 + bisect_left(range(2, 2 * LARGE), chance, key=lambda n: power_of_t(n, effect, alpha))


def detectable(n: int, alpha: float, chance: float) -> float:
    """Return the smallest effect (mean / sd) that a paired two-sided t test with ``n`` users detects.

    ``alpha`` is the level of the test, and ``chance`` the power it must reach. Without any effect the power is
    ``alpha``, so a test with ``alpha`` of at least ``chance`` detects an effect of 0.

    >>> round(detectable(34, 0.05, 0.8), 3), detectable(34, 0.9, 0.8)
    (0.495, 0.0)
    """
    from scipy.optimize import brentq

    if alpha >= chance:
        return 0.0
    guess = (ndtri(chance) - ndtri(alpha / 2)) / math.sqrt(n)
    if n > LARGE:
        return float(guess)
    high = guess
    while power_of_t(n, high, alpha) < chance:
        high *= 1.5
    return float(brentq(lambda effect: power_of_t(n, effect, alpha) - chance, 0.0, high, xtol=1e-12))


def power_of_t(n: int, effect: float, alpha: float) -> float:
    """Return the power of a paired two-sided t test with n users for an effect (mean over sd).

    >>> round(power_of_t(34, 0.5, 0.05), 6)
    0.807778
    """
    shift, edge = effect * math.sqrt(n), -float(stdtrit(n - 1, alpha / 2))
    missed, opposite = (float(nctdtr(n - 1, shift, at)) for at in (edge, -edge))
    return 1 - (0.0 if math.isnan(missed) else missed) + (0.0 if math.isnan(opposite) else opposite)  # NaN: too small
