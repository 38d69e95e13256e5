"""Exhibits (tables with a figure) of generated sequences: item frequencies, systems by metric, metrics by position."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.comparison.overall import standing
from recassay.data.generated import Generated
from recassay.data.sequences import SequenceFold
from recassay.errors import UsageError
from recassay.evaluate.lists.summary import interval_bounds
from recassay.evaluate.sequences.generated import Systems, generated_by_system
from recassay.evaluate.sequences.given import GivenData
from recassay.evaluate.sequences.score import SEQUENCES_PER_BLOCK, sequence_metrics
from recassay.metrics.registry import Metrics
from recassay.metrics.sequence.base import PlaceSum, SequenceMetric, WholeSequenceMetric
from recassay.metrics.sequence.block import SequenceBlock
from recassay.metrics.sequence.known import SequenceContext
from recassay.results.exhibit import Exhibit
from recassay.results.scores import Scores, Values
from recassay.stats.intervals import Uncertainty, means
from recassay.threads import each_block

RANKS = 200  # ranks shown at most, evenly spaced on a logarithmic axis
TRAINING = "training"


def item_frequency(fold: SequenceFold, generated: Systems) -> Exhibit:
    """Return the share of recommendations of the most recommended item, the second, ..., per system and in training.

    >>> from recassay.data.sequences import Sequences
    >>> frame = pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"abaab"]})
    >>> made = Sequences.from_frame(frame)
    >>> fold = SequenceFold(made.take(np.array([0])), made.take(np.array([1])))
    >>> mine = Generated("mine", np.array([[1, 1]]), np.array([[0.5, 0.5]]), np.array([2.0]), seed=1)
    >>> item_frequency(fold, mine).table.rows()
    [(1, 0.666..., 'training'), (2, 0.333..., 'training'), (1, 1.0, 'mine')]
    """
    counts = {TRAINING: fold.counts}
    for name, runs in generated_by_system(fold, generated).items():
        shown = np.concatenate([run.items[run.items >= 0] for run in runs])
        counts[name] = np.bincount(shown, minlength=fold.n_items)
    parts = [_ranked_shares(of_item).with_columns(system=pl.lit(name)) for name, of_item in counts.items()]
    return Exhibit(
        name="item-frequency",
        title="How often items are shown",
        caption="The share of all recommendations that goes to the most shown item, the second, and so on, both axes "
        "logarithmic. A system whose line is steeper than that of training favours popular items more than users do. "
        "Where a line ends, the remaining items are never shown.",
        table=pl.concat(parts),
        x="rank",
        y="share",
        series="system",
        log_x=True,
        log_y=True,
    )


def _ranked_shares(counts: NDArray[np.int64]) -> pl.DataFrame:
    """Return a table of ranks and shares of the counts, largest first, at ranks evenly spaced on a logarithmic axis."""
    ordered = np.sort(counts[counts > 0])[::-1]
    ranks = np.unique(np.geomspace(1, max(ordered.size, 1), RANKS).round().astype(np.int64))[: ordered.size]
    return pl.DataFrame({"rank": ranks, "share": ordered[ranks - 1] / max(int(ordered.sum()), 1)})


def parallel_view(scores: Scores, metrics: Iterable[str] | None = None) -> Exhibit:
    """Return an exhibit with a line per system over metrics, each scaled from its worst (0) to its best (1) system."""
    rows: list[dict[str, Any]] = []
    for metric in scores.metrics if metrics is None else metrics:
        own = [scores.row(system, metric) for system in scores.systems]
        places = standing(np.array([-row.mean if row.higher_is_better is False else row.mean for row in own]))
        rows += [
            {"metric": metric, "standing": place, "system": row.system, "mean": row.mean}
            for row, place in zip(own, places.tolist(), strict=True)
        ]
    return Exhibit(
        name="parallel",
        title="Every metric side by side",
        caption="On each metric the best of these systems is at 1 and the worst at 0, also where less is better. "
        "The table has the means. Where lines cross, metrics disagree on the better system.",
        table=pl.DataFrame(rows),
        x="metric",
        y="standing",
        series="system",
    )


def by_position(
    fold: SequenceFold,
    generated: Systems,
    metrics: Metrics | None = None,
    *,
    interval: str | None = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
    given: GivenData | None = None,
) -> Exhibit:
    """Return metrics by position in the generated sequences: do later positions hit less, or repeat more?

    The value of a position is a hit, the bits or the probability of its item, or its distance or order relative to the
    items before it. For coverage it is the share of the vocabulary at that position in some list. ``metrics`` must be
    sums over positions; by default all such metrics are included. ``given`` holds features, similarities and a
    primitive recommender (which gives obvious items) for metrics that read them.
    """
    systems = generated_by_system(fold, generated)
    shortest = min((made for runs in systems.values() for made in runs), key=lambda made: made.k)
    names = ("precision", "serendipity", "coverage", "novelty", "confidence", "diversity", "ndpm")
    every = " ".join(f"seq_{name}@{shortest.k}" for name in names)
    parsed = sequence_metrics(every if metrics is None else metrics, shortest)
    context = (given or GivenData()).context(fold, parsed, threads=threads)
    columns: dict[tuple[str, str], Values] = {}
    rows: list[dict[str, Any]] = []
    for heading, metric in parsed.items():
        for name, runs in systems.items():
            for position, column in enumerate(
                np.mean([_values_by_position(context, made, metric, threads) for made in runs], axis=0).T
            ):
                rows.append({"metric": heading, "system": name, "position": position + 1, "mean": _mean(column)})
                if column.size > 1:
                    columns[name, f"{heading} {position + 1}"] = column
    bounds = interval_bounds(columns, {}, Uncertainty(interval, level, resamples, seed), threads=threads)
    for row in rows:
        key = (row["system"], f"{row['metric']} {row['position']}")
        row["low"], row["high"] = bounds.get(key, (math.nan, math.nan))
    return Exhibit(
        name="by-position",
        title="Metrics by position",
        caption="The mean at each position of the generated sequences, with its interval. Diversity and nDPM compare "
        "an item with the items before it, so they begin at the second position.",
        table=pl.DataFrame(rows),
        x="position",
        y="mean",
        series="system",
        facet="metric",
        low="low",
        high="high",
        own_scales=True,
    )


def _values_by_position(known: SequenceContext, made: Generated, metric: SequenceMetric, threads: int | None) -> Values:
    """Return the values of a metric by position (n, k), or (1, k) for a metric of all lists together.

    ``known`` is the data that metrics read, and ``made`` the generated sequences.
    """
    if isinstance(metric, WholeSequenceMetric):
        return np.array([[metric.measure(known, made.items[:, j : j + 1]) for j in range(metric.depth)]])
    if not isinstance(metric, PlaceSum):
        raise UsageError(
            "U181", f"{metric} has a value per sequence, but none per position", where=str(metric),
            hint="choose seq_precision, seq_novelty, seq_diversity or another sum over positions",
        )  # fmt: skip
    metric.ready(known, made)
    parts = each_block(
        lambda begin, end: metric.at_places(SequenceBlock(known, made, begin, end)), len(made),
        size=SEQUENCES_PER_BLOCK, threads=threads,
    )  # fmt: skip
    return np.concatenate(parts)


def _mean(column: Values) -> float:
    return float(means(column[~np.isnan(column)][:, None])[0])
