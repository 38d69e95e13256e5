"""Reading scores per user: from a result folder, or from a table of the user's own."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.data.io.documents import parse_json
from recassay.data.io.edge import is_folder
from recassay.data.io.manifest import files_of, manifest_of
from recassay.data.io.read import open_table
from recassay.engine.lists.score_joins import join_scorings
from recassay.errors import InputError
from recassay.metrics.registry import known_metric
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import suggest
from recassay.results.design_scores import DesignScores
from recassay.results.score_set import AXES, GIVEN, Place, ScoreSet, score_set
from recassay.results.scores import WEIGHT, Scores, Summary, Values, restored, weight_of
from recassay.stats.group_means import defined_weights, pooled_values
from recassay.stats.intervals import mean_of

FILE, SUMMARY, LOCK = "scores.parquet", "summary.json", "study.lock.yaml"
USER, UNIT, SYSTEM, FOLD = "user_id", "unit", "system", "fold"
NOT_METRICS = {*AXES, USER, UNIT, SYSTEM, FOLD, "user", "time", "timestamp", WEIGHT}  # names of columns
LOWER_IS_BETTER = ("rmse", "mae", "mse", "error", "loss", "perplexity", "surprise")  # in names of unknown metrics

Key = tuple[str, str]  # system, metric


@checks_types
def read_scores(
    source: object,
    *,
    columns: str | Mapping[str, str] | None = None,
    metrics: Iterable[str] | None = None,
    smaller: Iterable[str] = (),
) -> ScoreSet:
    """Read scores per user from the folder of ``recassay run`` or ``recassay score -o``, or from your own table.

    A table has a row per system and user: columns user, system and one per metric. It may have columns dataset, split,
    protocol, design, seed, fold and weight. ``metrics`` names those to read, by default all. For an unknown metric
    higher is better, unless ``smaller`` names it or its name contains a word such as loss or error.

    >>> table = pl.DataFrame({"user": [1, 2, 1, 2], "model": ["a", "a", "b", "b"], "NDCG": [0.1, 0.3, 0.2, 0.6]})
    >>> read_scores(table).sheets[Place()].values("b", "NDCG").tolist()
    [0.2, 0.6]
    """
    if isinstance(source, ScoreSet | Scores | DesignScores):
        return score_set(source)
    folder = Path(source) if isinstance(source, str | Path) and is_folder(Path(source)) else None
    where = str(source) if isinstance(source, str | Path) else f"the scores ({type(source).__name__})"
    if folder is not None:
        _refuse_without_scores(folder)
        manifest_of(folder).require_intact([*files_of(folder / FILE), folder / SUMMARY, folder / LOCK])
        source = folder / FILE
    frame = parse_numbers(open_table(source, "scores", columns=columns).frame())
    chosen = _metric_columns(frame, where, metrics)
    if SYSTEM not in frame.columns:
        named = ", ".join(map(repr, frame.columns))
        raise InputError(
            "I313", f"no column names the system of a row; the columns are {named}", where=where,
            hint="a row per system and user: --columns system=NAME, or a column 'system'",
        )  # fmt: skip
    smaller = set(smaller)
    higher = {metric: higher_is_better(metric, smaller) for metric in chosen}
    powers = {metric: float(getattr(known_metric(metric), "power", 1)) for metric in chosen}
    settings, summaries = ({}, {}) if folder is None else _stored_summary(folder / SUMMARY)
    sheets = {}
    for key, part in _add_axes(frame).partition_by(AXES, as_dict=True, maintain_order=True).items():
        scores = _scores_of_place(part, Place(*key), chosen, higher, powers, summaries, where)
        sheets[Place(*key)] = dataclasses.replace(scores, settings=settings)
    return ScoreSet(sheets, folder)


def read_all(sources: Iterable[object], **options: Any) -> ScoreSet:
    """Read several folders or tables as one set: scores of the same truth are joined, others become data sets.

    A table without a data set gets the name of its file. ``options`` are passed on to :func:`read_scores`.
    """
    tables = list(sources)
    if len(tables) == 1:
        return read_scores(tables[0], **options)
    names = [
        Path(source).name.partition(".")[0] if isinstance(source, str | Path) else f"table {number}"
        for number, source in enumerate(tables, start=1)
    ]
    return join_scorings((name, read_scores(source, **options)) for name, source in zip(names, tables, strict=True))


def _refuse_without_scores(folder: Path) -> None:
    """Raise I316 if a folder has no table of scores."""
    if (folder / FILE).exists():  # Spark writes a folder of files
        return
    results = (folder / SUMMARY).is_file()
    raise InputError(
        "I316",
        f"there is no {FILE}" + (" because no metric has a value per user" if results else ""),
        where=str(folder),
        hint="score with a metric such as ndcg@10" if results else "give the folder of `recassay run` or `score -o`",
    )


def parse_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with numbers in place of text, in columns whose text is only numbers; ids stay text.

    Columns of text files have no types.
    """
    changed = []
    for column in frame:
        if column.dtype == pl.String and column.name not in (USER, SYSTEM, "user", UNIT):
            kind = pl.Int64 if column.name.lower() in (FOLD, "seed") else pl.Float64
            numbers = column.replace("", None).cast(kind, strict=False)
            if numbers.null_count() == column.replace("", None).null_count():
                changed.append(numbers)
    return frame.with_columns(changed)


