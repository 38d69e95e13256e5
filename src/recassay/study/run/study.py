"""``run_study``: run the study in a file, and write its results into a folder.

The lock file in the folder has all versions, data and parameters that the results depend on. It holds no time, absolute
path or machine name: the same study on the same data gives the same bytes.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from recassay.data.interactions import Interactions
from recassay.data.io import make_folder, require_possible_folder, write_text
from recassay.data.io.documents import YamlError, parse_yaml
from recassay.data.io.folder_lock import locked
from recassay.data.io.lake import is_address
from recassay.data.io.manifest import Manifest, recording, require_own_folder
from recassay.errors import UsageError, masked
from recassay.naming.arguments import checks_types
from recassay.naming.named import Named
from recassay.report.folder.results import LOCK
from recassay.study.config.reading import Value
from recassay.study.config.sources import source_files
from recassay.study.plan.parsing import read_plan
from recassay.study.plan.plan import AnyPlan, Plan, SequencePlan, StreamPlan
from recassay.study.plan.run_files import RunFiles, digest_of_files
from recassay.study.plan.systems import System
from recassay.study.run.dry_run import dry_run
from recassay.study.run.loop import ReportProgress, StudyRun
from recassay.study.run.record import Record
from recassay.study.store import results as stored
from recassay.study.store.folder import FAILURES
from recassay.study.store.results import Results, versions

RUNS = {Plan: "lists.ListRun", SequencePlan: "sequences.SequenceRun", StreamPlan: "streams.StreamRun"}
SHARED = ("versions", "protocol", "protocols", "plugins")  # keys that the answers of all systems depend on
IDENTITY = ("study", "quick", "data", "filters", "splits", "users")  # keys that must not change in a folder of results


@checks_types
def run_study(
    path: str | Path,
    out: str | Path,
    *,
    data: str | Path | None = None,
    quick: bool = False,
    values: Mapping[str, Value] | None = None,
    threads: int | None = None,
    trust: bool = False,
    wait: bool = False,
    progress: ReportProgress | None = None,
) -> Results:
    """Run the study in a YAML file, write all results into a folder, and return them.

    A study that was interrupted resumes when it is started again, and ends with the same files, except for times.
    ``data`` is the folder in which data sets are looked up by name. ``quick`` runs the small version of the study, and
    ``values`` override its parameters. A model that fails is listed under failures; the others are scored without it.
    With ``protocol: sequence(k=5)`` systems generate sequences. With ``protocol: prequential(at=10)`` they predict
    every event of a stream and then learn it.

    Fitted models of recassay are stored as arrays and JSON. Models of other packages may need a pickle, which can run
    any code when it is read: a pickle that another process wrote is refused (U236) unless ``trust``.

    An unchanged study is answered from its folder. Results that were damaged since they were stored are computed again.
    A run that another program wrote into ``runs`` is scored as it is (R010). One process at a time uses a folder:
    another one gets U237, or waits with ``wait``.

    >>> import tempfile
    >>> study = '''
    ... study: tiny
    ... data: {generate: "log(users=40, items=30, events=400)"}
    ... split: random(test=0.2)
    ... models: [Popular, Random]
    ... metrics: recall@5
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "tiny.yaml").write_text(study)
    ...     found = run_study(Path(folder) / "tiny.yaml", Path(folder) / "out")
    >>> [(row["system"], row["metric"], row["n"]) for row in found.rows if row["fold"] == "all"]
    [('Popular', 'recall@5', 32), ('Random', 'recall@5', 32)]
    """
    if not isinstance(values, Mapping | None):
        raise UsageError("U102", f"values must be a dict of parameters, got {values!r:.80}")
    request = stored.request(path, data=data, quick=quick, values=values)
    if (found := stored.stored_results(out, request)) is not None:
        return found
    plan = read_plan(path, quick=quick, values=values)
    folder = None if data is None else Path(data)
    record = Record(plan, Path(out), trust, run_command(path, out, data=data, quick=quick, values=values))
    module, kind = RUNS[type(plan)].split(".")
    make = getattr(import_module(f"recassay.study.run.{module}"), kind)  # what other kinds of studies need stays out
    return _run(make(plan, record, folder, threads, progress or (lambda *_: None)), request, wait=wait)


def run_command(
    path: str | Path, out: str | Path, *, data: str | Path | None, quick: bool, values: Mapping[str, Value] | None
) -> str:
    """Return the command line that repeats a run of a study, with quotes where a shell needs them.

    >>> run_command("my study.yaml", "out", data=None, quick=True, values={"epochs": 5})
    "recassay run 'my study.yaml' -o out --quick --set epochs=5"
    """
    given = [part for name, value in (values or {}).items() for part in ("--set", f"{name}={value}")]
    where = [] if data is None else ["--data", str(data)]
    return shlex.join(["recassay", "run", str(path), "-o", str(out), *where, *["--quick"] * quick, *given])


def _run(run: StudyRun[Any, Any], request: Mapping[str, Any], *, wait: bool) -> Results:
    """Run all stages of a study in order, and return the results; the folder is locked while it is written.

    ``request`` are the arguments, to recognise an unchanged study.
    """
    plan, record, out = run.plan, run.record, run.record.out
    require_possible_folder(out)
    read, logs = stored.stamps(code_files(plan)), dict[str, Interactions]()
    for name, data in plan.data.items():
        with plan.locating_data(name):
            read |= stored.stamps(source_files(data, plan.folder, run.data))
        logs[name] = run.log(name)
    lock, before = build_lock(plan, logs), stored_lock(out)
    record.changed = changed_systems(before, lock)
    failures = (json.loads(path.read_text(encoding="utf-8")) for path in (out / FAILURES).rglob("*.json"))
    failed_before = frozenset(about["system"] for about in failures if about.get("dry_run"))
    if not claim_folder(out, lock) or failed_before:
        run.left_out = dry_run(run, logs, failed_before.union(record.changed))
    make_folder(out)
    with locked(out, wait=wait, tell=lambda text: run.report(text, 0, 1)), recording(out):
        (out / stored.STATE).unlink(missing_ok=True)  # so that an interrupted run never counts as finished
        if not claim_folder(out, lock):  # again: another process may have begun a study there
            write_text(to_yaml(lock), out / LOCK)
        for cell, name, error in run.left_out:
            record.note_failure(cell, name, error, in_dry_run=True)
        with record.store.statistics() as memo:
            for name, log in logs.items():
                for split in run.plan.splits_of(name):
                    run.run_split(name, log, split)
            run.conclude()
        results = replace(record.write(), work=record.work(memo))
        if not results.failures:  # a model that failed is tried again
            stored.store_state(out, request, read)
        return results


# --- the lock file --------------------------------------------------------------------------------------------------


def build_lock(plan: AnyPlan, logs: Mapping[str, Interactions]) -> dict[str, Any]:
    """Return the content of the lock file of a study as plain values: versions, data, and all parsed parameters.

    ``logs`` are the logs of the study by the name of the data set.
    """
    study = plan.study
    plugins = {name: digest_of_files([plan.folder / name]) for name in study.plugins}
    return {
        "study": study.study,
        "about": study.about,
        "quick": plan.document.quick,
        "versions": versions(),
        "data": [_data(plan, name, log) for name, log in logs.items()],
        "filters": [_name_and_parameters(step) for step in plan.filters],
        "splits": [_name_and_parameters(split) for split in plan.splits],
        "protocol": _name_and_parameters(plan.protocol),
        "models": {system.name: _system(system) for system in plan.systems},
        "designs": {str(one): {} if isinstance(one, str) else dataclasses.asdict(one) for one in plan.designs},
        "metrics": {
            heading: {"name": metric.name, "k": metric.k, **metric.parameters}
            for heading, metric in plan.metrics.items()
        },
        "seeds": list(study.seeds),
        **{name: value for name in ("users", "by", "by_item") if (value := getattr(study, name)) not in ("all", [])},
        **({"smallest_group": study.smallest_group} if study.by or study.by_item else {}),
        "judge": study.judge.model_dump(),
        "compare": study.compare.model_dump(),
        "experiments": [_name_and_parameters(experiment) for experiment in plan.experiments],
        "parameters": dict(study.parameters),
        **({"plugins": plugins} if study.plugins else {}),
        **(_stream_entries(plan) if isinstance(plan, StreamPlan) else {}),
    }


def _stream_entries(plan: StreamPlan) -> dict[str, Any]:
    """Return the entries of the lock file that only studies of streams have."""
    study = plan.study
    tried = {name: [str(model) for model in models] for name, models in plan.settings.items()}
    tune = study.tune and study.tune.model_dump() | {"metric": study.tune.metric or plan.over_time, "tried": tried}
    return {
        "protocols": {
            name: _name_and_parameters(several[0])
            if len(several) == 1
            else [_name_and_parameters(one) for one in several]
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
        found, _ = parse_yaml((folder / LOCK).read_text(encoding="utf-8", errors="replace"))
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
    path = folder / LOCK
    if not path.is_file():
        require_own_folder(folder)
        entries = Manifest.read(folder).entries
        if entries and LOCK not in entries:  # if it is listed, it was deleted
            raise UsageError(
                "U111",
                f"the folder has files that no study wrote, such as {min(entries)}",
                where=str(folder),
                hint="choose a new folder with -o",
            )
        return False
    if Manifest.read(folder).state(path) == "changed":
        raise UsageError(
            "U134",
            f"{LOCK} was changed since the study wrote it, so it is unknown which study the folder holds",
            where=str(path),
            hint="put the file back; or delete it: the study then computes again what does not belong to it",
        )
    before = stored_lock(folder)
    for part in IDENTITY:
        if before.get(part) != lock.get(part):
            difference = _difference(before.get(part), lock.get(part))
            raise UsageError(
                "U134",
                f"the folder holds results of another study: its {part} {difference}",
                where=str(path),
                hint="choose another folder with -o; models, designs, metrics and seeds may change in the same one",
            )
    return path.read_text(encoding="utf-8") == to_yaml(lock)


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
    place = data.path or ""
    more: dict[str, Any] = {
        "format": data.format,
        "filters": data.filters,
        "sequences": data.sequences,
        "item_features": data.items,
        "item_columns": dict(data.items_columns),
        "splits": [_name_and_parameters(split) for split in plan.own_splits.get(name, ())],
    }
    return {
        "name": name,
        "source": data.generate or data.table or (masked(place) if is_address(place) else Path(place).name) or name,
        "columns": dict(data.columns),
        "fingerprint": log.fingerprint,
        "users": log.n_users,
        "items": log.n_items,
        "events": len(log),
        **{key: value for key, value in more.items() if value},
    }


def _name_and_parameters(thing: Named) -> dict[str, Any]:
    return {"name": thing.name, **thing.parameters}


def _system(system: System) -> dict[str, Any]:
    model = system.model
    if isinstance(model, RunFiles):
        return {"run_files": system.text, "digests": model.digests()}
    written: dict[str, Any] = {"model": system.text}
    if dataclasses.is_dataclass(model) and not isinstance(model, type):
        values = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
        written["parameters"] = {
            name: value if isinstance(value, str | int | float | bool | None) else str(value)
            for name, value in values.items()
        }
    return {**written, "file_digest": system.source} if system.source else written


def _difference(before: Any, now: Any) -> str:
    """Return how a value of the lock file has changed, as the end of a sentence; ``now`` differs from ``before``.

    Lists of things with the same names differ in an entry, which is named.

    >>> _difference([{"name": "ml", "fingerprint": "9f3e", "users": 3}], [{"name": "ml", "fingerprint": "9f3e"}])
    'of ml: users was 3 and is nothing'
    """
    was, is_now = (
        ", ".join(one["name"] for one in value) if isinstance(value, list) else value for value in (before, now)
    )
    for old, new in zip(before, now, strict=True) if isinstance(now, list) and was == is_now else ():
        for key in {**old, **new}:
            if old.get(key) != new.get(key):
                return f"of {new['name']}: {key} was {old.get(key, 'nothing')} and is {new.get(key, 'nothing')}"
    return f"was {was or 'nothing'} and is {is_now or 'nothing'}"
