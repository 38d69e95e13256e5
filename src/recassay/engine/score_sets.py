"""Scores per user read back: from a folder of results, or from somebody's own table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.data.assay import Assay
from recassay.data.io import open_table
from recassay.data.score_set import AXES, GIVEN, Place, ScoreSet, score_set
from recassay.data.scores import WEIGHT, Scores, Summary, Values, restored, weight_of
from recassay.errors import InputError, RecassayError
from recassay.metrics.base import Metric
from recassay.metrics.registry import parse_metric
from recassay.portable import elementary
from recassay.spec import suggest

FILE, SUMMARY = "scores.parquet", "summary.json"
USER, UNIT, SYSTEM, FOLD = "user_id", "unit", "system", "fold"
APART = {*AXES, USER, UNIT, SYSTEM, FOLD, "user", "time", "timestamp", WEIGHT}  # columns that are no metrics
SMALLER = ("rmse", "mae", "mse", "error", "loss", "perplexity", "surprise")  # unknown metrics of which less is better

Key = tuple[str, str]  # system, metric


def read_scores(
    source: object,
    *,
    columns: str | Mapping[str, str] | None = None,
    metrics: Iterable[str] | None = None,
    smaller: Iterable[str] = (),
) -> ScoreSet:
    """Scores per user from the folder of ``recassay run`` or ``recassay score -o``, or from a table of one's own.

    A table has a row per system and user: columns user, system and one for each metric; it may say dataset, split,
    protocol, design, seed and fold, and have weights. ``metrics`` are the ones to read, all unless given. More is
    better under a metric that recassay does not know, unless ``smaller`` has it or it is called loss, error or so.

    >>> table = pl.DataFrame({"user": [1, 2, 1, 2], "model": ["a", "a", "b", "b"], "NDCG": [0.1, 0.3, 0.2, 0.6]})
    >>> read_scores(table).sheets[Place()].values("b", "NDCG").tolist()
    [0.2, 0.6]
    """
    if isinstance(source, ScoreSet | Scores | Assay):
        return score_set(source)
    folder = Path(source) if isinstance(source, str | Path) and Path(source).is_dir() else None
    where = str(source) if isinstance(source, str | Path) else f"the scores ({type(source).__name__})"
    if folder is not None:
        _refuse_without_scores(folder)
        source = folder / FILE
    found = open_table(source, "scores", columns=columns)
    frame = _with_numbers(found.frame())
    chosen = _metrics_of(frame, where, metrics)
    if SYSTEM not in frame.columns:
        named = ", ".join(map(repr, frame.columns))
        raise InputError(
            "I313", f"no column says which system a row belongs to; there are {named}", where=where,
            hint="a row per system and user: --columns system=NAME, or a column 'system'",
        )  # fmt: skip
    smaller = set(smaller)
    known = {metric: _known(metric) for metric in chosen}
    better = {metric: _better(metric, known[metric], smaller) for metric in chosen}
    powers = {metric: 1.0 if one is None else float(getattr(one, "power", 1)) for metric, one in known.items()}
    told = _told(folder / SUMMARY) if folder is not None else {}
    frame = _completed(frame)
    sheets = {}
    for key, part in frame.partition_by(AXES, as_dict=True, maintain_order=True).items():
        place = Place(*key)
        sheets[place] = _sheet(part, place, chosen, better, powers, told, where)
    return ScoreSet(sheets, folder)


def read_all(sources: Iterable[object], **options: Any) -> ScoreSet:
    """Several folders or tables as one set; one that does not name its data set has the name of its file.

    ``options`` are those of :func:`read_scores`.
    """
    given = list(sources)
    if len(given) == 1:
        return read_scores(given[0], **options)
    sheets: dict[Place, Scores] = {}
    for number, source in enumerate(given):
        own = read_scores(source, **options)
        name = Path(source).name.partition(".")[0] if isinstance(source, str | Path) else f"table {number + 1}"
        for place, scores in own:
            placed = place._replace(dataset=name) if place.dataset == GIVEN or place in sheets else place
            if placed in sheets:
                raise InputError(
                    "I314", f"two sources have scores of {placed.dataset}", where=str(source),
                    hint="give each its data set in a column 'dataset', or another file name",
                )  # fmt: skip
            sheets[placed] = scores
    return ScoreSet(sheets)


def _refuse_without_scores(folder: Path) -> None:
    if (folder / FILE).exists():  # Spark writes a folder of files
        return
    results = (folder / SUMMARY).is_file()
    raise InputError(
        "I316",
        f"there is no {FILE}" + (": none of the metrics has a value per user" if results else ""),
        where=str(folder),
        hint="score with a metric such as ndcg@10" if results else "give the folder of `recassay run` or `score -o`",
    )


def _with_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Columns of text that hold nothing but numbers as numbers: so text files are read, whose columns have no kind."""
    changed = []
    for column in frame:
        if column.dtype == pl.String and column.name not in (USER, SYSTEM, "user", UNIT):
            kind = pl.Int64 if column.name.lower() in (FOLD, "seed") else pl.Float64
            numbers = column.replace("", None).cast(kind, strict=False)
            if numbers.null_count() == column.replace("", None).null_count():
                changed.append(numbers)
    return frame.with_columns(changed)


