"""Systems over several data sets: who ranks before whom, and whether that is more than the luck of which data were met.

The blocks are data sets, never users: over thousands of users anything is significant. Seeds of one data set are
averaged first, since they are no new data.

Reference: Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 7 (2006).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from recassay.comparison.bayes import SAMPLES, check_rope, signed_rank
from recassay.comparison.friedman import Friedman, friedman, nemenyi_p
from recassay.comparison.ranks import mid_ranks
from recassay.comparison.resampling import Floats
from recassay.data.assay import Assay
from recassay.data.exhibit import Exhibit
from recassay.data.score_set import AXES, GIVEN, ScoreSet, score_set
from recassay.data.scores import Scores
from recassay.errors import UsageError

ROPE = 0.01


@dataclass(frozen=True)
class Pair:
    """Two systems over all blocks. ``p`` is Nemenyi's, None where Friedman's test was not made (two systems)."""

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
class Ranking:
    """The systems by their mean rank over the blocks, under one metric in one setting, best first.

    ``means`` (blocks, systems) are what was ranked. ``groups`` are the largest sets of systems that Nemenyi's test does
    not tell apart; a system in none stands alone.
    """

    metric: str
    setting: Mapping[str, Any]
    blocks: tuple[Any, ...]
    systems: tuple[str, ...]
    means: Floats
    mean_ranks: tuple[float, ...]
    test: Friedman | None
    groups: tuple[tuple[str, ...], ...]
    pairs: tuple[Pair, ...]
    left_out: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Metric and setting in a few words."""
        told = [str(value) for value in self.setting.values() if value not in (None, GIVEN)]
        return ", ".join([self.metric, *told])

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "metric": self.metric,
            "setting": dict(self.setting),
            "blocks": list(self.blocks),
            "mean_ranks": dict(zip(self.systems, self.mean_ranks, strict=True)),
            "friedman": None if self.test is None else {**asdict(self.test), "mean_ranks": list(self.mean_ranks)},
            "groups": [list(group) for group in self.groups],
            "pairs": [asdict(pair) for pair in self.pairs],
            "left_out": list(self.left_out),
        }


