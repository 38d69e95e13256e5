"""What corrections of sampled ranks found: means for people, values per user for comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from recassay.data.finding import Finding
from recassay.data.scores import Scores
from recassay.errors import UsageError
from recassay.sampled.answered import Answered
from recassay.spec import suggest


@dataclass(frozen=True, eq=False)
class Corrected:
    """Systems under metrics of the full ranking, estimated from sampled ranks alone.

    ``means`` has a row per metric, estimator and system: the estimated ``mean`` with an interval over users from
    ``low`` to ``high``, the ``n`` users, the ``sampled`` mean that was corrected, and ``left_out``, how many directions
    an estimator had to give up because the sample keeps too little of them (at the worst pool). The interval knows of
    other users and other draws, not of the bias that the sampled ranks cannot show.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    estimators: tuple[str, ...]
    means: pl.DataFrame
    by_estimator: Mapping[str, Scores]
    answered: Answered
    findings: tuple[Finding, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def scores(self, estimator: str) -> Scores:
        """Estimated values per user, ready for :func:`~recassay.compare`."""
        self._known("estimator", estimator, self.estimators, "U115")
        return self.by_estimator[estimator]

    def fhat(self, metric: str, estimator: str) -> pl.DataFrame:
        """What each sampled rank was answered with, a row per pool and rank."""
        self._known("metric", metric, self.metrics, "U101")
        self._known("estimator", estimator, self.estimators, "U115")
        table = self.answered.tables[metric, estimator]
        pools, ranks = table.shape
        return pl.DataFrame(
            {
                "pool": np.repeat(self.answered.pools, ranks),
                "rank": np.tile(np.arange(1, ranks + 1), pools),
                "fhat": table.ravel(),
            }
        )

    @staticmethod
    def _known(kind: str, name: str, known: tuple[str, ...], code: str) -> None:
        if name not in known:
            raise UsageError(code, f"the {kind} '{name}' was not asked for", hint=suggest(name, known))

    def to_dict(self) -> dict[str, Any]:
        """Rows, findings and settings, ready for JSON."""
        return {
            "rows": self.means.fill_nan(None).to_dicts(),
            "findings": [finding.to_dict() for finding in self.findings],
            "settings": dict(self.settings),
        }
