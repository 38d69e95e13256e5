"""``correct``: estimates of full-ranking metrics from sampled ranks, and their result.

Sampled metrics measure something else: hit@10 among 100 of N candidates looks at about the first N / 10 ranks. If you
have the full ranks, use them, and :func:`~recassay.sampling_curve` for the effect of sampling. This module is for data
that has sampled ranks only.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from recassay.arrays import Float, Int64
from recassay.checks import diagnose
from recassay.engine.finish import finish, row_of
from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import suggest
from recassay.results.finding import Finding
from recassay.results.scores import Scores
from recassay.sampled.estimators import REGISTRY, BiasVariance, Estimator, Target, metric_at_rank
from recassay.sampled.joint import joint_ranks
from recassay.sampled.ranks import Pool, Ranks, read_ranks
from recassay.stats.intervals import Uncertainty, mean_of
from recassay.stats.resampling import ResamplingOptions, bootstrap_sums
from recassay.threads import one_library_thread

Prior = Literal["uniform"] | ArrayLike
Key = tuple[str, str]  # metric, estimator
Systems = Mapping[str, Ranks]

DEFAULT_METRICS = "hit@10 ndcg@10"
DEFAULT = "bias_variance, bias_variance(gamma=0.01)"  # the published choices; if they differ, bias matters
ORDER = BiasVariance(gamma=0.01)  # the estimator with less bias decides how certain the order of systems is
ORDERS = 2_000  # resamples of users for that


@dataclass(frozen=True, eq=False)
class RankTables:
    """The estimate of each metric of the full rank that each estimator gives for each sampled rank.

    ``tables[metric, estimator]`` has a row per pool size and a column per sampled rank from 1. ``pools`` are the
    distinct numbers of candidates, ascending. A metric is a sum of components (functions of the rank);
    ``left_out[metric, estimator]`` is how many of them an estimator left out, the largest number over all pools.
    """

    pools: Int64
    tables: Mapping[Key, Float]
    left_out: Mapping[Key, int]

    @classmethod
    def of(
        cls,
        pools: Int64,
        sample: int,
        metrics: Mapping[str, Metric],
        estimators: Mapping[str, Estimator],
        *,
        replace: bool,
        prior: Float | None,
    ) -> RankTables:
        """Return the estimates of all estimators for all metrics and pool sizes, for ``sample`` draws.

        ``replace`` is whether a candidate may be drawn twice. ``prior`` has the probabilities of the full ranks,
        rescaled to each pool size; None means that all are equally likely.
        """
        keys = list(itertools.product(metrics, estimators))
        tables = {key: np.empty((pools.size, sample + 1)) for key in keys}
        left_out = dict.fromkeys(keys, 0)
        with one_library_thread():  # the matrices are small: more threads are slower, and may round otherwise
            for row, pool in enumerate(pools.tolist()):
                chances = None if prior is None else stretch_prior(prior, pool + 1)
                joint = joint_ranks(pool, sample, replace=replace, prior=chances)
                targets = {heading: Target(metric, joint) for heading, metric in metrics.items()}
                for key in keys:
                    found = estimators[key[1]].estimates(targets[key[0]])
                    tables[key][row] = found.values
                    left_out[key] = max(left_out[key], found.left_out)
        return cls(pools, tables, left_out)

    def per_user(self, key: Key, ranks: Ranks) -> Float:
        """Return the mean of the estimates for each user's cases; a case is a relevant item with its sampled rank.

        ``key`` is (metric, estimator). Raise U152 if a sampled rank occurs that has probability 0 under the prior.
        """
        values = self.tables[key][np.searchsorted(self.pools, ranks.pool), ranks.rank - 1]
        impossible = np.isnan(values)
        if impossible.any():
            first = int(np.argmax(impossible))
            raise UsageError(
                "U152",
                f"the prior rules out {int(impossible.sum()):,} of {values.size:,} sampled ranks, the first "
                f"{int(ranks.rank[first])} of a pool of {int(ranks.pool[first]):,}",
                where="prior",
                hint="give every full rank that can occur a probability above 0",
            )
        return np.asarray(np.bincount(ranks.user, weights=values, minlength=ranks.users.len()) / ranks.cases)


@dataclass(frozen=True, eq=False, repr=False)
class CorrectedMetrics:
    """Metrics of the full ranking, estimated from sampled ranks alone.

    ``means`` has a row per metric, estimator and system: the estimated ``mean`` with an interval over users from
    ``low`` to ``high``, the ``n`` users, and the ``sampled`` mean that was corrected. An estimator writes a metric as a
    sum of functions of the rank (components). ``left_out`` is the number of components that it left out, because
    sampled ranks have too little information about them (the largest number over all pool sizes). The interval covers
    the sampling of users and candidates, but not the bias that sampled ranks cannot reveal. ``by_estimator`` has the
    values per user, and ``estimates`` the estimate for each sampled rank.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    estimators: tuple[str, ...]
    means: pl.DataFrame
    by_estimator: Mapping[str, Scores]
    estimates: RankTables
    findings: tuple[Finding, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=100, tbl_hide_column_data_types=True):
            return str(self.means.drop("left_out"))

    def scores(self, estimator: str) -> Scores:
        """Return the estimated values per user, ready for :func:`~recassay.compare`."""
        self._check_known("estimator", estimator, self.estimators, "U115")
        return self.by_estimator[estimator]

    def fhat(self, metric: str, estimator: str) -> pl.DataFrame:
        """Return a table of the number that replaces a metric at each sampled rank: a row per pool size and rank."""
        self._check_known("metric", metric, self.metrics, "U101")
        self._check_known("estimator", estimator, self.estimators, "U115")
        table = self.estimates.tables[metric, estimator]
        pools, ranks = table.shape
        return pl.DataFrame(
            {
                "pool": np.repeat(self.estimates.pools, ranks),
                "rank": np.tile(np.arange(1, ranks + 1), pools),
                "fhat": table.ravel(),
            }
        )

    @staticmethod
    def _check_known(kind: str, name: str, known: tuple[str, ...], code: str) -> None:
        if name not in known:
            raise UsageError(code, f"the {kind} '{name}' is not in this result", hint=suggest(name, known))

    def to_dict(self) -> dict[str, Any]:
        """Return the rows of ``means``, the findings and the settings, ready for JSON."""
        return {
            "rows": self.means.fill_nan(None).to_dicts(),
            "findings": [finding.to_dict() for finding in self.findings],
            "settings": dict(self.settings),
        }


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
    clipped = {key: np.clip(table, 0.0, 1.0) for key, table in raw.tables.items()}
    shown = dataclasses.replace(raw, tables=clipped) if clip else raw
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
        (name, heading): tables.per_user((heading, estimator), system)
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

    ``by_estimator`` maps the name of an estimator to its values, and ``sampled`` maps (system, metric) to the mean of
    the uncorrected metric. ``tables`` know how many components of each metric an estimator left out.
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
    """Return findings about pairs of systems whose order is uncertain.

    The order by ``sampled`` means is compared with that by means corrected with one estimator. The corrected means are
    also computed in resamples of users, which all systems share.
    """
    first = next(iter(systems.values()))
    columns = {
        (name, heading): tables.per_user((heading, str(ORDER)), system) * first.cases
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


def check_prior(prior: Prior) -> Float | None:
    """Return the prior probabilities of the full ranks, which sum to 1; None if every rank is equally likely.

    ``prior`` has probabilities or counts, or is "uniform". Raise U152 for anything else.

    >>> check_prior([3, 1, 0, 0]).tolist()
    [0.75, 0.25, 0.0, 0.0]
    """
    if isinstance(prior, str):
        if prior == "uniform":
            return None
        raise _prior_error(f"there is no prior '{prior}'")
    try:
        found = np.asarray(prior, np.float64).ravel()
    except (TypeError, ValueError, OverflowError) as error:
        raise _prior_error(f"the prior is not numbers: {error}") from None
    if found.size < 2:
        raise _prior_error(f"a prior needs at least 2 ranks, got {found.size}")
    wrong = ~((found >= 0) & np.isfinite(found))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise _prior_error(
            f"probabilities must be finite and not negative, got {found[first]:g} for rank {first + 1:,}"
        )
    if not found.any():
        raise _prior_error("the probabilities of the prior sum to 0")
    return np.asarray(found / found.sum())


def stretch_prior(prior: Float, ranks: int) -> Float:
    """Return a prior of full ranks (the probability of each rank r), rescaled to n = ``ranks`` ranks.

    The distribution of (r - 1/2) / n stays the same: within each old rank, the probability is spread evenly.

    >>> stretch_prior(np.array([0.5, 0.5, 0.0]), 6).round(6).tolist()
    [0.25, 0.25, 0.25, 0.25, 0.0, 0.0]
    """
    if ranks == prior.size:
        return prior
    whole = np.append(0.0, np.cumsum(prior))
    cut = np.interp(np.linspace(0, prior.size, ranks + 1), np.arange(prior.size + 1), whole)
    chances = np.maximum(np.diff(cut), 0.0)
    return np.asarray(chances / chances.sum())


def _prior_error(what: str) -> UsageError:
    hint = "'uniform', or the probability (or count) of every full rank 1, 2, .., pool + 1"
    return UsageError("U152", what, where="prior", hint=hint)
