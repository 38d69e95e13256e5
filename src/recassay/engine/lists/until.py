"""Evaluation of random users until every mean is accurate enough.

Users are drawn at random by their ids, so the same users are drawn whatever the order of rows. Blocks grow until the
bounds of :class:`SampleBounds` are narrow enough. The bounds hold at all sizes at once, so stopping when they are
narrow does not bias the result.

Let X_1, X_2, ... in [0, 1] be the values of users drawn one after another from the N_h users of a stratum, and S the
sum of those drawn before draw i. Given them, X_i has the mean E_i = (N_h mu_h - S) / (N_h - i + 1). Take any weights
l_i and guesses g_i that are known before the draw. Then

    exp(sum l_i (X_i - E_i) - sum (-log(1 - l_i) - l_i) (X_i - g_i)^2)

is a supermartingale (Fan, Grama and Liu 2015; Waudby-Smith and Ramdas 2020, theorem 3). By Ville's inequality it ever
reaches 2 / alpha with probability at most alpha / 2. With l_i = L (N_h - i + 1) / N_h, a draw contributes
L X_i (N_h - i + 1) / N_h + L S / N_h against L mu_h. So draws in proportion to the strata bound the mean over all
users. The guesses are per stratum, so only the variance within strata widens the bounds. L is tuned for the requested
width.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from recassay.arrays import Bool, Int64
from recassay.columnar.identity import id_keys, mix
from recassay.columnar.vocabulary import rows_in_table
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.engine.finish import assemble
from recassay.engine.lists.job import Job
from recassay.errors import UsageError
from recassay.metrics.base import Accuracy, Metric, UnitMetric
from recassay.metrics.refusals import list_positions, raise_if_no_shared_user
from recassay.naming.arguments import CheckedOptions
from recassay.results.scores import Scores, Values
from recassay.rng import derive_seed
from recassay.stats.intervals import Uncertainty

FIRST_USERS = 1_000  # in the first block
MIN_GROWTH, MAX_GROWTH = 1.25, 2.0  # of the number of users, per block

BOLDEST = 0.5  # the largest L: beyond it the penalty of a draw grows faster than its weight

Rows = Int64


@dataclass(frozen=True)
class Until(CheckedOptions):
    """The precision at which the draw of users stops: ``width`` is the largest half-width of any interval.

    Users are drawn from ``strata`` groups of users with similar activity.
    """

    width: float
    strata: int = 1


def score_until(
    job: Job, truth: Truth, runs: Mapping[str, Run], target: Until, uncertainty: Uncertainty, profile: str | None
) -> Scores:
    """Return the scores of random users, drawn until every interval is narrow enough or all users are drawn.

    ``target`` says how narrow, and from how many strata (groups of users by activity) users are drawn, and
    ``uncertainty`` the level of intervals and the seed of the draw. Metrics need a bounded value per user and equal
    weights; raise U110 otherwise. If no metric is defined for users without a relevant item, those users are not drawn.
    In the result, ``settings["within"]`` holds the number of users drawn and that of all users.
    """
    for heading, metric in job.metrics.items():
        bounded = isinstance(metric, UnitMetric) and np.isfinite(metric.limits).all() and metric.power == 1
        if not bounded or not isinstance(metric, UnitMetric) or type(metric).weights is not UnitMetric.weights:
            raise UsageError(
                "U110",
                f"{heading} cannot be estimated from a sample of users",
                where="within",
                hint="score all users or leave the metric out: within needs a plain mean of bounded values",
            )
    truth = truth.take(_users_to_sample(job, truth))
    strata = _strata(job, truth, target.strata, uncertainty.seed)
    sizes = np.array([users.size for users in strata])
    n_users, drawn = int(sizes.sum()), 0
    list_rows = {name: list_positions(run, truth) for name, run in runs.items()}
    for name, run in runs.items():
        raise_if_no_shared_user(run, truth, list_rows[name])
    columns = {
        (name, heading): _MeanBounds(metric, _always_defined(metric, truth), sizes, target.width, uncertainty.level)
        for name in runs
        for heading, metric in job.metrics.items()
    }
    while True:
        begins, needed = proportional_shares(sizes, drawn), max(column.needed for column in columns.values())
        aim = min(max(needed, MIN_GROWTH * drawn), MAX_GROWTH * drawn) if drawn else FIRST_USERS
        drawn = min(math.ceil(aim), n_users)
        block = [
            users[begin:end]
            for users, begin, end in zip(strata, begins, proportional_shares(sizes, drawn), strict=True)
        ]
        users = np.sort(np.concatenate(block))
        for name, run in runs.items():
            lists = _lists_at(run, list_rows[name][users])
            _, values, _ = replace(job, progress=None).measure(lists, truth.take(users), whole=True)
            for heading, column in values.items():  # each stratum in the order in which its users were drawn
                columns[name, heading].add([column[np.searchsorted(users, part)] for part in block])
        if job.progress is not None:
            job.progress("drawing users", drawn, n_users)
        if drawn == n_users or all(column.narrow for column in columns.values()):
            break
    users = np.sort(
        np.concatenate([users[:end] for users, end in zip(strata, proportional_shares(sizes, drawn), strict=True)])
    )
    drawn_truth = truth.take(users)
    judged = {name: job.judge(_lists_at(run, list_rows[name][users]), drawn_truth) for name, run in runs.items()}
    scores = assemble(job, judged, drawn_truth.queries, replace(uncertainty, method=None), profile)
    bounds = {key: column.bounds for key, column in columns.items()}
    rows = (replace(row, low=low, high=high) for row in scores.rows for low, high in [bounds[row.system, row.metric]])
    record = {**asdict(target), "level": uncertainty.level, "seed": uncertainty.seed, "users": drawn, "of": n_users}
    return replace(scores, rows=tuple(rows), settings={**scores.settings, "within": record})


class _MeanBounds:
    """Confidence bounds of one system's mean of one metric over all users, which narrow as sampled users are added.

    ``sizes`` are the numbers of users in the strata that are sampled from, ``width`` is the half width wanted, and
    ``level`` the confidence level. Where the metric can be undefined for a user (not ``always_defined``), the mean is a
    quotient: the mean value, with undefined values as 0, divided by the share of defined values. Each of the two then
    gets half of the error probability.
    """

    def __init__(self, metric: Metric, always_defined: bool, sizes: Rows, width: float, level: float) -> None:
        self.low, self.high = metric.limits
        self.wanted = width
        width, alpha = width / (self.high - self.low), 1 - level
        self.values = SampleBounds(
            sizes, width if always_defined else width / 2, alpha if always_defined else alpha / 2
        )
        self.defined = None if always_defined else SampleBounds(sizes, width / 2, alpha / 2)

    @property
    def needed(self) -> float:
        """Return an estimate of how many users must be drawn in all until the bounds have the wanted width."""
        return max(self.values.draws_needed, self.defined.draws_needed if self.defined else 0)

    @property
    def narrow(self) -> bool:
        """Return whether the bounds are as narrow as wanted."""
        low, high = self.bounds
        return (high - low) / 2 <= self.wanted

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the bounds of the mean, on the metric's own scale (they are computed on values scaled to 0..1)."""
        low, high = self.values.low, self.values.high
        if self.defined is not None:
            low = low / self.defined.high if self.defined.high > 0 else 0.0
            high = min(1.0, high / self.defined.low) if self.defined.low > 0 else 1.0
        return self.low + low * (self.high - self.low), self.low + high * (self.high - self.low)

    def add(self, values: list[Values]) -> None:
        """Add the values of the users drawn next, an array for each stratum."""
        defined = [~np.isnan(part) for part in values]
        scaled = [
            np.where(known, (part - self.low) / (self.high - self.low), 0.0)
            for part, known in zip(values, defined, strict=True)
        ]
        self.values.add(scaled)
        if self.defined is not None:
            self.defined.add([known.astype(np.float64) for known in defined])


