"""Exhibits (tables with a figure) of sequences: item frequencies, systems by metric, and scores by position."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from recassay.arrays import Int64
from recassay.columnar.layout import row_groups
from recassay.comparison.overall import standing
from recassay.data.generated import Generated
from recassay.data.sequences import SequenceFold
from recassay.data.stats import sequence_stats
from recassay.engine.finish import finish, row_of
from recassay.engine.sequences.generate import make_predictor, no_probabilities
from recassay.engine.sequences.given import GivenData, Systems, generated_by_system, require_sequence_fold
from recassay.engine.sequences.predictors import surprisal
from recassay.engine.sequences.score import SEQUENCES_PER_BLOCK, sequence_metrics
from recassay.errors import UsageError
from recassay.metrics.registry import Metrics
from recassay.metrics.sequence.base import PlaceSum, SequenceBlock, SequenceContext, SequenceMetric, WholeSequenceMetric
from recassay.models.base.capabilities import ModelSource
from recassay.models.sequence.base import fitted_on_sequences
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.results.exhibit import Exhibit
from recassay.results.scores import Scores, Values
from recassay.stats.concentration import NATS
from recassay.stats.intervals import Uncertainty, mean_of
from recassay.threads import each_block

RANKS = 200  # ranks shown at most, evenly spaced on a logarithmic axis
TRAINING, ORIGINAL = "training", "original"


@checks_types
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
    counts |= {name: shown.sum(axis=0) for name, shown in _recommendation_counts(fold, generated).items()}
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


@checks_types
def item_counts(fold: SequenceFold, generated: Systems) -> Exhibit:
    """Return how often each item occurs in the sequences of a fold, and how often each system recommends it.

    Items are in order of their occurrences in training and test (``original``), equal counts by id. The counts of a
    system with several seeds are means over them. Shown are items at ranks evenly spaced on a logarithmic axis.

    >>> from recassay.data.sequences import Sequences
    >>> frame = pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"abbab"]})
    >>> made = Sequences.from_frame(frame)
    >>> fold = SequenceFold(made.take(np.array([0])), made.take(np.array([1])))
    >>> mine = Generated("mine", np.array([[0, 0]]), np.array([[0.5, 0.5]]), np.array([2.0]), seed=1)
    >>> item_counts(fold, mine).table.rows()
    [(1, 'b', 3.0, 'original'), (2, 'a', 2.0, 'original'), (1, 'b', 0.0, 'mine'), (2, 'a', 2.0, 'mine')]
    """
    original = fold.counts + np.bincount(fold.test.items, minlength=fold.n_items)
    counts = {ORIGINAL: original.astype(np.float64)}
    counts |= {name: shown.mean(axis=0) for name, shown in _recommendation_counts(fold, generated).items()}
    ranks = _spaced_ranks(original.size)
    places = np.argsort(-original, kind="stable")[ranks - 1]
    items = fold.test.item_vocabulary.decode(places.astype(np.int32)).cast(pl.String)
    parts = [
        pl.DataFrame({"rank": ranks, "item": items, "count": of_item[places]}).with_columns(of=pl.lit(name))
        for name, of_item in counts.items()
    ]
    return Exhibit(
        name="item-counts",
        title="How often items occur and are recommended",
        caption="Each item's number of occurrences in the sequences, most frequent first, and how many times a system "
        "recommends it, both axes logarithmic; items that are never recommended have no point.",
        table=pl.concat(parts),
        x="rank",
        y="count",
        series="of",
        log_x=True,
        log_y=True,
    )


@checks_types
def sequence_sizes(fold: SequenceFold) -> Exhibit:
    """Return the number of sequences, users, items and rows, the mean length and the entropy of items, by part.

    The parts are training, test, and both. Entropy is that of the items' numbers of rows, in bits and in nats.

    >>> from recassay.data.sequences import Sequences
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"abbab"]}))
    >>> fold = SequenceFold(made.take(np.array([0])), made.take(np.array([1])))
    >>> sequence_sizes(fold).table.select("part", "sequences", "items", "rows", "mean length").rows()
    [('training', 1, 2, 3, 3.0), ('test', 1, 2, 2, 2.0), ('both', 2, 2, 5, 2.5)]
    """
    require_sequence_fold(fold)
    parts = {TRAINING: [fold.train], "test": [fold.test], "both": [fold.train, fold.test]}
    rows = [
        {
            "part": part,
            "sequences": found.sequences,
            "users": found.users,
            "items": found.items,
            "rows": found.rows,
            "mean length": found.lengths.mean,
            "entropy (bits)": found.entropy,
            "entropy (nats)": found.entropy * NATS,
        }
        for part, found in ((part, sequence_stats(*pieces)) for part, pieces in parts.items())
    ]
    return Exhibit(
        name="sequence-sizes",
        title="The sequences",
        caption="How many sequences training and test have. The table has their users, items, rows, mean length, and "
        "the entropy of their items: the more evenly items occur, the higher it is.",
        table=pl.DataFrame(rows),
        x="part",
        y="sequences",
        kind="bar",
    )


def _recommendation_counts(fold: SequenceFold, generated: Systems) -> dict[str, Int64]:
    """Return for each system an array (seeds, items): how often each item was recommended."""
    return {
        name: np.stack([np.bincount(run.items[run.items >= 0], minlength=fold.n_items) for run in runs])
        for name, runs in generated_by_system(fold, generated).items()
    }


def _spaced_ranks(n: int) -> Int64:
    """Return at most 200 ranks from 1 to ``n``, evenly spaced on a logarithmic axis; none for ``n`` = 0."""
    return np.unique(np.geomspace(1, max(n, 1), RANKS).round().astype(np.int64))[:n]


def _ranked_shares(counts: Int64) -> pl.DataFrame:
    """Return a table of the counts above 0, largest first, with the columns rank and share (of their sum).

    Only some ranks are included, evenly spaced on a logarithmic axis.
    """
    ordered = np.sort(counts[counts > 0])[::-1]
    ranks = _spaced_ranks(ordered.size)
    return pl.DataFrame({"rank": ranks, "share": ordered[ranks - 1] / max(int(ordered.sum()), 1)})


@checks_types
def parallel_view(scores: Scores, metrics: Iterable[str] | None = None) -> Exhibit:
    """Return a figure with a line per system over metrics, each scaled from its worst (0) to its best (1) system."""
    rows: list[dict[str, Any]] = []
    for metric in scores.metrics if metrics is None else metrics:
        metric_rows = [scores.row(system, metric) for system in scores.systems]
        places = standing(np.array([-row.mean if row.higher_is_better is False else row.mean for row in metric_rows]))
        rows += [
            {"metric": metric, "standing": place, "system": row.system, "mean": row.mean}
            for row, place in zip(metric_rows, places.tolist(), strict=True)
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


@checks_types
def by_position(
    fold: SequenceFold,
    generated: Systems,
    metrics: Metrics | None = None,
    *,
    interval: choices.IntervalMethod | None = "bootstrap",
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
    columns, places = dict[tuple[str, str], Values](), dict[tuple[str, str], dict[str, Any]]()
    for (heading, metric), (name, runs) in itertools.product(parsed.items(), systems.items()):
        values = np.mean([_values_by_position(context, made, metric, threads) for made in runs], axis=0)
        for position, column in enumerate(values.T, start=1):
            columns[name, f"{heading} {position}"] = column
            places[name, f"{heading} {position}"] = {"metric": heading, "system": name, "position": position}
    headings = {key[1]: parsed[place["metric"]] for key, place in places.items()}
    rows = [row_of(key, headings[key[1]], mean_of(column, None), column.size) for key, column in columns.items()]
    finished = finish(
        pl.Series(),
        headings,
        rows,
        {key: column for key, column in columns.items() if column.size > 1},
        {},
        Uncertainty(interval, level, resamples, seed),
        threads=threads,
    ).rows
    numbers = ({"mean": row.mean, "low": row.low, "high": row.high} for row in finished)
    return Exhibit(
        name="by-position",
        title="Metrics by position",
        caption="The mean at each position of the generated sequences, with its interval. Diversity and nDPM compare "
        "an item with the items before it, so they begin at the second position.",
        table=pl.DataFrame([place | own for place, own in zip(places.values(), numbers, strict=True)]),
        x="position",
        y="mean",
        series="system",
        facet="metric",
        low="low",
        high="high",
        own_scales=True,
    )


def _values_by_position(known: SequenceContext, made: Generated, metric: SequenceMetric, threads: int | None) -> Values:
    """Return a table (n sequences, k) of the values of a metric by position; (1, k) for a metric of all lists together.

    ``known`` is the fold and other data that metrics read, and ``made`` the generated sequences. Raise U181 for a
    metric that is not a sum over positions.
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


