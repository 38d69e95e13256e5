"""``sampling_curve``: what sampled metrics say at every number of sampled candidates, from standings alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from recassay.data.standings import ALL, Standings
from recassay.diagnose import Approximating, diagnose
from recassay.engine.judge import Systems, named, together
from recassay.errors import UsageError
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.sampled.exact import measured_exactly, why_not
from recassay.sampled.law import Law, laws
from recassay.sampled.measure import Cases, Measured, grouped, measured
from recassay.sampled.orders import Standing, stable_from
from recassay.sampled.resamples import Resamples
from recassay.sampled.result import SamplingCurve
from recassay.threads import Progress

FULL, FULL_LAW = int(np.iinfo(np.int64).max), Law("uniform", replace=False)  # a sample so large holds all candidates
STEPS = (1, 2, 5)


def sampling_curve(
    runs: Systems,
    sizes: Iterable[int | None] | None = None,
    by: str | Iterable[str] = "uniform",
    metric: Metrics = "hit@10",
    *,
    replace: bool | Iterable[bool] | None = None,
    base: str = ALL,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> SamplingCurve:
    """Every system's metric when each relevant item is ranked among so many sampled candidates, for any number of them.

    Nothing is drawn: the number of sampled candidates above a relevant item follows a law of where it stands among all
    (:class:`~recassay.sampled.law.Law`), so means, and their standard deviation over draws, are those of all draws.
    Each size is compared with the full ranking: the order of systems, Kendall's tau, and the pairs that swap.

    ``sizes`` count sampled non-relevant candidates; left out, they rise in steps of 1, 2, 5 as far as everybody has
    candidates. The full ranking is always there, as size None. ``by`` is ``uniform``, ``popularity`` or both;
    ``replace`` says whether an item may be drawn twice (left open: no for uniform draws, yes by popularity). Several
    relevant items of a user are ranked one at a time. Intervals are over users, from ``resamples`` of them.

    Draws by popularity without replacement have an exact law for up to 2,000 candidates. It takes the weight of every
    candidate above and below an item, so runs are asked for their scores again, and it is slow: with 1,500 candidates
    some hundredths of a second for each item and size. Beyond that, and for standings alone, it is approximated, and
    finding S004 says so.

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
    systems, drawn, metrics = together(given), laws(by, replace), parse_metrics(metric)
    first = next(iter(systems.values()))
    asked = checked_sizes(sizes, drawn, first, base)
    groups = grouped(first)
    cases = {name: Cases.of(standings, groups, base) for name, standings in systems.items()}
    samples = Resamples.of(int(groups.max()) + 1, resamples, seed)
    approximate = [law for law in drawn if law.approximate]
    why = why_not(given, base) if approximate else ""

    def measure(law: Law, sizes: list[int]) -> dict[str, Measured]:
        found = {}
        for name, one in cases.items():
            if law.approximate and not why:
                about = (given[name], systems[name], groups, base, sizes, metrics)
                found[name] = measured_exactly(*about, threads=threads)
            else:
                found[name] = measured(one, law, sizes, metrics, threads=threads)
            if progress is not None:
                progress(1)
        return found

    points, orders, stable = [], [], []
    whole = measure(FULL_LAW, [FULL])
    for law in drawn:
        found = measure(law, asked)
        for column, heading in enumerate(metrics):
            about = {"by": law.by, "replace": law.replace, "metric": heading}
            (full,) = Standing.each(whole, column, samples)
            at = Standing.each(found, column, samples)
            against = [one.against(full, level) for one in at]
            for size, one in [*zip(asked, at, strict=True), (None, full)]:
                points += [{**about, "size": size, **row} for row in one.rows(level)]
            orders += [{**about, "size": size, **row} for size, row in zip(asked, against, strict=True)]

            def same(size: int, law: Law = law, column: int = column, full: Standing = full) -> bool:
                return full.same([one.mean[0, column] for one in measure(law, [size]).values()])

            stable.append({**about, "size": stable_from(asked, [row["same"] for row in against], same)})
    return SamplingCurve(
        systems=tuple(systems),
        metrics=tuple(metrics),
        points=_table(points),
        orders=_table(orders),
        stable=_table(stable),
        settings={
            "base": base,
            "level": level,
            "resamples": resamples,
            "seed": seed,
            "users": first.queries.len(),
            "relevant": first.pairs,
            "candidates": int(first.pool[base].max()),
            "approximate": [str(law) for law in approximate] if why else [],
        },
        findings=diagnose(Approximating(tuple(map(str, approximate)), why)) if why else (),
    )


def checked_sizes(
    sizes: Iterable[int | None] | None, drawn: Iterable[Law], standings: Standings, base: str
) -> list[int]:
    """Sizes in rising order, each once: those asked for, or steps of 1, 2, 5 as far as everybody has candidates."""
    if not standings.pairs:
        raise UsageError("U122", "no relevant item stands anywhere", hint="lower relevant_from, or look at the split")
    asking = standings.relevant > 0
    pool = standings.pool.get(base, np.zeros(asking.size, np.int64))
    if base in standings.pool_masses and any(law.approximate for law in drawn):  # what has no weight is never drawn
        pool = standings.pool_masses[base][:, 0].astype(np.int64)
    least = int(pool[asking].min())
    if sizes is None:
        steps = (step * 10**power for power in range(len(str(least))) for step in STEPS)
        return [size for size in steps if size < least]
    asked = sorted({size for size in sizes if size is not None})
    if not asked or asked[0] < 1:
        raise UsageError("U102", f"a sample of {asked[0] if asked else 'no'} candidates", hint="sizes=[10, 100, 1000]")
    if asked[-1] > least and not all(law.replace for law in drawn):
        user = standings.queries.filter(pl.Series(asking & (pool == least)))[0]
        raise UsageError(
            "U120",
            f"{asked[-1]:,} candidates cannot be drawn without replacement: user {user!r} has {least:,}",
            where=standings.name,
            hint=f"sizes up to {least:,}; None, for all of them, is always there; or replace=True",
        )
    return asked


def _table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"size": pl.Int64})
