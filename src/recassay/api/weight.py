"""``choose_weight``: the weight and other parameters of a re-ranker that are best on validation data."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from recassay.api.score import score
from recassay.data.read import Columns, RunSource, TableSource, read_interactions, read_items, read_truth
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.engine.decisions.sudden_death import sudden_death
from recassay.engine.options import ConventionOptions, Execution
from recassay.errors import UsageError
from recassay.metrics.registry import parse_metrics
from recassay.models.rerank import Reranker
from recassay.models.rerank.runs import METHODS, PreparedRun
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import Value, suggest
from recassay.results.scores import Scores
from recassay.shown import Displayable

GRID = tuple(step / 10 for step in range(11))
SUDDEN_DEATH = re.compile(r"sudden_death@([1-9]\d*)")
ROUNDING = 1e-12  # gains that differ by less are equal: sums over users round in their last digits


@dataclass(frozen=True, eq=False, repr=False)
class Weights(Displayable):
    """The result of a search for a weight: the method with the weight chosen, the criterion, and the whole grid.

    ``table`` has a row per weight, or per combination of parameters: the means of the metrics, ``moved`` (rows whose
    rank changed), ``within`` (whether the loss is within the bound) and ``chosen``.
    """

    method: Reranker
    criterion: str
    table: pl.DataFrame

    @property
    def weight(self) -> float:
        """Return the weight that was chosen."""
        return self.method.weight


@checks_types
def choose_weight(
    run: RunSource,
    method: str | Reranker,
    truth: TableSource,
    best: str,
    *,
    keep: str | None = None,
    loss: float = 0.0,
    grid: Iterable[float] | Mapping[str, Iterable[Value]] = GRID,
    items: TableSource = None,
    train: TableSource = None,
    columns: Columns = None,
    threads: int | None = None,
    profile: str | None = None,
    relevant_from: float = 1.0,
    conventions: ConventionOptions | None = None,
) -> Weights:
    """Re-rank a run with every weight of a grid, and return the weight with the best mean of a metric.

    With ``keep`` only weights count that lose at most ``loss`` (a share: 0.02 is 2 %) of the mean that ``keep`` has at
    weight 0. Of equally good weights the smallest is chosen. ``grid`` may have values by parameter, such as
    ``{"weight": [0, 0.3, 0.6], "candidates": [50, 100]}``: every combination is tried, and of equally good ones the
    first is chosen, in the order of the grid.

    ``best`` and ``keep`` may be ``sudden_death@10``: the share of users to whom the re-ranked list shows a relevant
    item at a better rank than the list at weight 0, minus the share for whom it is the other way round, within 10
    places. At weight 0 this is 0. ``truth`` should be validation data: a weight that was chosen on test data makes
    results on them look better than they are. ``profile``, ``relevant_from`` and ``conventions``
    are those of :func:`~recassay.score`.

    >>> run = {"ann": {"heat": 0.9, "ronin": 0.8, "up": 0.6}}
    >>> films = pl.DataFrame({"item_id": ["heat", "ronin", "up"], "genres": [["crime"], ["crime"], ["family"]]})
    >>> found = choose_weight(run, "MMR", {"ann": ["up"]}, "ndcg@2", items=films, grid=[0, 0.3, 0.6, 0.9])
    >>> found.weight, found.criterion
    (0.6, 'best ndcg@2')
    """
    given = grid if isinstance(grid, Mapping) else {"weight": grid}
    values: dict[str, list[Any]] = {name: _distinct(name, several) for name, several in given.items()}
    values["weight"] = sorted({float(weight) for weight in values.get("weight", GRID)})
    reranker = METHODS.parse(method)
    _validate(reranker, values, keep, loss)
    headings = [criterion(one) for one in ([best] if keep is None else [best, keep])]
    reading: dict[str, Any] = {
        "items": None if items is None else read_items(items, columns=columns),
        "train": None if train is None else read_interactions(train, columns=columns),
    }
    scoring = {"profile": profile, "conventions": conventions, "execution": Execution(threads=threads)}
    judged = read_truth(truth, columns=columns)
    others = {name: several for name, several in values.items() if name != "weight"}
    points, rows = [], []
    for combination in itertools.product(*others.values()):
        point = dict(zip(others, combination, strict=True))
        # a run is prepared once for all weights, because the data of a re-ranker do not depend on its weight
        prepared = PreparedRun.of(run, replace(reranker, **point), columns=columns, **reading)
        unranked = (
            prepared.rerank(weight=0.0, threads=threads).run if any(map(SUDDEN_DEATH.fullmatch, headings)) else None
        )
        for weight in values["weight"]:
            made = prepared.rerank(weight=weight, threads=threads)
            measured = _means(made.run, unranked, judged, headings, relevant_from, **reading, **scoring)
            points.append({"weight": weight, **point})
            rows.append((measured, made.counts["moved"]))
    gains = [[gain for _, gain in measured] for measured, _ in rows]
    within = [_is_within(one, gains[0], loss) for one in gains]
    chosen = _first_best([one[0] for one in gains], within, headings[0])
    table = pl.DataFrame(
        {
            **{name: [point[name] for point in points] for name in points[0]},
            **{heading: [measured[place][0] for measured, _ in rows] for place, heading in enumerate(headings)},
            "moved": [moved for _, moved in rows],
            "within": within,
            "chosen": [place == chosen for place in range(len(rows))],
        }
    )
    bound = "" if keep is None else f", losing at most {100 * loss:g} % of {headings[1]}"
    return Weights(replace(reranker, **points[chosen]), f"best {headings[0]}{bound}", table)


def _means(
    run: Run, unranked: Run | None, truth: Truth, headings: Sequence[str], relevant_from: float, **scoring: Any
) -> list[tuple[float, float]]:
    """Return for each criterion its mean on a re-ranked run, and the mean signed so that more is better.

    The mean of Sudden Death is the share of users whom the run wins outright against ``unranked``, the run at weight 0,
    minus the share whom it loses. ``scoring`` are options of :func:`~recassay.score`.
    """
    metrics = [heading for heading in headings if not SUDDEN_DEATH.fullmatch(heading)]
    scores = score(run, truth, metrics, relevant_from=relevant_from, interval=None, **scoring) if metrics else None
    measured = []
    for heading in headings:
        if scores is not None and heading in metrics:
            measured.append((scores.row(run.name, heading).mean, _gain(scores, run.name, heading)))
            continue
        runs, at = {"re-ranked": run, "unranked": unranked}, int(heading.partition("@")[2])
        threads = scoring["execution"].threads
        contest = sudden_death(runs, truth, at=at, relevant_from=relevant_from, interval=None, threads=threads)
        won = contest.outright("re-ranked") - contest.outright("unranked")
        measured.append((won, won))
    return measured


def criterion(text: str) -> str:
    """Return the name of a criterion: a metric, or ``sudden_death@10``; raise an error for an unknown metric."""
    return text if SUDDEN_DEATH.fullmatch(text) else next(iter(parse_metrics(text)))


def _distinct(name: Any, several: Iterable[Any]) -> list[Any]:
    """Return the values of a parameter without repetitions; raise U102 for one that is neither number nor text."""
    listed = list(several)
    for value in listed:
        if not isinstance(value, int | float if name == "weight" else int | float | str):
            what = f"the grid has the value {value!r:.60} for {name!r}, which it cannot have"
            raise UsageError("U102", what, hint="such as grid={'weight': [0, 0.3, 0.6]}")
    return list(dict.fromkeys(listed))


def _validate(method: Reranker, values: Mapping[str, Sequence[Any]], keep: str | None, loss: float) -> None:
    """Raise U102 if ``loss`` is not a share, or if the grid has a parameter that the re-ranker does not have.

    Raise U203 if the grid has no value, or lacks weight 0 where it is needed: with ``keep``, the loss at each weight is
    measured against weight 0.
    """
    known = [name for name in method.parameters if name not in ("of", "items")]
    for name in values:
        if name not in known:
            what = f"{method.name} has no parameter '{name}'"
            raise UsageError("U102", what, where="grid", hint=suggest(name, known))
    if not 0 <= loss <= 1:
        raise UsageError("U102", f"loss must be a share from 0 to 1, got {loss:g}", hint="0.02 is 2 %")
    for name, several in values.items():
        if not several:
            what = f"the grid has no value of {name}"
            raise UsageError("U203", what, hint="leave it out for 0, 0.1, .., 1" if name == "weight" else "remove it")
    if keep is not None and values["weight"][0] != 0:
        what = f"the loss of {keep} is measured from weight 0, but the grid begins at {values['weight'][0]:g}"
        raise UsageError("U203", what, hint="add 0 to the grid")


def _gain(scores: Scores, system: str, heading: str) -> float:
    """Return the mean of a metric, signed so that more is better; raise U203 if neither more nor less is better."""
    row = scores.row(system, heading)
    if row.higher_is_better is None:
        what = f"{heading} has no better direction"
        raise UsageError("U203", what, hint="name a metric of accuracy or of diversity, such as ndcg@10 or ild@10")
    return row.mean if row.higher_is_better else -row.mean


def _is_within(gains: list[float], at_first: list[float], loss: float) -> bool:
    """Return whether the metric to keep loses at most the share ``loss`` of its value at weight 0.

    ``gains`` are the means of [the metric to optimise, the metric to keep, if any] at some weight, and ``at_first``
    those at weight 0; all are signed so that more is better.
    """
    if len(gains) < 2:
        return True
    return gains[1] >= at_first[1] - loss * abs(at_first[1]) - ROUNDING


def _first_best(gains: list[float], within: list[bool], heading: str) -> int:
    """Return the index of the first allowed weight whose mean equals the largest allowed one, up to rounding.

    ``gains`` has the mean of each weight, signed so that more is better, and ``within`` says which weights are allowed.
    Raise U203 if no allowed mean is defined; ``heading`` names the metric.
    """
    allowed = [place for place, gain in enumerate(gains) if within[place] and not math.isnan(gain)]
    if not allowed:
        hint = "check the data: are there item features and relevant items?"
        raise UsageError("U203", f"{heading} is undefined at every weight that may be chosen", hint=hint)
    most = max(gains[place] for place in allowed)
    return next(place for place in allowed if math.isclose(gains[place], most, rel_tol=ROUNDING))
