"""The result of ``sampling_curve``, as tables and figures, and the orders of systems that it compares."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from recassay.arrays import Float, Int64
from recassay.naming.grammar import require_known
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Finding
from recassay.rng import derive
from recassay.sampled.measure import MeasuredSystem
from recassay.stats.ranks import kendall_taus, pair_signs
from recassay.threads import one_library_thread

EXACT = 12  # decimals of a mean; with more, rounding errors would put a hit rate above 1


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
        require_known(metric, self.metrics, "U101", f"the metric '{metric}' is not in this result")
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


def resampled_groups(groups: int, resamples: int, seed: int) -> Float:
    """Return a table (resamples, groups) of how often each group of users is drawn; ``groups`` draws are a resample.

    All systems share the resamples, so that systems can be compared in each of them.
    """
    rng = derive(seed, "sampling_curve", groups)
    drawn = rng.integers(groups, size=(resamples, groups)) + np.arange(resamples)[:, None] * groups
    counts = np.bincount(drawn.ravel(), minlength=resamples * groups).reshape(resamples, groups)
    return counts.astype(np.float64)


def resampled_means(drawn: Float, sums: Float, counts: Int64) -> Float:
    """Return the mean of every column in every resample: sums of the drawn groups divided by their counts.

    ``drawn`` is a table that :func:`resampled_groups` returned. ``sums`` has a row per group of users with sums of
    values, and ``counts`` the number of values of each group.

    >>> twice = np.array([[1.0, 1.0], [2.0, 0.0]])
    >>> resampled_means(twice, np.array([[1.0], [4.0]]), np.array([2, 3])).tolist()
    [[1.0], [0.5]]
    """
    with one_library_thread():  # so that rounding does not depend on threads
        totals = drawn @ np.column_stack([sums.reshape(len(sums), -1), counts])
    return np.asarray(totals[:, :-1] / totals[:, -1:]).reshape(-1, *sums.shape[1:])


@dataclass(frozen=True, eq=False)
class SystemOrder:
    """The means of all systems by one metric at one sample size, from which their order follows.

    ``mean`` and ``deviation`` (over draws) have an entry per system; ``resampled`` has a row per resample of users and
    a column per system.
    """

    systems: tuple[str, ...]
    mean: Float
    deviation: Float
    resampled: Float

    @classmethod
    def each(cls, found: Mapping[str, MeasuredSystem], column: int, drawn: Float) -> list[SystemOrder]:
        """Return the order of systems at each sample size, for one metric.

        ``found`` has the measured values of each system by name, and ``column`` is the position of the metric in them.
        ``drawn`` says how often each group of users is in each resample.
        """
        each = found.values()
        mean = np.round([one.mean[:, column] for one in each], EXACT)
        deviation = np.array([one.deviation[:, column] for one in each])
        resampled = np.array([resampled_means(drawn, one.sums[:, :, column], one.counts) for one in each])
        return [
            cls(tuple(found), mean[:, place], deviation[:, place], resampled[:, :, place].T)
            for place in range(mean.shape[1])
        ]

    def rows(self, level: float) -> list[dict[str, Any]]:
        """Return a row per system: mean, standard deviation over draws, and an interval over users.

        ``level`` is the confidence of the interval.
        """
        low, high = _percentile_bounds(self.resampled, level)
        columns = zip(self.systems, self.mean, self.deviation, low, high, strict=True)
        names = ("system", "mean", "sd_draws", "low", "high")
        return [dict(zip(names, (row[0], *map(float, row[1:])), strict=True)) for row in columns]

    def same(self, means: ArrayLike) -> bool:
        """Return whether every pair of systems has the same order here and in ``means``, other means of the systems.

        A tie is an order too: a pair tied in one of them must be tied in the other.
        """
        return bool((pair_signs(self.mean) == pair_signs(means)).all())

    def agreement(self, full: SystemOrder, level: float) -> dict[str, Any]:
        """Return how well this order of systems agrees with the order ``full``.

        ``tau_a`` and ``tau_b`` are Kendall's tau, with an interval of ``tau_a`` over users from ``low`` to ``high``.
        ``agree`` is the share of resamples of users in which both orders are equal, ``same`` is whether they are equal,
        and ``swaps`` are the pairs that differ.
        """
        tau_a, tau_b = kendall_taus(self.mean, full.mean)
        resampled, _ = kendall_taus(self.resampled, full.resampled)
        low, high = _percentile_bounds(resampled[:, None], level)
        agree = (pair_signs(self.resampled) == pair_signs(full.resampled)).all(axis=1)
        return {
            "tau_a": float(tau_a), "tau_b": float(tau_b), "low": float(low[0]), "high": float(high[0]),
            "agree": float(agree.mean()), "same": self.same(full.mean), "swaps": self.swaps(full),
        }  # fmt: skip

    def swaps(self, full: SystemOrder) -> list[str]:
        """Return the pairs of systems that this order and ``full`` rank differently, as texts such as "a > b".

        A text says how this order ranks the pair.

        >>> def at(*mean):
        ...     return SystemOrder(("a", "b"), np.array(mean), np.zeros(2), np.zeros((1, 2)))
        >>> at(0.3, 0.2).swaps(at(0.1, 0.2)), at(0.3, 0.2).swaps(at(0.2, 0.1)), at(0.2, 0.2).swaps(at(0.2, 0.1))
        (['a > b'], [], ['a = b'])
        """
        pairs = itertools.combinations(self.systems, 2)
        own_signs, full_signs = pair_signs(self.mean), pair_signs(full.mean)
        text = {-1: "{0} > {1}", 0: "{0} = {1}", 1: "{1} > {0}"}
        return [
            text[int(own)].format(*pair)
            for pair, own, of_full in zip(pairs, own_signs, full_signs, strict=True)
            if own != of_full
        ]


def stable_from(sizes: Sequence[int], same: Sequence[bool], is_same: Callable[[int], bool]) -> int | None:
    """Return the smallest sample size from which on the order of systems equals that of the full ranking.

    ``same`` says for each of ``sizes`` whether the orders are equal. Between the last size at which they differ and the
    next one, the change is found by bisection with ``is_same``. Return None if they differ at the largest size.

    >>> stable_from([1, 10, 100], [True, False, True], lambda size: size >= 37)
    37
    """
    different = [place for place, equal in enumerate(same) if not equal]
    if not different:
        return sizes[0]
    if different[-1] + 1 == len(sizes):
        return None
    low, high = sizes[different[-1]], sizes[different[-1] + 1]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_same(middle) else (middle, high)
    return high


def _percentile_bounds(values: Float, level: float) -> Float:
    """Return a row of lower and a row of upper percentiles, which enclose the middle ``level`` of each column.

    For 0.95 they are the percentiles 2.5 and 97.5. Rows of ``values`` are resamples.
    """
    found: Float = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return found
