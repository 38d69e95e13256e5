"""Scores of played systems under every target-set design, in closed form or by sampling, from one scoring pass."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl

from recassay.arrays import Float, Int64
from recassay.checks import diagnose
from recassay.columnar.vocabulary import rows_in_table
from recassay.data.nouns import kind_of, wrong_noun
from recassay.data.run import Run
from recassay.data.standings import Standings
from recassay.designs.expect import DesignResult, expect
from recassay.designs.grammar import Design
from recassay.designs.random_order import RandomOrders
from recassay.engine.finish import finish, row_of
from recassay.engine.options import DesignOptions, Execution
from recassay.engine.ranks.sampling import SampledScores, sample
from recassay.errors import InputError, UsageError
from recassay.metrics.base import Metric, UnitMetric
from recassay.results.design_scores import DesignScore, DesignScores
from recassay.results.scores import Scores, Summary
from recassay.stats.intervals import Uncertainty

System = TypeVar("System")
Systems = Run | Standings | Iterable[Run | Standings] | Mapping[str, Run | Standings]


Expected = Callable[[str, Design, Callable[[], DesignResult]], DesignResult]  # system, design, computation


def compute_again(_system: str, _design: Design, compute: Callable[[], DesignResult]) -> DesignResult:
    """Return ``compute()``, the result of a system under a design (a way to choose candidates), without a look-up.

    This is the default of ``JudgeRequest.expected``; a study passes a function that looks up stored results instead.
    """
    return compute()


@dataclass(frozen=True, eq=False)
class JudgeRequest:
    """The checked arguments of a call of ``judge``: designs, metrics by name, and options.

    A design says which candidates a relevant item is ranked against. ``expected`` returns the result of a system under
    a design: by default it is computed, and a study may store it.
    """

    designs: tuple[Design, ...]
    metrics: Mapping[str, Metric]
    options: DesignOptions
    uncertainty: Uncertainty
    execution: Execution
    expected: Expected = compute_again

    @property
    def unit_metrics(self) -> dict[str, UnitMetric]:
        """Return the metrics that have a value for every user, as a dict by heading."""
        return {heading: metric for heading, metric in self.metrics.items() if isinstance(metric, UnitMetric)}


def judge_in_memory(played: Mapping[str, Any], request: JudgeRequest) -> DesignScores:
    """Return the scores of systems under every design of a request, with everything in memory.

    A design says which candidates relevant items are ranked against. ``played`` maps the name of each system to its run
    or its standings (ranks of relevant items).
    """
    systems = standings_by_name(played)
    metrics, options, uncertainty = request.metrics, request.options, request.uncertainty
    threads = request.execution.threads
    settings: dict[str, Any] = {
        "users": options.users,
        "short": options.short,
        "method": options.method,
        "interval": uncertainty.method,
        "level": uncertainty.level,
        "seed": uncertainty.seed,
    }
    drawn: dict[str, list[SampledScores]] = {}
    if options.method == "sample":
        drawn = {
            name: sample(
                _run_of(name, one),
                request.designs,
                metrics,
                draws=options.draws,
                seed=uncertainty.seed,
                users=options.users,
                short=options.short,
                threads=threads,
            )
            for name, one in played.items()
        }
        checksums = zip(request.designs, next(iter(drawn.values())), strict=True)
        settings |= {"draws": options.draws, "checksums": {str(design): one.checksum for design, one in checksums}}
    rows: list[DesignScore] = []
    by_design: dict[str, Scores] = {}
    for place, design in enumerate(request.designs):
        random_orders = RandomOrders()
        judged = {
            name: drawn[name][place].judged
            if drawn
            else request.expected(
                name,
                design,
                functools.partial(
                    expect,
                    one,
                    design,
                    metrics,
                    users=options.users,
                    short=options.short,
                    variance=options.variance,
                    threads=threads,
                    random_orders=random_orders,
                ),
            )
            for name, one in systems.items()
        }
        scores = _scores(systems, judged, metrics, uncertainty, threads)
        by_design[str(design)] = scores
        for name, one in judged.items():
            rows += [design_score(name, systems[name].unlisted, one, h, scores.row(name, h)) for h in metrics]
    found = DesignScores(
        systems=tuple(systems),
        designs=tuple(by_design),
        metrics=tuple(metrics),
        rows=tuple(rows),
        by_design=by_design,
        settings=settings,
    )
    again = [one for one in request.designs if one.by == "popularity" and one.with_replacement]
    repeated = {str(one): (one.base, one.n or 0) for one in again}
    draws = diagnose("repeated draws", standings=systems, draws=repeated, closed_form=not drawn)
    return found.with_findings(*diagnose("designs", assay=found, standings=systems), *draws)


def standings_by_name(runs: Systems) -> dict[str, Standings]:
    """Return the standings of each system, by its name; raise I311 if users or relevant items differ.

    Standings are the numbers of candidates above each relevant item and tied with it.
    """
    systems = {name: _standings_of(name, one) for name, one in named(runs)}
    raise_if_queries_differ(systems)
    return systems


def named(runs: System | Iterable[System] | Mapping[str, System]) -> Iterator[tuple[str, Any]]:
    """Yield each system with its name; raise U109 if two have the same name."""
    if isinstance(runs, Mapping):
        items: Iterable[tuple[str | None, Any]] = runs.items()
    else:
        items = ((None, one) for one in (runs if isinstance(runs, Iterable) else [runs]))
    seen = set()
    for given, one in items:
        if not isinstance(one, Run | Standings) and (kind_of(one) or not hasattr(one, "name")):
            raise wrong_noun(one, "played run")
        name = given or one.name
        if name in seen:
            raise UsageError("U109", f"two runs have the name '{name}'", hint="give them as a dict of name to run")
        seen.add(name)
        yield name, one


def _standings_of(name: str, one: Run | Standings) -> Standings:
    if not isinstance(one, Run | Standings):
        raise wrong_noun(one, "played run")
    standings = one.standings if isinstance(one, Run) else one
    if standings is None:
        raise UsageError(
            "U122",
            f"the run '{name}' has lists but no standings, so only the items it lists have a known rank",
            where=getattr(one, "origin", ""),
            hint="ra.play(run, fold, ra.protocols.ranking()) gives it standings as far as its lists reach",
        )
    return replace(standings, name=name)


def _run_of(name: str, one: Run | Standings) -> Run:
    if isinstance(one, Run):
        return replace(one, name=name)
    raise UsageError(
        "U122",
        f"'{name}' has standings only; candidates can be drawn only for a run whose system can score items again",
        hint="give the run, or method='exact'",
    )


def raise_if_queries_differ(systems: Mapping[str, Standings]) -> None:
    """Raise I311 unless all systems have the same users and relevant items; raise U122 if there is no system."""
    if not systems:
        raise UsageError("U122", "there is no run to judge", hint="ra.judge([run, ...], designs, metrics)")
    (first, one), *others = systems.items()
    for name, other in others:
        same = one.pairs == other.pairs and one.queries.equals(other.queries)
        if not (same and np.array_equal(one.offsets, other.offsets)):
            raise InputError(
                "I311",
                f"'{first}' was played for {one.queries.len():,} users and {one.pairs:,} relevant items, "
                f"'{name}' about {other.queries.len():,} and {other.pairs:,}",
                hint="play all systems on the same fold with the same protocol",
            )


def design_score(name: str, unlisted: int, judged: DesignResult, heading: str, row: Summary) -> DesignScore:
    """Return the result row of one system and one metric under a design, with the bounds of its interval.

    ``name`` is the system and ``heading`` the metric. ``judged`` is the result of the system under the design, ``row``
    the summary with the bounds, and ``unlisted`` the number of relevant items that no list holds.
    """
    outcome = judged.outcomes[heading]
    return DesignScore(
        system=name,
        design=str(judged.design),
        metric=heading,
        mean=outcome.mean,
        low=row.low,
        high=row.high,
        n=judged.users,
        sd_draws=float(np.sqrt(outcome.variance)),
        random=outcome.random,
        best=outcome.best,
        corrected=outcome.corrected,
        rho=judged.rho,
        t=judged.t,
        sets=judged.sets,
        short=judged.short,
        unlisted=unlisted,
        undefined=outcome.undefined,
    )


def _scores(
    systems: Mapping[str, Standings],
    judged: Mapping[str, DesignResult],
    metrics: Mapping[str, Metric],
    how: Uncertainty,
    threads: int | None,
) -> Scores:
    """Return the scores of all systems under one design, with intervals from resamples that all systems share.

    ``systems`` has their standings (ranks of relevant items) by name, and ``judged`` their results under the design.
    """
    first, any_one = next(iter(systems.values())), next(iter(judged.values()))
    units, places = first.queries, np.arange(first.queries.len())
    if any_one.zeros and first.everyone is not None:
        units, places = first.everyone, rows_in_table(first.queries, first.everyone)
    columns = {
        (name, heading): to_all_units(outcome.values, outcome.weights, places, units.len(), zeros=bool(one.zeros))
        for name, one in judged.items()
        for heading, outcome in one.outcomes.items()
    }
    return scores_of_design(judged, units, columns, metrics, how, threads)


def scores_of_design(
    judged: Mapping[str, DesignResult],
    units: pl.Series,
    columns: Mapping[tuple[str, str], tuple[Float, Float]],
    metrics: Mapping[str, Metric],
    how: Uncertainty,
    threads: int | None,
) -> Scores:
    """Return the scores of all systems under one design, with intervals.

    ``judged`` maps the name of a system to its result under the design. ``columns`` maps (system, metric) to (values,
    weights), with an entry for each of ``units``.
    """
    weights = {key: weights for key, (_, weights) in columns.items() if (weights != 1).any()}
    uneven = {key: own for key, own in weights.items() if (own[~np.isnan(columns[key][0])] != 1).any()}
    values = {key: values for key, (values, _) in columns.items()}
    rows = []
    for name, heading in columns:
        one, outcome = judged[name], judged[name].outcomes[heading]
        row = row_of(
            (name, heading), metrics[heading], outcome.mean, one.users, short=one.short, undefined=outcome.undefined
        )
        rows.append(row)
    scores = finish(units, metrics, rows, values, uneven, how, threads=threads)
    settings = {"design": str(next(iter(judged.values())).design)}
    return replace(scores, per_unit_weights=weights, settings=settings)


def to_all_units(values: Float, weights: Float, places: Int64, size: int, *, zeros: bool) -> tuple[Float, Float]:
    """Return (values, weights) of all ``size`` users, from those of the users at the positions ``places``.

    Users elsewhere, or with weight 0, have no query: with ``zeros`` they count as 0 with weight 1, else they are NaN
    with weight 0.
    """
    all_values, all_weights = np.full(size, 0.0 if zeros else np.nan), np.full(size, 1.0 if zeros else 0.0)
    queried = weights > 0
    all_values[places[queried]], all_weights[places[queried]] = values[queried], weights[queried]
    return all_values, all_weights
