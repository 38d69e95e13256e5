"""The lock of a study: everything it depends on, written down: versions, data, and every parameter with its value.

It holds no time, no absolute path and no name of a machine: the same study on the same data gives the same bytes.
"""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from recassay._version import __version__
from recassay.data.interactions import Interactions
from recassay.designs import Design
from recassay.errors import UsageError
from recassay.named import Named
from recassay.study.plan import AnyPlan, StreamPlan
from recassay.study.schema import Data
from recassay.study.systems import System

NAME = "study.lock.yaml"
LIBRARIES = ("numpy", "scipy", "numba", "polars")
IDENTITY = ("study", "quick", "data", "filters", "splits")  # what a folder of results stays with


def lock_of(plan: AnyPlan, logs: Mapping[str, Interactions]) -> dict[str, Any]:
    """What a study is, resolved."""
    study = plan.study
    return {
        "study": study.study,
        "about": study.about,
        "quick": plan.quick,
        "versions": {"recassay": __version__, "python": platform.python_version()}
        | {library: version(library) for library in LIBRARIES},
        "data": [_data(name, plan.data[name], log) for name, log in logs.items()],
        "filters": [_named(one) for one in plan.filters],
        "splits": [_named(one) for one in plan.splits],
        "protocol": _named(plan.protocol),
        "models": {system.name: _system(system) for system in plan.systems},
        "designs": {str(design): _design(design) for design in plan.designs},
        "metrics": {
            heading: {"name": metric.name, "k": metric.k, **metric.parameters}
            for heading, metric in plan.metrics.items()
        },
        "seeds": list(study.seeds),
        "judge": study.judge.model_dump(),
        "compare": study.compare.model_dump(),
        "experiments": [_named(one) for one in plan.experiments],
        "parameters": dict(study.parameters),
        **(_of_streams(plan) if isinstance(plan, StreamPlan) else {}),
    }


def _of_streams(plan: StreamPlan) -> dict[str, Any]:
    """What only a study of streams has."""
    study = plan.study
    tried = {name: [str(model) for model in models] for name, models in plan.settings.items()}
    tune = study.tune and study.tune.model_dump() | {"metric": study.tune.metric or plan.over_time, "tried": tried}
    return {
        "protocols": {name: _named(protocol) for name, protocol in plan.protocols.items()},
        "over_time": study.over_time.model_dump() | {"metric": plan.over_time},
        "tune": tune,
    }


def to_yaml(lock: Mapping[str, Any]) -> str:
    """The lock as text."""
    return str(yaml.safe_dump(dict(lock), sort_keys=False, allow_unicode=True, width=120))


def claim(folder: Path, lock: Mapping[str, Any]) -> bool:
    """Refuse a folder that holds something else; whether it holds results of this very lock already.

    The folder of a study stays with its name, data, filters and splits, and with ``--quick`` or without. Models,
    designs, metrics, seeds, protocol and the rest may change: what still holds is kept, the rest is made again.
    """
    path = folder / NAME
    if not path.is_file():
        if folder.is_dir() and any(not one.name.startswith(".") for one in folder.iterdir()):
            raise UsageError(
                "U111",
                "the folder has files that no study wrote, and the study would write among them",
                where=str(folder),
                hint="choose a new folder with -o",
            )
        return False
    text = path.read_text(encoding="utf-8")
    try:
        before = yaml.safe_load(text)
    except yaml.YAMLError:
        before = None
    before = before if isinstance(before, dict) else {}
    for part in IDENTITY:
        if before.get(part) != lock[part]:
            raise UsageError(
                "U134",
                f"the folder holds results of another study: its {part} was {_shown(before.get(part))} "
                f"and is {_shown(lock[part])}",
                where=str(path),
                hint="choose another folder with -o; models, designs, metrics and seeds may change in the same one",
            )
    return text == to_yaml(lock)


def _data(name: str, data: Data, log: Interactions) -> dict[str, Any]:
    source = data.generate or data.table or (Path(data.path).name if data.path else name)
    counts = {"users": log.n_users, "items": log.n_items, "events": len(log)}
    about = {"name": name, "source": source, "columns": dict(data.columns), "fingerprint": log.fingerprint, **counts}
    more = {"format": data.format, "filters": data.filters, "sequences": data.sequences, "item_features": data.items}
    return about | {key: value for key, value in more.items() if value}


def _named(one: Named) -> dict[str, Any]:
    return {"name": one.name, **one.parameters}


def _design(design: str | Design) -> dict[str, Any]:
    return {} if isinstance(design, str) else dataclasses.asdict(design)


def _system(system: System) -> dict[str, Any]:
    model = system.model
    written: dict[str, Any] = {"model": system.text}
    if dataclasses.is_dataclass(model) and not isinstance(model, type):
        values = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
        written["parameters"] = {
            name: value if isinstance(value, str | int | float | bool | None) else str(value)
            for name, value in values.items()
        }
    return {**written, "file_digest": system.source} if system.source else written


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_shown(one) for one in value) or "nothing"
    if isinstance(value, dict):
        digest = value.get("fingerprint")
        return f"{value.get('name')} ({digest[:8]})" if digest else _call(value)
    return str(value)


def _call(value: dict[str, Any]) -> str:
    inside = ", ".join(f"{key}={one!r}" for key, one in value.items() if key != "name")
    return f"{value.get('name')}({inside})"