def _metric_columns(frame: pl.DataFrame, where: str, wanted: Iterable[str] | None) -> list[str]:
    """Return the columns of a table to read as metrics: those in ``wanted``, or all that can be one.

    Raise I313 for a missing column, or if there is none.
    """
    excluded = {name for name in frame.columns if name.lower() in NOT_METRICS or name.startswith(weight_of(""))}
    numbers = [
        name
        for name, kind in frame.schema.items()
        if (kind.is_numeric() or kind == pl.Boolean) and name not in excluded
    ]
    if not numbers:
        what = f"no column is a metric: {', '.join(map(repr, frame.columns))} hold no scores"
        raise InputError("I313", what, where=where, hint="add a column of numbers for each metric")
    if wanted is None:
        return numbers
    wanted = list(wanted)
    for metric in wanted:
        if metric not in numbers:
            raise InputError("I313", f"there is no metric '{metric}'", where=where, hint=suggest(metric, numbers))
    return wanted


def higher_is_better(metric: str, smaller: Collection[str] = ()) -> bool | None:
    """Return whether larger values of a metric are better; None if neither is better.

    Smaller values are better for the names in ``smaller``. Known metrics state their direction. For other names, words
    such as "loss" mean that smaller is better.

    >>> higher_is_better("ndcg@10"), higher_is_better("RMSE"), higher_is_better("regret", ["regret"])
    (True, False, False)
    """
    if metric in smaller:
        return False
    known = known_metric(metric)
    return not any(word in metric.lower() for word in LOWER_IS_BETTER) if known is None else known.higher_is_better


SummaryRows = Mapping[tuple[Any, ...], Mapping[str, Any]]  # by system, metric, data set, split, ..., seed


def _stored_summary(path: Path) -> tuple[Mapping[str, Any], SummaryRows]:
    """Return the settings in a summary file, and its rows that are over all folds; both empty if there is no file."""
    if not path.is_file():
        return {}, {}
    try:
        summary = parse_json(path.read_text(encoding="utf-8"), str(path))
        rows = [row for row in summary.get("rows", []) if row.get(FOLD, "all") == "all"]
        by_place = {(row["system"], row["metric"], *(row.get(axis) for axis in AXES)): row for row in rows}
        return dict(summary.get("settings") or {}), by_place
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            "I318", f"{path.name} does not have the structure that recassay writes: {error}", where=str(path),
            hint="write it again with recassay run or recassay score -o",
        ) from None  # fmt: skip