def _metrics_of(frame: pl.DataFrame, where: str, asked: Iterable[str] | None) -> list[str]:
    apart = {name for name in frame.columns if name.lower() in APART or name.startswith(weight_of(""))}
    numbers = [
        name for name, kind in frame.schema.items() if (kind.is_numeric() or kind == pl.Boolean) and name not in apart
    ]
    if not numbers:
        what = f"no column is a metric: none of {', '.join(map(repr, frame.columns))} holds other numbers"
        raise InputError("I313", what, where=where, hint="a column of numbers for each metric")
    if asked is None:
        return numbers
    asked = list(asked)
    for metric in asked:
        if metric not in numbers:
            raise InputError("I313", f"there is no metric '{metric}'", where=where, hint=suggest(metric, numbers))
    return asked


def _known(metric: str) -> Metric | None:
    try:
        return parse_metric(metric)
    except RecassayError:
        return None


def _better(metric: str, known: Metric | None, smaller: set[str]) -> bool | None:
    if metric in smaller:
        return False
    if known is not None:
        return known.higher_is_better
    return not any(word in metric.lower() for word in SMALLER)


def _told(path: Path) -> dict[tuple[Any, ...], Mapping[str, Any]]:
    """The rows of a summary over all folds, by system, metric and place."""
    if not path.is_file():
        return {}
    rows = json.loads(path.read_text(encoding="utf-8")).get("rows", [])
    return {
        (row["system"], row["metric"], *(row.get(axis) for axis in AXES)): row
        for row in rows
        if row.get(FOLD, "all") == "all"
    }


def _completed(frame: pl.DataFrame) -> pl.DataFrame:
    """All axes as columns, whoever wrote the table, and the unit of a row: the user unless it is something else."""
    lower = {name.lower(): name for name in frame.columns}
    renamed = {lower[axis]: axis for axis in (*AXES, FOLD, UNIT) if axis in lower}
    frame = frame.rename(renamed)
    absent = [axis for axis in AXES if axis not in frame.columns]
    fill = [pl.lit(None, pl.Int64).alias("seed") if axis == "seed" else pl.lit(GIVEN).alias(axis) for axis in absent]
    frame = frame.with_columns(*fill).with_columns(pl.col(SYSTEM).cast(pl.String))
    if UNIT not in frame.columns:
        frame = frame.with_columns(pl.col(USER).alias(UNIT))
    return frame.with_columns(pl.col(axis).cast(pl.String).fill_null(GIVEN) for axis in AXES if axis != "seed")


