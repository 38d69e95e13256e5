"""``correct``: estimates of full-ranking metrics from sampled ranks.

Sampled metrics measure something else: hit@10 among 100 of N candidates looks at about the first N / 10 ranks. If you
have the full ranks, use them, and :func:`~recassay.sampling_curve` for the effect of sampling. This module is for data
that has sampled ranks only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.checks import diagnose
from recassay.engine.finish import finish, row_of
from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.results.finding import Finding
from recassay.results.scores import Scores
from recassay.sampled.corrected import CorrectedMetrics, Prior, RankTables, check_prior
from recassay.sampled.estimators import REGISTRY, BiasVariance, Estimator, metric_at_rank
from recassay.sampled.ranks import Pool, Ranks, read_ranks
from recassay.stats.intervals import Uncertainty, mean_of
from recassay.stats.resampling import ResamplingOptions, bootstrap_sums

Float = NDArray[np.float64]
Systems = Mapping[str, Ranks]

DEFAULT_METRICS = "hit@10 ndcg@10"
DEFAULT = "bias_variance, bias_variance(gamma=0.01)"  # the published choices; if they differ, bias matters
ORDER = BiasVariance(gamma=0.01)  # the estimator with less bias decides how certain the order of systems is
ORDERS = 2_000  # resamples of users for that


@checks_types
def correct(
    ranks: object,
    *,
    sample: int,
    pool: Pool = None,
    metrics: Metrics = DEFAULT_METRICS,
    estimators: str | Estimator | Iterable[str | Estimator] = DEFAULT,
    replace: bool = False,
    by: choices.Sampling = "uniform",
    prior: Prior = "uniform",
    clip: bool = False,
    columns: str | Mapping[str, str] | None = None,
    interval: choices.IntervalMethod | None = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
) -> CorrectedMetrics:
    """Return metrics of the full ranking, estimated from ranks of relevant items among ``sample`` drawn candidates.

    ``ranks`` go from 1 to sample + 1. They are an array with an entry per case (a relevant item and its rank), or a
    table or file with the columns user_id, rank and optionally pool. Several systems are a dict of name to ranks, or a
    list of files. From runs that ``play`` returned, one or several, the candidates are drawn here.

    ``pool`` is the number of candidates drawn from, without the relevant item: one number for all cases or one per
    case. ``replace`` is whether a candidate could be drawn twice. Draws ``by`` popularity are not supported (U151).

    ``prior`` has the probabilities of the full ranks 1, 2, ..., if you know them; it is rescaled to pools of other
    sizes. Estimates may lie outside 0 and 1; ``clip`` clips the estimate of each sampled rank, which adds bias. With
    several systems, finding S001 reports where their order is uncertain.

    >>> found = correct([1, 1, 2, 5, 9, 40], pool=1_000, sample=99, metrics="hit@10", estimators="rank bias_variance")
    >>> found.means.select("estimator", pl.col("mean", "sampled").round(4)).rows()
    [('rank', 0.3333, 0.8333), ('bias_variance', 0.4031, 0.8333)]
    """
    _check_sampling(by, sample)
    systems = read_ranks(ranks, pool=pool, sample=sample, replace=replace, columns=columns, seed=seed)
    parsed, requested = parse_metrics(metrics), {str(one): one for one in REGISTRY.parse_list(estimators)}
    needed = requested | ({str(ORDER): ORDER} if len(systems) > 1 else {})
    pools = np.unique(np.concatenate([np.unique(system.pool) for system in systems.values()]))
    raw = RankTables.of(pools, sample, parsed, needed, replace=replace, prior=check_prior(prior))
    shown = raw.clipped() if clip else raw
    uncertainty = Uncertainty(interval, level, resamples, seed)
    by_estimator = {name: _scores(systems, parsed, name, shown, uncertainty, threads) for name in requested}
    sampled = {
        (name, heading): float(metric_at_rank(metric, system.rank.astype(np.float64), sample).mean())
        for name, system in systems.items()
        for heading, metric in parsed.items()
    }
    return CorrectedMetrics(
        systems=tuple(systems),
        metrics=tuple(parsed),
        estimators=tuple(requested),
        means=_means(by_estimator, sampled, raw),
        by_estimator=by_estimator,
        estimates=shown,
        findings=_order_findings(systems, parsed, raw, sampled, seed, threads) if len(systems) > 1 else (),
        settings={
            "pool": [int(pools[0]), int(pools[-1])],
            "sample": sample,
            "replace": replace,
            "prior": "uniform" if isinstance(prior, str) else "given",
            "clip": clip,
            "interval": asdict(uncertainty),
        },
    )


def _check_sampling(by: str, sample: int) -> None:
    """Raise U151 for draws by popularity, which cannot be corrected; raise U102 if no candidate is sampled."""
    if by == "popularity":
        raise UsageError(
            "U151",
            "corrections are valid for uniform samples only",
            where="by='popularity'",
            hint="a rank among popular items does not determine the rank among all; use full ranks of the systems",
        )
    if sample < 1:
        raise UsageError("U102", f"sample must be at least 1, got {sample}", hint="sample=100")


def _per_user(ranks: Ranks, values: Float) -> Float:
    """Return each user's mean of ``values``, which has an entry per case (a ranked relevant item of a user)."""
    found: Float = np.bincount(ranks.user, weights=values, minlength=ranks.users.len()) / ranks.cases
    return found


