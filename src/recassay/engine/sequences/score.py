"""``score_sequences``: evaluation of generated sequences against the test sequences.

The result equals that of this loop, with which tests compare it:

    for made in generated:
        for metric in metrics:
            values = [metric.checked(Block(known, made, s, s + 1)) for s in range(len(fold.test))]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace

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
from recassay.metrics.sequence.novelty import SequenceDiversity
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.results.finding import Finding
from recassay.results.scores import Scores, Summary, Values
from recassay.stats.intervals import Uncertainty, mean_of

SEQUENCES_PER_BLOCK = 16_384
JUDGE, DIVERSITY = "judge", "diversity"  # steps that are timed

Timed = Callable[[str, str], AbstractContextManager[object]]  # from the name of a system and a step


def not_timed(_system: str, _what: str) -> AbstractContextManager[None]:
    """Return a context that measures nothing, in place of one that measures times."""
    return nullcontext()


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
    uncertainty = Uncertainty(interval, level, resamples, seed)
    return scored(fold, generated, metrics, GivenData(items, similarities, primitive, columns), uncertainty, threads)


def scored(
    fold: SequenceFold,
    generated: Systems,
    metrics: Metrics | None,
    given: GivenData,
    uncertainty: Uncertainty,
    threads: int | None,
    timed: Timed = not_timed,
) -> Scores:
    """Return the scores of generated sequences: a value per test sequence, means with intervals and counts.

    ``given`` holds features, similarities and obvious items for metrics that read them. ``timed(system, what)`` is the
    context in which a system is judged, so that it can be timed: ``what`` is ``diversity`` for the metrics that compare
    all items of a list with each other, and ``judge`` for all others.
    """
    systems = generated_by_system(fold, generated)
    shortest = min((made for runs in systems.values() for made in runs), key=lambda made: made.k)
    metrics = sequence_metrics(sequeval(shortest.k) if metrics is None else metrics, shortest)
    known = given.context(fold, metrics, threads=threads)
    judged: dict[str, list[_Judged]] = {name: [_Judged() for _ in runs] for name, runs in systems.items()}
    for name, runs in systems.items():
        for what in (DIVERSITY, JUDGE):
            chosen = {h: one for h, one in metrics.items() if isinstance(one, SequenceDiversity) == (what == DIVERSITY)}
            if chosen:
                with timed(name, what):
                    for made, results in zip(runs, judged[name], strict=True):
                        _judge(known, chosen, made, results)
    gaps = [finding for runs in systems.values() for finding in diagnose("generated sequences", generated=runs[0])]
    return _assemble(known, metrics, judged, uncertainty, gaps)


def sequence_metrics(metrics: Metrics, shortest: Generated) -> dict[str, SequenceMetric]:
    """Return the metrics by heading; raise U181 for metrics of ranked lists, U103 for cut-offs beyond ``shortest``.

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


@dataclass(eq=False)
class _Judged:
    """The results of one system with one seed.

    By metric heading: ``values`` and ``weights`` of all sequences, the ``means``, and the number of ``short`` lists.
    ``missing`` is the number of lists without an item.
    """

    values: dict[str, Values] = field(default_factory=dict)
    weights: dict[str, Values] = field(default_factory=dict)
    means: dict[str, float] = field(default_factory=dict)
    short: dict[str, int] = field(default_factory=dict)
    missing: int = 0


def _judge(known: SequenceContext, metrics: Mapping[str, SequenceMetric], made: Generated, judged: _Judged) -> None:
    """Add to ``judged`` the values and means of the sequences that a system generated, computed block by block.

    A metric computed from the mean of another one, such as perplexity, is replaced by that one. ``known`` is the data
    that metrics read.
    """
    lengths, columns = made.lengths, dict[str, PerSequence]()
    judged.missing = int(np.count_nonzero(lengths == 0))
    for heading, metric in metrics.items():
        metric.ready(known, made)
        is_short = (lengths > 0) & (lengths < (metric.k or 0))
        judged.short[heading] = int(np.count_nonzero(is_short))
        if isinstance(metric, WholeSequenceMetric):
            judged.means[heading] = metric.measure(known, made.items[:, : metric.k])
        elif isinstance(metric, FunctionOfMean | PerSequence):
            columns[heading] = metric.part if isinstance(metric, FunctionOfMean) else metric

    values, weights = measure_blocks(
        columns, len(made), lambda begin, end: SequenceBlock(known, made, begin, end), size=SEQUENCES_PER_BLOCK,
        threads=known.threads,
    )  # fmt: skip
    judged.values |= values
    judged.weights |= weights
    judged.means |= {heading: mean_of(column, weights.get(heading)) for heading, column in values.items()}


def _assemble(
    known: SequenceContext,
    metrics: Mapping[str, SequenceMetric],
    judged: Mapping[str, list[_Judged]],
    uncertainty: Uncertainty,
    gaps: list[Finding],
) -> Scores:
    """Return the scores of all systems, with intervals; the values of a system are means over its seeds."""
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
    similar = () if pairs is None else diagnose("similarities", pairs=pairs.pairs, given=pairs.given)
    units = pl.Series(np.arange(len(known.fold.test)))
    scores = finish(units, metrics, rows, finite, weights, uncertainty, threads=known.threads)
    kept = [key for key in columns if isinstance(metrics[key[1]], PerSequence)]
    return replace(
        scores,
        rows=tuple(_of_mean(metrics[row.metric], row) for row in scores.rows),
        per_unit={key: finite[key] for key in kept},
        per_unit_weights={key: weights[key] for key in kept if key in weights},
        settings={
            "unit": "test sequence",
            "fold": dict(known.fold.how),
            "metrics": {heading: str(metric) for heading, metric in metrics.items()},
            "interval": asdict(uncertainty),
        },
        findings=(*diagnose("sequence fold", fold=known.fold), *similar, *gaps),
    )


def _row(n: int, metric: SequenceMetric, key: tuple[str, str], runs: list[_Judged], column: Values | None) -> Summary:
    """Return the row of one system under one metric: the mean over its seeds, with counts.

    ``n`` is the number of test sequences, ``key`` is (system, heading), ``runs`` are the results of its seeds, and
    ``column`` is the values averaged over them.
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


def _of_mean(metric: SequenceMetric, row: Summary) -> Summary:
    """Return the row of a metric that is a function of another one's mean, from the row of that mean."""
    if not isinstance(metric, FunctionOfMean):
        return row
    return replace(row, mean=metric.of_mean(row.mean), low=metric.of_mean(row.low), high=metric.of_mean(row.high))
