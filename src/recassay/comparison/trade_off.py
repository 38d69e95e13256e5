"""Trade-offs: accuracy against each diversity metric over the weight of a re-ranker, relative to a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from recassay.arrays import Float
from recassay.comparison.overall import fronts
from recassay.errors import UsageError
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import Expression, parse, require_known, suggest
from recassay.results.exhibit import Exhibit
from recassay.results.scores import Scores
from recassay.shown import Displayable

SYSTEM, WEIGHT = "system", "weight"
QUADRANTS = ("gains both", "pays accuracy", "pays diversity", "loses both", "as before")


@dataclass(frozen=True, eq=False, repr=False)
class TradeOff(Displayable):
    """Points of accuracy and diversity relative to a baseline, a row per point and diversity metric.

    The columns of ``table`` are: system, weight (of the re-ranker), diversity (the metric), x and y (its value and that
    of accuracy), their changes from the baseline (signed so that more is better), the quadrant of these changes as
    text, and the number of the Pareto front of the point among all points of the metric, the baseline included.
    """

    table: pl.DataFrame
    accuracy: str
    diversity: tuple[str, ...]
    baseline: str

    def front(self) -> pl.DataFrame:
        """Return the points that no other point beats on both accuracy and diversity."""
        return self.table.filter(pl.col("front") == 1)

    def share_of_weights(self) -> pl.DataFrame:
        """Return a row per system and diversity metric: the share of the re-ranker's weights in each quadrant.

        A quadrant says whether accuracy and diversity are gained or lost, compared with the baseline.
        """
        points = self.table.filter(pl.col(SYSTEM) != self.baseline)
        counted = [(pl.col("quadrant") == name).mean().alias(name) for name in QUADRANTS]
        return points.group_by(SYSTEM, "diversity", maintain_order=True).agg(*counted)

    def hypervolume(self, reference: Mapping[str, float] | None = None) -> pl.DataFrame:
        """Return a row per system and diversity metric: the area that its points and the baseline dominate.

        The area is a share of the box from ``reference`` to the best value on either axis, so 1 means a point that is
        best on both. ``reference`` maps a metric to a number, by default the worst value of all points. The result is
        NaN if the box has no area.
        """
        rows = []
        for metric in self.diversity:
            points = self.table.filter(pl.col("diversity") == metric)
            turns = points.select("turn_x", "turn_y").row(0)
            values = points.select("x", "y").to_numpy() * turns  # more is better
            stated = np.array([(reference or {}).get(name, np.nan) for name in (metric, self.accuracy)]) * turns
            worst = np.where(np.isnan(stated), values.min(axis=0), stated)
            box = values.max(axis=0) - worst
            for system in points[SYSTEM].unique(maintain_order=True):
                counted = np.asarray((points[SYSTEM] == system) | (points[SYSTEM] == self.baseline))
                area = _dominated(values[counted] - worst)
                share = area / float(box.prod()) if (box > 0).all() else float("nan")
                rows.append({SYSTEM: system, "diversity": metric, "hypervolume": share})
        return pl.DataFrame(rows)

    def exhibit(self, diversity: str | None = None) -> Exhibit:
        """Return a figure of accuracy over one diversity metric, or over each, with a point per weight."""
        if diversity is not None:
            require_known(diversity, self.diversity, "U206", f"no point has a '{diversity}'")
        chosen = self.diversity if diversity is None else [diversity]
        table = self.table.filter(pl.col("diversity").is_in(chosen)).select(
            SYSTEM, WEIGHT, pl.col("diversity").alias("metric"), pl.col("x").alias(diversity or "diversity"),
            pl.col("y").alias(self.accuracy), "quadrant", mark=pl.when(pl.col(SYSTEM) == self.baseline).then(SYSTEM),
        )  # fmt: skip
        return Exhibit(
            name="trade-off" if diversity is None else f"trade-off-{diversity}",
            title="What diversity costs",
            caption=f"Each point is one weight of one system. Points above and to the right of {self.baseline} gain "
            "both; points below it pay for diversity with accuracy. A metric close to what a system optimises favours "
            "that system.",
            table=table,
            x=diversity or "diversity",
            y=self.accuracy,
            series=SYSTEM,
            facet="metric" if diversity is None else None,
            own_scales=True,
            kind="point",
            mark="mark",
        )


@checks_types
def trade_off(
    points: pl.DataFrame | Scores,
    accuracy: str,
    diversity: str | Iterable[str] | None = None,
    *,
    baseline: str,
    weights: Mapping[str, tuple[str, float]] | None = None,
    smaller: Iterable[str] = (),
) -> TradeOff:
    """Return the trade-off between accuracy and diversity for systems under several weights, relative to a baseline.

    ``points`` is a table with columns system, weight and one per metric; or scores, for which ``weights`` maps each run
    to (system, weight). Without ``weights`` they are read from the names of runs: ``MMR(of='ALS()', weight=0.3)``.
    ``diversity`` are the metrics to compare accuracy with, by default all others. For metrics in ``smaller`` less is
    better; scores know this by themselves.

    >>> rows = [("mf", None, 0.30, 0.5), ("mmr", 0.2, 0.31, 0.6), ("mmr", 0.9, 0.2, 0.9)]
    >>> table = pl.DataFrame(rows, ["system", "weight", "precision@10", "ild@10"], orient="row")
    >>> made = trade_off(table, "precision@10", baseline="mf")
    >>> made.table["quadrant"].to_list(), made.table["front"].to_list()
    (['as before', 'gains both', 'pays accuracy'], [2, 1, 1])
    """
    less = set(smaller)
    if isinstance(points, Scores):
        less |= {row.metric for row in points.rows if row.higher_is_better is False}
        points = _run_table(points, weights)
    metrics = [name for name in points.columns if name not in (SYSTEM, WEIGHT)]
    chosen = (
        [name for name in metrics if name != accuracy]
        if diversity is None
        else [diversity]
        if isinstance(diversity, str)
        else list(diversity)
    )
    if accuracy in chosen:
        raise UsageError("U206", f"'{accuracy}' is given as accuracy and as diversity", where="trade_off")
    for name in (accuracy, *chosen):
        require_known(name, metrics, "U206", f"no point has a '{name}'", where="trade_off")
    _refuse_unusable(points, [accuracy, *chosen], baseline)
    return TradeOff(
        pl.concat([_relative_to_baseline(points, accuracy, name, baseline, less) for name in chosen]),
        accuracy, tuple(chosen), baseline,
    )  # fmt: skip


def _run_table(scores: Scores, weights: Mapping[str, tuple[str, float]] | None) -> pl.DataFrame:
    """Return a row per run: its system, the weight of its re-ranker (null without one), and its mean per metric.

    ``weights`` maps runs to (system, weight); with None they are read from the names of runs.
    """
    rows = []
    for run in scores.systems:
        system, weight = (run, None) if weights is not None else _stated_weight(run)
        if weights is not None and run in weights:
            system, weight = weights[run]
        means: dict[str, object] = {metric: scores.row(run, metric).mean for metric in scores.metrics}
        rows.append({SYSTEM: system, WEIGHT: weight, **means})
    return pl.DataFrame(rows, schema_overrides={WEIGHT: pl.Float64})


def _stated_weight(run: str) -> tuple[str, float | None]:
    """Return the system and the weight in the name of a run, as in ``MMR(of='ALS()', weight=0.3)``.

    The weight is None if the name has none.
    """
    try:
        named = parse(run)
    except UsageError:
        return run, None
    weight = named.parameters.get(WEIGHT)
    if not isinstance(weight, int | float):
        return run, None
    others = {name: value for name, value in named.parameters.items() if name != WEIGHT}
    return str(Expression(named.name, others, named.k)), float(weight)


def _refuse_unusable(points: pl.DataFrame, metrics: list[str], baseline: str) -> None:
    absent = [name for name in (SYSTEM, WEIGHT) if name not in points.columns]
    if absent:
        raise UsageError(
            "U206", f"the points have no column '{absent[0]}'", hint="system, weight, and a column per metric"
        )
    rows = points.filter(pl.col(SYSTEM) == baseline).height
    if rows != 1:
        what = f"the baseline '{baseline}' has {rows} points, but it must have one: trade-offs are measured from it"
        raise UsageError(
            "U206", what, hint=suggest(baseline, points[SYSTEM].unique().to_list()) if not rows else "keep one"
        )
    for name in metrics:
        column = points[name].cast(pl.Float64)
        lost = column.is_null() | ~column.is_finite()
        if lost.any():
            system = points[SYSTEM].filter(lost)[0]
            raise UsageError("U206", f"{name} of {system} is not a number", hint="leave such points or this metric out")


def _relative_to_baseline(
    points: pl.DataFrame, accuracy: str, metric: str, baseline: str, less: set[str]
) -> pl.DataFrame:
    """Return each point's changes from the baseline in accuracy and one diversity metric, and its Pareto front.

    ``metric`` is the diversity metric, and ``less`` are the metrics for which less is better.
    """
    turns = [-1.0 if name in less else 1.0 for name in (metric, accuracy)]
    values = points.select(metric, accuracy).cast(pl.Float64).to_numpy()
    is_baseline = np.asarray(points[SYSTEM] == baseline)
    diversity, accurate = ((values - values[is_baseline]) * turns).T
    quadrant = np.select(  # no change takes the side of the other number
        [
            (diversity == 0) & (accurate == 0),
            (diversity >= 0) & (accurate >= 0),
            (diversity <= 0) & (accurate <= 0),
            diversity > 0,
        ],
        ["as before", "gains both", "loses both", "pays accuracy"],
        "pays diversity",
    )
    return points.select(SYSTEM, pl.col(WEIGHT).cast(pl.Float64)).with_columns(
        diversity=pl.lit(metric),
        x=pl.Series(values[:, 0]),
        y=pl.Series(values[:, 1]),
        diversity_change=pl.Series(diversity),
        accuracy_change=pl.Series(accurate),
        quadrant=pl.Series(quadrant),
        front=pl.Series(fronts(values * turns)[0]),
        turn_x=pl.lit(turns[0]),
        turn_y=pl.lit(turns[1]),
    )


def _dominated(points: Float) -> float:
    """Return the area of all positions above 0 on both axes that are not above some point (n, 2) on either axis.

    >>> _dominated(np.array([[1.0, 2.0], [2.0, 1.0], [0.5, 0.5], [-1.0, 9.0]]))
    3.0
    """
    beyond = points[(points > 0).all(axis=1)]
    area, highest = 0.0, 0.0
    for x, y in beyond[np.lexsort((-beyond[:, 1], -beyond[:, 0]))].tolist():
        if y > highest:
            area, highest = area + x * (y - highest), y
    return area