def _add_axes(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table with columns for all coordinates (dataset, split, ..., seed) and for ``unit``, added if missing.

    ``unit`` is the id of what a row's value belongs to, by default the user.
    """
    lower = {name.lower(): name for name in frame.columns}
    frame = frame.rename({lower[axis]: axis for axis in (*AXES, FOLD, UNIT) if axis in lower})
    absent = [axis for axis in AXES if axis not in frame.columns]
    fill = [pl.lit(None, pl.Int64).alias("seed") if axis == "seed" else pl.lit(GIVEN).alias(axis) for axis in absent]
    frame = frame.with_columns(*fill).with_columns(pl.col(SYSTEM).cast(pl.String))
    if UNIT not in frame.columns:
        frame = frame.with_columns(pl.col(USER).alias(UNIT))
    return frame.with_columns(pl.col(axis).cast(pl.String).fill_null(GIVEN) for axis in AXES if axis != "seed")


def _scores_of_place(
    part: pl.DataFrame,
    place: Place,
    metrics: list[str],
    higher: Mapping[str, bool | None],
    powers: Mapping[str, float],
    summaries: SummaryRows,
    where: str,
) -> Scores:
    """Return the scores of one data set, split, protocol, design and seed (``place``) from its rows ``part``.

    A user in several folds is one unit with the weight of all of them. On a stream, all events of a user are one unit
    too, because they are not independent. ``higher`` maps a metric to whether more is better, ``powers`` has the power
    of each metric's mean, and ``summaries`` the stored summary rows.
    """
    _refuse_twice(part, where)
    if place.on_events and USER in part.columns:
        part = part.with_columns(pl.col(USER).alias(UNIT))
    units = part[UNIT].unique().sort()
    systems = tuple(part[SYSTEM].unique(maintain_order=True))
    present = [metric for metric in metrics if part[metric].is_not_null().any()]
    per_unit: dict[Key, Values] = {}
    weights: dict[Key, Values] = {}
    for (system,), own in part.partition_by(SYSTEM, as_dict=True, maintain_order=True).items():
        at = units.search_sorted(own[UNIT]).to_numpy()
        for metric in present:
            value, weight = _pooled_by_user(own, metric, at, units.len(), powers[metric])
            per_unit[str(system), metric] = value
            if not np.isin(weight, (0.0, 1.0)).all() or (weight[~np.isnan(value)] != 1).any():
                weights[str(system), metric] = weight
    rows = tuple(
        _summary(system, metric, per_unit, weights, higher[metric], summaries.get((system, metric, *place), {}))
        for metric in present
        for system in systems
    )
    return Scores(units, systems, tuple(present), per_unit, weights, rows)


def _pooled_by_user(rows: pl.DataFrame, metric: str, at: Any, size: int, power: float) -> tuple[Values, Values]:
    """Return the value and the weight of each of ``size`` users under a metric, pooled over the rows of the user.

    A user has a row per fold, or per event of a stream. ``at`` is the position of each row's user, and ``power`` the
    power of the metric's mean. The value is NaN for a user without a defined row.
    """
    values = rows[metric].cast(pl.Float64).to_numpy()
    weight_column = next(
        (name for name in (weight_of(metric), WEIGHT) if name in rows.columns and rows[name].count()), None
    )
    weight = (
        np.ones(values.size)
        if weight_column is None
        else rows[weight_column].cast(pl.Float64).fill_null(1.0).to_numpy()
    )
    return pooled_values([(at, values, defined_weights(values, weight))], size, power)


def _refuse_twice(part: pl.DataFrame, where: str) -> None:
    key = [SYSTEM, UNIT, *([FOLD] if FOLD in part.columns else [])]
    twice = part.select(key).is_duplicated()
    if twice.any():
        row = part.filter(twice).row(0, named=True)
        raise InputError(
            "I314",
            f"{int(twice.sum()):,} of {part.height:,} rows repeat a system and user, such as "
            f"those of '{row[SYSTEM]}' and user {row[UNIT]!r}",
            where=where,
            hint="give one row per system and user, or tell rows apart by dataset, split, design, seed or fold",
        )


def _summary(
    system: str,
    metric: str,
    per_unit: Mapping[Key, Values],
    weights: Mapping[Key, Values],
    higher: bool | None,
    stored: Mapping[str, Any],
) -> Summary:
    """Return a row of the summary: the stored row if there is one, else one computed from the values of users."""
    values, weight = per_unit[system, metric], weights.get((system, metric))
    defined = ~np.isnan(values)
    mean = restored(stored).get("mean")
    counted = {**stored, "n": defined.sum(), "undefined": (~defined).sum()}
    return Summary.of(
        system, metric, mean_of(values, weight) if mean is None else float(mean), counted, higher_is_better=higher
    )