@dataclass(frozen=True, eq=False)
class Across:
    """Rankings over one coordinate, and how they were made."""

    rankings: tuple[Ranking, ...]
    over: str
    level: float
    rope: float
    seed: int

    def frame(self) -> pl.DataFrame:
        """A row per metric, setting and pair of systems."""
        rows = [
            {"metric": one.metric, **one.setting, "blocks": len(one.blocks), **asdict(pair)}
            for one in self.rankings
            for pair in one.pairs
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def ranks(self) -> pl.DataFrame:
        """A row per metric, setting and system: its mean rank, and a reach of half the critical difference around it.

        Two systems differ significantly where their reaches do not meet.
        """
        rows = []
        for one in self.rankings:
            reach = float("nan") if one.test is None else one.test.critical_difference / 2
            for system, rank in zip(one.systems, one.mean_ranks, strict=True):
                about = {"metric": one.metric, **one.setting, "ranking": one.name, "system": system}
                rows.append({**about, "mean_rank": rank, "low": rank - reach, "high": rank + reach})
        return pl.DataFrame(rows, infer_schema_length=None)

    def exhibit(self) -> Exhibit:
        """The diagram of critical differences."""
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
        """Ready for JSON."""
        made = {"over": self.over, "level": self.level, "rope": self.rope, "seed": self.seed}
        return {**made, "rankings": [one.to_dict() for one in self.rankings]}


def across(
    scores: ScoreSet | Assay | Mapping[str, Scores],
    *,
    over: str = "dataset",
    metrics: Sequence[str] | None = None,
    level: float = 0.95,
    rope: float = ROPE,
    seed: int = 0,
    samples: int = SAMPLES,
) -> Across:
    """Rank systems over data sets: Friedman's test, Nemenyi's, and the Bayesian signed-rank test of every pair.

    ``scores`` are read with ``ra.read_scores``, or by name of the data set. A mean that differs by at most ``rope`` is
    as good for all practical purposes: say what that is for your metric. Systems that are not on all data sets are left
    out and named. ``over`` may be another coordinate, but designs, splits and seeds of one data set are no independent
    blocks: then read the ranks, and do not believe the tests.

    >>> from recassay.data.scores import Summary
    >>> def one(a, b, c):
    ...     rows = [Summary(name, "mrr", mean, 9, 0, 0, 0, 0) for name, mean in (("a", a), ("b", b), ("c", c))]
    ...     values = {(row.system, row.metric): np.full(1, row.mean) for row in rows}
    ...     return Scores(pl.Series(["ann"]), ("a", "b", "c"), ("mrr",), values, rows=tuple(rows))
    >>> sets = {"x": one(0.50, 0.45, 0.40), "y": one(0.62, 0.60, 0.61), "z": one(0.30, 0.35, 0.25)}
    >>> ranking = across(sets).rankings[0]
    >>> ranking.systems, [round(rank, 3) for rank in ranking.mean_ranks], ranking.groups
    (('a', 'b', 'c'), [1.333, 2.0, 2.667], (('a', 'b', 'c'),))
    """
    check_rope(rope)
    given = score_set(scores).only(metrics)
    joined = (over,) if over == "seed" else (over, "seed")
    rankings = []
    for rest, sheets in given.groups(*joined).items():
        setting = dict(zip((axis for axis in AXES if axis not in joined), rest, strict=True))
        blocks: dict[Any, list[Scores]] = {}
        for place, one in sheets.items():
            blocks.setdefault(getattr(place, over), []).append(one)
        if len(blocks) < 2:
            continue
        for metric in given.metrics:
            ranking = _ranking(metric, setting, blocks, round(1 - level, 12), rope, seed, samples)
            if ranking is not None:
                rankings.append(ranking)
    if not rankings:
        count = len(given.along(over))
        there = "there is one" if count == 1 else f"no two of the {count} have them"
        what = f"a ranking over {over}s needs two of them with the same systems and metrics, and {there}"
        raise UsageError("U211", what, hint=f"scores of several {over}s, or compare within this one")
    return Across(tuple(rankings), over, level, rope, seed)


def _ranking(
    metric: str,
    setting: Mapping[str, Any],
    blocks: Mapping[Any, Sequence[Scores]],
    alpha: float,
    rope: float,
    seed: int,
    samples: int,
) -> Ranking | None:
    """None where there are not two blocks with two systems in common, or no way is better."""
    blocks = {name: [one for one in parts if metric in one.unit_metrics] for name, parts in blocks.items()}
    blocks = {name: parts for name, parts in blocks.items() if parts}
    every = list(dict.fromkeys(system for parts in blocks.values() for one in parts for system in one.systems))
    systems = [name for name in every if all(name in one.systems for parts in blocks.values() for one in parts)]
    if len(blocks) < 2 or len(systems) < 2:
        return None
    first = next(iter(blocks.values()))[0]
    higher = first.row(systems[0], metric).higher_is_better
    means = np.array(
        [[np.mean([one.row(name, metric).mean for one in parts]) for name in systems] for parts in blocks.values()]
    )
    if higher is None or np.isnan(means).any():
        return None
    turned = means if higher else -means
    ranks = np.mean([mid_ranks(-row) for row in turned], axis=0)
    order = np.argsort(ranks, kind="stable")
    systems, means, turned, ranks = [systems[i] for i in order], means[:, order], turned[:, order], ranks[order]
    test = friedman(turned, alpha=alpha) if len(systems) > 2 else None
    pairs = []
    for i, j in itertools.combinations(range(len(systems)), 2):
        difference = turned[:, i] - turned[:, j]
        chances = signed_rank(difference, rope=rope, seed=seed, samples=samples)
        apart = float(ranks[j] - ranks[i])
        p = None if test is None else nemenyi_p(apart, len(systems), len(means))
        significant = None if p is None else p <= alpha
        pairs.append(Pair(systems[i], systems[j], float(difference.mean()), apart, p, significant, *chances))
    left_out = tuple(name for name in every if name not in systems)
    groups = () if test is None else _groups(systems, ranks, test.critical_difference)
    return Ranking(
        metric,
        setting,
        tuple(blocks),
        tuple(systems),
        means,
        tuple(ranks.tolist()),
        test,
        groups,
        tuple(pairs),
        left_out,
    )


def _groups(systems: Sequence[str], ranks: Floats, critical: float) -> tuple[tuple[str, ...], ...]:
    """The largest runs of neighbours by rank that are closer than the critical difference."""
    ends = [int(np.searchsorted(ranks, rank + critical - 1e-12, side="left")) for rank in ranks]
    runs = [(start, end) for start, end in enumerate(ends) if end - start > 1]
    largest = [run for run in runs if not any(one != run and one[0] <= run[0] and run[1] <= one[1] for one in runs)]
    return tuple(tuple(systems[start:end]) for start, end in largest)
