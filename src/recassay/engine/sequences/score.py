"""``score_sequences``: evaluation of generated sequences against the test sequences.

The result equals that of this loop, with which tests compare it:

    for made in generated:
        for metric in metrics:
            values = [metric.checked(Block(known, made, s, s + 1)) for s in range(len(fold.test))]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace

import numpy as np
import polars as pl

from recassay.checks import diagnose
from recassay.data.generated import Generated
from recassay.data.read import Columns, TableSource
from recassay.data.sequences import SequenceFold
from recassay.engine.finish import finish, mean_of, row_of
from recassay.engine.sequences.generated import Systems, generated_by_system
from recassay.engine.sequences.given import GivenData
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
from recassay.results.scores import Scores, Summary, Values
from recassay.stats.intervals import Uncertainty
from recassay.threads import each_block

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
    chosen = sequence_metrics(sequeval(shortest.k) if metrics is None else metrics, shortest)
    job = _Job(given.context(fold, chosen, threads=threads), chosen, threads)
    steps = {DIVERSITY: job.only(diversity=True), JUDGE: job.only(diversity=False)}
    judged: dict[str, list[_SystemResult]] = {name: [] for name in systems}
    for name, runs in systems.items():
        found = [_SystemResult({}, {}, {}, {}) for _ in runs]
        for what, step in steps.items():
            if step.metrics:
                with timed(name, what):
                    found = [one.with_results(step.judge(made)) for one, made in zip(found, runs, strict=True)]
        judged[name] = found
    gaps = [finding for runs in systems.values() for finding in diagnose("generated sequences", generated=runs[0])]
    scores = _assemble(job, judged, uncertainty)
    return replace(scores, findings=(*scores.findings, *gaps))


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


@dataclass(frozen=True, eq=False)
class _SystemResult:
    """The results of one system with one seed.

    By metric heading: ``values`` and ``weights`` of all sequences, the ``means``, and the number of ``short`` lists.
    ``missing`` is the number of lists without an item.
    """

    values: dict[str, Values]
    weights: dict[str, Values]
    means: dict[str, float]
    short: dict[str, int]
    missing: int = 0

    def with_results(self, other: _SystemResult) -> _SystemResult:
        """Return the results of both, which are of different metrics."""
        return _SystemResult(
            self.values | other.values, self.weights | other.weights, self.means | other.means,
            self.short | other.short, other.missing,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Job:
    """One fold and its metrics, ready to evaluate any number of systems; ``known`` is the data that metrics read."""

    known: SequenceContext
    metrics: Mapping[str, SequenceMetric]
    threads: int | None

    @property
    def columns(self) -> dict[str, PerSequence]:
        """Return the metrics with values per sequence, by heading.

        A metric computed from the mean of another one, such as perplexity, is replaced by that one.
        """
        parts = {heading: one.part if isinstance(one, FunctionOfMean) else one for heading, one in self.metrics.items()}
        return {heading: one for heading, one in parts.items() if isinstance(one, PerSequence)}

    def only(self, *, diversity: bool) -> _Job:
        """Return the job with only the metrics that compare the items of a list (``diversity``), or with all others."""
        metrics = {
            heading: metric
            for heading, metric in self.metrics.items()
            if isinstance(metric, SequenceDiversity) == diversity
        }
        return replace(self, metrics=metrics)

    def judge(self, made: Generated) -> _SystemResult:
        """Return the values and means of the sequences that a system generated, computed block by block."""
        for metric in self.metrics.values():
            metric.ready(self.known, made)
        values, weights = self._fill(made)
        lengths = made.lengths
        found = {
            heading: one.measure(self.known, made.items[:, : one.k])
            for heading, one in self.metrics.items()
            if isinstance(one, WholeSequenceMetric)
        }
        found |= {heading: mean_of(column, weights.get(heading)) for heading, column in values.items()}
        short = {
            heading: 0 if one.k is None else int(np.count_nonzero((lengths > 0) & (lengths < one.k)))
            for heading, one in self.metrics.items()
        }
        return _SystemResult(values, weights, found, short, int(np.count_nonzero(lengths == 0)))

    def _fill(self, made: Generated) -> tuple[dict[str, Values], dict[str, Values]]:
        n, columns = len(made), self.columns
        values = {heading: np.empty(n) for heading in columns}

        def fill(begin: int, end: int) -> dict[str, Values | None]:
            block = SequenceBlock(self.known, made, begin, end)
            for heading, metric in columns.items():
                values[heading][begin:end] = metric.checked(block)
            return {heading: metric.weights(block) for heading, metric in columns.items()}

        parts = each_block(fill, n, size=SEQUENCES_PER_BLOCK, threads=self.threads)
        weights: dict[str, Values] = {}
        for heading in columns:
            blocks = [block for part in parts if (block := part[heading]) is not None]
            if blocks:
                weights[heading] = np.concatenate(blocks)
        return values, weights


def _assemble(job: _Job, judged: Mapping[str, list[_SystemResult]], uncertainty: Uncertainty) -> Scores:
    """Return the scores of all systems, with intervals; the values of a system are means over its seeds."""
    columns = {(name, heading): _over_seeds(runs, heading) for name, runs in judged.items() for heading in job.columns}
    finite = {key: np.full_like(one, np.nan) if np.isinf(one).any() else one for key, one in columns.items()}
    weights = {(name, heading): one for name, runs in judged.items() for heading, one in runs[0].weights.items()}
    keys = [(name, heading) for name in judged for heading in job.metrics]
    rows = [_row(job, key, judged[key[0]], columns.get(key)) for key in keys]
    pairs = job.known.given_pairs()
    similar = () if pairs is None else diagnose("similarities", pairs=pairs.pairs, given=pairs.given)
    units = pl.Series(np.arange(len(job.known.fold.test)))
    scores = finish(units, job.metrics, rows, finite, weights, uncertainty, threads=job.threads)
    kept = [key for key in columns if isinstance(job.metrics[key[1]], PerSequence)]
    return replace(
        scores,
        rows=tuple(_of_mean(job.metrics[row.metric], row) for row in scores.rows),
        per_unit={key: finite[key] for key in kept},
        per_unit_weights={key: weights[key] for key in kept if key in weights},
        settings={
            "unit": "test sequence",
            "fold": dict(job.known.fold.how),
            "metrics": {heading: str(metric) for heading, metric in job.metrics.items()},
            "interval": asdict(uncertainty),
        },
        findings=(*diagnose("sequence fold", fold=job.known.fold), *similar),
    )


def _over_seeds(runs: list[_SystemResult], heading: str) -> Values:
    columns = [one.values[heading] for one in runs]
    return columns[0] if len(columns) == 1 else np.asarray(np.mean(columns, axis=0))


def _row(job: _Job, key: tuple[str, str], runs: list[_SystemResult], column: Values | None) -> Summary:
    """Return the row of one system under one metric: the mean over its seeds, with counts.

    ``key`` is (system, heading), ``runs`` are the results of its seeds, and ``column`` is the values averaged over
    them.
    """
    heading, metric = key[1], job.metrics[key[1]]
    undefined = 0 if column is None else int(np.isnan(column).sum())
    means = [one.means[heading] for one in runs]
    accompanying: dict[str, float] = {}
    if len(runs) > 1:
        found = [metric.of_mean(one) for one in means] if isinstance(metric, FunctionOfMean) else means
        spread = float(np.std(found, ddof=1)) if np.isfinite(found).all() else float("nan")
        accompanying = {"seeds": len(runs), "sd_seeds": spread}
    return row_of(
        key,
        metric,
        float(np.mean(means)),
        len(job.known.fold.test) - undefined,
        missing=sum(one.missing for one in runs),
        short=sum(one.short[heading] for one in runs),
        undefined=undefined,
        accompanying=accompanying,
    )


def _of_mean(metric: SequenceMetric, row: Summary) -> Summary:
    """Return the row of a metric that is a function of another one's mean, from the row of that mean."""
    if not isinstance(metric, FunctionOfMean):
        return row
    return replace(row, mean=metric.of_mean(row.mean), low=metric.of_mean(row.low), high=metric.of_mean(row.high))