@checks_types
def perplexity_by_position(
    fold: SequenceFold, systems: Mapping[str, ModelSource], *, positions: int = 10, threads: int | None = None
) -> Exhibit:
    """Return the perplexity of the items at each position of the test sequences: does a longer history help?

    ``systems`` maps a name to an unfitted model or one fitted on ``fold.train``, as :func:`generate` takes them. At
    most ``positions`` positions are reported; position 1 is the first predicted item, the second of its sequence. The
    column ``transitions`` is the number of test sequences with an item at the position. Over all positions together the
    perplexity is ``seq_perplexity``.

    >>> from recassay.data.sequences import Sequences
    >>> from recassay.models.sequence import Uniform
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 2, 2, 2], "item_id": [*"bbbac"]}))
    >>> perplexity_by_position(SequenceFold(made, made), {"chance": Uniform()}).table.rows()
    [(1, 3.0..., 2, 'chance'), (2, 3.0..., 1, 'chance')]
    """
    offsets = fold.test.references.offsets
    position = np.arange(offsets[-1]) - offsets[row_groups(offsets)]
    counts = np.bincount(position)[:positions]
    parts = []
    for name, system in systems.items():
        predictor = make_predictor(fitted_on_sequences(system, fold.train), fold, name, threads=threads)
        if predictor is None:
            raise no_probabilities(name)
        bits = surprisal(predictor.item_probabilities(fold.test))
        mean = np.bincount(position, bits)[:positions] / counts
        columns = {"position": np.arange(counts.size) + 1, "perplexity": np.exp2(mean), "transitions": counts}
        parts.append(pl.DataFrame(columns).with_columns(system=pl.lit(name)))
    return Exhibit(
        name="perplexity-by-position",
        title="Perplexity by position",
        caption="The number of equally likely items that the uncertainty of a system equals, at each position of the "
        "test sequences: less is better. Later positions exist only in long sequences.",
        table=pl.concat(parts),
        x="position",
        y="perplexity",
        series="system",
        log_y=True,
    )
