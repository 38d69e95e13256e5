"""What estimators answer sampled ranks with, for every pool they were drawn from."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.sampled.estimators import Estimator, Target
from recassay.sampled.joint import joint_of
from recassay.sampled.prior import stretched
from recassay.sampled.ranks import Ranks

Float = NDArray[np.float64]
Key = tuple[str, str]  # metric, estimator


@dataclass(frozen=True, eq=False)
class Answered:
    """``tables[metric, estimator]`` has a row per pool, ascending, and a column per sampled rank.

    ``left_out`` is how many directions an estimator had to give up, at the worst pool.
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
    ) -> Answered:
        """All answers; pools of one size share theirs."""
        keys = list(itertools.product(metrics, estimators))
        tables = {key: np.empty((pools.size, sample + 1)) for key in keys}
        left_out = dict.fromkeys(keys, 0)
        with threadpool_limits(1):  # the matrices are small: more threads are slower, and may round otherwise
            for row, pool in enumerate(pools.tolist()):
                chances = None if prior is None else stretched(prior, pool + 1)
                joint = joint_of(pool, sample, replace=replace, prior=chances)
                targets = {heading: Target(metric, joint) for heading, metric in metrics.items()}
                for key in keys:
                    found = estimators[key[1]].answers(targets[key[0]])
                    tables[key][row] = found.values
                    left_out[key] = max(left_out[key], found.left_out)
        return cls(pools, tables, left_out)

    def clipped(self) -> Answered:
        """The same with every answer moved into 0..1."""
        return dataclasses.replace(self, tables={key: np.clip(table, 0.0, 1.0) for key, table in self.tables.items()})

    def values(self, key: Key, ranks: Ranks) -> Float:
        """The answer to every case; a rank that the prior rules out is U152."""
        found: Float = self.tables[key][np.searchsorted(self.pools, ranks.pool), ranks.rank - 1]
        lacking = np.isnan(found)
        if lacking.any():
            first = int(np.argmax(lacking))
            raise UsageError(
                "U152",
                f"the prior rules out {int(lacking.sum()):,} of {found.size:,} sampled ranks, the first "
                f"{int(ranks.rank[first])} of a pool of {int(ranks.pool[first]):,}",
                where="prior",
                hint="give every full rank that may occur a chance",
            )
        return found
