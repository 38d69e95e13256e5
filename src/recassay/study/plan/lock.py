"""The lock file of a study: all versions, data and parameters that its results depend on.

It holds no time, absolute path or machine name: the same study on the same data gives the same bytes.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from recassay.data.interactions import Interactions
from recassay.data.io.documents import YamlError, parse_yaml
from recassay.data.io.manifest import Manifest, require_own_folder
from recassay.designs import Design
from recassay.errors import UsageError
from recassay.naming.named import Named
from recassay.study.plan.plan import AnyPlan, StreamPlan
from recassay.study.plan.run_files import RunFiles, digest_of_files
from recassay.study.plan.systems import System
from recassay.study.store.folder import FAILURES
from recassay.study.store.results import versions

NAME = "study.lock.yaml"
SHARED = ("versions", "protocol", "protocols", "plugins")  # keys that the answers of all systems depend on
IDENTITY = ("study", "quick", "data", "filters", "splits", "users")  # keys that must not change in a folder of results


def build_lock(plan: AnyPlan, logs: Mapping[str, Interactions]) -> dict[str, Any]:
    """Return the content of the lock file of a study as plain values: versions, data, and all parsed parameters.

    ``logs`` are the logs of the study by the name of the data set.
    """
    study = plan.study
    plugins = {name: digest_of_files([plan.folder / name]) for name in study.plugins}
    return {
        "study": study.study,
        "about": study.about,
        "quick": plan.quick,
        "versions": versions(),
        "data": [_data(plan, name, log) for name, log in logs.items()],
        "filters": [_named(step) for step in plan.filters],
        "splits": [_named(split) for split in plan.splits],
        "protocol": _named(plan.protocol),
        "models": {system.name: _system(system) for system in plan.systems},
        "designs": {str(design): _design(design) for design in plan.designs},
        "metrics": {
            heading: {"name": metric.name, "k": metric.k, **metric.parameters}
            for heading, metric in plan.metrics.items()
        },
        "seeds": list(study.seeds),
        **({"users": study.users} if study.users != "all" else {}),
        **({"by": list(study.by)} if study.by else {}),
        **({"by_item": list(study.by_item)} if study.by_item else {}),
        **({"smallest_group": study.smallest_group} if study.by or study.by_item else {}),
        "judge": study.judge.model_dump(),
        "compare": study.compare.model_dump(),
        "experiments": [_named(experiment) for experiment in plan.experiments],
        "parameters": dict(study.parameters),
        **({"plugins": plugins} if study.plugins else {}),
        **(_of_streams(plan) if isinstance(plan, StreamPlan) else {}),
    }


def _of_streams(plan: StreamPlan) -> dict[str, Any]:
    """Return the entries of the lock file that only studies of streams have."""
    study = plan.study
    tried = {name: [str(model) for model in models] for name, models in plan.settings.items()}
    tune = study.tune and study.tune.model_dump() | {"metric": study.tune.metric or plan.over_time, "tried": tried}
    return {
        "protocols": {
            name: _named(several[0]) if len(several) == 1 else [_named(one) for one in several]
            for name, several in plan.protocols.items()
        },
        "over_time": study.over_time.model_dump() | {"metric": study.over_time.metric or plan.over_time},
        "tune": tune,
    }


def to_yaml(lock: Mapping[str, Any]) -> str:
    """Return the content of a lock file as YAML text."""
    return str(yaml.safe_dump(dict(lock), sort_keys=False, allow_unicode=True, width=120))


def stored_lock(folder: Path) -> dict[str, Any]:
    """Return the content of the lock file in a folder; empty if there is none that can be read."""
    try:
        found, _ = parse_yaml((folder / NAME).read_text(encoding="utf-8", errors="replace"))
    except (OSError, YamlError):
        return {}
    return found if isinstance(found, dict) else {}


def changed_systems(before: Mapping[str, Any], lock: Mapping[str, Any]) -> dict[str, str]:
    """Return the systems whose stored results do not fit the study any more, each with the reason.

    ``before`` is the content of the lock file of the last run (empty if there was none), and ``lock`` that of this run.

    >>> changed_systems({"models": {"a": 1, "b": 1}}, {"models": {"a": 1, "b": 2, "c": 3}})
    {'b': 'its definition changed', 'c': 'it is new in the study'}
    """
    now = yaml.safe_load(to_yaml(lock))
    for part in SHARED if before else ():
        if before.get(part) != now.get(part):
            return dict.fromkeys(now["models"], f"the {part} changed")
    known = before.get("models", {})
    return {
        name: "its definition changed" if name in known else "it is new in the study"
        for name, entry in now["models"].items()
        if known.get(name) != entry
    }


def claim_folder(folder: Path, lock: Mapping[str, Any]) -> bool:
    """Check that a study may use a folder; return whether the lock file in the folder equals ``lock``.

    Nothing is written. Raise U111 if the folder has files that no study wrote. Raise U134 if the lock file was edited,
    or is that of another study: the name, data, filters, splits and ``--quick`` of a study must not change within a
    folder. Models, designs, metrics, seeds, protocol and the rest may change; the result is then False, as without a
    lock file.
    """
    path = folder / NAME
    if not path.is_file():
        require_own_folder(folder)
        entries = Manifest.read(folder).entries
        if entries and NAME not in entries:  # if it is listed, it was deleted
            what = f"the folder has files that no study wrote, such as {min(entries)}"
            raise UsageError("U111", what, where=str(folder), hint="choose a new folder with -o")
        return False
    if Manifest.read(folder).state(path) == "changed":
        raise UsageError(
            "U134",
            f"{NAME} was changed since the study wrote it, so it is unknown which study the folder holds",
            where=str(path),
            hint="put the file back; or delete it: the study then computes again what does not belong to it",
        )
    before = stored_lock(folder)
    for part in IDENTITY:
        if before.get(part) != lock.get(part):
            raise UsageError(
                "U134",
                "the folder holds results of another study: "
                f"its {part} {_difference(before.get(part), lock.get(part))}",
                where=str(path),
                hint="choose another folder with -o; models, designs, metrics and seeds may change in the same one",
            )
    return path.read_text(encoding="utf-8") == to_yaml(lock)


def failed_in_dry_run(folder: Path) -> frozenset[str]:
    """Return the names of the systems and metrics that failed in the dry run of the study whose results are there."""
    found = (json.loads(path.read_text(encoding="utf-8")) for path in (folder / FAILURES).rglob("*.json"))
    return frozenset(about["system"] for about in found if about.get("dry_run"))


def code_files(plan: AnyPlan) -> list[Path]:
    """Return the study file, and the run files and Python files that it names, as absolute paths.

    The folders of run files are among them, because a new file in one may be a new system.
    """
    study = plan.document.path
    runs = [path for one in plan.systems if isinstance(one.model, RunFiles) for path in one.model.sources()]
    named = re.findall(r"[^\s'\"\[\]{},:]+\.py\b", study.read_text(encoding="utf-8"))
    return [path.resolve() for path in (study, *runs, *(plan.folder / name for name in named)) if path.exists()]


def _data(plan: AnyPlan, name: str, log: Interactions) -> dict[str, Any]:
    data = plan.data[name]
    source = data.generate or data.table or (Path(data.path).name if data.path else name)
    counts = {"users": log.n_users, "items": log.n_items, "events": len(log)}
    about = {"name": name, "source": source, "columns": dict(data.columns), "fingerprint": log.fingerprint, **counts}
    more: dict[str, Any] = {
        "format": data.format,
        "filters": data.filters,
        "sequences": data.sequences,
        "item_features": data.items,
        "item_columns": dict(data.items_columns),
    }
    more["splits"] = [_named(split) for split in plan.own_splits.get(name, ())]
    return about | {key: value for key, value in more.items() if value}


def _named(thing: Named) -> dict[str, Any]:
    return {"name": thing.name, **thing.parameters}


def _design(design: str | Design) -> dict[str, Any]:
    return {} if isinstance(design, str) else dataclasses.asdict(design)


def _system(system: System) -> dict[str, Any]:
    model = system.model
    written: dict[str, Any] = {"model": system.text}
    if isinstance(model, RunFiles):
        return {"run_files": system.text, "digests": model.digests()}
    if dataclasses.is_dataclass(model) and not isinstance(model, type):
        values = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
        written["parameters"] = {
            name: value if isinstance(value, str | int | float | bool | None) else str(value)
            for name, value in values.items()
        }
    return {**written, "file_digest": system.source} if system.source else written


def _difference(before: Any, now: Any) -> str:
    """Return what two different values of a key of the lock were and are, as the end of a sentence.

    Data sets with the same name and the same events differ in an entry, which is named.

    >>> _difference([{"name": "ml", "fingerprint": "9f3e", "users": 3}], [{"name": "ml", "fingerprint": "9f3e"}])
    'of ml: users was 3 and is nothing'
    """
    was, is_now = _shown(before), _shown(now)
    if was == is_now and isinstance(before, list) and isinstance(now, list):
        for old, new in zip(before, now, strict=False):
            for key in {**old, **new}:
                if old.get(key) != new.get(key):
                    values = (_shown(one.get(key, "nothing")) for one in (old, new))
                    return f"of {new['name']}: {key} was {' and is '.join(values)}"
    return f"was {was} and is {is_now}"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "nothing"
    if not isinstance(value, dict):
        return str(value)
    if digest := value.get("fingerprint"):
        return f"{value.get('name')} ({digest[:8]})"
    inside = ", ".join(f"{key}={each!r}" for key, each in value.items() if key != "name")
    return f"{value.get('name')}({inside})"
