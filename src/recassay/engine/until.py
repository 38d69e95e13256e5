"""Judges users in random order until every mean is known well enough, and says how many it took.

Users are drawn by lot from their ids, so the same ones are drawn whatever the order of rows; blocks grow until the
bounds of :class:`~recassay.comparison.census.Census` are as narrow as they should be. These hold at all sizes at once,
so stopping when they are narrow is no way to fool oneself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.comparison.census import Census, shares
from recassay.comparison.intervals import Uncertainty
from recassay.data.identity import id_keys, mix
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.data.scores import Scores, Values
from recassay.data.truth import Truth
from recassay.data.vocabulary import positions
from recassay.engine.local import Job
from recassay.engine.summary import assemble
from recassay.errors import UsageError
from recassay.metrics.base import Accuracy, Metric, UnitMetric
from recassay.metrics.refusals import places_of, refuse_other_users
from recassay.rng import derive_seed

FIRST = 1_000  # users of the first block
SLOWEST, FASTEST = 1.25, 2.0  # by which the number of users grows

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Until:
    """How narrow: half the width of every interval; in how many strata by activity users are drawn."""

    width: float
    strata: int = 1
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.width < 1:
            raise UsageError("U102", f"until={self.width:g} is no width", hint="0.001 is one: means give or take 0.001")
        if self.strata < 1:
            raise UsageError("U102", f"there are no {self.strata} strata", hint="1 or more")


def score_until(job: Job, runs: Mapping[str, Run], how: Until, profile: str | None) -> Scores:
    """Scores of random users, as many as it takes for every interval to be narrow enough, or of everyone.

    Metrics need a value per user between two bounds, and equal weights. Where they are undefined for users without a
    relevant item, those users are not drawn. ``settings["until"]`` says how many were, and of how many.
    """
    for heading, metric in job.metrics.items():
        _refuse(heading, metric)
    job = replace(job, truth=job.truth.take(_asked(job)))
    strata = _strata(job, how)
    sizes = np.array([one.size for one in strata])
    everyone, drawn = int(sizes.sum()), 0
    places = {name: places_of(run, job.truth) for name, run in runs.items()}
    for name, run in runs.items():
        refuse_other_users(run, job.truth, places[name])
    columns = {
        (name, heading): _Column(metric, _never_undefined(metric, job.truth), sizes, how)
        for name in runs
        for heading, metric in job.metrics.items()
    }
    while True:
        begins = shares(sizes, drawn)
        drawn = _next(drawn, everyone, [column.needed for column in columns.values()])
        block = [users[begin:end] for users, begin, end in zip(strata, begins, shares(sizes, drawn), strict=True)]
        for name, run in runs.items():
            values = _values(job, run, places[name], block)
            for heading in job.metrics:
                columns[name, heading].draw([part[heading] for part in values])
        if job.progress is not None:
            job.progress("drawing users", drawn, everyone)
        if drawn == everyone or all(column.narrow for column in columns.values()):
            break
    users = np.sort(np.concatenate([users[:end] for users, end in zip(strata, shares(sizes, drawn), strict=True)]))
    part = replace(job, truth=job.truth.take(users))
    judged = {name: part.judge(_lists(run, places[name][users])) for name, run in runs.items()}
    scores = assemble(part, judged, Uncertainty(None, how.level, seed=how.seed), profile)
    bounds = {key: column.bounds for key, column in columns.items()}
    rows = (replace(row, low=low, high=high) for row in scores.rows for low, high in [bounds[row.system, row.metric]])
    return replace(
        scores, rows=tuple(rows), settings={**scores.settings, "until": {**asdict(how), "users": drawn, "of": everyone}}
    )


class _Column:
    """One system by one metric: the census of its values, and of where it has any if it can be undefined.

    An undefined value counts 0 in both, and the mean is their quotient; each has half of what may go wrong.
    """

    def __init__(self, metric: Metric, certain: bool, sizes: Places, how: Until) -> None:
        self.low, self.high = metric.limits
        self.wanted = how.width
        width, alpha = how.width / (self.high - self.low), 1 - how.level
        self.values = Census(sizes, width if certain else width / 2, alpha if certain else alpha / 2)
        self.defined = None if certain else Census(sizes, width / 2, alpha / 2)

    @property
    def needed(self) -> float:
        """About how many users will do."""
        return max(self.values.needed, self.defined.needed if self.defined else 0)

    @property
    def narrow(self) -> bool:
        """Whether the bounds are as wide as they should be, or narrower."""
        low, high = self.bounds
        return (high - low) / 2 <= self.wanted

    @property
    def bounds(self) -> tuple[float, float]:
        """Of the mean, in the metric's own units."""
        low, high = self.values.low, self.values.high
        if self.defined is not None:
            low = low / self.defined.high if self.defined.high > 0 else 0.0
            high = min(1.0, high / self.defined.low) if self.defined.low > 0 else 1.0
        return self.low + low * (self.high - self.low), self.low + high * (self.high - self.low)

    def draw(self, values: list[Values]) -> None:
        """The next values of each stratum."""
        there = [~np.isnan(part) for part in values]
        scaled = [
            np.where(known, (part - self.low) / (self.high - self.low), 0.0)
            for part, known in zip(values, there, strict=True)
        ]
        self.values.draw(scaled)
        if self.defined is not None:
            self.defined.draw([known.astype(np.float64) for known in there])


