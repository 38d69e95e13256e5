"""Agreement of the orders of systems between settings, or between metrics, in a table of finished scores."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl

from recassay.comparison.tables import METRIC, FinishedScores, MeansTable, means_table
from recassay.engine.finished.conclude import RESAMPLES
from recassay.errors import UsageError
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import suggest
from recassay.stats.ranks import kendall, kendall_interval, kendall_taus, rounded
from recassay.stats.resampling import Floats, ResamplingOptions, bootstrap_sums


@checks_types
def order_agreement(
    finished: FinishedScores,
    along: str,
    *,
    each_dataset: bool = False,
    level: float = 0.95,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> pl.DataFrame:
    """Return how far orders of systems agree between values of a setting, or between metrics (``along="metric"``).

    There is a row for each pair of values: Kendall's tau-b between the two orders on a data set, averaged over data
    sets, its percentile interval over resampled data sets, and on how many data sets the winner is the same. With
    ``each_dataset`` there is a row for each pair and data set, with the interval of tau over the systems (jackknife):
    it says how far tau depends on which systems, or settings of systems, are in the table. Raise U215 if ``along`` is
    neither a setting of the table nor "metric".
    """
    if along not in (*finished.settings, METRIC):
        known = [*finished.settings, METRIC]
        raise UsageError("U215", f"orders cannot be compared along {along!r}", hint=suggest(along, known))
    rows: list[dict[str, Any]] = []
    key = [METRIC, *finished.settings]
    parts = {
        tuple(map(str, where)): means_table(part)
        for where, part in finished.frame.partition_by(key, as_dict=True, maintain_order=True).items()
    }
    position = key.index(along)
    for (where, left), (other, right) in itertools.combinations(parts.items(), 2):
        if any(a != b for i, (a, b) in enumerate(zip(where, other, strict=True)) if i != position):
            continue
        higher = (finished.higher[where[0]], finished.higher[other[0]])
        if None in higher:
            continue
        pair = _aligned(left, right, (higher[0] is not False, higher[1] is not False))
        if pair is not None:
            rest = {name: value for name, value in zip(key, where, strict=True) if name != along}
            about = {**rest, "along": along, "a": where[position], "b": other[position]}
            found = _each_dataset(*pair, level) if each_dataset else [_agree(*pair, level, seed, resamples)]
            rows.extend({**about, **row} for row in found)
    return pl.DataFrame(rows, infer_schema_length=None)


def _aligned(left: MeansTable, right: MeansTable, higher: tuple[bool, bool]) -> tuple[list[str], Floats, Floats] | None:
    """Return (datasets, left values, right values) of the data sets and systems that two tables of means share.

    The values are arrays (data sets, systems). ``higher`` says for each table whether more is better; the values of a
    table where less is better change their sign, so that more is always better. Return None if the tables share no data
    set, or fewer than two systems.
    """
    systems = [name for name in left.systems if name in right.systems]
    datasets = [name for name in left.datasets if name in right.datasets]
    if len(systems) < 2 or not datasets:
        return None
    a, b = (
        table.values[np.ix_([table.datasets.index(d) for d in datasets], [table.systems.index(s) for s in systems])]
        * (1.0 if up else -1.0)
        for table, up in zip((left, right), higher, strict=True)
    )
    return datasets, a, b


def _agree(datasets: list[str], a: Floats, b: Floats, level: float, seed: int, resamples: int) -> dict[str, Any]:
    """Return the mean tau-b of two tables (data sets, systems), with its interval over resampled data sets."""
    taus = kendall_taus(a, b)[1]
    known = taus[~np.isnan(taus)]
    low = high = float("nan")
    if len(known) > 1:
        means = bootstrap_sums(known[None], resamples, ResamplingOptions(seed=seed, resamples=resamples))[0] / len(
            known
        )
        low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2]).tolist()
    tau = float(known.mean()) if len(known) else float("nan")
    same = int((np.argmax(rounded(a), axis=1) == np.argmax(rounded(b), axis=1)).sum())
    about = {"systems": a.shape[1], "datasets": len(datasets)}
    return {**about, "tau": tau, "low": low, "high": high, "same_winner": same}


def _each_dataset(datasets: list[str], a: Floats, b: Floats, level: float) -> list[dict[str, Any]]:
    """Return a row per data set: tau-b of two tables (data sets, systems), with its interval over the systems."""
    rows = []
    for name, left, right in zip(datasets, a, b, strict=True):
        low, high = kendall_interval(left, right, level=level)
        same = bool(np.argmax(rounded(left)) == np.argmax(rounded(right)))
        about = {"dataset": name, "systems": len(left), "tau": kendall(left, right)}
        rows.append({**about, "low": low, "high": high, "same_winner": same})
    return rows
