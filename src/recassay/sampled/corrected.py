"""The result of correcting sampled metrics: a table of means, and values per user for comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from recassay.errors import UsageError
from recassay.naming.grammar import suggest
from recassay.results.finding import Finding
from recassay.results.scores import Scores
from recassay.sampled.rank_tables import RankTables


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
        """Return the estimate of a metric that is used for each sampled rank: a row per pool size and rank."""
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
