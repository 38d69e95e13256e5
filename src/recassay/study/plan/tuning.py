"""Tuning on streams: every candidate model is run on the first part of a stream, and the best one is used."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from recassay.data.io import write_json
from recassay.data.io.manifest import manifest_of
from recassay.errors import RecassayError
from recassay.results.exhibit import Exhibit
from recassay.results.outcomes import is_error
from recassay.study.config.reading import Reader
from recassay.study.config.schema import Tune
from recassay.study.plan.systems import System
from recassay.study.store.folder import digest_of, model_key
from recassay.study.store.stream_fold import StreamFold

FOUND = "cache/tuned"
Value = int | float | bool | str


@dataclass(frozen=True)
class Setting:
    """A result of tuning: a model with its parameters (as text), and its mean of the metric that decides.

    The mean is over the first part of a stream; it is None if the model failed, for the reason ``why``.
    """

    system: str
    model: str
    mean: float | None
    why: str = ""


def grid_settings(reader: Reader, tune: Tune | None, systems: tuple[System, ...]) -> dict[str, tuple[Any, ...]]:
    """Return the models to choose from, by system: the model as the study states it, then one per point of the grid.

    Raise U132 for a system or a parameter in the grid that does not exist.
    """
    named = {system.name: system for system in systems}
    found = {}
    for name, grid in (tune.grid if tune else {}).items():
        if name not in named:
            raise reader.error(("tune", "grid", name), f"there is no system '{name}'", f"one of {', '.join(named)}")
        model = named[name].model
        fields = {field.name for field in dataclasses.fields(model)} if dataclasses.is_dataclass(model) else set()
        unknown = [parameter for parameter in grid if parameter not in fields]
        if unknown:
            what = f"{name} has no parameter '{unknown[0]}'"
            hint = (
                f"one of {', '.join(sorted(fields))}"
                if fields
                else "remove it from the grid: its parameters are unknown"
            )
            raise reader.error(("tune", "grid", name, unknown[0]), what, hint)
        try:
            every = [model, *(dataclasses.replace(model, **point) for point in grid_points(grid))]
        except RecassayError as error:
            raise reader.document.locate(reader.key("tune", "grid", name), error) from None
        found[name] = tuple({str(candidate): candidate for candidate in every}.values())
    return found


def grid_points(grid: Mapping[str, list[Value]]) -> Iterator[dict[str, Value]]:
    """Yield every combination of the values of a grid, as values by parameter.

    >>> list(grid_points({"factors": [5, 10], "rate": [0.1]}))
    [{'factors': 5, 'rate': 0.1}, {'factors': 10, 'rate': 0.1}]
    """
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def play_setting(system: System, model: Any, fold: StreamFold, metric: str, folder: Path) -> Setting:
    """Run a model on ``fold``, the first part of a stream, and return its mean of ``metric``.

    The result is stored below ``folder``; a stored one is read instead. If the model fails or no event is scored, the
    mean is None.
    """
    from recassay.engine.streams.result import mean  # late, so that mistakes in a study file are told at once
    from recassay.engine.streams.run import play_stream

    path = setting_path(system, model, fold, metric, folder)
    if manifest_of(folder).is_intact(path):
        return Setting(**json.loads(path.read_text(encoding="utf-8")))
    metrics = None if fold.protocol.predict == "ratings" else metric
    try:
        outcomes = play_stream(
            model, fold.log, fold.protocol, name=system.name, metrics=metrics, items=fold.items if metrics else None
        ).outcomes
        value = mean(outcomes, metric)
        why = "no event was scored" if math.isnan(value) else ""
        found = Setting(system.name, str(model), None if why else value, why)
    except Exception as error:  # of any kind: other settings may work
        found = Setting(system.name, str(model), None, str(error))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(dataclasses.asdict(found), path)
    return found


def setting_path(system: System, model: Any, fold: StreamFold, metric: str, folder: Path) -> Path:
    """Return the path below ``folder`` of the result of one model on the first part of a stream (``fold``)."""
    key = digest_of(model_key(str(model), system.source, model, fold), str(fold.protocol), metric)
    return folder / FOUND / f"{key}.json"


def best_setting(settings: list[Setting], metric: str) -> int:
    """Return the index of the setting with the best mean, the first one of equals; 0 if all failed.

    >>> best_setting([Setting("a", "A", 0.1), Setting("a", "A(2)", None), Setting("a", "A(3)", 0.2)], "recall@10")
    2
    """
    sign = -1 if is_error(metric) else 1
    values = [-float("inf") if setting.mean is None else sign * setting.mean for setting in settings]
    return values.index(max(values))


def tuning_exhibit(tried_by_system: Mapping[str, list[Setting]], metric: str, events: int) -> Exhibit:
    """Return a chart of the means of all models that tuning tried, by system; the chosen ones are marked.

    ``metric`` is what decides, and ``events`` the number of events that the models were run on.
    """
    rows = [
        {
            "system": name,
            "setting": number,
            metric: setting.mean,
            "model": setting.model,
            "taken": number == taken,
            "failed": setting.why,
        }
        for name, settings in tried_by_system.items()
        for taken in [best_setting(settings, metric)]
        for number, setting in enumerate(settings)
    ]
    chosen = "; ".join(f"{row['system']}: {row['model']}" for row in rows if row["taken"])
    return Exhibit(
        "settings",
        "Settings that were tried",
        f"{metric} on the first {events:,} events, which only choose settings and are not scored: every system learns "
        f"them before its first scored event. Setting 0 is the model of the study. Chosen: {chosen}.",
        pl.DataFrame(rows),
        "setting",
        metric,
        "system",
        kind="point",
    )