def _scores(
    systems: Systems, metrics: Mapping[str, Metric], estimator: str, tables: RankTables, uncertainty: Uncertainty,
    threads: int | None,
) -> Scores:  # fmt: skip
    """Return the values that one estimator gives per user, with intervals.

    A user's value is the mean over the user's cases (relevant items), and its weight is their number. All systems and
    metrics share the resamples.
    """
    first = next(iter(systems.values()))
    columns = {
        (name, heading): _per_user(system, tables.values((heading, estimator), system))
        for heading in metrics
        for name, system in systems.items()
    }
    cases = first.cases.astype(np.float64)
    weights = {} if (cases == 1).all() else dict.fromkeys(columns, cases)
    rows = [
        row_of(key, metrics[key[1]], mean_of(values, weights.get(key)), cases.size) for key, values in columns.items()
    ]
    settings = {"interval": asdict(uncertainty), "estimator": estimator}
    return finish(first.users, metrics, rows, columns, weights, uncertainty, threads=threads, settings=settings)


def _means(
    by_estimator: Mapping[str, Scores], sampled: Mapping[tuple[str, str], float], tables: RankTables
) -> pl.DataFrame:
    """Return the table that becomes ``CorrectedMetrics.means``: a row per metric, estimator and system.

    ``by_estimator`` has the estimated values, and ``sampled`` the mean of the uncorrected metric by (system, metric).
    From ``tables`` comes the number of components that an estimator left out: the functions of the rank of which a
    metric is a sum.
    """
    rows = [
        {
            "metric": row.metric, "estimator": name, "system": row.system, "mean": row.mean, "low": row.low,
            "high": row.high, "n": row.n, "sampled": sampled[row.system, row.metric],
            "left_out": tables.left_out[row.metric, name],
        }
        for metric in next(iter(by_estimator.values())).metrics
        for name, scores in by_estimator.items()
        for row in scores.rows
        if row.metric == metric
    ]  # fmt: skip
    return pl.DataFrame(rows)


def _order_findings(
    systems: Systems, metrics: Mapping[str, Metric], tables: RankTables, sampled: Mapping[tuple[str, str], float],
    seed: int, threads: int | None,
) -> tuple[Finding, ...]:  # fmt: skip
    """Return findings about the order of systems, from all means, corrected by one estimator and as ``sampled``.

    The corrected means are also computed in resamples of users, which all systems share.
    """
    first = next(iter(systems.values()))
    columns = {
        (name, heading): _per_user(system, tables.values((heading, str(ORDER)), system)) * first.cases
        for name, system in systems.items()
        for heading in metrics
    }
    sums = bootstrap_sums(np.array(list(columns.values())), ORDERS, ResamplingOptions(seed, ORDERS, threads))
    total = first.rank.size
    return diagnose(
        "sampled ranks",
        sampled=sampled,
        corrected={key: float(column.sum() / total) for key, column in columns.items()},
        resampled=dict(zip(columns, sums / total, strict=True)),
        estimator=str(ORDER),
        users=first.users.len(),
    )
