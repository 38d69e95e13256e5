"""Scores of systems under every design: the same recommendations, evaluated with different sets of candidates."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import polars as pl

from recassay.data.io.write import finite
from recassay.naming.grammar import require_known
from recassay.results.finding import Finding
from recassay.results.scores import Scores
from recassay.shown import Displayable
from recassay.stats.ranks import kendall


@dataclass(frozen=True)
class DesignScore:
    """The score of one system under one metric and one design (which says what items are ranked together).

    ``mean`` is the expectation over the draw of candidates and the order of ties, ``low`` and ``high`` its interval
    over users, ``sd_draws`` the standard deviation of one draw's mean around it. ``random`` is the exact mean of a
    system that orders at random, ``best`` the largest mean there can be, and ``corrected`` is (mean - random) / (best -
    random): 0 for chance, 1 for perfection. A target set is the relevant items and candidates that are ranked together.
    ``rho`` is the share of relevant items in a target set, ``t`` the harmonic mean of the sizes of target sets. ``n``
    counts users, ``sets`` target sets.
    """

    system: str
    design: str
    metric: str
    mean: float
    low: float
    high: float
    n: int
    sd_draws: float
    random: float
    best: float
    corrected: float
    rho: float
    t: float
    sets: int
    short: int
    unlisted: int
    undefined: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON; an undefined number is None."""
        return dict(finite(vars(self)))


@dataclass(frozen=True, eq=False, repr=False)
class DesignScores(Displayable):
    """Scores of every system under every design: rows of :class:`DesignScore`, and :class:`Scores` by design.

    A design says which relevant items and candidates are ranked together.
    """

    systems: tuple[str, ...]
    designs: tuple[str, ...]
    metrics: tuple[str, ...]
    rows: tuple[DesignScore, ...]
    by_design: Mapping[str, Scores]
    findings: tuple[Finding, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def summary(self) -> pl.DataFrame:
        """Return a table with a row per design (which items are ranked), system and metric."""
        return pl.DataFrame([asdict(row) for row in self.rows])

    def row(self, system: str, design: str, metric: str) -> DesignScore:
        """Return the row of one system under one design (which items are ranked) and metric."""
        self._require_results(system=system, metric=metric, design=design)
        return next(row for row in self.rows if (row.system, row.design, row.metric) == (system, design, metric))

    def scores(self, design: str) -> Scores:
        """Return the values per user under one design (which items are ranked), ready for :func:`~recassay.compare`."""
        self._require_results(design=design)
        return self.by_design[design]

    def order(self, metric: str) -> pl.DataFrame:
        """Return a row per design (items ranked) and a column per system: its rank by the mean of a metric, 1 on top.

        Equal means share a rank.
        """
        table = self._means(metric).unpivot(index="design", variable_name="system", value_name="mean")
        ranked = table.with_columns(rank=pl.col("mean").rank("min", descending=True).over("design"))
        return ranked.pivot("system", index="design", values="rank", maintain_order=True)

    def agreement(self, metric: str) -> pl.DataFrame:
        """Return a row per pair of designs (which items are ranked): Kendall's tau-b between the orders of systems.

        Systems are in the order of their means under ``metric``.
        """
        table = self._means(metric)
        means = {design: table.row(place)[1:] for place, design in enumerate(self.designs)}
        pairs = itertools.combinations(self.designs, 2)
        return pl.DataFrame(
            [{"a": a, "b": b, "tau": kendall(means[a], means[b])} for a, b in pairs],
            schema={"a": pl.String, "b": pl.String, "tau": pl.Float64},
        )

    def _means(self, metric: str) -> pl.DataFrame:
        """Return a table of the means under a metric: a row per design (items ranked), a column per system."""
        self._require_results(metric=metric)
        found = {(row.design, row.system): row.mean for row in self.rows if row.metric == metric}
        columns = {system: [found[design, system] for design in self.designs] for system in self.systems}
        return pl.DataFrame({"design": list(self.designs), **columns})

    def _require_results(self, **names: str) -> None:
        """Raise U108, U101 or U115 if there are no results for one of ``system``, ``metric`` and ``design``."""
        codes = {"system": ("U108", self.systems), "metric": ("U101", self.metrics), "design": ("U115", self.designs)}
        for noun, name in names.items():
            code, known = codes[noun]
            require_known(name, known, code, f"the {noun} '{name}' was not judged")

    def to_dict(self) -> dict[str, Any]:
        """Return rows, findings (warnings) and settings, ready for JSON."""
        return {
            "rows": [row.to_dict() for row in self.rows],
            "findings": [finding.to_dict() for finding in self.findings],
            "settings": dict(self.settings),
        }

    def with_findings(self, *findings: Finding) -> DesignScores:
        """Return a copy of these scores to which findings (warnings about results) are added."""
        return replace(self, findings=(*self.findings, *findings))