def _sheet(
    part: pl.DataFrame,
    place: Place,
    metrics: list[str],
    better: Mapping[str, bool | None],
    powers: Mapping[str, float],
    told: Mapping[tuple[Any, ...], Mapping[str, Any]],
    where: str,
) -> Scores:
    """The scores of one place: a user in several folds is one unit, with the weight of all of them.

    So is a user of a stream, with the weight of all its events, which are not independent of each other.
    """
    _refuse_twice(part, where)
    if place.on_events and USER in part.columns:
        part = part.with_columns(pl.col(USER).alias(UNIT))
    units = part[UNIT].unique().sort()
    systems = tuple(part[SYSTEM].unique(maintain_order=True))
    there = [metric for metric in metrics if part[metric].is_not_null().any()]
    per_unit: dict[Key, Values] = {}
    weights: dict[Key, Values] = {}
    for (system,), own in part.partition_by(SYSTEM, as_dict=True, maintain_order=True).items():
        at = units.search_sorted(own[UNIT]).to_numpy()
        for metric in there:
            value, weight = _pooled(own, metric, at, units.len(), powers[metric])
            per_unit[str(system), metric] = value
            if not np.isin(weight, (0.0, 1.0)).all() or (weight[~np.isnan(value)] != 1).any():
                weights[str(system), metric] = weight
    rows = tuple(
        _summary(system, metric, per_unit, weights, better[metric], told.get((system, metric, *place), {}))
        for metric in there
        for system in systems
    )
    return Scores(units, systems, tuple(there), per_unit, weights, rows)


def _pooled(rows: pl.DataFrame, metric: str, at: Any, size: int, power: float) -> tuple[Values, Values]:
    """Value and weight of every unit, over its rows."""
    values = rows[metric].cast(pl.Float64).to_numpy()
    own = next((name for name in (weight_of(metric), WEIGHT) if name in rows.columns and rows[name].count()), None)
    weight = np.ones(values.size) if own is None else rows[own].cast(pl.Float64).fill_null(1.0).to_numpy()
    weight = np.where(np.isnan(values), 0.0, weight)
    total = np.bincount(at, np.where(weight > 0, values, 0.0) ** power * weight, size)
    counted: Values = np.bincount(at, weight, size).astype(np.float64)
    value = np.full(size, np.nan)
    np.divide(total, counted, out=value, where=counted > 0)
    return elementary.power(value, 1 / power) if power != 1 else value, counted


def _refuse_twice(part: pl.DataFrame, where: str) -> None:
    key = [SYSTEM, UNIT, *([FOLD] if FOLD in part.columns else [])]
    twice = part.select(key).is_duplicated()
    if twice.any():
        row = part.filter(twice).row(0, named=True)
        raise InputError(
            "I314",
            f"{int(twice.sum()):,} of {part.height:,} rows are not the only one of their system and user, such as "
            f"those of '{row[SYSTEM]}' and user {row[UNIT]!r}",
            where=where,
            hint="one row per system and user; say dataset, split, design, seed or fold in columns of these names",
        )


def _summary(
    system: str,
    metric: str,
    per_unit: Mapping[Key, Values],
    weights: Mapping[Key, Values],
    better: bool | None,
    told: Mapping[str, Any],
) -> Summary:
    """A row of the summary: as the folder has it, else from the values."""
    values, weight = per_unit[system, metric], weights.get((system, metric))
    defined = ~np.isnan(values)
    mean = float("nan")
    if defined.any():
        mean = float(np.average(values[defined], weights=None if weight is None else weight[defined]))
    missing, short, duplicate = (int(told.get(name) or 0) for name in ("missing", "short", "duplicate"))
    told = restored(told)
    low, high = (float("nan") if told.get(end) is None else float(told[end]) for end in ("low", "high"))
    given = told.get("mean")
    return Summary(
        system, metric, mean if given is None else float(given), int(defined.sum()), missing, short, duplicate,
        undefined=int((~defined).sum()), low=low, high=high, higher_is_better=better,
    )  # fmt: skip