def _always_defined(metric: Metric, truth: Truth) -> bool:
    """Return whether a metric has a value for every user of the truth."""
    if not isinstance(metric, Accuracy) or metric.missing == "skip":
        return False
    if not metric.defined_if_relevant:
        return False
    return metric.no_relevant == "zero" or bool(_has_relevant(truth, metric.relevant_from).all())


def _users_to_sample(job: Job, truth: Truth) -> Rows:
    """Return the users who may be sampled, as row numbers in the truth.

    These are all users, or only those with a relevant item if every metric is undefined for the others.
    """
    all_users, thresholds = np.arange(truth.queries.len()), set()
    for metric in job.metrics.values():
        if not isinstance(metric, Accuracy) or metric.no_relevant == "zero":
            return all_users
        thresholds.add(metric.relevant_from)
    return all_users if len(thresholds) > 1 else all_users[_has_relevant(truth, thresholds.pop())]


def _has_relevant(truth: Truth, relevant_from: float) -> Bool:
    relevant = np.append(0, np.cumsum(truth.gains >= relevant_from))
    return np.asarray(np.diff(relevant[truth.offsets]) > 0)


def _strata(job: Job, truth: Truth, number: int, seed: int) -> list[Rows]:
    """Return for each stratum, by increasing activity, the row numbers of its users in random order.

    A stratum is a group of users of similar activity: the number of training events, or of judged items without a log.
    There are ``number`` of them, but at most as many as users.
    """
    queries = truth.queries
    salt = np.uint64(derive_seed(seed, "until") & 0xFFFFFFFFFFFFFFFF)
    draws = mix(mix(id_keys(queries)) ^ salt)
    order = np.argsort(draws, kind="stable")
    strata = min(number, order.size)
    if strata <= 1:
        return [order]
    train, activity = job.context.train, np.diff(truth.offsets)
    if train is not None:
        rows = rows_in_table(truth.queries, train.user_vocabulary.stored_ids)
        # -1, a user not in the log, reads the appended 0
        activity = np.append(np.bincount(train.users, minlength=train.user_vocabulary.size), 0)[rows]
    ranked = order[np.argsort(activity[order], kind="stable")]
    part = np.empty(ranked.size, np.int64)
    part[ranked] = np.arange(ranked.size) * strata // ranked.size
    return [order[part[order] == stratum] for stratum in range(strata)]


