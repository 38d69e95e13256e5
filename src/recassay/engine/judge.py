"""``judge``: the same answers under every design, in closed form, from one scoring pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.comparison.intervals import Uncertainty
from recassay.data.assay import Assay, Worth
from recassay.data.run import Run
from recassay.data.scores import Scores, Summary
from recassay.data.standings import Standings
from recassay.data.vocabulary import positions
from recassay.designs.expect import Judged, Users, expect
from recassay.designs.grammar import Design, parse_list
from recassay.designs.sets import Short
from recassay.diagnose import Judging, diagnose
from recassay.engine.sampling import Sampled, sample
from recassay.engine.spark.tables import SparkTable
from recassay.engine.summary import Bounds, bounds_of
from recassay.errors import InputError, UsageError
from recassay.metrics.base import Metric, UnitMetric
from recassay.metrics.registry import Metrics, parse_metrics

System = Run | Standings | SparkTable  # of the tables of Spark those that were played
Systems = System | Iterable[System] | Mapping[str, System]
Float = NDArray[np.float64]


def judge(
    runs: Systems,
    designs: str | Design | Iterable[str | Design],
    metrics: Metrics,
    *,
    users: Users = "all",
    short: Short = "error",
    method: Literal["exact", "sample"] = "exact",
    draws: int = 20,
    variance: bool = True,
    interval: str | None = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
    work: str | Path | None = None,
) -> Assay:
    """What systems are worth under every design: exact means over all draws of candidates, with intervals over users.

    ``runs`` were played (:func:`~recassay.play`), so that they know where every relevant item stands. ``users`` says
    whether users without a relevant test item count 0 where all relevant items of a user stand together; ``short``
    what happens to users with fewer candidates than a design draws: ``error``, or take ``all`` there are and count
    them. ``variance=False`` leaves out the variance over draws, and is quicker.

    ``method="sample"`` draws target sets as papers do, ``draws`` times and the same for every system, and ranks them:
    slower, with noise, and the only way for ``by='popularity', replace=False``. It asks the systems for scores again.

    Runs that were played on Spark are judged there. Beyond 50,000 users values stay in Parquet files, in a folder
    within ``work`` that all nodes see, and findings look at about so many users, drawn by their ids.

    >>> import recassay as ra
    >>> from recassay.data.synthetic import log
    >>> fold = ra.split.random(test=0.2, seed=7)(log(users=200, items=80, events=4_000, seed=1))[0]
    >>> ask = ra.protocols.ranking()
    >>> runs = [ra.play(model, fold, ask) for model in (ra.models.Popular(), ra.models.Random())]
    >>> assay = judge(runs, "TI-AR-AN, TI-1R-NN(20)", "precision@5", interval=None)
    >>> [(row.design, row.system, round(row.mean, 3), round(row.random, 3)) for row in assay.rows]
    [('TI-AR-AN', 'Popular', 0.142, 0.067), ('TI-AR-AN', 'Random', 0.061, 0.067),
     ('TI-1R-NN(20)', 'Popular', 0.079, 0.048), ('TI-1R-NN(20)', 'Random', 0.047, 0.048)]
    """
    if method not in ("exact", "sample"):
        raise UsageError("U102", f"there is no method '{method}'", hint="method is 'exact' or 'sample'")
    played = dict(named(runs))
    if any(isinstance(one, SparkTable) for one in played.values()):
        options = {"users": users, "short": short, "variance": variance}
        uncertainty = Uncertainty(interval, level, resamples, seed)
        return _on_spark(played, parse_list(designs), metrics, method, uncertainty, work, **options)
    systems = together(played)
    asked, wanted = parse_metrics(metrics), parse_list(designs)
    settings: dict[str, Any] = {
        "users": users,
        "short": short,
        "method": method,
        "interval": interval,
        "level": level,
        "seed": seed,
    }
    drawn: dict[str, list[Sampled]] = {}
    if method == "sample":
        how: dict[str, Any] = {"draws": draws, "seed": seed, "users": users, "short": short, "threads": threads}
        drawn = {name: sample(_run_of(name, one), wanted, asked, **how) for name, one in played.items()}
        checksums = zip(wanted, next(iter(drawn.values())), strict=True)
        settings |= {"draws": draws, "checksums": {str(design): one.checksum for design, one in checksums}}
    rows: list[Worth] = []
    by_design: dict[str, Scores] = {}
    for place, design in enumerate(wanted):
        judged = {
            name: drawn[name][place].judged
            if drawn
            else expect(one, design, asked, users=users, short=short, variance=variance, threads=threads)
            for name, one in systems.items()
        }
        scores = _scores(systems, judged, asked, Uncertainty(interval, level, resamples, seed), threads)
        by_design[str(design)] = scores
        for name, one in judged.items():
            rows += [worth_of(name, systems[name].unlisted, one, h, scores.row(name, h)) for h in asked]
    assay = Assay(
        systems=tuple(systems),
        designs=tuple(by_design),
        metrics=tuple(asked),
        rows=tuple(rows),
        by_design=by_design,
        settings=settings,
    )
    return assay.with_findings(*diagnose(Judging(assay, systems)))


def _on_spark(
    played: Mapping[str, System],
    designs: Sequence[Design],
    metrics: Metrics,
    method: str,
    how: Uncertainty,
    work: str | Path | None,
    **options: Any,
) -> Assay:
    """The assay of systems that were played on Spark."""
    from recassay.engine.spark.assay import How, judge_on_spark
    from recassay.engine.spark.play import SparkRun

    runs = {name: one for name, one in played.items() if isinstance(one, SparkRun)}
    if len(runs) < len(played):
        other = next(name for name in played if name not in runs)
        hint = "play it on the same fold of Spark, or take run.here() of the others"
        raise UsageError("U122", f"'{other}' was not played on Spark, and others were", hint=hint)
    if method != "exact":
        raise UsageError("U107", "Spark judges in closed form", where=f"method='{method}'", hint="method='exact'")
    asked = {heading: metric for heading, metric in parse_metrics(metrics).items() if isinstance(metric, UnitMetric)}
    locally = partial(
        judge, designs=designs, metrics=metrics, interval=how.method, level=how.level, resamples=how.resamples,
        seed=how.seed, threads=1, **options,
    )  # fmt: skip
    return judge_on_spark(runs, How(tuple(designs), asked, uncertainty=how, **options), locally, work=work)


def together(runs: Systems) -> dict[str, Standings]:
    """The standings of systems that were asked the same, by name."""
    systems = {name: _standings_of(name, one) for name, one in named(runs)}
    refuse_others(systems)
    return systems


def named(runs: Systems) -> Iterator[tuple[str, Any]]:
    """What was given, by the names of the systems."""
    if isinstance(runs, Mapping):
        items: Iterable[tuple[str | None, Any]] = runs.items()
    else:
        items = ((None, one) for one in ([runs] if isinstance(runs, System) else runs))
    seen = set()
    for given, one in items:
        name = given or one.name
        if name in seen:
            raise UsageError("U109", f"two runs have the name '{name}'", hint="give them as a dict of name to run")
        seen.add(name)
        yield name, one


def _standings_of(name: str, one: Run | Standings) -> Standings:
    standings = one.standings if isinstance(one, Run) else one
    if standings is None:
        raise UsageError(
            "U122",
            f"the run '{name}' has lists and no standings, so only the items it lists have a known place",
            where=getattr(one, "origin", ""),
            hint="ra.play(run, fold, ra.protocols.ranking()) gives it standings as far as its lists reach",
        )
    return replace(standings, name=name)


def _run_of(name: str, one: Run | Standings) -> Run:
    if isinstance(one, Run):
        return replace(one, name=name)
    raise UsageError(
        "U122",
        f"'{name}' is standings alone, and candidates can be drawn only for a run whose system can be asked again",
        hint="give the run, or method='exact'",
    )


def refuse_others(systems: Mapping[str, Standings]) -> None:
    """Systems are judged together on the same relevant items of the same users."""
    if not systems:
        raise UsageError("U122", "there is no run to judge", hint="ra.judge([run, ...], designs, metrics)")
    (first, one), *others = systems.items()
    for name, other in others:
        same = one.pairs == other.pairs and one.queries.equals(other.queries)
        if not (same and np.array_equal(one.offsets, other.offsets)):
            raise InputError(
                "I311",
                f"'{first}' was asked about {one.queries.len():,} users and {one.pairs:,} relevant items, "
                f"'{name}' about {other.queries.len():,} and {other.pairs:,}",
                hint="play all systems on the same fold with the same protocol",
            )


def worth_of(name: str, unlisted: int, judged: Judged, heading: str, row: Summary) -> Worth:
    """The row of one system and one metric under a design, with its bounds."""
    outcome = judged.outcomes[heading]
    return Worth(
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
    judged: Mapping[str, Judged],
    metrics: Mapping[str, Metric],
    how: Uncertainty,
    threads: int | None,
) -> Scores:
    """Values per user of one design, with intervals from resamples that all systems share."""
    first, any_one = next(iter(systems.values())), next(iter(judged.values()))
    units, places = first.queries, np.arange(first.queries.len())
    if any_one.zeros and first.everyone is not None:
        units, places = first.everyone, positions(first.queries, first.everyone)
    columns = {
        (name, heading): spread(outcome.values, outcome.weights, places, units.len(), zeros=bool(one.zeros))
        for name, one in judged.items()
        for heading, outcome in one.outcomes.items()
    }
    weights = {key: weights for key, (_, weights) in columns.items() if (weights != 1).any()}
    uneven = {key: own for key, own in weights.items() if (own[~np.isnan(columns[key][0])] != 1).any()}
    bounds = bounds_of({key: values for key, (values, _) in columns.items()}, uneven, how, threads=threads)
    rows = [summary_of(name, heading, judged[name], metrics[heading], bounds) for name, heading in columns]
    return Scores(
        units,
        tuple(systems),
        tuple(metrics),
        {key: values for key, (values, _) in columns.items()},
        weights,
        tuple(rows),
        settings={"design": str(any_one.design)},
    )


def summary_of(name: str, heading: str, judged: Judged, metric: Metric, bounds: Bounds) -> Summary:
    """The row of one system and one metric under a design."""
    outcome, nothing = judged.outcomes[heading], (float("nan"), float("nan"))
    return Summary(
        name, heading, outcome.mean, judged.users, 0, judged.short, 0, outcome.undefined,
        *bounds.get((name, heading), nothing), metric.higher_is_better, metric.parameters,
    )  # fmt: skip


def spread(values: Float, weights: Float, places: NDArray[np.int64], size: int, *, zeros: bool) -> tuple[Float, Float]:
    """Values and weights of all units, from those of users who were asked: others count 0, or not at all."""
    all_values, all_weights = np.full(size, 0.0 if zeros else np.nan), np.full(size, 1.0 if zeros else 0.0)
    asked = weights > 0
    all_values[places[asked]], all_weights[places[asked]] = values[asked], weights[asked]
    return all_values, all_weights
