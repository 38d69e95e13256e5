"""``score_sequences``: what generated sequences were worth, beside the sequences that really came.

Equivalent to, and held by the tests to, this loop:

    for made in generated:
        for metric in metrics:
            values = [metric.checked(Block(known, made, s, s + 1)) for s in range(len(fold.test))]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from recassay.comparison.intervals import Uncertainty, means
from recassay.data.generated import Generated
from recassay.data.read import Columns, read_items
from recassay.data.scores import Scores, Summary, Values
from recassay.data.sequences import SequenceFold
from recassay.diagnose.base import diagnose
from recassay.engine.generated import Systems, by_system
from recassay.engine.summary import bounds_of
from recassay.errors import UsageError
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.metrics.sequence.base import OfAll, PerSequence, Pooled, SequenceMetric
from recassay.metrics.sequence.block import Block
from recassay.metrics.sequence.known import Known
from recassay.threads import each_block

SEQUENCES_PER_BLOCK = 16_384
GIVEN = "given"  # says of a metric that it takes what was given beside the fold
ASKED_BY = {"similarities": ("similarity", "seq_diversity"), "primitive": ("primitive", "seq_serendipity")}


def sequeval(k: int) -> str:
    """The eight metrics of Sequeval, cut at k.

    >>> sequeval(5).split()[:3]
    ['seq_coverage@5', 'seq_precision@5', 'seq_ndpm@5']
    """
    names = ("coverage", "precision", "ndpm", "diversity", "novelty", "serendipity", "confidence")
    return " ".join([*(f"seq_{name}@{k}" for name in names), "seq_perplexity"])


def score_sequences(
    fold: SequenceFold,
    generated: Systems,
    metrics: Metrics | None = None,
    *,
    items: Any = None,
    similarities: Any = None,
    primitive: Sequence[Any] | None = None,
    columns: Columns = None,
    interval: str | None = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
) -> Scores:
    """Judge generated sequences: a value per test sequence, means with intervals and counts.

    A unit is a test sequence, each of the same weight, whoever its user. ``metrics`` are the eight of Sequeval at the
    generated length unless named. ``items`` (features), ``similarities`` (a matrix over the items of the fold, by
    ascending id) and ``primitive`` (ids, the most obvious first) are for the metrics that ask for them; a list or a
    matrix that no metric asks for is refused (U231).

    A system that generated with several seeds counts with the mean over them, sequence by sequence; ``sd_seeds`` beside
    its mean says by how much the seeds differ. A metric that is infinite for a system has no interval, and its values
    are left undefined, so that no test can come of them.

    >>> from recassay.data.sequences import Sequences
    >>> frame = pl.DataFrame({"sequence_id": [1, 1, 2, 2, 2], "item_id": [*"ababc"]})
    >>> made = Sequences.from_frame(frame)
    >>> fold = SequenceFold(made.take(np.array([0])), made.take(np.array([1])))
    >>> mine = Generated("mine", np.array([[1, 0]]), np.array([[0.5, 0.5]]), np.array([2.0]), seed=1)
    >>> scores = score_sequences(fold, mine, "seq_precision@2 seq_coverage@2 seq_perplexity", interval=None)
    >>> [(row.metric, round(row.mean, 3)) for row in scores.rows]
    [('seq_precision@2', 0.5), ('seq_coverage@2', 0.667), ('seq_perplexity', 2.0)]
    """
    systems = by_system(fold, generated)
    shortest = min((made for runs in systems.values() for made in runs), key=lambda made: made.k)
    asked = asked_of(sequeval(shortest.k) if metrics is None else metrics, shortest)
    _refuse_unused(asked, similarities=similarities, primitive=primitive)
    features = None if items is None else read_items(items, columns=columns)
    job = _Job(Known(fold, features, similarities, primitive, threads), asked, threads)
    judged = {name: [job.judge(made) for made in runs] for name, runs in systems.items()}
    uncertainty = Uncertainty(interval, level, resamples, seed)
    return _assemble(job, judged, uncertainty)


def asked_of(metrics: Metrics, shortest: Generated) -> dict[str, SequenceMetric]:
    """The metrics, refused if they judge something else or look beyond what was generated."""
    asked: dict[str, SequenceMetric] = {}
    for heading, metric in parse_metrics(metrics).items():
        if not isinstance(metric, SequenceMetric):
            raise UsageError(
                "U181", f"{heading} judges ranked lists, not generated sequences", where=heading,
                hint="metrics of sequences begin with seq_: recassay list metrics has them",
            )  # fmt: skip
        if metric.k is not None and metric.k > shortest.k:
            raise UsageError(
                "U182", f"{heading} looks at {metric.k} places, and '{shortest.name}' generated {shortest.k}",
                where=heading, hint=f"generate with k={metric.k}, or ask for @{shortest.k}",
            )  # fmt: skip
        asked[heading] = metric
    return asked


def _refuse_unused(asked: Mapping[str, SequenceMetric], **given: Any) -> None:
    """Raise U231 where something was given that would change no number, as no metric asks for it."""
    for name, one in given.items():
        parameter, metric = ASKED_BY[name]
        if one is None or any(getattr(metric, parameter, "") == GIVEN for metric in asked.values()):
            continue
        near = [heading for heading, one in asked.items() if hasattr(one, parameter)]
        what = f"{name}= was given, and no metric asks for it"
        if near:
            what += f": {near[0]} takes {parameter}={getattr(asked[near[0]], parameter)!r}"
        cut = asked[near[0]].k if near else max((one.k or 0 for one in asked.values()), default=0) or 5
        raise UsageError("U231", what, where=", ".join(asked), hint=f"{metric}({parameter}='given')@{cut}")


@dataclass(frozen=True, eq=False)
class _Judged:
    """What one system was worth with one seed: values of every sequence, and one number for each metric."""

    values: dict[str, Values]
    weights: dict[str, Values]
    means: dict[str, float]
    short: dict[str, int]


@dataclass(frozen=True, eq=False)
class _Job:
    """One fold and one list of metrics: judges any number of systems."""

    known: Known
    metrics: Mapping[str, SequenceMetric]
    threads: int | None

    @property
    def columns(self) -> dict[str, PerSequence]:
        """Metrics whose values per sequence are needed, by heading; those of a pooled metric are those of its part."""
        parts = {heading: one.part if isinstance(one, Pooled) else one for heading, one in self.metrics.items()}
        return {heading: one for heading, one in parts.items() if isinstance(one, PerSequence)}

    def judge(self, made: Generated) -> _Judged:
        """Fill the columns block by block, and sum up."""
        for metric in self.metrics.values():
            metric.ready(self.known, made)
        values, weights = self._fill(made)
        lengths = made.lengths
        found = {
            heading: one.measure(self.known, made.items[:, : one.k])
            for heading, one in self.metrics.items()
            if isinstance(one, OfAll)
        }
        found |= {heading: _mean(column, weights.get(heading)) for heading, column in values.items()}
        short = {
            heading: 0 if one.k is None else int(np.count_nonzero(lengths < one.k))
            for heading, one in self.metrics.items()
        }
        return _Judged(values, weights, found, short)

    def _fill(self, made: Generated) -> tuple[dict[str, Values], dict[str, Values]]:
        n, columns = len(made), self.columns
        values = {heading: np.empty(n) for heading in columns}

        def fill(begin: int, end: int) -> dict[str, Values | None]:
            block = Block(self.known, made, begin, end)
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


def _mean(values: Values, weights: Values | None) -> float:
    """Mean over the sequences where the metric is defined; infinite if a value is."""
    defined = ~np.isnan(values)
    return float(means(values[defined][:, None], None if weights is None else weights[defined][:, None])[0])


def _assemble(job: _Job, judged: Mapping[str, list[_Judged]], uncertainty: Uncertainty) -> Scores:
    """The scores of all systems, with intervals; a system's seeds become one column, sequence by sequence."""
    columns = {(name, heading): _over_seeds(runs, heading) for name, runs in judged.items() for heading in job.columns}
    finite = {key: np.full_like(one, np.nan) if np.isinf(one).any() else one for key, one in columns.items()}
    weights = {(name, heading): one for name, runs in judged.items() for heading, one in runs[0].weights.items()}
    bounds = bounds_of(finite, weights, uncertainty, threads=job.threads)
    kept = [key for key in columns if isinstance(job.metrics[key[1]], PerSequence)]
    rows = [
        _row(job, (name, heading), judged[name], columns.get((name, heading)), bounds)
        for name in judged
        for heading in job.metrics
    ]
    return Scores(
        units=pl.Series(np.arange(len(job.known.fold.test))),
        systems=tuple(judged),
        metrics=tuple(job.metrics),
        per_unit={key: finite[key] for key in kept},
        per_unit_weights={key: weights[key] for key in kept if key in weights},
        rows=tuple(rows),
        settings={
            "fold": dict(job.known.fold.how),
            "metrics": {heading: str(metric) for heading, metric in job.metrics.items()},
            "interval": asdict(uncertainty),
        },
        findings=diagnose(job.known.fold),
    )