def _lists_at(run: Run, list_rows: Rows) -> Run:
    return run.take(np.sort(list_rows[list_rows >= 0]))


def proportional_shares(sizes: Rows, total: int) -> Rows:
    """Return how many of ``total`` draws each stratum gets in proportion to its size (largest remainder method).

    >>> proportional_shares(np.array([50, 30, 20]), 6).tolist()
    [3, 2, 1]
    >>> proportional_shares(np.array([50, 30, 20]), 100).tolist()
    [50, 30, 20]
    """
    exact = sizes * total / sizes.sum()
    draws: Rows = np.floor(exact).astype(np.int64)
    order = np.argsort(draws - exact, kind="stable")
    draws[order[: total - int(draws.sum())]] += 1
    return draws


class SampleBounds:
    """Running bounds ``low`` and ``high`` for the mean of values in [0, 1], updated as blocks of users are drawn.

    ``width`` is the half-width that the bounds should reach, ``sizes`` the number of users of each stratum, and
    ``alpha`` bounds the probability that the mean is ever outside the bounds.

    >>> bounds = SampleBounds(np.array([4]), width=0.1, alpha=0.05)
    >>> bounds.add([np.array([1.0, 0.0])])
    >>> bounds.low, bounds.high
    (0.0, 1.0)
    >>> bounds.add([np.array([1.0, 1.0])])
    >>> bounds.low, bounds.high
    (0.75, 0.75)
    """

    def __init__(self, sizes: Rows, width: float, alpha: float) -> None:
        self.sizes, self.width, self.alpha = sizes, width, alpha
        self.low, self.high = 0.0, 1.0
        self.drawn = np.zeros(sizes.size, np.int64)
        self.sums, self.squares, self.weight = np.zeros((3, sizes.size))  # weight: the sum of L over the draws
        self.weighted_sum = self.penalty = 0.0

    @property
    def variance(self) -> float:
        """Return the estimated variance within strata; before any draw 1/4, the largest possible."""
        seen = np.maximum(self.drawn, 1)
        within = self.squares - self.sums**2 / seen
        return (0.25 + float(np.maximum(within, 0).sum())) / (1 + int(self.drawn.sum()))

    @property
    def draws_needed(self) -> float:
        """Return the estimated number of draws, in all, after which the bounds are at most 2 x ``width`` apart.

        After a share q of all users, the squared weights sum to q (1 - q + q^2 / 3) times the number of users. With a =
        2 math.log(2 / alpha) variance / (width^2 users), the share solves q = a (1 - q + q^2 / 3).
        """
        users = int(self.sizes.sum())
        scale = self.width**2 * users  # 0 for a width whose square is below the smallest number
        a = 2 * math.log(2 / self.alpha) * self.variance / scale if scale else math.inf
        share = 1.0 if a >= 3 else 2 * a / (1 + a + math.sqrt((1 + a) * (1 + a) - 4 * a * a / 3))
        return users * share

    def add(self, values: Sequence[Values]) -> None:
        """Add the next drawn values, an array for each stratum in the order of the draws, and narrow the bounds.

        Once all users are drawn, both bounds are the exact mean.
        """
        boldness = min(2 * math.log(2 / self.alpha) / (self.width * self.draws_needed), BOLDEST)
        for stratum, x in enumerate(values):
            size, drawn = int(self.sizes[stratum]), int(self.drawn[stratum])
            before = self.sums[stratum] + np.append(0.0, np.cumsum(x))[: x.size]
            places = drawn + np.arange(x.size)  # number of draws before each value
            left = (size - places) / size
            weights = boldness * left  # l_i of the formula at the top, and L is the boldness
            guesses = (0.5 + before) / (1 + places)
            self.weighted_sum += boldness * float(np.sum(left * x + before / size))
            self.penalty += float(np.sum((-np.log1p(-weights) - weights) * (x - guesses) ** 2))
            self.weight[stratum] += boldness * x.size
            self.drawn[stratum] += x.size
            self.sums[stratum] += x.sum()
            self.squares[stratum] += float(np.sum(x**2))
        whole = float(self.weight.sum())
        if (self.drawn == self.sizes).all():
            self.low = self.high = float(self.sums.sum() / self.sizes.sum())
        elif whole:
            # Shares of the draws may differ from those of the strata by rounding: allow for the largest effect of it.
            uneven = float(np.maximum(self.weight / whole - self.sizes / self.sizes.sum(), 0).sum())
            radius = (math.log(2 / self.alpha) + self.penalty) / whole + uneven
            middle = self.weighted_sum / whole
            self.low, self.high = max(self.low, middle - radius), min(self.high, middle + radius)
