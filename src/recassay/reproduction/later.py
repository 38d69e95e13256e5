"""Stored results and later code: they stay valid if a change of the code changed none of their numbers.

Some results take hours to compute, and a change that only makes code faster should not make them void. The quick
version of a paper runs the same models, experiments and rules on generated data, so it is run with the code before and
after the change, on one machine: every table must have the same digits. Reading files is not part of it, so the logs
are read again, and must be those of the stored results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from recassay.errors import UsageError
from recassay.reproduction.code import changed
from recassay.reproduction.paper import PaperFile
from recassay.reproduction.results import Reproduction, code_of
from recassay.study.config.sources import filter_log, load_log
from recassay.study.plan.early import read_plan


def with_later_code(stored: Reproduction, before: Reproduction, after: Reproduction) -> Reproduction:
    """Return stored results whose lock also names today's code, with which they have the same numbers.

    ``before`` and ``after`` are quick runs of the same paper, with the code of the stored results and with today's.
    Raise U265 if they differ in any table, or do not show what they should.
    """
    known, ran, today = code_of(stored), before.lock["code"], after.lock["code"]
    if why := _other_runs(stored, before, after) or _other_code(known, ran, today):
        raise _refused(stored.file.name, why)
    tables, again = before.lock["tables"], after.lock["tables"]
    differing = sorted(table for table in {**tables, **again} if tables.get(table) != again.get(table))
    if differing:
        raise _refused(stored.file.name, f"{len(differing)} of {len(again)} tables differ: {', '.join(differing[:3])}")
    later = {
        "code": {path: digest for path, digest in today.items() if stored.lock["code"].get(path) != digest},
        "gone": [path for path in stored.lock["code"] if path not in today and (path in ran or path not in known)],
        "tables": len(again),
    }
    return replace(stored, lock={**stored.lock, "later": later})


def _other_runs(stored: Reproduction, before: Reproduction, after: Reproduction) -> str:
    """Return why two runs cannot be compared with each other and with the stored results; nothing if they can."""
    if not (before.lock["quick"] and after.lock["quick"]):
        return "both runs must be quick ones"
    for key in ("paper", "claims", "versions"):
        if before.lock[key] != after.lock[key]:
            return f"the two runs differ in their {key}"
    return "" if before.lock["claims"] == stored.lock["claims"] else "the runs have other claims"


def _other_code(known: Mapping[str, str], ran: Mapping[str, str], today: Mapping[str, str]) -> str:
    """Return why the modules of two runs are not those before and after a change of the code; nothing if they are.

    ``known`` are the modules of the stored results, ``ran`` those of the run before the change, and ``today`` those of
    the run after it.
    """
    if others := [path for path, digest in known.items() if ran.get(path, digest) != digest]:
        return f"the run before the change has another {others[0]} than they have"
    if others := changed(today):
        return f"the run after the change has another {others[0]} than there is now"
    never_run = [path for path in changed(known) if path not in ran]
    return f"{never_run[0]} changed, and the quick version does not run it" if never_run else ""


def require_same_logs(stored: Reproduction, data: Path) -> int:
    """Read the logs of all studies of a paper again, from the folder ``data``, and return their number.

    Raise U265 if one is not the log of the stored results.
    """
    read = 0
    for name, lock in stored.lock["sources"].items():
        if "study" not in lock:
            continue
        for about in lock["data"]:
            found = _log_fingerprint(stored.file, stored.file.paper.sources[name].study or "", about, data)
            if found != about["fingerprint"]:
                raise _refused(stored.file.name, f"the log {about['name']} is now read as another one")
            read += 1
    return read


def _log_fingerprint(file: PaperFile, study: str, about: Mapping[str, Any], data: Path) -> str:
    """Return the fingerprint of a log of a study as it is read today, after its filters."""
    plan = read_plan(file.path.parent / study, data=data)
    entry = plan.data[about["name"]]
    log = load_log(entry, plan.folder, data)
    found = filter_log(log, plan.filters_of(about["name"]), entry, plan.folder, data)
    return log.fingerprint if found is None else found.log.fingerprint


def _refused(paper: str, why: str) -> UsageError:
    hint = f"compute them again: recassay reproduce {paper} --data DIR -o FOLDER"
    return UsageError("U265", f"the stored results of {paper} are not those of today's code: {why}", hint=hint)