def _over_seeds(runs: list[_Judged], heading: str) -> Values:
    columns = [one.values[heading] for one in runs]
    return columns[0] if len(columns) == 1 else np.asarray(np.mean(columns, axis=0))


def _row(
    job: _Job,
    key: tuple[str, str],
    runs: list[_Judged],
    column: Values | None,
    bounds: Mapping[tuple[str, str], tuple[float, float]],
) -> Summary:
    """The mean of one system under one metric, over its seeds, with its counts."""
    heading, metric, units = key[1], job.metrics[key[1]], len(job.known.fold.test)
    undefined = 0 if column is None else int(np.isnan(column).sum())
    found = [one.means[heading] for one in runs]
    low, high = bounds.get(key, (float("nan"), float("nan")))
    row = Summary(
        system=key[0],
        metric=heading,
        mean=float(np.mean(found)),
        n=units - undefined,
        missing=0,
        short=sum(one.short[heading] for one in runs),
        duplicate=0,
        undefined=undefined,
        low=low,
        high=high,
        higher_is_better=metric.higher_is_better,
        parameters=metric.parameters,
    )
    if isinstance(metric, Pooled):
        found = [metric.of_mean(one) for one in found]
        row = replace(row, mean=metric.of_mean(row.mean), low=metric.of_mean(low), high=metric.of_mean(high))
    if len(runs) > 1:
        spread = float(np.std(found, ddof=1)) if np.isfinite(found).all() else float("nan")
        row = replace(row, accompanying={"seeds": len(runs), "sd_seeds": spread})
    return row
