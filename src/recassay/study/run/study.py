"""``run_study``: run the study in a file, and write its results into a folder."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from recassay.data.interactions import Interactions
from recassay.data.io import make_folder, require_possible_folder, write_text
from recassay.data.io.folder_lock import locked
from recassay.data.io.manifest import recording
from recassay.errors import UsageError
from recassay.naming.arguments import checks_types
from recassay.study.config.reading import Value
from recassay.study.config.sources import source_files
from recassay.study.plan import lock as locks
from recassay.study.plan.early import read_plan
from recassay.study.plan.plan import AnyPlan, Plan, SequencePlan, StreamPlan
from recassay.study.run.dry_run import dry_run
from recassay.study.run.lists import ListRun
from recassay.study.run.loop import ReportProgress, StudyRun
from recassay.study.run.record import Record
from recassay.study.run.sequences import SequenceRun
from recassay.study.run.streams import StreamRun
from recassay.study.store import results as stored
from recassay.study.store.results import Results

RUNS: Mapping[type[AnyPlan], Callable[..., StudyRun[Any, Any]]] = {
    Plan: ListRun,
    SequencePlan: SequenceRun,
    StreamPlan: StreamRun,
}


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
    A run that somebody else wrote into ``runs`` is scored as it is (R010). One process at a time uses a folder: another
    one gets U237, or waits with ``wait``.

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
    return _run(RUNS[type(plan)](plan, record, folder, threads, progress or _silent), request, wait=wait)


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
    read, logs = stored.stamps(locks.code_files(plan)), dict[str, Interactions]()
    for name, data in plan.data.items():
        with plan.locating_data(name):
            read |= stored.stamps(source_files(data, plan.folder, run.data))
        logs[name] = run.log(name)
    lock, before = locks.build_lock(plan, logs), locks.stored_lock(out)
    record.changed = locks.changed_systems(before, lock)
    failed_before = locks.failed_in_dry_run(out)
    if not locks.claim_folder(out, lock) or failed_before:
        run.left_out = dry_run(run, logs, failed_before.union(record.changed))
    make_folder(out)
    with locked(out, wait=wait, tell=lambda text: run.report(text, 0, 1)), recording(out):
        stored.forget_state(out)
        if not locks.claim_folder(out, lock):  # again: another process may have begun a study there
            write_text(locks.to_yaml(lock), out / locks.NAME)
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


def _silent(_stage: str, _done: int, _of: int) -> None:
    """Do nothing: the progress callback of a study that reports no progress."""
