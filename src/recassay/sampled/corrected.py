"""The result of correcting sampled metrics: the estimate for each sampled rank, means, and values per user."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.naming.grammar import require_known
from recassay.results.finding import Finding
from recassay.results.scores import Scores
from recassay.sampled.estimators import Estimator, Target
from recassay.sampled.joint import joint_ranks
from recassay.sampled.ranks import Ranks
from recassay.threads import one_library_thread

Float = NDArray[np.float64]
Prior = Literal["uniform"] | ArrayLike
Key = tuple[str, str]  # metric, estimator


@dataclass(frozen=True, eq=False)
class RankTables:
    """The values that estimators assign to sampled ranks.

    ``tables[metric, estimator]`` has a row per pool size and a column per sampled rank from 1. ``pools`` are the
    distinct numbers of candidates, ascending. A metric is a sum of components (functions of the rank); ``left_out`` is,
    by the same keys, how many of them an estimator left out, the largest number over all pools.
    """

    pools: NDArray[np.int64]
    tables: Mapping[Key, Float]
    left_out: Mapping[Key, int]

    @classmethod
    def of(
        cls,
        pools: NDArray[np.int64],
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

    def clipped(self) -> RankTables:
        """Return the same tables with every estimate clipped to 0..1."""
        return dataclasses.replace(self, tables={key: np.clip(table, 0.0, 1.0) for key, table in self.tables.items()})

    def values(self, key: Key, ranks: Ranks) -> Float:
        """Return the estimate for each case, a relevant item with its sampled rank.

        ``key`` is (metric, estimator). Raise U152 if a sampled rank occurs that has probability 0 under the prior.
        """
        found: Float = self.tables[key][np.searchsorted(self.pools, ranks.pool), ranks.rank - 1]
        impossible = np.isnan(found)
        if impossible.any():
            first = int(np.argmax(impossible))
            raise UsageError(
                "U152",
                f"the prior rules out {int(impossible.sum()):,} of {found.size:,} sampled ranks, the first "
                f"{int(ranks.rank[first])} of a pool of {int(ranks.pool[first]):,}",
                where="prior",
                hint="give every full rank that can occur a probability above 0",
            )
        return found


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
        require_known(estimator, self.estimators, "U115", f"the estimator '{estimator}' is not in this result")
        return self.by_estimator[estimator]

    def fhat(self, metric: str, estimator: str) -> pl.DataFrame:
        """Return the estimate of a metric that is used for each sampled rank: a row per pool size and rank."""
        require_known(metric, self.metrics, "U101", f"the metric '{metric}' is not in this result")
        require_known(estimator, self.estimators, "U115", f"the estimator '{estimator}' is not in this result")
        table = self.estimates.tables[metric, estimator]
        pools, ranks = table.shape
        return pl.DataFrame(
            {
                "pool": np.repeat(self.estimates.pools, ranks),
                "rank": np.tile(np.arange(1, ranks + 1), pools),
                "fhat": table.ravel(),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the rows of ``means``, the findings and the settings, ready for JSON."""
        return {
            "rows": self.means.fill_nan(None).to_dicts(),
            "findings": [finding.to_dict() for finding in self.findings],
            "settings": dict(self.settings),
        }


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
    chances: Float = found / found.sum()
    return chances


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
    found: Float = np.maximum(np.diff(cut), 0.0)
    found /= found.sum()
    return found


def _prior_error(what: str) -> UsageError:
    hint = "'uniform', or the probability (or count) of every full rank 1, 2, .., pool + 1"
    return UsageError("U152", what, where="prior", hint=hint)
