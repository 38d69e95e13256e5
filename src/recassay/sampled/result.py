"""The result of ``sampling_curve``, as tables and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from recassay.errors import UsageError
from recassay.naming.grammar import suggest
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Finding

SCHEME = ("by", "replace", "metric")


@dataclass(frozen=True, eq=False)
class SamplingCurve:
    """Sampled metrics at every size, for every sampling scheme (``by``, ``replace``) and metric.

    ``points`` has a row per size and system: the ``mean`` over all draws, and an interval over users from ``low`` to
    ``high``. ``sd_draws`` is the standard deviation of the mean of one draw (with separate draws for each relevant item
    of a user). Size null is the full ranking.

    ``orders`` has a row per size: Kendall's ``tau_a`` and ``tau_b`` between the order of systems and that of the full
    ranking, and an interval of ``tau_a`` over users. ``agree`` is the share of resamples of users in which both orders
    are equal. ``same`` is whether they are equal, and ``swaps`` lists the pairs that differ. ``stable`` has the size
    from which on the order equals that of the full ranking (null: at none of the sizes).
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    points: pl.DataFrame
    orders: pl.DataFrame
    stable: pl.DataFrame
    settings: Mapping[str, Any]
    findings: tuple[Finding, ...] = ()

    def table(self, metric: str | None = None) -> pl.DataFrame:
        """Return a row per scheme and size: the mean of each system, and the agreement with the full ranking.

        ``metric`` is by default the first one. Raise U101 for an unknown metric.
        """
        metric = self.metrics[0] if metric is None else metric
        if metric not in self.metrics:
            raise UsageError("U101", f"the metric '{metric}' is not in this result", hint=suggest(metric, self.metrics))
        means = self.points.filter(metric=metric).pivot(
            "system", index=["by", "replace", "size"], values="mean", maintain_order=True
        )
        orders = self.orders.filter(metric=metric).select("by", "replace", "size", "tau_a", "agree", "swaps")
        return means.join(orders, on=["by", "replace", "size"], how="left", maintain_order="left")

    def __str__(self) -> str:
        shown = {
            metric: self.table(metric).with_columns(
                pl.when("replace").then(pl.lit("with")).otherwise(pl.lit("without")).alias("replace"),
                pl.col("size").cast(pl.String).fill_null("all"),
                pl.col("swaps").list.join(", ").fill_null(""),
            )
            for metric in self.metrics
        }
        with pl.Config(
            tbl_formatting="UTF8_BORDERS_ONLY", tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True,
            tbl_rows=-1, tbl_cols=-1, tbl_width_chars=120, float_precision=4, fmt_str_lengths=60,
        ):  # fmt: skip
            return "\n\n".join(f"{metric}\n{table}" for metric, table in shown.items())

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the tables, the findings and the settings, ready for JSON."""
        tables = {"points": self.points, "orders": self.orders, "stable": self.stable}
        return {
            **{name: table.to_dicts() for name, table in tables.items()},
            "findings": [finding.to_dict() for finding in self.findings],
            "settings": dict(self.settings),
        }

    def exhibits(self) -> tuple[Exhibit, ...]:
        """Return charts of each metric's means, of the ranks of systems, and of their agreement with the full ranking.

        The x axis is the sample size; the last point is the full ranking. Agreement is Kendall's tau-a of two orders of
        the systems. If candidates were drawn in several ways, there is one chart more, which compares these ways.
        """
        scheme = pl.concat_str(
            pl.col("metric"), pl.lit(" "), pl.col("by"),
            pl.when("replace").then(pl.lit(", with replacement")).otherwise(pl.lit(", without replacement")),
        ).alias("setting")  # fmt: skip
        named = self.points.with_columns(scheme, candidates=pl.col("size").fill_null(self.settings["candidates"]))
        rank = pl.col("mean").rank("min", descending=True).over("setting", "candidates").cast(pl.Int64)
        points = named.with_columns(rank=rank)
        axes: Any = {"x": "candidates", "facet": "setting", "log_x": True}
        note = f"The last point is the full ranking, of up to {self.settings['candidates']:,} candidates."
        note += "".join(f" {finding.detail}." for finding in self.findings)
        orders = self.orders.with_columns(scheme, pl.col("swaps").list.join(", "), candidates=pl.col("size"))
        return (
            Exhibit(
                "sampling-curve", "Sampled metrics by size of the sample",
                f"The score of each system when a relevant item is ranked among this number of sampled ones. {note}",
                points.select("setting", "system", "candidates", "mean", "low", "high", "sd_draws", "rank"),
                y="mean", series="system", low="low", high="high", **axes,
            ),
            Exhibit(
                "sampling-ranks", "Who comes first, by size of the sample",
                f"The rank of each system. Where lines cross, two systems swap places. {note}",
                points.select("setting", "system", "candidates", "rank", "mean"),
                y="rank", series="system", downwards=True, **axes,
            ),
            Exhibit(
                "sampling-agreement", "Agreement with the full ranking",
                "Kendall's tau-a of the order of systems with that of the full ranking, with an interval over users; "
                "'agree' is the share of resamples of users in which both orders are the same.",
                orders.select("setting", "candidates", "tau_a", "low", "high", "agree", "swaps"),
                y="tau_a", low="low", high="high", **axes,
            ),
            *([self.rank_chart()] if self.orders["by"].n_unique() > 1 else []),
        )  # fmt: skip

    def rank_chart(self, size: int = 100) -> Exhibit:
        """Return the rank of each system in uniform samples, among all candidates, and in samples by popularity.

        The samples have ``size`` candidates, or the size next to it that was computed. Of several schemes with the same
        weights (with and without replacement) the first is taken.
        """
        shown = min(self.points["size"].drop_nulls().unique(), key=lambda one: (abs(one - size), one))
        first = pl.col("replace") == pl.col("replace").first().over("metric", "by")
        drawn = self.points.filter(first, size=shown).with_columns(
            candidates=pl.format("{} {}", pl.lit(f"{shown:,}"), "by")
        )
        full = self.points.filter(first, pl.col("size").is_null(), by=self.points["by"][0])
        order = [f"{shown:,} uniform", "all", f"{shown:,} popularity"]
        table = (
            pl.concat([drawn, full.with_columns(candidates=pl.lit("all"))])
            .with_columns(rank=pl.col("mean").rank("min", descending=True).over("metric", "candidates").cast(pl.Int64))
            .sort(
                "metric",
                pl.col("candidates").replace_strict(order, range(3), return_dtype=pl.Int8),
                maintain_order=True,
            )
        )
        return Exhibit(
            "rank-chart", "Who comes first in samples and among all candidates",
            f"The rank of each system with {shown:,} candidates drawn uniformly (left), with all candidates, and with "
            f"{shown:,} drawn by popularity (right). Where lines cross, two systems swap places.",
            table.select("metric", "system", "candidates", "rank", "mean"),
            x="candidates", y="rank", series="system", facet="metric", downwards=True,
        )  # fmt: skip
