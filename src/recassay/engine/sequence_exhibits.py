"""Generated sequences as pictures: which items are shown, where systems stand on every metric, what each place adds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.comparison.intervals import Uncertainty, means
from recassay.comparison.overall import standing
from recassay.data.exhibit import Exhibit
from recassay.data.generated import Generated
from recassay.data.scores import Scores, Values
from recassay.data.sequences import SequenceFold
from recassay.engine.generated import Systems, by_system
from recassay.engine.score_sequences import SEQUENCES_PER_BLOCK, asked_of
from recassay.engine.summary import bounds_of
from recassay.errors import UsageError
from recassay.metrics.registry import Metrics
from recassay.metrics.sequence.base import OfAll, Placed, SequenceMetric
from recassay.metrics.sequence.block import Block
from recassay.metrics.sequence.known import Known
from recassay.threads import each_block

RANKS = 200  # of the items at most, on a logarithmic scale
TRAINING = "training"


def item_frequency(fold: SequenceFold, generated: Systems) -> Exhibit:
    """How much of what is shown is the most shown item, the second, ...: of each system, and of training itself.

    >>> from recassay.data.sequences import Sequences
    >>> frame = pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"abaab"]})
    >>> made = Sequences.from_frame(frame)
    >>> fold = SequenceFold(made.take(np.array([0])), made.take(np.array([1])))
    >>> mine = Generated("mine", np.array([[1, 1]]), np.array([[0.5, 0.5]]), np.array([2.0]), seed=1)
    >>> item_frequency(fold, mine).table.rows()
    [(1, 0.666..., 'training'), (2, 0.333..., 'training'), (1, 1.0, 'mine')]
    """
    counts = {TRAINING: fold.counts}
    for name, runs in by_system(fold, generated).items():
        shown = np.concatenate([made.items[made.items >= 0] for made in runs])
        counts[name] = np.bincount(shown, minlength=fold.n_items)
    parts = [_ranked(one).with_columns(system=pl.lit(name)) for name, one in counts.items()]
    return Exhibit(
        name="item-frequency",
        title="How often items are shown",
        caption="The share of all recommendations that goes to the most shown item, the second, and so on, both axes "
        "logarithmic. A system whose line is steeper than that of training favours what is popular anyway; a line that "
        "ends early never shows the rest.",
        table=pl.concat(parts),
        x="rank",
        y="share",
        series="system",
        log_x=True,
        log_y=True,
    )


def _ranked(counts: NDArray[np.int64]) -> pl.DataFrame:
    """Shares by rank, thinned to ranks that a logarithmic axis can tell apart."""
    ordered = np.sort(counts[counts > 0])[::-1]
    ranks = np.unique(np.geomspace(1, max(ordered.size, 1), RANKS).round().astype(np.int64))[: ordered.size]
    return pl.DataFrame({"rank": ranks, "share": ordered[ranks - 1] / max(int(ordered.sum()), 1)})


def parallel_view(scores: Scores, metrics: Iterable[str] | None = None) -> Exhibit:
    """Systems as lines over metrics, each metric from its worst (0) to its best (1) among these systems."""
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
        caption="On each metric the best of these systems stands at 1 and the worst at 0, whether more is better or "
        "less; how far apart they are is in the table. Lines that cross are a choice to be made.",
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
) -> Exhibit:
    """What each place of a generated sequence is worth: do later places foresee less, or say the same again?

    A hit, the bits of an item, its chance, its distance or order to the items before it, or the share of the vocabulary
    that stands there in some list. ``metrics`` are those that are made of places (all of them, unless named).
    """
    systems = by_system(fold, generated)
    shortest = min((made for runs in systems.values() for made in runs), key=lambda made: made.k)
    names = ("precision", "serendipity", "coverage", "novelty", "confidence", "diversity", "ndpm")
    every = " ".join(f"seq_{name}@{shortest.k}" for name in names)
    asked, known = asked_of(every if metrics is None else metrics, shortest), Known(fold, threads=threads)
    columns: dict[tuple[str, str], Values] = {}
    rows: list[dict[str, Any]] = []
    for heading, metric in asked.items():
        for name, runs in systems.items():
            for place, column in enumerate(np.mean([_places(known, made, metric, threads) for made in runs], axis=0).T):
                rows.append({"metric": heading, "system": name, "position": place + 1, "mean": _mean(column)})
                if column.size > 1:
                    columns[name, f"{heading} {place + 1}"] = column
    bounds = bounds_of(columns, {}, Uncertainty(interval, level, resamples, seed), threads=threads)
    for row in rows:
        key = (row["system"], f"{row['metric']} {row['position']}")
        row["low"], row["high"] = bounds.get(key, (math.nan, math.nan))
    return Exhibit(
        name="by-position",
        title="Metrics by position",
        caption="The mean at each place of the generated sequences, with its interval. Diversity and nDPM are those of "
        "an item and the items before it, so they begin at the second place.",
        table=pl.DataFrame(rows),
        x="position",
        y="mean",
        series="system",
        facet="metric",
        low="low",
        high="high",
        own_scales=True,
    )


def _places(known: Known, made: Generated, metric: SequenceMetric, threads: int | None) -> Values:
    """Values by place (n, k), or (1, k) of a metric of all lists."""
    if isinstance(metric, OfAll):
        return np.array([[metric.measure(known, made.items[:, j : j + 1]) for j in range(metric.depth)]])
    if not isinstance(metric, Placed):
        raise UsageError(
            "U181", f"{metric} judges whole sequences, and has no value at a place", where=str(metric),
            hint="seq_precision, seq_novelty, seq_diversity and others are made of places",
        )  # fmt: skip
    metric.ready(known, made)
    parts = each_block(
        lambda begin, end: metric.at_places(Block(known, made, begin, end)), len(made),
        size=SEQUENCES_PER_BLOCK, threads=threads,
    )  # fmt: skip
    return np.concatenate(parts)


def _mean(column: Values) -> float:
    return float(means(column[~np.isnan(column)][:, None])[0])
