"""``sampling_curve``: sampled metrics at every number of sampled candidates, computed from standings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from recassay.checks import diagnose
from recassay.data.standings import Standings
from recassay.designs.sets import candidates
from recassay.engine.ranks.judge import Systems, named, standings_by_name
from recassay.errors import UsageError
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.sampled.measure import MeasuredSystem, measure_approximately, measure_system, user_groups
from recassay.sampled.result import Resamples, SamplingCurve, SystemOrder, stable_from
from recassay.sampled.scheme import SamplingScheme, sampling_schemes
from recassay.sampled.weighted import measure_exactly, why_not_exact
from recassay.threads import Progress

FULL, FULL_LAW = (
    int(np.iinfo(np.int64).max),
    SamplingScheme("uniform", replace=False),
)  # so large a sample has all candidates
STEPS = (1, 2, 5)


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
    follows from its full rank (:class:`~recassay.sampled.scheme.SamplingScheme`). So means, and their standard
    deviation over draws, are expectations over all draws. Each size is compared with the full ranking: the order of
    systems, Kendall's tau, and the pairs that swap.

    ``sizes`` are numbers of sampled non-relevant candidates. By default they ascend in steps of 1, 2, 5 up to the
    number of candidates that every user has. The full ranking is always included, as size None. ``by`` is ``uniform``,
    ``popularity`` or both; ``replace`` is whether an item may be drawn twice (default: no for uniform, yes for
    popularity). ``base`` names the set of candidates that are drawn from; by default all items. Several relevant items
    of a user are ranked one at a time. Intervals are over users, from ``resamples`` resamples.

    Draws by popularity without replacement are computed exactly for up to 2,000 candidates. This needs the weight of
    every candidate above and below an item, so the scores of the runs are computed again. It is slow: with 1,500
    candidates some hundredths of a second for each item and size. For more candidates, and for standings whose model is
    unknown, the values are approximate, and finding S004 reports it.

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
    systems, drawn, metrics = standings_by_name(given), sampling_schemes(by, replace), parse_metrics(metric)
    first = next(iter(systems.values()))
    requested = check_sizes(sizes, drawn, first, base)
    groups = user_groups(first)
    samples = Resamples.of(int(groups.max()) + 1, resamples, seed)
    approximate = [scheme for scheme in drawn if scheme.approximate]
    why = why_not_exact(given, base) if approximate else ""

    def measure(scheme: SamplingScheme, sizes: list[int]) -> dict[str, MeasuredSystem]:
        found = {}
        for name, of_system in systems.items():
            if not scheme.approximate:
                found[name] = measure_system(of_system, groups, base, scheme, sizes, metrics, threads=threads)
            elif why:
                found[name] = measure_approximately(of_system, groups, base, scheme, sizes, metrics, threads=threads)
            else:
                found[name] = measure_exactly(given[name], of_system, groups, base, sizes, metrics, threads=threads)
            if progress is not None:
                progress(1)
        return found

    repeated = {
        f"{scheme}, {requested[-1]:,} candidates": (base, requested[-1])
        for scheme in drawn
        if scheme.by == "popularity" and scheme.replace
    }
    points, orders, stable = [], [], []
    whole = measure(FULL_LAW, [FULL])
    for scheme in drawn:
        found = measure(scheme, requested)
        for column, heading in enumerate(metrics):
            setting = {"by": scheme.by, "replace": scheme.replace, "metric": heading}
            (full,) = SystemOrder.each(whole, column, samples)
            at = SystemOrder.each(found, column, samples)
            agreement = [order.agreement(full, level) for order in at]
            for size, order in [*zip(requested, at, strict=True), (None, full)]:
                points += [{**setting, "size": size, **row} for row in order.rows(level)]
            orders += [{**setting, "size": size, **row} for size, row in zip(requested, agreement, strict=True)]

            def same(
                size: int, scheme: SamplingScheme = scheme, column: int = column, full: SystemOrder = full
            ) -> bool:
                return full.same([one.mean[0, column] for one in measure(scheme, [size]).values()])

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
            "approximate": [str(scheme) for scheme in approximate] if why else [],
        },
        findings=(
            *(diagnose("sampling curve", schemes=tuple(map(str, approximate)), why=why) if why else ()),
            *diagnose("repeated draws", standings=systems, draws=repeated),
        ),
    )


def check_sizes(
    sizes: Iterable[int | None] | None, drawn: Iterable[SamplingScheme], standings: Standings, base: choices.BaseSet
) -> list[int]:
    """Return the distinct sample sizes in ascending order; by default 1, 2, 5, 10, ... below the smallest pool.

    A pool is a user's number of candidates in the set ``base``, as counted in ``standings``. None among ``sizes``, the
    full ranking, is left out. Raise if a size is below 1, or a scheme of ``drawn`` cannot draw it without replacement
    for some user.
    """
    if not standings.pairs:
        raise UsageError("U122", "no query has a relevant item", hint="lower relevant_from, or check the split")
    if base not in standings.above:
        hint = f"one of {', '.join(standings.above)}"
        raise UsageError("U102", f"there are no standings among '{base}'", where=standings.name, hint=hint)
    if any(scheme.by == "popularity" for scheme in drawn) and base not in standings.mass:
        raise UsageError("U122", "the standings hold no popularity mass", hint="play the systems again")
    has_relevant = standings.relevant > 0
    pool = np.min([candidates(standings, scheme.design(base, 1)) for scheme in drawn], axis=0)
    least = int(pool[has_relevant].min())
    if sizes is None:
        steps = (step * 10**power for power in range(len(str(least))) for step in STEPS)
        return [size for size in steps if size < least]
    requested = sorted({size for size in sizes if size is not None})
    if not requested or requested[0] < 1:
        what = f"sizes must be at least 1, got {requested[0] if requested else 'none'}"
        raise UsageError("U102", what, hint="sizes=[10, 100, 1000]")
    if requested[-1] > least and not all(scheme.replace for scheme in drawn):
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
