"""How much diversity should weigh: the weight that is best on validation data, by a criterion that is stated."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from recassay.data.read import Columns, read_interactions, read_items, read_truth
from recassay.data.scores import Scores
from recassay.engine.score import score
from recassay.errors import UsageError
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.models.rerank import Reranker
from recassay.models.rerank.runs import Prepared

GRID = tuple(step / 10 for step in range(11))
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Weights:
    """The method with the weight that was chosen, by what, and what every weight of the grid was worth.

    ``table`` has a row per weight: the means of the metrics, ``moved`` (rows that stand elsewhere than before),
    ``within`` (whether the loss is as small as was asked) and ``chosen``.
    """

    method: Reranker
    criterion: str
    table: pl.DataFrame

    @property
    def weight(self) -> float:
        """The weight that was chosen."""
        return self.method.weight


def choose_weight(
    run: Any,
    method: str | Reranker,
    truth: Any,
    best: str,
    *,
    keep: str | None = None,
    loss: float = 0.0,
    grid: Iterable[float] = GRID,
    items: Any = None,
    train: Any = None,
    columns: Columns = None,
    threads: int | None = None,
    **conventions: Any,
) -> Weights:
    """Re-rank a run with every weight of a grid, and choose the one with the best mean of a metric.

    With ``keep`` only weights count that lose at most ``loss`` (a share: 0.02 is 2 %) of that metric's mean at weight
    0. Of weights that are equally good the smallest is chosen. ``truth`` should be that of validation data: a weight
    chosen on test data makes them look better than they are. ``conventions`` are those of :func:`~recassay.score`.

    >>> run = {"ann": {"heat": 0.9, "ronin": 0.8, "up": 0.6}}
    >>> films = pl.DataFrame({"item_id": ["heat", "ronin", "up"], "genres": [["crime"], ["crime"], ["family"]]})
    >>> found = choose_weight(run, "MMR", {"ann": ["up"]}, "ndcg@2", items=films, grid=[0, 0.3, 0.6, 0.9])
    >>> found.weight, found.criterion
    (0.6, 'best ndcg@2')
    """
    weights = sorted({float(weight) for weight in grid})
    _refuse_senseless(weights, keep, loss)
    log = None if train is None else read_interactions(train, columns=columns)
    features = None if items is None else read_items(items, columns=columns)
    prepared = Prepared.of(run, method, items=features, train=log, columns=columns)
    answers = read_truth(truth, columns=columns)
    asked: list[Metrics] = [best] if keep is None else [best, keep]
    headings = [next(iter(parse_metrics(one))) for one in asked]
    rows: list[dict[str, Any]] = []
    for weight in weights:
        made = prepared.rerank(weight=weight, threads=threads)
        worth = score(
            made.run, answers, headings, train=log, items=features, interval=None, threads=threads, **conventions
        )
        gains = [_gain(worth, made.run.name, heading) for heading in headings]
        rows.append({"weight": weight, "gains": gains, "scores": worth, "moved": made.counts["moved"]})
    within = [_keeps(row["gains"], rows[0]["gains"], loss) for row in rows]
    chosen = _best([row["gains"][0] for row in rows], within, headings[0])
    table = pl.DataFrame(
        {
            "weight": weights,
            **{heading: [_mean(row["scores"], heading) for row in rows] for heading in headings},
            "moved": [row["moved"] for row in rows],
            "within": within,
            "chosen": [place == chosen for place in range(len(rows))],
        }
    )
    bound = "" if keep is None else f", losing at most {100 * loss:g} % of {headings[1]}"
    return Weights(replace(prepared.method, weight=weights[chosen]), f"best {headings[0]}{bound}", table)


def _refuse_senseless(weights: list[float], keep: str | None, loss: float) -> None:
    if not 0 <= loss <= 1:
        raise UsageError("U102", f"a loss of {loss:g} is no share", hint="0 to 1; 0.02 is 2 %")
    if not weights:
        raise UsageError("U203", "the grid has no weight", hint="leave it out, for 0, 0.1, .., 1")
    if keep is not None and weights[0] != 0:
        what = f"the loss of {keep} is counted from weight 0, and the grid begins at {weights[0]:g}"
        raise UsageError("U203", what, hint="add 0 to the grid")


def _mean(scores: Scores, heading: str) -> float:
    return scores.row(scores.systems[0], heading).mean


def _gain(scores: Scores, system: str, heading: str) -> float:
    """The mean, turned so that more is better."""
    row = scores.row(system, heading)
    if row.higher_is_better is None:
        what = f"of {heading} neither more nor less is better"
        raise UsageError("U203", what, hint="name a metric of accuracy or of diversity, as ndcg@10 or ild@10")
    return row.mean if row.higher_is_better else -row.mean


def _keeps(gains: list[float], at_first: list[float], loss: float) -> bool:
    """Whether at most so large a share of the second metric is lost."""
    if len(gains) < 2:
        return True
    return gains[1] >= at_first[1] - loss * abs(at_first[1]) - ROUNDING


def _best(gains: list[float], within: list[bool], heading: str) -> int:
    """The place of the first that is as good as the best, up to rounding."""
    allowed = [place for place, gain in enumerate(gains) if within[place] and not math.isnan(gain)]
    if not allowed:
        hint = "look at the metric: are there features, and relevant items?"
        raise UsageError("U203", f"{heading} is undefined at every weight that may be chosen", hint=hint)
    most = max(gains[place] for place in allowed)
    if math.isinf(most):
        return next(place for place in allowed if gains[place] == most)
    return next(place for place in allowed if most - gains[place] <= ROUNDING * abs(most))
