"""``sampling_curve``: sampled metrics at every number of sampled candidates, computed from standings."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import polars as pl

from recassay.checks import diagnose
from recassay.data.standings import Standings
from recassay.designs.grammar import Design
from recassay.designs.sets import candidates
from recassay.engine.ranks.judge import Systems, named, standings_by_name
from recassay.errors import UsageError
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import suggest
from recassay.sampled.measure import MeasuredSystem, measure_approximately, measure_system, user_groups
from recassay.sampled.result import Resamples, SamplingCurve, SystemOrder, stable_from
from recassay.sampled.weighted import measure_exactly, why_not_exact
from recassay.threads import Progress

FULL = int(np.iinfo(np.int64).max)  # so large a sample has all candidates
STEPS = (1, 2, 5)
WAYS = choices.words(choices.Sampling)


@checks_types
def sampling_curve(
    runs: Systems,
    sizes: Iterable[int | None] | None = None,
    by: str | Iterable[str] = "uniform",
    metric: Metrics = "hit@10",
    *,
    replace: bool | Iterable[bool] | None = None,
    base: choices.BaseSet = "AI",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> SamplingCurve:
    """Return every system's metrics with relevant items ranked among sampled candidates, for each number of candidates.

    ``runs`` are runs that :func:`~recassay.play` returned, or their standings (counts of candidates above and tied with
    each relevant item). Nothing is drawn. The distribution of the number of sampled candidates above a relevant item
    follows from its full rank: it is hypergeometric for uniform draws, and binomial with replacement. So means, and
    their standard deviation over draws, are expectations over all draws. Each size is compared with the full ranking:
    the order of systems, Kendall's tau, and the pairs that swap.

    ``sizes`` are numbers of sampled non-relevant candidates. By default they ascend in steps of 1, 2, 5 up to the
    number of candidates that every user has. The full ranking is always included, as size None. ``by`` is ``uniform``,
    ``popularity`` or both; ``replace`` is whether an item may be drawn twice (default: no for uniform, yes for
    popularity). ``base`` names the set of candidates that are drawn from; by default all items. Several relevant items
    of a user are ranked one at a time. Intervals are over users, from ``resamples`` resamples.

    Draws by popularity without replacement are computed exactly for up to 2,000 candidates. This needs the weight of
    every candidate above and below an item, so the scores of the runs are computed again. It is slow: with 1,500
    candidates some hundredths of a second for each item and size. For more candidates, and for standings whose model is
    unknown, the values are approximate, and finding S004 reports it. Draws by popularity with replacement are exact,
    except for ties with more than seven different popularities (finding S005).

    >>> import recassay as ra
    >>> from recassay.data.synthetic import log
    >>> fold = ra.split.last(n=1, validation=1)(log(users=300, items=120, events=6_000, seed=1))[0]
    >>> runs = [ra.play(model, fold, ra.protocols.next_item()) for model in (ra.models.Popular(), ra.models.Random())]
    >>> curve = sampling_curve(runs, [5, 20], metric="hit@5")
    >>> curve.points.filter(system="Popular").select("size", pl.col("mean").round(3)).rows()
    [(5, 0.869), (20, 0.396), (None, 0.128)]
    >>> curve.orders.select("size", "tau_a", "same").rows()
    [(5, 1.0, True), (20, 1.0, True)]
    """
    given = dict(named(runs))
    systems, drawn, metrics = standings_by_name(given), sampling_designs(base, by, replace), parse_metrics(metric)
    first = next(iter(systems.values()))
    requested = check_sizes(sizes, drawn.values(), first, base)
    groups = user_groups(first)
    samples = Resamples.of(int(groups.max()) + 1, resamples, seed)
    no_formula = tuple(name for name, design in drawn.items() if not design.has_formula)
    why = why_not_exact(given, base) if no_formula else ""
    repeated = [name for name, design in drawn.items() if design.by == "popularity" and design.replace]

    def measure(design: Design, sizes: list[int]) -> dict[str, MeasuredSystem]:
        measured = {}
        for name, one in systems.items():
            if design.has_formula:
                measured[name] = measure_system(one, groups, design, sizes, metrics, threads=threads)
            elif why:
                measured[name] = measure_approximately(one, groups, design, sizes, metrics, threads=threads)
            else:
                measured[name] = measure_exactly(given[name], one, groups, base, sizes, metrics, threads=threads)
            if progress is not None:
                progress(1)
        return measured

    points, orders, stable = [], [], []
    whole = measure(Design(base, "1R", 1, replace=False), [FULL])
    for design in drawn.values():
        found = measure(design, requested)
        for column, heading in enumerate(metrics):
            setting = {"by": design.by, "replace": design.replace, "metric": heading}
            (full,) = SystemOrder.each(whole, column, samples)
            at = SystemOrder.each(found, column, samples)
            agreement = [order.agreement(full, level) for order in at]
            for size, order in [*zip(requested, at, strict=True), (None, full)]:
                points += [{**setting, "size": size, **row} for row in order.rows(level)]
            orders += [{**setting, "size": size, **row} for size, row in zip(requested, agreement, strict=True)]

            def same(size: int, design: Design = design, column: int = column, full: SystemOrder = full) -> bool:
                return full.same([one.mean[0, column] for one in measure(design, [size]).values()])

            stable.append({**setting, "size": stable_from(requested, [row["same"] for row in agreement], same)})
    return SamplingCurve(
        systems=tuple(systems),
        metrics=tuple(metrics),
        points=_table(points),
        orders=_table(orders).cast({"swaps": pl.List(pl.String)}),  # also if no pair ever swaps
        stable=_table(stable),
        settings={
            "base": base,
            "level": level,
            "resamples": resamples,
            "seed": seed,
            "users": first.queries.len(),
            "relevant": first.pairs,
            "candidates": int(first.pool[base].max()),
            "approximate": list(no_formula) if why else [],
        },
        findings=(
            *(diagnose("sampling curve", schemes=no_formula, why=why) if why else ()),
            *diagnose(
                "repeated draws",
                standings=systems,
                draws={f"{name}, {requested[-1]:,} candidates": (base, requested[-1]) for name in repeated},
            ),
        ),
    )


def sampling_designs(
    base: choices.BaseSet, by: str | Iterable[str], replace: bool | Iterable[bool] | None
) -> dict[str, Design]:
    """Return a design for every combination of ``by`` and ``replace``, each of which may be one value or several.

    The designs rank each relevant item alone, among candidates of the set ``base``; their number of candidates means
    nothing. If ``replace`` is None, it is false for uniform draws and true for draws by popularity. Raise U102 for an
    unknown word.

    >>> list(sampling_designs("AI", ["uniform", "popularity"], None))
    ['uniform, without replacement', 'popularity, with replacement']
    """
    ways = [by] if isinstance(by, str) else list(by)
    again = [replace] if replace is None or isinstance(replace, bool | str) else list(replace)
    for choice in again:
        if choice is not None and not isinstance(choice, bool):
            raise UsageError("U102", f"replace must be True or False, or a list of both, got {choice!r}")
    designs = {}
    for way, choice in itertools.product(ways, again):
        if way not in WAYS:
            raise UsageError("U102", f"there is no sampling by '{way}'", hint=suggest(way, WAYS))
        repeats = way == "popularity" if choice is None else choice
        name = f"{way}, {'with' if repeats else 'without'} replacement"
        designs[name] = Design(base, "1R", 1, "popularity" if way == "popularity" else "uniform", repeats)
    return designs


def check_sizes(
    sizes: Iterable[int | None] | None, designs: Collection[Design], standings: Standings, base: choices.BaseSet
) -> list[int]:
    """Return the distinct sample sizes in ascending order; by default 1, 2, 5, 10, ... below the smallest pool.

    A pool is a user's number of candidates in the set ``base``, as counted in ``standings``. None among ``sizes``, the
    full ranking, is left out. Raise if a size is below 1, or one of the ``designs`` cannot draw it without replacement
    for some user.
    """
    if not standings.pairs:
        raise UsageError("U122", "no query has a relevant item", hint="lower relevant_from, or check the split")
    if base not in standings.above:
        hint = f"one of {', '.join(standings.above)}"
        raise UsageError("U102", f"there are no standings among '{base}'", where=standings.name, hint=hint)
    if any(design.by == "popularity" for design in designs) and base not in standings.mass:
        raise UsageError("U122", "the standings hold no popularity mass", hint="play the systems again")
    has_relevant = standings.relevant > 0
    pool = np.min([candidates(standings, design) for design in designs], axis=0)
    least = int(pool[has_relevant].min())
    if sizes is None:
        steps = (step * 10**power for power in range(len(str(least))) for step in STEPS)
        return [size for size in steps if size < least]
    requested = sorted({size for size in sizes if size is not None})
    if not requested or requested[0] < 1:
        what = f"sizes must be at least 1, got {requested[0] if requested else 'none'}"
        raise UsageError("U102", what, hint="sizes=[10, 100, 1000]")
    if requested[-1] > least and not all(design.replace for design in designs):
        user = standings.queries.filter(pl.Series(has_relevant & (pool == least)))[0]
        raise UsageError(
            "U120",
            f"{requested[-1]:,} candidates cannot be drawn without replacement: user {user!r} has {least:,}",
            where=standings.name,
            hint=f"use sizes up to {least:,}, or replace=True; the full ranking is always included",
        )
    return requested


def _table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"size": pl.Int64})