def _refuse(heading: str, metric: Metric) -> None:
    bounded = isinstance(metric, UnitMetric) and np.isfinite(metric.limits).all() and metric.power == 1
    if not bounded or not isinstance(metric, UnitMetric) or type(metric).weights is not UnitMetric.weights:
        raise UsageError(
            "U221",
            f"{heading} cannot be known from some of the users",
            where="until",
            hint="judge everyone, or leave it out: this takes a plain mean of values between two bounds",
        )


def _never_undefined(metric: Metric, truth: Truth) -> bool:
    """Whether a metric has a value for everyone in the truth."""
    if not isinstance(metric, Accuracy) or metric.missing == "skip":
        return False
    if not metric.defined_if_relevant:
        return False
    return metric.no_relevant == "zero" or bool(_has_relevant(truth, metric.relevant_from).all())


def _asked(job: Job) -> Places:
    """Places of the users that count: all of them, or those with something to find if no metric looks at others."""
    everyone, least = np.arange(job.truth.queries.len()), set()
    for metric in job.metrics.values():
        if not isinstance(metric, Accuracy) or metric.no_relevant == "zero":
            return everyone
        least.add(metric.relevant_from)
    return everyone if len(least) > 1 else everyone[_has_relevant(job.truth, least.pop())]


def _has_relevant(truth: Truth, relevant_from: float) -> NDArray[np.bool_]:
    relevant = np.append(0, np.cumsum(truth.gains >= relevant_from))
    return np.asarray(np.diff(relevant[truth.offsets]) > 0)


def _strata(job: Job, how: Until) -> list[Places]:
    """Users by activity, each part in the order of their lots."""
    queries = job.truth.queries
    salt = np.uint64(derive_seed(how.seed, "until") & 0xFFFFFFFFFFFFFFFF)
    lots = mix(mix(id_keys(queries)) ^ salt)
    order = np.argsort(lots, kind="stable")
    if how.strata == 1:
        return [order]
    activity = _activity(job, queries)
    ranked = order[np.argsort(activity[order], kind="stable")]
    part = np.empty(ranked.size, np.int64)
    part[ranked] = np.arange(ranked.size) * how.strata // max(ranked.size, 1)
    return [order[part[order] == number] for number in range(min(how.strata, ranked.size))]


def _activity(job: Job, queries: pl.Series) -> NDArray[np.int64]:
    """Training events of each user; without a training log the number of judged items."""
    train: Interactions | None = job.context.train
    if train is None:
        return np.diff(job.truth.offsets)
    ids = train.user_vocabulary.ids
    assert ids is not None, "a log's ids are dense"
    found = positions(queries, ids)
    return np.append(np.bincount(train.users, minlength=ids.len()), 0)[found]  # -1: the last one


def _next(drawn: int, everyone: int, needed: list[float]) -> int:
    """The number of users to be drawn next: what seems to do, but neither many more at once nor too few."""
    if not drawn:
        return min(FIRST, everyone)
    aim = min(max(*needed, SLOWEST * drawn), FASTEST * drawn)
    return min(int(np.ceil(aim)), everyone)


def _values(job: Job, run: Run, places: Places, block: list[Places]) -> list[dict[str, Values]]:
    """Values of the users of a block, by stratum in the order of their lots."""
    users = np.sort(np.concatenate(block))
    values = replace(job, truth=job.truth.take(users), progress=None).values(_lists(run, places[users]))
    return [{heading: column[np.searchsorted(users, part)] for heading, column in values.items()} for part in block]


def _lists(run: Run, places: Places) -> Run:
    return run.take(np.sort(places[places >= 0]))
