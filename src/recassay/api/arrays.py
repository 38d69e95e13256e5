"""``score_arrays`` and ``scorer``: relevance and scores as arrays, as learning to rank and scikit-learn have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.api.score import score
from recassay.errors import InputError, UsageError
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.results.scores import Scores

CELLS = 1 << 22  # of a table of scores, looked at together
RUN = "scores"  # name of the system
FIRST_IN_ID_ORDER = (None, "id")  # conventions of ties under which a list may be cut without looking at its ties


def score_arrays(
    relevance: Any,
    scores: Any,
    metrics: Metrics = "ndcg@10",
    *,
    groups: Any = None,
    k: int | None = None,
    **scoring: Any,
) -> Scores:
    """Return the scores of predictions that are arrays: one row per pair with ``groups``, or a row per user.

    ``relevance`` and ``scores`` have the same shape. One-dimensional arrays have a value per pair of query and item.
    ``groups`` then says which pairs belong together: an id per pair (XGBoost's ``qid``), or the sizes of groups that
    follow one another (LightGBM's ``group``). Two-dimensional arrays and sparse matrices of SciPy have a row per user
    and a column per item. In a sparse matrix of scores the entries that are stored are the list; a relevance of 0 in a
    table says nothing. Gains count from ``relevant_from`` on, 1 by default. The ids of users and items are the numbers
    of rows and columns, or of pairs.

    Lists are cut after the ``k`` best items, by default after the largest cut-off of the metrics; without one they are
    whole. The best of a table are taken block by block, so no second table is made. ``scoring`` are keywords of
    :func:`~recassay.score`. Queries without a relevant item are undefined and counted, not 0 or 1.

    >>> score_arrays([1, 0, 0, 1], [0.9, 0.1, 0.8, 0.3], "mrr", groups=[2, 2]).rows[0].mean
    0.75
    >>> score_arrays([[1, 0], [0, 1]], [[0.9, 0.1], [0.8, 0.3]], "mrr").rows[0].mean
    0.75
    """
    deepest = [metric.k for metric in parse_metrics(metrics).values()]
    k = k if k is not None or None in deepest else max(filter(None, deepest))
    judged, listed = _table(relevance), _table(scores)
    if judged.shape != listed.shape:
        what = f"relevance has the shape {judged.shape} and scores {listed.shape}"
        raise InputError("I202", what, where="score_arrays", hint="give both a value for the same pairs")
    if judged.ndim == 1:
        users, pairs = _users_of_pairs(groups, judged.size), np.arange(judged.size)
        truth = pl.DataFrame({"query_id": users, "item_id": pairs, "gain": judged})
        run = pl.DataFrame({"query_id": users, "item_id": pairs, "score": listed})
    elif groups is not None:
        raise UsageError(
            "U105", "groups are for arrays with a value per pair", hint="leave groups out: each row is a user"
        )
    else:
        conventions = scoring.get("conventions")
        cut = k if conventions is None or conventions.ties in FIRST_IN_ID_ORDER else None
        truth, run = _truth_of_table(judged), pl.concat([_best(*block, k=cut) for block in _blocks(listed)])
    return score({RUN: run}, truth, metrics, **scoring)


def scorer(metric: str, *, groups: str | None = None, **scoring: Any) -> Callable[[Any, Any, Any], float]:
    """Return a scorer for scikit-learn: a function of an estimator, X and y that returns the mean of a metric.

    Predictions are those of ``decision_function``, ``predict_proba`` or ``predict``. ``groups`` names the column of X
    with the query of each row; without it, y has a row per user and a column per item. Larger is better for
    scikit-learn, so the sign of a metric where smaller is better turns. ``scoring`` are keywords of ``score_arrays``.
    """
    sign = -1.0 if next(iter(parse_metrics(metric).values())).higher_is_better is False else 1.0

    def judge(estimator: Any, X: Any, y: Any) -> float:
        names = ("decision_function", "predict_proba", "predict")
        values = getattr(estimator, next(name for name in names if hasattr(estimator, name)))(X)
        if isinstance(values, list):  # predict_proba of several labels: shares of both classes for each
            values = np.column_stack([label[:, 1] for label in values])
        queries = None if groups is None else np.asarray(X[groups])
        if queries is not None and np.ndim(values) == 2:
            values = values[:, -1]
        return sign * score_arrays(y, values, metric, groups=queries, interval=None, **scoring).rows[0].mean

    return judge


def _table(values: Any) -> Any:
    """Return a sparse matrix by rows, or an array of one or two dimensions; raise I108 for anything else."""
    if hasattr(values, "tocsr"):
        return values.tocsr()
    table = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    if table.ndim not in (1, 2) or table.dtype.kind not in "biuf":
        what = f"an array of {table.ndim} dimensions of {table.dtype} cannot be scored"
        raise InputError("I108", what, where="score_arrays", hint="numbers in one dimension with groups, or in two")
    return table


def _users_of_pairs(groups: Any, pairs: int) -> NDArray[Any]:
    """Return the query of each pair; raise I202 if ``groups`` are neither an id per pair nor sizes of all groups."""
    if groups is None:
        what = "arrays of one dimension do not say which pairs belong together"
        raise UsageError("U105", what, hint="groups=qid, with an id per pair; or groups=sizes of consecutive groups")
    given = np.asarray(groups.to_numpy() if hasattr(groups, "to_numpy") else groups)
    if given.shape == (pairs,):
        return given
    if given.ndim == 1 and given.dtype.kind in "iu" and given.sum() == pairs and (given >= 0).all():
        return np.repeat(np.arange(given.size), given)
    what = (
        f"groups has {given.size:,} values, which are neither an id for each of {pairs:,} pairs nor sizes that add up"
    )
    raise InputError("I202", what, where="score_arrays", hint="give qid as an array of the same length as relevance")


def _truth_of_table(table: Any) -> pl.DataFrame:
    """Return a table of the relevant items of each user (row of ``table``).

    A user without any gets one item of gain 0, so that the user is counted.
    """
    if hasattr(table, "tocoo"):
        entries = table.tocoo()
        rows, columns, gains = entries.row, entries.col, entries.data
        rows, columns, gains = (part[gains != 0] for part in (rows, columns, gains))
    else:
        rows, columns = np.nonzero(table)
        gains = table[rows, columns]
    without = np.setdiff1d(np.arange(table.shape[0]), rows)
    parts = [(rows, columns, gains), (without, np.zeros_like(without), np.zeros(without.size))]
    users, items, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return pl.DataFrame({"user_id": users.astype(np.int64), "item_id": items.astype(np.int64), "gain": values})


def _blocks(table: Any) -> Iterator[tuple[int, Any]]:
    size = max(1, CELLS // max(1, table.shape[1]))
    for begin in range(0, table.shape[0], size):
        yield begin, table[begin : begin + size]


def _best(begin: int, block: Any, *, k: int | None) -> pl.DataFrame:
    """Return the ``k`` best items of each row of scores (None: all); of equal scores the smaller id is better.

    ``block`` are some rows of a table of scores, and ``begin`` is the number of the first.
    """
    if hasattr(block, "tocoo"):
        entries = block.tocoo()
        rows, columns, values = entries.row, entries.col, entries.data
    elif k is None or k >= block.shape[1]:
        rows, columns = np.divmod(np.arange(block.size), block.shape[1])
        values = block.ravel()
    else:
        block = np.asarray(block, np.float64)
        least = -np.partition(-block, k - 1, axis=1)[:, k - 1 : k]
        better, equal = (block > least) | np.isnan(block), block == least  # what NaN means is decided elsewhere
        room = k - np.count_nonzero(better, axis=1, keepdims=True)
        rows, columns = np.nonzero(better | (equal & (np.cumsum(equal, axis=1) <= room)))
        values = block[rows, columns]
    return pl.DataFrame(
        {
            "user_id": begin + rows.astype(np.int64),
            "item_id": columns.astype(np.int64),
            "score": values.astype(np.float64),
        }
    )
