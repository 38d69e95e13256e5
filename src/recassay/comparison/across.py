"""Comparison of systems over several data sets: mean ranks, and whether they differ by more than chance.

The blocks of the tests are data sets, never users: with thousands of users any difference is significant. Seeds of one
data set are averaged first, because they add no new data.

Reference: Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 7 (2006).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from recassay.arrays import Float
from recassay.comparison.tables import FinishedScores, MeansTable
from recassay.data.io.write import finite
from recassay.errors import UsageError
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.results.design_scores import DesignScores
from recassay.results.exhibit import Exhibit
from recassay.results.score_set import AXES, GIVEN, ScoreSet, score_set
from recassay.results.scores import Scores
from recassay.shown import Displayable
from recassay.stats.over_datasets import SAMPLES, Friedman, friedman, nemenyi_p, signed_rank
from recassay.stats.ranks import mid_ranks

ROPE = 0.01


@dataclass(frozen=True)
class Pair:
    """Two systems a and b, over all blocks (data sets); ``p``, of Nemenyi's test, is None if only two are ranked.

    Both differences are positive where a is better: ``difference`` is how much better its mean is (a - b, or b - a if
    less is better), and ``rank_difference`` is its mean rank subtracted from that of b. ``worse``, ``equivalent`` and
    ``better`` are the probabilities, from the Bayesian signed-rank test, that a is worse than b, practically equal, or
    better.
    """

    a: str
    b: str
    difference: float
    rank_difference: float
    p: float | None
    significant: bool | None
    worse: float
    equivalent: float
    better: float


@dataclass(frozen=True, eq=False)
class MeanRanks:
    """Systems in order of their mean rank over the blocks (data sets), best first, by one metric.

    ``setting`` holds the coordinates that all blocks share, such as the split or the design.

    ``means`` (blocks, systems) are the values that were ranked. ``groups`` are the largest sets of systems that
    Nemenyi's test does not tell apart; a system in no group differs from all others.
    """

    metric: str
    setting: Mapping[str, Any]
    blocks: tuple[Any, ...]
    systems: tuple[str, ...]
    means: Float
    mean_ranks: tuple[float, ...]
    test: Friedman | None
    groups: tuple[tuple[str, ...], ...]
    pairs: tuple[Pair, ...]
    left_out: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the metric and its setting (the split, the design, ...) as a short text."""
        values = [str(value) for value in self.setting.values() if value not in (None, GIVEN)]
        return ", ".join([self.metric, *values])

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON."""
        return {
            "metric": self.metric,
            "setting": dict(self.setting),
            "blocks": list(self.blocks),
            "mean_ranks": dict(zip(self.systems, self.mean_ranks, strict=True)),
            "friedman": None
            if self.test is None
            else finite({**asdict(self.test), "mean_ranks": list(self.mean_ranks)}),
            "groups": [list(group) for group in self.groups],
            "pairs": [asdict(pair) for pair in self.pairs],
            "left_out": list(self.left_out),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Across(Displayable):
    """Rankings of systems by mean rank over data sets (or another coordinate), and the options of the tests."""

    rankings: tuple[MeanRanks, ...]
    over: str
    level: float
    rope: float
    seed: int

    def frame(self) -> pl.DataFrame:
        """Return a row per metric, setting and pair of systems; data sets of a setting share the split and so on.

        ``difference`` (of means) and ``rank_difference`` (of mean ranks) are positive where the first system is better.
        """
        rows = [
            {"metric": one.metric, **one.setting, "blocks": len(one.blocks), **asdict(pair)}
            for one in self.rankings
            for pair in one.pairs
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def ranks(self) -> pl.DataFrame:
        """Return a row per metric, setting and system: the mean rank over data sets, and bounds around it.

        A setting is what the data sets share, such as the split or the design. The bounds are half of Nemenyi's
        critical difference away, so two systems differ significantly where their bounds do not overlap.
        """
        rows = []
        for one in self.rankings:
            reach = float("nan") if one.test is None else one.test.critical_difference / 2
            for system, rank in zip(one.systems, one.mean_ranks, strict=True):
                about = {"metric": one.metric, **one.setting, "ranking": one.name, "system": system}
                rows.append({**about, "mean_rank": rank, "low": rank - reach, "high": rank + reach})
        return pl.DataFrame(rows, infer_schema_length=None)

    def exhibit(self) -> Exhibit:
        """Return the diagram of critical differences: systems by mean rank, with bounds that Nemenyi's test gives."""
        caption = (
            f"Mean rank over {self.over}s (1 is best), with half of Nemenyi's critical difference at "
            f"{1 - self.level:.4g} to each side: two systems differ where these do not meet."
        )
        table = self.ranks().with_columns(pl.col("low", "high").fill_nan(None))
        return Exhibit(
            f"critical-difference-{self.over}", f"Ranks over {self.over}s", caption, table, "mean_rank", "system",
            facet="ranking", low="low", high="high", kind="dot",
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON."""
        options = {"over": self.over, "level": self.level, "rope": self.rope, "seed": self.seed}
        return {**options, "rankings": [one.to_dict() for one in self.rankings]}


@checks_types
def across(
    scores: ScoreSet | DesignScores | FinishedScores | Mapping[str, Scores],
    *,
    over: choices.Axis = "dataset",
    metrics: Sequence[str] | None = None,
    level: float = 0.95,
    rope: float = ROPE,
    seed: int = 0,
    samples: int = SAMPLES,
) -> Across:
    """Rank systems over data sets with Friedman's test, Nemenyi's test, and a Bayesian signed-rank test for every pair.

    ``scores`` come from ``ra.read_scores``, from ``ra.overall.read_finished`` (a table of means), or are a mapping from
    data set to scores. Means that differ by at most ``rope`` count as practically equal; choose it for your metric.
    Systems that are missing on a data set are left out and named. ``over`` may be another coordinate, but designs,
    splits and seeds of one data set are not independent blocks: read the ranks then, and ignore the tests. ``level`` is
    the confidence of Nemenyi's test, and ``samples`` the number of draws of the Bayesian test. Raise U211 if there are
    no two data sets with the same systems and metrics.

    >>> from recassay.results.scores import Summary
    >>> def one(a, b, c):
    ...     rows = [Summary(name, "mrr", mean, 9, 0, 0, 0, 0) for name, mean in (("a", a), ("b", b), ("c", c))]
    ...     values = {(row.system, row.metric): np.full(1, row.mean) for row in rows}
    ...     return Scores(pl.Series(["ann"]), ("a", "b", "c"), ("mrr",), values, rows=tuple(rows))
    >>> sets = {"x": one(0.50, 0.45, 0.40), "y": one(0.62, 0.60, 0.61), "z": one(0.30, 0.35, 0.25)}
    >>> ranking = across(sets).rankings[0]
    >>> ranking.systems, [round(rank, 3) for rank in ranking.mean_ranks], ranking.groups
    (('a', 'b', 'c'), [1.333, 2.0, 2.667], (('a', 'b', 'c'),))
    """
    alpha = round(1 - level, 12)
    if isinstance(scores, FinishedScores):
        if over != "dataset":
            what = f"a table of means is ranked over data sets, not over {over!r}"
            raise UsageError("U211", what, hint="leave out over")
        tables = _finished_tables(scores, metrics)
        what = "a ranking over data sets needs two of them with the same systems, by a metric with a better direction"
        hint = "ra.overall.read_finished(..., larger=[...]) says that more of a metric is better"
    else:
        score_sets = score_set(scores).only(metrics)
        tables = _score_tables(score_sets, over)
        count = len(score_sets.along(over))
        there = "there is one" if count == 1 else f"no two of the {count} have them"
        what = f"a ranking over {over}s needs two of them with the same systems and metrics, and {there}"
        hint = f"scores of several {over}s, or compare within this one"
    rankings = tuple(
        rank_means(metric, setting, table, higher=higher, alpha=alpha, rope=rope, seed=seed, samples=samples)
        for metric, setting, table, higher in tables
    )
    if not rankings:
        raise UsageError("U211", what, hint=hint)
    return Across(rankings, over, level, rope, seed)


Tables = Iterator[tuple[str, dict[str, Any], MeansTable, bool]]  # metric, setting, means, whether more is better


def _finished_tables(given: FinishedScores, metrics: Sequence[str] | None) -> Tables:
    """Yield tables of means over two or more data sets, for each metric that says which system is better."""
    for metric in given.metrics if metrics is None else metrics:
        higher = given.higher.get(metric)
        for key, table in given.tables(metric).items():
            if higher is not None and min(table.values.shape) > 1:
                yield metric, dict(zip(given.settings, key, strict=True)), table, higher


def _score_tables(given: ScoreSet, over: str) -> Tables:
    """Yield tables of means over two or more values of a coordinate (usually data sets); seeds are averaged."""
    joined = (over,) if over == "seed" else (over, "seed")
    for rest, sheets in given.groups(*joined).items():
        setting = dict(zip((axis for axis in AXES if axis not in joined), rest, strict=True))
        blocks: dict[Any, list[Scores]] = {}
        for place, one in sheets.items():
            blocks.setdefault(getattr(place, over), []).append(one)
        for metric in given.metrics if len(blocks) > 1 else ():
            table, higher = _means_of(metric, blocks)
            if higher is not None and min(table.values.shape) > 1 and not np.isnan(table.values).any():
                yield metric, setting, table, higher


def _means_of(metric: str, blocks: Mapping[Any, Sequence[Scores]]) -> tuple[MeansTable, bool | None]:
    """Return the means of the systems that all blocks have, and whether more is better (None: unknown)."""
    having = {name: [one for one in parts if metric in one.unit_metrics] for name, parts in blocks.items()}
    blocks = {name: parts for name, parts in having.items() if parts}
    every = list(dict.fromkeys(system for parts in blocks.values() for one in parts for system in one.systems))
    systems = [name for name in every if all(name in one.systems for parts in blocks.values() for one in parts)]
    left_out = tuple(name for name in every if name not in systems)
    means = [[np.mean([one.row(name, metric).mean for one in parts]) for name in systems] for parts in blocks.values()]
    table = MeansTable(tuple(blocks), tuple(systems), np.array(means).reshape(len(blocks), len(systems)), left_out)
    first = next((parts[0] for parts in blocks.values()), None)
    return table, first.row(systems[0], metric).higher_is_better if first is not None and systems else None


def rank_means(
    metric: str,
    setting: Mapping[str, Any],
    table: MeansTable,
    *,
    higher: bool = True,
    alpha: float = 0.05,
    rope: float = ROPE,
    seed: int = 0,
    samples: int = SAMPLES,
) -> MeanRanks:
    """Return the systems of a table of means in order of their mean rank, with the tests of their pairs.

    The values of the table have no NaN. ``setting`` names what its data sets share, such as the split, and ``higher``
    says whether more is better. ``alpha`` is the level of Nemenyi's test; ``rope``, ``seed`` and ``samples`` are for
    the Bayesian test.
    """
    turned = table.values if higher else -table.values
    ranks = np.mean([mid_ranks(-row) for row in turned], axis=0)
    order = np.argsort(ranks, kind="stable")
    systems, turned, ranks = [table.systems[i] for i in order], turned[:, order], ranks[order]
    test = friedman(turned, alpha=alpha) if len(systems) > 2 else None
    pairs = []
    for i, j in itertools.combinations(range(len(systems)), 2):
        difference = turned[:, i] - turned[:, j]
        chances = signed_rank(difference, rope=rope, seed=seed, samples=samples)
        apart = float(ranks[j] - ranks[i])
        p = None if test is None else nemenyi_p(apart, len(systems), len(turned))
        significant = None if p is None else p <= alpha
        pairs.append(Pair(systems[i], systems[j], float(difference.mean()), apart, p, significant, *chances))
    groups = () if test is None else _groups(systems, ranks, test.critical_difference)
    return MeanRanks(
        metric,
        setting,
        table.datasets,
        tuple(systems),
        table.values[:, order],
        tuple(ranks.tolist()),
        test,
        groups,
        tuple(pairs),
        table.left_out,
    )


def _groups(systems: Sequence[str], ranks: Float, critical: float) -> tuple[tuple[str, ...], ...]:
    """Return the largest groups of neighbouring systems in rank order whose ranks differ by less than ``critical``.

    ``systems`` and ``ranks`` are in rank order.
    """
    ends = [int(np.searchsorted(ranks, rank + critical - 1e-12, side="left")) for rank in ranks]
    runs = [(start, end) for start, end in enumerate(ends) if end - start > 1]
    largest = [run for run in runs if not any(one != run and one[0] <= run[0] and run[1] <= one[1] for one in runs)]
    return tuple(tuple(systems[start:end]) for start, end in largest)
