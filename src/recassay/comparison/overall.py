"""Several metrics at once: a weighted score, or the systems that no other system beats on all metrics.

Monti, Palumbo, Rizzo and Morisio (Information 10(5), 2019) leave a global score of their eight metrics as future work.
Such a score depends on weights, so its column names them; Pareto fronts need no weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl

from recassay.arrays import Bool, Float, Int64
from recassay.data.nouns import kind_of, wrong_noun
from recassay.errors import UsageError
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import suggest
from recassay.results.scores import Scores
from recassay.stats.ranks import rounded


@checks_types
def global_score(scores: Scores, weights: Mapping[str, float]) -> pl.DataFrame:
    """Return a row per system, best first: the weighted score, and the contribution of each metric.

    On each metric the best of these systems gets 1 and the worst 0 (as does an infinitely bad one), the others in
    proportion; if all are equal, all get 1. The score is the mean of these with ``weights``, a positive number for each
    metric that counts. It is relative to these systems, so adding a system may change it; :func:`pareto` does not have
    this weakness.

    >>> from types import SimpleNamespace as Row
    >>> def row(system, metric, mean):
    ...     return Row(system=system, metric=metric, mean=mean, higher_is_better=metric == "precision")
    >>> rows = [row("a", "precision", 0.4), row("b", "precision", 0.2)]
    >>> rows += [row("a", "perplexity", math.inf), row("b", "perplexity", 10.0)]
    >>> scores = Row(systems=("a", "b"), metrics=("precision", "perplexity"), rows=rows)
    >>> global_score(scores, {"precision": 3, "perplexity": 1}).rows()
    [('a', 0.75, 0.75, 0.0), ('b', 0.25, 0.0, 0.25)]
    >>> global_score(scores, {"precision": 3, "perplexity": 1}).columns
    ['system', 'score', '0.75 precision', '0.25 perplexity']
    """
    wrong = {metric: weight for metric, weight in weights.items() if not (math.isfinite(weight) and weight > 0)}
    if wrong or not weights:
        what = f"the weight of {next(iter(wrong))} is {next(iter(wrong.values()))}" if wrong else "no weight was given"
        raise UsageError("U102", what, where="global_score", hint="a positive weight for each metric that counts")
    means, total = _means(scores, weights), sum(weights.values())
    shares = {metric: float(weight / total) for metric, weight in weights.items()}
    parts = {f"{share:g} {metric}": share * standing(means[metric]) for metric, share in shares.items()}
    score = np.sum(list(parts.values()), axis=0)
    return pl.DataFrame({"system": scores.systems, "score": score, **parts}).sort(
        "score", descending=True, maintain_order=True
    )


@checks_types
def pareto(scores: Scores, metrics: Iterable[str] | None = None) -> pl.DataFrame:
    """Return a row per system: its Pareto front, and the systems that dominate it.

    One system dominates another if its means are nowhere worse and somewhere better. No system dominates front 1, only
    front 1 dominates front 2, and so on. ``metrics`` are by default all that say whether higher is better.

    >>> from types import SimpleNamespace as Row
    >>> rows = [Row(system=name, metric="precision", mean=mean, higher_is_better=True) for name, mean in
    ...         {"a": 0.4, "b": 0.2, "c": 0.3}.items()]
    >>> pareto(Row(systems=("a", "b", "c"), metrics=("precision",), rows=rows)).rows()
    [('a', 1, []), ('c', 2, ['a']), ('b', 3, ['a', 'c'])]
    """
    if kind_of(scores) not in ("", "scores") or not hasattr(scores, "rows"):
        raise wrong_noun(scores, "scores", "pareto")
    directed = {row.metric for row in scores.rows if row.higher_is_better is not None}
    means = _means(scores, [one for one in scores.metrics if one in directed] if metrics is None else metrics)
    front, dominates = fronts(np.array(list(means.values())).reshape(len(means), -1).T)
    by = [[scores.systems[one] for one in np.flatnonzero(column)] for column in dominates.T]
    frame = pl.DataFrame({"system": scores.systems, "front": front, "dominated_by": by})
    return frame.cast({"dominated_by": pl.List(pl.String)}).sort("front", maintain_order=True)


def fronts(table: Float) -> tuple[Int64, Bool]:
    """Return the number of the Pareto front of each row of a table, from 1, and a matrix: does row i dominate row j?

    More is better in every column, and values that are equal up to rounding are equal.

    >>> fronts(np.array([[0.4, 0.1], [0.2, 0.3], [0.1, 0.1]]))[0].tolist()
    [1, 1, 2]
    """
    table = rounded(table, axis=0)
    nowhere_worse = np.asarray((table[:, None] >= table[None]).all(axis=2))
    dominates = nowhere_worse & ~nowhere_worse.T
    front, left = np.zeros(len(table), np.int64), np.ones(len(table), np.bool_)
    while left.any():
        first = left & ~(dominates & left[:, None]).any(axis=0)
        front[first] = front.max() + 1
        left &= ~first
    return front, dominates


def _means(scores: Scores, metrics: Iterable[str]) -> dict[str, Float]:
    """Return {metric: means of all systems}, signed so that more is better."""
    rows, means = {(row.system, row.metric): row for row in scores.rows}, {}
    for metric in metrics:
        if metric not in scores.metrics:
            raise UsageError("U101", f"'{metric}' was not scored", hint=suggest(metric, scores.metrics))
        of_metric = [rows[system, metric] for system in scores.systems]
        for row in of_metric:
            if row.higher_is_better is None or math.isnan(row.mean):
                undefined = f"it is undefined for '{row.system}'"
                why = "neither direction is better" if row.higher_is_better is None else undefined
                raise UsageError("U113", f"{metric} cannot say which system is better: {why}", hint="leave it out")
        means[metric] = np.array([row.mean if row.higher_is_better else -row.mean for row in of_metric])
    return means


def standing(means: Float) -> Float:
    """Return the means of systems, scaled so that the worst system has 0 and the best 1.

    An infinitely bad mean gives 0, and NaN stays NaN; if all are equal, up to rounding, all get 1.

    >>> standing(np.array([0.1, 0.3, 0.2, -np.inf, np.nan])).round(3).tolist()
    [0.0, 1.0, 0.5, 0.0, nan]
    """
    finite = np.isfinite(means)
    if not finite.any():
        return np.where(np.isnan(means), np.nan, 1.0)
    low, high = means[finite].min(), means[finite].max()
    differ = np.ptp(rounded(means[finite])) > 0
    place = np.where(np.isnan(means), np.nan, 0.0)
    place[finite] = (means[finite] - low) / (high - low) if differ else 1.0
    return place
