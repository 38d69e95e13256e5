"""Tables of estimates: the value an estimator assigns to each sampled rank, for every pool size."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.sampled.estimators import Estimator, Target
from recassay.sampled.joint import joint_ranks
from recassay.sampled.prior import stretch_prior
from recassay.sampled.ranks import Ranks
from recassay.threads import one_library_thread

Float = NDArray[np.float64]
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
