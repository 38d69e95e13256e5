"""``score_sequences``: evaluation of generated sequences against the test sequences.

The result equals that of this loop, with which tests compare it:

    for made in generated:
        for metric in metrics:
            values = [metric.checked(Block(known, made, s, s + 1)) for s in range(len(fold.test))]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import NamedTuple

import numpy as np
import polars as pl

from recassay.checks import diagnose
from recassay.data.generated import Generated
from recassay.data.read import Columns, TableSource
from recassay.data.sequences import SequenceFold
from recassay.engine.finish import finish, row_of
from recassay.engine.sequences.given import GivenData, Systems, generated_by_system
from recassay.engine.tally import measure_blocks
from recassay.errors import UsageError
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.metrics.sequence.base import (
    FunctionOfMean,
    PerSequence,
    SequenceBlock,
    SequenceContext,
    SequenceMetric,
    WholeSequenceMetric,
)
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.results.finding import Finding
from recassay.results.scores import Scores, Summary, Values
from recassay.stats.intervals import Uncertainty, mean_of

SEQUENCES_PER_BLOCK = 16_384


@checks_types
def sequeval(k: int) -> str:
    """Return the eight metrics of Sequeval with cut-off k, as text.

    >>> sequeval(5).split()[:3]
    ['seq_coverage@5', 'seq_precision@5', 'seq_ndpm@5']
    """
    names = ("coverage", "precision", "ndpm", "diversity", "novelty", "serendipity", "confidence")
    return " ".join([*(f"seq_{name}@{k}" for name in names), "seq_perplexity"])


@checks_types
def score_sequences(
    fold: SequenceFold,
    generated: Systems,
    metrics: Metrics | None = None,
    *,
    items: TableSource = None,
    similarities: TableSource = None,
    primitive: object = None,
    columns: Columns = None,
    interval: choices.IntervalMethod | None = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
) -> Scores:
    """Return the scores of generated sequences: a value per test sequence, means with intervals and counts.

    A unit is a test sequence; all have the same weight, whatever their users. A mapping ``generated`` may hold files or
    tables of generated items (see :func:`read_generated`). ``metrics`` are by default the eight of Sequeval at the
    generated length. ``items`` are features. ``similarities`` are a matrix over the items of the fold, by ascending id,
    or a table of pairs with columns item_id, other_id and similarity. ``primitive`` gives the obvious items: a list of
    ids, the most obvious first; or a recommender, fitted or not, that is given the first item of each test sequence; or
    what :func:`generate` returned. Similarities or a primitive that no metric uses are refused (U231).

    The values of a system with several seeds are means over its seeds, sequence by sequence; ``sd_seeds`` in its row is
    the standard deviation over seeds. A metric that is infinite for a system has no interval, and its values are left
    undefined, so that they cannot be tested.

    >>> from recassay.data.sequences import Sequences
    >>> frame = pl.DataFrame({"sequence_id": [1, 1, 2, 2, 2], "item_id": [*"ababc"]})
    >>> made = Sequences.from_frame(frame)
    >>> fold = SequenceFold(made.take(np.array([0])), made.take(np.array([1])))
    >>> mine = Generated("mine", np.array([[1, 0]]), np.array([[0.5, 0.5]]), np.array([2.0]), seed=1)
    >>> scores = score_sequences(fold, mine, "seq_precision@2 seq_coverage@2 seq_perplexity", interval=None)
    >>> [(row.metric, round(row.mean, 3)) for row in scores.rows]
    [('seq_precision@2', 0.5), ('seq_coverage@2', 0.667), ('seq_perplexity', 2.0)]
    """
    return scored(
        fold,
        generated,
        metrics,
        GivenData(items, similarities, primitive, columns),
        Uncertainty(interval, level, resamples, seed),
        threads,
    )


def scored(
    fold: SequenceFold,
    generated: Systems,
    metrics: Metrics | None,
    given: GivenData,
    uncertainty: Uncertainty,
    threads: int | None,
) -> Scores:
    """Return the scores of generated sequences: a value per test sequence, means with intervals and counts.

    ``given`` holds features, similarities and obvious items for metrics that read them.
    """
    systems = generated_by_system(fold, generated)
    shortest = min((made for runs in systems.values() for made in runs), key=lambda made: made.k)
    metrics = sequence_metrics(sequeval(shortest.k) if metrics is None else metrics, shortest)
    known = given.context(fold, metrics, threads=threads)
    judged = {name: [_judge(known, metrics, made) for made in runs] for name, runs in systems.items()}
    gaps = [finding for runs in systems.values() for finding in diagnose("generated sequences", generated=runs[0])]
    return _assemble(known, metrics, judged, uncertainty, gaps)


def sequence_metrics(metrics: Metrics, shortest: Generated) -> dict[str, SequenceMetric]:
    """Return {heading: metric}; raise U181 for metrics of ranked lists, U103 for cut-offs beyond ``shortest``.

    ``shortest`` are the generated sequences with the fewest places.
    """
    chosen: dict[str, SequenceMetric] = {}
    for heading, metric in parse_metrics(metrics).items():
        if not isinstance(metric, SequenceMetric):
            raise UsageError(
                "U181", f"{heading} evaluates ranked lists, not generated sequences", where=heading,
                hint="metrics of sequences begin with seq_: recassay list metrics has them",
            )  # fmt: skip
        if metric.k is not None and metric.k > shortest.k:
            raise UsageError(
                "U103", f"{heading} needs {metric.k} items, but '{shortest.name}' generated {shortest.k}",
                where=heading, hint=f"generate with k={metric.k}, or use @{shortest.k}",
            )  # fmt: skip
        chosen[heading] = metric
    return chosen


class _SystemResult(NamedTuple):
    """The results of one system with one seed.

    The mappings have metric headings as keys: ``values`` and ``weights`` of all sequences, the ``means``, and the
    number of ``short`` lists (lists that ended before the cut-off). ``missing`` is the number of lists without an item.
    """

    values: Mapping[str, Values]
    weights: Mapping[str, Values]
    means: Mapping[str, float]
    short: Mapping[str, int]
    missing: int


def _judge(known: SequenceContext, metrics: Mapping[str, SequenceMetric], made: Generated) -> _SystemResult:
    """Return the values and means of the sequences that a system generated, computed block by block.

    A metric computed from the mean of another one, such as perplexity, is replaced by that one. ``known`` is the fold
    and other data that metrics read, and ``made`` the generated sequences.
    """
    lengths, columns, means = made.lengths, dict[str, PerSequence](), dict[str, float]()
    for heading, metric in metrics.items():
        metric.ready(known, made)
        if isinstance(metric, WholeSequenceMetric):
            means[heading] = metric.measure(known, made.items[:, : metric.k])
        elif isinstance(metric, FunctionOfMean | PerSequence):
            columns[heading] = metric.part if isinstance(metric, FunctionOfMean) else metric
    values, weights = measure_blocks(
        columns, len(made), lambda begin, end: SequenceBlock(known, made, begin, end), size=SEQUENCES_PER_BLOCK,
        threads=known.threads,
    )  # fmt: skip
    means |= {heading: mean_of(column, weights.get(heading)) for heading, column in values.items()}
    short = {
        heading: int(np.count_nonzero((lengths > 0) & (lengths < (metric.k or 0))))
        for heading, metric in metrics.items()
    }
    return _SystemResult(values, weights, means, short, int(np.count_nonzero(lengths == 0)))


def _assemble(
    known: SequenceContext,
    metrics: Mapping[str, SequenceMetric],
    judged: Mapping[str, list[_SystemResult]],
    uncertainty: Uncertainty,
    gaps: list[Finding],
) -> Scores:
    """Return the scores of all systems, with intervals; the values of a system are means over its seeds.

    ``judged`` has the results of each system, one per seed, and ``gaps`` are findings (remarks on the data) to add.
    """
    columns = {
        (name, heading): values if len(runs) == 1 else np.mean([run.values[heading] for run in runs], axis=0)
        for name, runs in judged.items()
        for heading, values in runs[0].values.items()
    }
    finite = {key: np.full_like(one, np.nan) if np.isinf(one).any() else one for key, one in columns.items()}
    weights = {(name, heading): one for name, runs in judged.items() for heading, one in runs[0].weights.items()}
    keys = [(name, heading) for name in judged for heading in metrics]
    rows = [_row(len(known.fold.test), metrics[key[1]], key, judged[key[0]], columns.get(key)) for key in keys]
    pairs = known.given_pairs()
    scores = finish(
        pl.Series(np.arange(len(known.fold.test))), metrics, rows, finite, weights, uncertainty, threads=known.threads
    )
    kept = [key for key in columns if isinstance(metrics[key[1]], PerSequence)]
    of_mean = {heading: one.of_mean for heading, one in metrics.items() if isinstance(one, FunctionOfMean)}
    return replace(
        scores,
        rows=tuple(
            replace(row, mean=of(row.mean), low=of(row.low), high=of(row.high))
            if (of := of_mean.get(row.metric))
            else row
            for row in scores.rows
        ),
        per_unit={key: finite[key] for key in kept},
        per_unit_weights={key: weights[key] for key in kept if key in weights},
        settings={
            "unit": "test sequence",
            "fold": dict(known.fold.how),
            "metrics": {heading: str(metric) for heading, metric in metrics.items()},
            "interval": asdict(uncertainty),
        },
        findings=(
            *diagnose("sequence fold", fold=known.fold),
            *(diagnose("similarities", **pairs) if pairs else ()),
            *gaps,
        ),
    )


def _row(
    n: int, metric: SequenceMetric, key: tuple[str, str], runs: list[_SystemResult], column: Values | None
) -> Summary:
    """Return the row of one system under one metric: the mean over its seeds, with counts.

    ``n`` is the number of test sequences, ``key`` is (system, heading), ``runs`` are the results of the system, one per
    seed, and ``column`` is the values averaged over them.
    """
    undefined = 0 if column is None else int(np.isnan(column).sum())
    means = [run.means[key[1]] for run in runs]
    accompanying: dict[str, float] = {}
    if len(runs) > 1:
        over_seeds = [metric.of_mean(mean) for mean in means] if isinstance(metric, FunctionOfMean) else means
        spread = float(np.std(over_seeds, ddof=1)) if np.isfinite(over_seeds).all() else float("nan")
        accompanying = {"seeds": len(runs), "sd_seeds": spread}
    return row_of(
        key,
        metric,
        float(np.mean(means)),
        n - undefined,
        missing=sum(run.missing for run in runs),
        short=sum(run.short[key[1]] for run in runs),
        undefined=undefined,
        accompanying=accompanying,
    )
