"""``correct``: from sampled ranks to metrics of the full ranking, as far as sampled ranks can say.

Sampled metrics are metrics of something else: hit@10 among 100 of N candidates looks at the first N / 10 ranks or so.
Who has the full ranks judges by them, and :func:`~recassay.sampling_curve` shows what sampling does. This is for people
who have sampled ranks and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.comparison.intervals import Uncertainty, intervals, means
from recassay.comparison.resampling import How, bootstrap_sums
from recassay.data.scores import Scores, Summary
from recassay.diagnose import Sampling, diagnose
from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.sampled.answered import Answered
from recassay.sampled.corrected import Corrected
from recassay.sampled.estimators import REGISTRY, BiasVariance, Estimator, worth
from recassay.sampled.prior import Prior, checked_prior
from recassay.sampled.ranks import Pool, Ranks, read_ranks
from recassay.spec import suggest

Float = NDArray[np.float64]
Systems = Mapping[str, Ranks]

DEFAULT_METRICS = "hit@10 ndcg@10"
DEFAULT = "bias_variance, bias_variance(gamma=0.01)"  # the published choices: where they differ, bias matters
ORDER = BiasVariance(gamma=0.01)  # of the two the one with less bias says how sure an order is
ORDERS = 2_000  # resamples of users in which that is looked at
BY = ("uniform", "popularity")


def correct(
    ranks: object,
    *,
    sample: int,
    pool: Pool = None,
    metrics: Metrics = DEFAULT_METRICS,
    estimators: str | Estimator | Iterable[str | Estimator] = DEFAULT,
    replace: bool = False,
    by: Literal["uniform", "popularity"] = "uniform",
    prior: Prior = "uniform",
    clip: bool = False,
    columns: str | Mapping[str, str] | None = None,
    interval: str | None = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
) -> Corrected:
    """Metrics among all candidates, estimated from where a relevant item stood among ``sample`` drawn ones.

    ``ranks`` count from 1 to sample + 1: an array with a case per entry, a table or file with the columns user_id, rank
    and perhaps pool, or several systems, as a dict of name to ranks or a list of files. ``pool`` is the number of
    candidates that were drawn from, beside the relevant item: one for all, or one per case. ``replace`` says whether
    one could be drawn twice. Draws by popularity are refused (U151).

    ``prior`` holds the chances of the full ranks 1, 2, ..., as far as you know them; for a pool of another size it is
    stretched. Estimates may lie outside 0 and 1; ``clip`` moves what each sampled rank is answered with inside, which
    adds bias. With several systems, finding S001 says where their order is not sure.

    >>> found = correct([1, 1, 2, 5, 9, 40], pool=1_000, sample=99, metrics="hit@10", estimators="rank bias_variance")
    >>> found.means.select("estimator", pl.col("mean", "sampled").round(4)).rows()
    [('rank', 0.3333, 0.8333), ('bias_variance', 0.4031, 0.8333)]
    """
    _refuse(by, sample)
    systems = read_ranks(ranks, pool=pool, sample=sample, replace=replace, columns=columns)
    asked, wanted = parse_metrics(metrics), {str(one): one for one in REGISTRY.parse_list(estimators)}
    needed = wanted | ({str(ORDER): ORDER} if len(systems) > 1 else {})
    pools = np.unique(np.concatenate([np.unique(system.pool) for system in systems.values()]))
    raw = Answered.of(pools, sample, asked, needed, replace=replace, prior=checked_prior(prior))
    shown = raw.clipped() if clip else raw
    how = Uncertainty(interval, level, resamples, seed)
    by_estimator = {name: _scores(systems, asked, name, shown, how, threads) for name in wanted}
    sampled = {
        (name, heading): float(worth(metric, one.rank.astype(np.float64), sample).mean())
        for name, one in systems.items()
        for heading, metric in asked.items()
    }
    return Corrected(
        systems=tuple(systems),
        metrics=tuple(asked),
        estimators=tuple(wanted),
        means=_means(by_estimator, sampled, raw),
        by_estimator=by_estimator,
        answered=shown,
        findings=diagnose(_order(systems, asked, raw, sampled, seed, threads)) if len(systems) > 1 else (),
        settings={
            "pool": [int(pools[0]), int(pools[-1])],
            "sample": sample,
            "replace": replace,
            "prior": "uniform" if isinstance(prior, str) else "given",
            "clip": clip,
            "interval": asdict(how),
        },
    )


def _refuse(by: str, sample: int) -> None:
    """Raise where no correction is known, or nothing was sampled."""
    if by == "popularity":
        raise UsageError(
            "U151",
            "corrections are valid for uniform samples only",
            where="by='popularity'",
            hint="a rank among popular items does not say the rank among all; ask the systems for full ranks",
        )
    if by not in BY:
        raise UsageError("U102", f"there is no sampling by '{by}'", hint=suggest(by, BY))
    if sample < 1:
        raise UsageError("U102", f"sample={sample}: at least one candidate is drawn", hint="sample=100")


def _per_user(ranks: Ranks, values: Float) -> Float:
    """The mean over the cases of each user."""
    found: Float = np.bincount(ranks.user, weights=values, minlength=ranks.users.len()) / ranks.cases
    return found


def _scores(
    systems: Systems, metrics: Mapping[str, Metric], estimator: str, answers: Answered, how: Uncertainty,
    threads: int | None,
) -> Scores:  # fmt: skip
    """Values per user, weighted by their cases, with intervals from resamples that all systems and metrics share."""
    first = next(iter(systems.values()))
    columns = {
        (name, heading): _per_user(one, answers.values((heading, estimator), one))
        for heading in metrics
        for name, one in systems.items()
    }
    stacked = np.column_stack(list(columns.values()))
    cases = first.cases.astype(np.float64)
    weights = None if (cases == 1).all() else np.repeat(cases[:, None], stacked.shape[1], axis=1)
    low = high = np.full(stacked.shape[1], np.nan)
    if how.method is not None:
        low, high = intervals(
            stacked, weights, method=how.method, level=how.level, resamples=how.resamples, seed=how.seed,
            threads=threads,
        )  # fmt: skip
    rows = [
        Summary(
            *key, float(mean), cases.size, 0, 0, 0, 0, float(below), float(above), metrics[key[1]].higher_is_better,
            metrics[key[1]].parameters,
        )
        for key, mean, below, above in zip(columns, means(stacked, weights), low, high, strict=True)
    ]  # fmt: skip
    weighted = {} if weights is None else dict.fromkeys(columns, cases)
    settings = {"interval": asdict(how), "estimator": estimator}
    return Scores(first.users, tuple(systems), tuple(metrics), columns, weighted, tuple(rows), settings=settings)


def _means(
    by_estimator: Mapping[str, Scores], sampled: Mapping[tuple[str, str], float], answers: Answered
) -> pl.DataFrame:
    """A row per metric, estimator and system."""
    rows = [
        {
            "metric": row.metric, "estimator": name, "system": row.system, "mean": row.mean, "low": row.low,
            "high": row.high, "n": row.n, "sampled": sampled[row.system, row.metric],
            "left_out": answers.left_out[row.metric, name],
        }
        for metric in next(iter(by_estimator.values())).metrics
        for name, scores in by_estimator.items()
        for row in scores.rows
        if row.metric == metric
    ]  # fmt: skip
    return pl.DataFrame(rows)


def _order(
    systems: Systems, metrics: Mapping[str, Metric], answers: Answered, sampled: Mapping[tuple[str, str], float],
    seed: int, threads: int | None,
) -> Sampling:  # fmt: skip
    """What is known of the order of systems: their means in resamples of users, the same for all of them."""
    first = next(iter(systems.values()))
    columns = {
        (name, heading): _per_user(one, answers.values((heading, str(ORDER)), one)) * first.cases
        for name, one in systems.items()
        for heading in metrics
    }
    sums = bootstrap_sums(np.array(list(columns.values())), ORDERS, How(seed, ORDERS, threads))
    total = first.rank.size
    return Sampling(
        systems=tuple(systems),
        metrics=tuple(metrics),
        estimator=str(ORDER),
        users=first.users.len(),
        sampled=sampled,
        corrected={key: float(column.sum() / total) for key, column in columns.items()},
        resampled=dict(zip(columns, sums / total, strict=True)),
    )
