"""Every numbered check over a folder of results: what it found, that all is well, or why it could not be asked."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np

from recassay.comparison.compare import HowTested
from recassay.data.finding import Finding
from recassay.data.score_set import Place, ScoreSet
from recassay.data.sequences import SequenceFold
from recassay.diagnose.base import (
    Approximating,
    Check,
    Comparing,
    Facts,
    Hosting,
    Judging,
    Removed,
    Sampling,
    Stored,
    Streamed,
    Uncut,
    Watched,
    diagnose,
    load,
)  # fmt: skip
from recassay.engine.comparing import facts_of
from recassay.report.page.board import Row, design_of
from recassay.report.parts import Part, parts
from recassay.report.reading import Found, read_results
from recassay.report.spread import Spreads

Said = Literal["finding", "fine", "not applicable"]
SEQUENCES, STREAM = "sequences", "stream"


@dataclass(frozen=True)
class Answer:
    """What a check says of a folder: its findings, or none, or why it was not asked."""

    check: Check
    said: Said
    findings: tuple[Row, ...] = ()
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        about = {"code": self.check.code, "title": self.check.title, "answer": self.said}
        return {**about, "why": self.why, "findings": [dict(one) for one in self.findings]}


def answers(found: Found) -> list[Answer]:
    """The answer of every check, by code; those that need tables alone are asked now."""
    asked = [facts for facts in (_stored(found), _comparing(found)) if facts is not None]
    now = {type(facts) for facts in asked}
    rows: dict[str, list[Row]] = {}
    for row in found.findings:
        rows.setdefault(str(row["code"]), []).append(row)
    for facts in asked:
        for one in diagnose(facts):
            rows[one.code] = [one.to_dict()]
    return [_answer(check, tuple(rows.get(code, ())), _why_not(check, found, now)) for code, check in load().items()]


def findings_in(folder: str | Path) -> list[Finding]:
    """What all checks find in a folder of results."""
    rows = [row for one in answers(read_results(folder)) for row in one.findings]
    return [Finding(**{one.name: row.get(one.name, "") for one in fields(Finding)}) for row in rows]


def _answer(check: Check, findings: tuple[Row, ...], why_not: str) -> Answer:
    if findings:
        return Answer(check, "finding", findings)
    return Answer(check, "not applicable", why=why_not) if why_not else Answer(check, "fine")


def _why_not(check: Check, found: Found, now: set[type]) -> str:
    """Why a check that found nothing could not have found anything; nothing if it was asked."""
    designs = {design_of(row) for row in found.rows}
    drawn = designs - {"lists", SEQUENCES, STREAM}
    reasons: Mapping[type, str] = {
        Facts: "" if "lists" in designs else "no ranked lists were scored",
        Judging: "" if drawn else "no design was judged; ask for one in a study, TI-AR-AN say",
        SequenceFold: "" if SEQUENCES in designs else "no sequences were generated",
        Sampling: "asked by recassay correct, of ranks among sampled items",
        Approximating: "asked by ra.sampling_curve, of draws by popularity without replacement",
        Watched: _not_watched(found, designs),
        Streamed: "" if STREAM in designs else "no stream was played",
        Removed: "" if found.lock else "asked of the folds of a study",
        Uncut: "" if "lists" in designs else "no ranked lists were scored",
        Hosting: "asked by ra.home_and_away, of systems and what they optimise",
        Stored: "" if Stored in now else "the folder has no rows",
        Comparing: "" if Comparing in now else "no two systems were compared",
    }
    why = reasons.get(check.about, "asked of something that the folder does not hold")
    return why or _lacking(check, found)


def _not_watched(found: Found, designs: set[str]) -> str:
    if STREAM not in designs:
        return "no stream was played"
    watched = (found.lock.get("over_time") or {}).get("detectors")
    return "" if watched else "no drift detector watched"


def _lacking(check: Check, found: Found) -> str:
    """What a check needs that was not given."""
    if check.code == "L002" and any(one["code"] == "L004" for one in found.findings):
        return "nobody can tell, as L004 says"
    if "fold" in check.needs:
        return _no_times(found)
    if check.code == "P001" and not found.settings.get("profile"):
        return "no profile was asked for"
    given = found.settings.get("train", True) if not found.lock else True
    return "no training log was given" if "train" in check.needs and not given else ""


def _no_times(found: Found) -> str:
    folds = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(found.folder.glob("folds/**/*.json"))]
    if not folds:
        return "it is asked of the folds of a study"
    return "" if any(fold.get("times", True) for fold in folds) else "the log has no times"


def _stored(found: Found) -> Stored | None:
    return Stored(found.rows, tuple(_same(found))) if found.rows else None


def _same(found: Found) -> Iterator[tuple[str, str, str]]:
    """Pairs of systems with equal values of all units: those with equal means are looked at."""
    values = Spreads.of(found.scores)
    if values is None:
        return
    shown = list(parts(found))
    for part in shown:
        means = {
            system: tuple(part.scores.row(system, metric).mean for metric in part.scores.metrics)
            for system in part.scores.systems
        }
        for a, b in itertools.combinations(part.scores.systems, 2):
            if np.array_equal(means[a], means[b], equal_nan=True) and values.equal(part.place, a, b):
                yield f" ({part.heading})" if len(shown) > 1 else "", a, b


def _comparing(found: Found) -> Comparing | None:
    """What decisions rest on: the comparisons as they were made."""
    shown = [part for part in parts(found) if part.comparison is not None]
    if not shown:
        return None
    sheets = {_place(part): part.scores for part in shown}
    compared = {_place(part): part.comparison for part in shown if part.comparison is not None}
    first = next(iter(compared.values()))
    correction = first.rows[0].correction
    return facts_of(
        ScoreSet(sheets, found.folder), compared, first.baseline, HowTested(correction=correction, level=found.level)
    )


def _place(part: Part) -> Place:
    *named, seed, design = part.place
    dataset, split, protocol, under = (str(one or "given") for one in (*named, design))
    return Place(dataset, split, protocol, under, seed)
