"""Tuning: the settings of a system that are best on the first part of a stream."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl

from recassay.results.exhibit import Exhibit
from recassay.results.outcomes import is_error
from recassay.study.config.reading import Document
from recassay.study.config.schema import Tune
from recassay.study.plan.plan import StreamFold
from recassay.study.plan.systems import System
from recassay.study.store.folder import StudyFolder, model_key

Value = int | float | bool | str
Rows = list[dict[str, Any]]  # a row per setting that was tried
TUNED = "tuned"  # the kind of stored values


def grid_settings(document: Document, tune: Tune | None, systems: tuple[System, ...]) -> dict[str, tuple[Any, ...]]:
    """Return the models to choose from, by system: the model as the study states it, then one per point of the grid.

    Raise U132 for a system or a parameter in the grid that does not exist.
    """
    named = {system.name: system for system in systems}
    found = {}
    for name, grid in (tune.grid if tune else {}).items():
        if name not in named:
            raise document.error(("tune", "grid", name), f"there is no system '{name}'", f"one of {', '.join(named)}")
        model = named[name].model
        fields = {field.name for field in dataclasses.fields(model)} if dataclasses.is_dataclass(model) else set()
        for parameter in grid:
            if parameter not in fields:
                raise document.error(
                    ("tune", "grid", name, parameter),
                    f"{name} has no parameter '{parameter}'",
                    f"one of {', '.join(sorted(fields))}"
                    if fields
                    else "remove it from the grid: its parameters are unknown",
                )
        with document.locating("tune", "grid", name):
            every = [model, *(dataclasses.replace(model, **point) for point in grid_points(grid))]
        found[name] = tuple({str(candidate): candidate for candidate in every}.values())
    return found


def grid_points(grid: Mapping[str, list[Value]]) -> Iterator[dict[str, Value]]:
    """Yield every combination of the values of a grid, as values by parameter.

    >>> list(grid_points({"factors": [5, 10], "rate": [0.1]}))
    [{'factors': 5, 'rate': 0.1}, {'factors': 10, 'rate': 0.1}]
    """
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def tune_on_stream(
    system: System,
    models: tuple[Any, ...],
    fold: StreamFold,
    metric: str,
    folder: StudyFolder,
    report: Callable[[str, int, int], None],
) -> tuple[System, Rows]:
    """Return a system with the best of several ``models`` on ``fold``, the first part of a stream, and what was tried.

    Stored results in ``folder`` are used. A model that fails, or for which no event is scored, has no mean; the first
    model is chosen if all fail.
    """
    found = []
    for number, model in enumerate(models):
        report(f"{fold.dataset}: settings of {system.name}", number, len(models))
        parts = model_key(str(model), system.source, model, fold.fingerprint), str(fold.protocol), metric
        found.append(folder.remember(TUNED, parts, partial(_mean_on_stream, system, model, fold, metric)))
    report(f"{fold.dataset}: settings of {system.name}", len(models), len(models))
    sign = -1 if is_error(metric) else 1
    values = [-math.inf if mean is None else sign * mean for mean, _ in found]
    best = values.index(max(values))
    rows = [
        {
            "system": system.name,
            "setting": number,
            metric: mean,
            "model": str(model),
            "taken": number == best,
            "failed": why,
        }
        for number, (model, (mean, why)) in enumerate(zip(models, found, strict=True))
    ]
    return dataclasses.replace(system, model=models[best]), rows


def _mean_on_stream(system: System, model: Any, fold: StreamFold, metric: str) -> tuple[float | None, str]:
    """Return the mean of ``metric`` of a model on a stream, or None and why it has none."""
    from recassay.engine.streams.result import mean  # late, so that mistakes in a study file are told at once
    from recassay.engine.streams.run import play_stream

    metrics = None if fold.protocol.predict == "ratings" else metric
    items = fold.items if metrics else None
    try:
        stream = play_stream(model, fold.log, fold.protocol, name=system.name, metrics=metrics, items=items)
        value = mean(stream.outcomes, metric)
    except Exception as error:  # of any kind: other settings may work
        return None, str(error)
    return (None, "no event was scored") if math.isnan(value) else (value, "")


def settings_exhibit(rows: Rows, metric: str, about: str) -> Exhibit:
    """Return a chart of the means of all settings that were tried, by system, with the chosen ones marked.

    ``metric`` is what decides, and ``about`` says on which data.
    """
    taken = "; ".join(f"{row['system']}: {row['model']}" for row in rows if row["taken"])
    table = pl.DataFrame(rows, infer_schema_length=None)
    about = f"{about}Chosen: {taken}."
    return Exhibit("settings", "Settings that were tried", about, table, "setting", metric, "system", kind="point")
