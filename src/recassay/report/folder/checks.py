"""The outcome of every check on a folder of results: its findings, no problem, or why it does not apply."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np

from recassay.checks.base import CHECKS, Check, diagnose
from recassay.comparison.compare import SignificanceOptions
from recassay.data.io.manifest import manifest_of
from recassay.engine.decisions.comparing import comparison_facts
from recassay.report.content.distribution import UnitValues
from recassay.report.content.grids import Row, design_of, heading
from recassay.report.folder.results import FOLDS, ResultFolder, parts, read_results
from recassay.results.finding import Finding
from recassay.results.score_set import ScoreSet

Outcome = Literal["finding", "fine", "not applicable"]
SEQUENCES, STREAM = "sequences", "stream"


@dataclass(frozen=True)
class CheckOutcome:
    """The outcome of one check on a folder: its findings (warnings), no problem, or why it does not apply (``why``)."""

    check: Check
    outcome: Outcome
    findings: tuple[Row, ...] = ()
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as a dict that JSON can hold."""
        about = {"code": self.check.code, "title": self.check.title, "answer": self.outcome}
        return {**about, "why": self.why, "findings": [dict(finding) for finding in self.findings]}


def run_checks(folder: ResultFolder) -> list[CheckOutcome]:
    """Return the outcome of every check on a folder of results, in the order of their codes.

    Checks that need only the tables of the folder are run now; the findings of others are those stored in the folder.
    """
    known: dict[str, dict[str, Any]] = {}
    if folder.rows:
        known["table"] = {"rows": folder.rows, "same": list(_equal_systems(folder))}
    if comparing := _comparison_facts(folder):
        known["comparison"] = comparing
    rows: dict[str, list[Row]] = {}
    for row in folder.findings:
        rows.setdefault(str(row["code"]), []).append(row)
    for about, facts in known.items():
        for finding in diagnose(about, **facts):
            rows[finding.code] = [finding.to_dict()]
    outcomes = []
    for code, check in CHECKS.kinds.items():
        why = "" if code in rows else _why_not(check, folder, known)
        kind: Outcome = "finding" if code in rows else "not applicable" if why else "fine"
        outcomes.append(CheckOutcome(check, kind, tuple(rows.get(code, ())), why))
    return outcomes


def findings_in(folder: str | Path) -> list[Finding]:
    """Return the findings (warnings about results) of all checks on a folder of results."""
    rows = [row for outcome in run_checks(read_results(folder)) for row in outcome.findings]
    return [Finding(**{field.name: row.get(field.name, "") for field in fields(Finding)}) for row in rows]


def _why_not(check: Check, folder: ResultFolder, known: Collection[str]) -> str:
    """Return why a check does not apply to a folder, as text; "" if it applies.

    ``check`` has no findings, so it found no problem if it applies. ``known`` names the facts that the tables of the
    folder contain.
    """
    designs = {design_of(row) for row in folder.rows}
    target_set_designs = designs - {"lists", SEQUENCES, STREAM}
    no_stream = "" if STREAM in designs else "no stream was evaluated"
    watched = (folder.lock.get("over_time") or {}).get("detectors")
    no_sequences = "" if SEQUENCES in designs else "no sequences were generated"
    reasons = {
        "lists": "" if "lists" in designs else "no ranked lists were scored",
        "fold": "" if "lists" in designs else "no ranked lists were scored",
        "designs": "" if target_set_designs else "no design was evaluated; add one to the study, such as TI-AR-AN",
        "sequence fold": no_sequences,
        "generated sequences": no_sequences,
        "similarities": no_sequences,
        "sampled ranks": "run by recassay correct, on ranks among sampled items",
        "sampling curve": "run by ra.sampling_curve, on samples by popularity without replacement",
        "drift": no_stream or ("" if watched else "no drift detector was used"),
        "stream": no_stream,
        "removed rows": "" if folder.lock else "run on the folds of a study",
        "absent metrics": "" if folder.lock else "run on the data sets of a study",
        "replaced runs": "" if folder.lock else "run on the runs of a study",
        "re-ranking": "run by recassay rerank, on the run and its items",
        "list lengths": "" if "lists" in designs else "no ranked lists were scored",
        "home metrics": "run by ra.home_and_away, on systems and the metrics they optimise",
        "table": "" if "table" in known else "the folder has no rows",
        "comparison": "" if "comparison" in known else "no two systems were compared",
    }
    why = reasons.get(check.about, "needs data that the folder does not hold")
    return why or _missing_input(check, folder)


def _missing_input(check: Check, folder: ResultFolder) -> str:
    """Return which input of a check was not given when the folder was written, as text; "" if none is missing."""
    if check.code == "L002" and any(row["code"] == "L004" for row in folder.findings):
        return "cannot be decided, see L004"
    if check.about == "fold":
        return _no_times(folder)
    if check.code == "P001" and not folder.settings.get("profile"):
        return "no profile was used"
    given = folder.settings.get("train", True) if not folder.lock else True
    return "no training log was given" if "train" in check.needs and not given else ""


def _no_times(folder: ResultFolder) -> str:
    folds = [json.loads(path.read_text(encoding="utf-8")) for path in manifest_of(folder.path).listed(FOLDS, ".json")]
    if not folds:
        return "run on the folds of a study"
    return "" if any(fold.get("times", True) for fold in folds) else "the log has no times"


def _equal_systems(folder: ResultFolder) -> Iterator[tuple[str, str, str]]:
    """Yield pairs of systems with equal values for all users, each with the data set, split and so on as text.

    Values are read only if all means of the two are equal.
    """
    values = UnitValues.of(folder.scores)
    if values is None:
        return
    settings = list(parts(folder))
    for part in settings:
        means = {
            system: tuple(part.scores.row(system, metric).mean for metric in part.scores.metrics)
            for system in part.scores.systems
        }
        for a, b in itertools.combinations(part.scores.systems, 2):
            if np.array_equal(means[a], means[b], equal_nan=True) and values.equal(part.place, a, b):
                yield f" ({heading(part.place)})" if len(settings) > 1 else "", a, b


def _comparison_facts(folder: ResultFolder) -> dict[str, Any] | None:
    """Return the facts about comparisons that checks examine; None if the folder has no comparisons."""
    compared_parts = [part for part in parts(folder) if part.comparison is not None]
    if not compared_parts:
        return None
    sheets = {part.place: part.scores for part in compared_parts}
    compared = {part.place: part.comparison for part in compared_parts if part.comparison is not None}
    first = next(iter(compared.values()))
    correction = first.rows[0].correction
    return comparison_facts(
        ScoreSet(sheets, folder.path),
        compared,
        first.baseline,
        SignificanceOptions(correction=correction, level=folder.level),  # type: ignore[arg-type]
    )
