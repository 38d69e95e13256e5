"""Settings of models, chosen on the first part of a stream alone: all of a grid is played there, the best is kept."""

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

from recassay.data.exhibit import Exhibit
from recassay.data.io import write_json
from recassay.data.outcomes import is_error
from recassay.engine.stream.result import mean
from recassay.engine.stream.run import play_stream
from recassay.errors import RecassayError
from recassay.study.reading import Reader
from recassay.study.schema import Tune
from recassay.study.shelf import digest_of, model_key
from recassay.study.stream_fold import StreamFold
from recassay.study.systems import System

FOUND = "cache/tuned"
Value = int | float | bool | str


@dataclass(frozen=True)
class Setting:
    """A model with some settings, and the mean of the metric on the first part; None if it failed there, and why."""

    system: str
    model: str
    mean: float | None
    why: str = ""


def settings_of(reader: Reader, tune: Tune | None, systems: tuple[System, ...]) -> dict[str, tuple[Any, ...]]:
    """The models to choose among, by system: what a study says first, and then every point of the grid."""
    named = {system.name: system for system in systems}
    found = {}
    for name, grid in (tune.grid if tune else {}).items():
        if name not in named:
            raise reader.wrong(("tune", "grid", name), f"'{name}' is none of the models", f"one of {', '.join(named)}")
        model = named[name].model
        fields = {one.name for one in dataclasses.fields(model)} if dataclasses.is_dataclass(model) else set()
        unknown = [parameter for parameter in grid if parameter not in fields]
        if unknown:
            what = f"{name} has no parameter '{unknown[0]}'"
            hint = f"one of {', '.join(sorted(fields))}" if fields else "leave it as it is: it is no description"
            raise reader.wrong(("tune", "grid", name, unknown[0]), what, hint)
        try:
            every = [model, *(dataclasses.replace(model, **point) for point in points(grid))]
        except RecassayError as error:
            raise reader.document.at(reader.key("tune", "grid", name), error) from None
        found[name] = tuple({str(one): one for one in every}.values())
    return found


def points(grid: Mapping[str, list[Value]]) -> Iterator[dict[str, Value]]:
    """Every combination of the values of a grid.

    >>> list(points({"factors": [5, 10], "rate": [0.1]}))
    [{'factors': 5, 'rate': 0.1}, {'factors': 10, 'rate': 0.1}]
    """
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def tried(system: System, model: Any, fold: StreamFold, metric: str, folder: Path) -> Setting:
    """What a model comes to on the first part of a stream; kept below a folder, so that it is played once."""
    path = place_of(system, model, fold, metric, folder)
    if path.is_file():
        return Setting(**json.loads(path.read_text(encoding="utf-8")))
    asked = None if fold.protocol.predict == "ratings" else metric
    try:
        outcomes = play_stream(model, fold.log, fold.protocol, name=system.name, metrics=asked).outcomes
        worth = mean(outcomes, metric)
        nothing = "no event was scored" if math.isnan(worth) else ""
        found = Setting(system.name, str(model), None if nothing else worth, nothing)
    except Exception as error:  # of whatever kind: the other settings may do
        found = Setting(system.name, str(model), None, str(error))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(dataclasses.asdict(found), path)
    return found


def place_of(system: System, model: Any, fold: StreamFold, metric: str, folder: Path) -> Path:
    """Where it is kept what a setting comes to."""
    key = digest_of(model_key(str(model), system.source, model, fold), str(fold.protocol), metric)
    return folder / FOUND / f"{key}.json"


def best(settings: list[Setting], metric: str) -> int:
    """The place of the best setting, the first of equals; the first of all if all failed.

    >>> best([Setting("a", "A", 0.1), Setting("a", "A(2)", None), Setting("a", "A(3)", 0.2)], "recall@10")
    2
    """
    sign = -1 if is_error(metric) else 1
    worth = [-float("inf") if one.mean is None else sign * one.mean for one in settings]
    return worth.index(max(worth))


def tuning_exhibit(tried_by_system: Mapping[str, list[Setting]], metric: str, events: int) -> Exhibit:
    """Every setting that was tried, and which was taken."""
    rows = [
        {
            "system": name,
            "setting": number,
            metric: one.mean,
            "model": one.model,
            "taken": number == taken,
            "failed": one.why,
        }
        for name, settings in tried_by_system.items()
        for taken in [best(settings, metric)]
        for number, one in enumerate(settings)
    ]
    told = "; ".join(f"{row['system']}: {row['model']}" for row in rows if row["taken"])
    return Exhibit(
        "settings",
        "Settings that were tried",
        f"{metric} on the first {events:,} events, which chose settings and are not scored after that: every system "
        f"learns them before it is asked. Setting 0 is what the study says. Taken: {told}.",
        pl.DataFrame(rows),
        "setting",
        metric,
        "system",
        kind="point",
    )
