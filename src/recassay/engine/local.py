"""Judging runs on this machine: every run meets the truth once, blocks of users go over threads, metrics fill columns.

Equivalent to, and held by the tests to, this loop:

    for run in runs:
        meeting = meet(run, truth)
        for metric in metrics:
            values = [metric.checked(meeting.block(q, q + 1)) for q in range(len(truth.queries))]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from recassay.compare.intervals import intervals, means
from recassay.data.finding import Finding
from recassay.data.interactions import Interactions
from recassay.data.read import read_interactions, read_items, read_runs, read_truth
from recassay.data.run import Run
from recassay.data.scores import Scores, Summary
from recassay.data.truth import Truth
from recassay.diagnose import Facts, diagnose
from recassay.errors import UsageError
from recassay.metrics.align import ARBITRARY, WHOLE_LIST, Conventions, Meeting, meet
from recassay.metrics.base import CatalogueMetric, Metric, UnitMetric, Values
from recassay.metrics.catalogue.exposure import exposure
from recassay.metrics.context import Context, bind
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.profiles import Profile
from recassay.profiles import find as find_profile
from recassay.spec import Value, suggest
from recassay.threads import Progress, each_block

USERS_PER_BLOCK = 32_768
INTERVAL_CELLS = 16_000_000  # values stacked for one call to intervals; bounds memory, not bits

Judged = dict[str, Values]
Report = Callable[[str, int, int], None]  # stage, done, of


@dataclass(frozen=True)
class Uncertainty:
    """How intervals are made; None as a method leaves them out."""

    method: str | None = "bootstrap"
    level: float = 0.95
    resamples: int = 10_000
    seed: int = 0


def score(
    runs: Any,
    truth: Any,
    metrics: Metrics,
    *,
    train: Any = None,
    items: Any = None,
    profile: str | None = None,
    relevant_from: float = 1.0,
    missing: str | None = None,
    no_relevant: str | None = None,
    order: str | None = None,
    ties: str | None = None,
    precision: str | None = None,
    duplicates: str | None = None,
    interval: str | None = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
    progress: Report | None = None,
) -> Scores:
    """Judge runs against the truth: values per user, means with intervals and counts, and findings.

    ``runs`` and ``truth`` are nouns or anything the readers take (paths, frames, dicts). ``relevant_from``, ``missing``
    and ``no_relevant`` are defaults of every metric that does not state its own; ``missing="error"`` refuses a run that
    lacks a user. ``order``, ``ties``, ``precision`` and ``duplicates`` say how lists are read, see
    :class:`~recassay.metrics.align.Conventions`. ``profile`` names a library whose conventions fill all that is left
    open here, so that the numbers are those it would print.

    >>> truth = {"ann": ["x", "y"], "bob": ["z"]}
    >>> scores = score({"mine": {"ann": ["y", "q"], "bob": ["q", "z"]}}, truth, "hit@1 recall@2", interval=None)
    >>> scores.values("mine", "recall@2").tolist(), scores.row("mine", "hit@1").mean
    ([0.5, 1.0], 0.5)
    """
    like = find_profile(profile) if profile else None
    choices = {"order": order, "ties": ties, "precision": precision, "duplicates": duplicates, "missing": missing}
    conventions = _conventions(choices, like)
    defaults: dict[str, Value] = {"relevant_from": float(relevant_from)}
    defaults |= {"missing": missing} if missing not in (None, "error") else {}
    defaults |= {"no_relevant": no_relevant} if no_relevant is not None else {}
    truth = read_truth(truth)
    named = like.translate(metrics, defaults) if like else parse_metrics(metrics, defaults)
    asked = {heading: metric.resolve(truth) for heading, metric in named.items()}
    context = Context(_log(train), None if items is None else read_items(items))
    for metric in asked.values():
        metric.prepare(truth, context)
    systems = _distinctly_named(read_runs(runs))
    job = _Job(truth, asked, conventions, context, threads, progress, profile)
    judged = {run.name: job.judge(run) for run in systems}
    uncertainty = Uncertainty(interval, level, resamples, seed)
    return _assemble(job, judged, uncertainty)


def _conventions(choices: Mapping[str, str | None], like: Profile | None) -> Conventions:
    """Conventions as stated, then those of the profile, then ours."""
    stated = {name: choice for name, choice in choices.items() if choice is not None}
    if "missing" in stated and stated["missing"] in ("zero", "skip"):
        stated["missing"] = "allow"
    merged = {**(like.conventions if like else {}), **stated}
    for name, kind in get_type_hints(Conventions).items():
        known = ("zero", "skip", "error") if name == "missing" else get_args(kind)
        if merged.get(name, known[0]) not in (*known, "allow"):
            hint = suggest(merged[name], known)
            raise UsageError("U107", f"{name}={merged[name]!r} is not known", where=f"--{name}", hint=hint)
    return Conventions(**merged)  # type: ignore[arg-type]


def _log(train: Any) -> Interactions | None:
    return None if train is None else read_interactions(train)


def _distinctly_named(runs: Sequence[Run]) -> list[Run]:
    names = [run.name for run in runs]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                "U109", f"{names.count(name)} runs have the name '{name}'", hint="give them as a dict of name to run"
            )
    return list(runs)


@dataclass(frozen=True, eq=False)
class _JudgedRun:
    meeting: Meeting
    values: Judged
    weights: Judged
    catalogue: dict[str, float]
    tie_means: dict[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Job:
    """One truth, one list of metrics, one set of conventions: judges any number of runs."""

    truth: Truth
    metrics: Mapping[str, Metric]  # by heading
    conventions: Conventions
    context: Context
    threads: int | None
    progress: Report | None
    profile: str | None

    @property
    def unit_metrics(self) -> dict[str, UnitMetric]:
        return {heading: metric for heading, metric in self.metrics.items() if isinstance(metric, UnitMetric)}

    def judge(self, run: Run) -> _JudgedRun:
        meeting = meet(run, self.truth, self.conventions)
        bind(self.metrics.values(), meeting, self.context)
        values, weights = self._columns(meeting, self.unit_metrics)
        catalogue = {
            heading: metric.measure(exposure(meeting, self.context, metric.catalogue, metric.k).counts)
            for heading, metric in self.metrics.items()
            if isinstance(metric, CatalogueMetric)
        }
        return _JudgedRun(meeting, values, weights, catalogue, self._tie_means(run, meeting))

    def _columns(self, meeting: Meeting, metrics: Mapping[str, UnitMetric]) -> tuple[Judged, Judged]:
        """Values, and weights where a metric has them, of all units: filled block by block."""
        n = self.truth.queries.len()
        values = {heading: np.empty(n) for heading in metrics}
        weights: Judged = {}
        cutoffs = [metric.k for metric in metrics.values()]
        depth = WHOLE_LIST if None in cutoffs or not cutoffs else max(k for k in cutoffs if k is not None)

        def fill(begin: int, end: int) -> dict[str, Values | None]:
            lists = meeting.block(begin, end, depth)
            for heading, metric in metrics.items():
                values[heading][begin:end] = metric.checked(lists)
            return {heading: metric.weights(lists) for heading, metric in metrics.items()}

        parts = each_block(fill, n, size=USERS_PER_BLOCK, threads=self.threads, progress=self._told(meeting, n))
        for name in values if parts else ():
            column = [part[name] for part in parts]
            if column[0] is not None:
                weights[name] = np.concatenate([block for block in column if block is not None])
        return values, weights

    def _told(self, meeting: Meeting, n: int) -> Progress | None:
        report, done = self.progress, 0
        if report is None:
            return None

        def told(users: int) -> None:
            nonlocal done
            done += users
            report(f"judging {meeting.run.name}", done, n)

        return told

    def _tie_means(self, run: Run, meeting: Meeting) -> dict[str, tuple[float, float]]:
        """Means in the worst and the best order of tied rows, if rows tie and an order was picked for them."""
        if not meeting.met.tied_rows or self.conventions.ties not in ARBITRARY:
            return {}
        bounds: dict[str, list[float]] = {}
        ranked = {name: metric for name, metric in self.unit_metrics.items() if metric.family == "ranking"}
        for extreme in ("pessimistic", "optimistic"):
            other = meet(run, self.truth, replace(self.conventions, ties=extreme))
            bind(ranked.values(), other, self.context)
            values, weights = self._columns(other, ranked)
            for heading, metric in ranked.items():
                bounds.setdefault(heading, []).append(_mean(metric, values[heading], weights.get(heading)))
        return {name: (min(pair), max(pair)) for name, pair in bounds.items()}


def _mean(metric: UnitMetric, values: Values, weights: Values | None) -> float:
    """Mean over the units where the metric is defined."""
    undefined = np.isnan(values)
    if undefined.any():
        values, weights = values[~undefined], None if weights is None else weights[~undefined]
    column = values if metric.power == 1 else values**metric.power
    mean = float(means(column[:, None], None if weights is None else weights[:, None])[0])
    return mean if metric.power == 1 else mean ** (1 / metric.power)


def _assemble(job: _Job, judged: Mapping[str, _JudgedRun], uncertainty: Uncertainty) -> Scores:
    per_unit = {(name, metric): column for name, run in judged.items() for metric, column in run.values.items()}
    weights = {(name, metric): column for name, run in judged.items() for metric, column in run.weights.items()}
    bounds = _intervals(job, per_unit, weights, uncertainty)
    rows: list[Summary] = []
    findings: list[Finding] = []
    cutoffs = [metric.k for metric in job.metrics.values() if metric.k is not None]
    for name, run in judged.items():
        own = tuple(_summary(name, heading, metric, run, weights, bounds) for heading, metric in job.metrics.items())
        rows.extend(own)
        facts = Facts(run.meeting, own, max(cutoffs, default=None), job.context.train, run.tie_means)
        findings.extend(diagnose(facts))
    settings = {
        "profile": job.profile,
        "conventions": asdict(job.conventions),
        "metrics": {heading: str(metric) for heading, metric in job.metrics.items()},
        "interval": asdict(uncertainty),
    }
    return Scores(
        units=job.truth.queries,
        systems=tuple(judged),
        metrics=tuple(job.metrics),
        per_unit=per_unit,
        per_unit_weights=weights,
        rows=tuple(rows),
        findings=_once(findings),
        settings=settings,
    )


def _summary(
    name: str,
    heading: str,
    metric: Metric,
    run: _JudgedRun,
    weights: Mapping[tuple[str, str], Values],
    bounds: Mapping[tuple[str, str], tuple[float, float]],
) -> Summary:
    met = run.meeting.met
    same: dict[str, Any] = {
        "missing": met.missing,
        "duplicate": met.duplicate_rows,
        "higher_is_better": metric.higher_is_better,
        "parameters": metric.parameters,
    }
    short = 0 if metric.k is None else int((run.meeting.judged_lengths < metric.k).sum())
    if not isinstance(metric, UnitMetric):
        nan = float("nan")
        return Summary(name, heading, run.catalogue[heading], nan, nan, met.lists, short=short, undefined=0, **same)
    values = run.values[heading]
    n = values.size - int(np.isnan(values).sum())
    skipped = met.missing if getattr(metric, "missing", "zero") == "skip" else 0
    mean = _mean(metric, values, weights.get((name, heading)))
    low, high = bounds.get((name, heading), (float("nan"), float("nan")))
    return Summary(name, heading, mean, low, high, n, short=short, undefined=values.size - n - skipped, **same)


def _intervals(
    job: _Job,
    per_unit: Mapping[tuple[str, str], Values],
    weights: Mapping[tuple[str, str], Values],
    uncertainty: Uncertainty,
) -> dict[tuple[str, str], tuple[float, float]]:
    """Bounds of every mean. Columns defined on the same units share their resamples."""
    if uncertainty.method is None:
        return {}
    alike: dict[tuple[bytes, bool], list[tuple[str, str]]] = {}
    for key, column in per_unit.items():
        alike.setdefault((np.packbits(np.isnan(column)).tobytes(), key in weights), []).append(key)
    bounds: dict[tuple[str, str], tuple[float, float]] = {}
    for (_, weighted), keys in alike.items():
        defined = ~np.isnan(per_unit[keys[0]])
        width = max(1, INTERVAL_CELLS // max(int(defined.sum()), 1))
        for begin in range(0, len(keys), width):
            group = keys[begin : begin + width]
            powers = np.array([job.unit_metrics[heading].power for _, heading in group])
            low, high = intervals(
                np.column_stack([per_unit[key][defined] for key in group]) ** powers,
                np.column_stack([weights[key][defined] for key in group]) if weighted else None,
                method=uncertainty.method,
                level=uncertainty.level,
                resamples=uncertainty.resamples,
                seed=uncertainty.seed,
                threads=job.threads,
            )
            low, high = np.maximum(low, 0) ** (1 / powers) if (powers != 1).any() else low, high ** (1 / powers)
            bounds |= dict(zip(group, zip(low.tolist(), high.tolist(), strict=True), strict=True))
    return bounds


def _once(findings: list[Finding]) -> tuple[Finding, ...]:
    """Findings about the truth come up for every system alike: said once, without a system."""
    systems: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        systems.setdefault((finding.code, finding.detail), []).append(finding)
    merged = []
    for same in systems.values():
        named = ", ".join(dict.fromkeys(finding.system for finding in same))
        merged.append(replace(same[0], system=named))
    return tuple(sorted(merged, key=lambda finding: finding.code))
