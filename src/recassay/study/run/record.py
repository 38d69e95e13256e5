"""The record of a running study: its results in order, and the files that summarise them."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from recassay._version import __version__
from recassay.checks.base import TARGET_SET_COLUMN, diagnose
from recassay.comparison.compare import Comparison
from recassay.comparison.verdict import Lead, leads_at, verdict_of
from recassay.data.fold import Fold
from recassay.data.io import write_json, write_text
from recassay.data.io.file_names import file_name
from recassay.data.sequences import SequenceFold
from recassay.engine.streams.result import StreamError
from recassay.errors import RecassayError
from recassay.report.folder.groups import write_groups
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Finding
from recassay.results.group_scores import GroupScores
from recassay.results.score_set import AXES, Place
from recassay.results.scores import Scores
from recassay.results.settings import POPULATION
from recassay.study.plan.plan import AnyPlan
from recassay.study.run.study_scores import StudyScores, pool_folds
from recassay.study.store.folder import FAILURES, FOLDS, StudyCell, StudyFolder
from recassay.study.store.notes import about_fold, merged_findings
from recassay.study.store.page import write_report
from recassay.study.store.results import Results, Row
from recassay.study.store.scored import ScoreStore
from recassay.study.store.stream_fold import StreamFold
from recassay.study.store.times import NAME as TIMES
from recassay.study.store.values import Values

ALL = "all"  # the fold name of results over all folds


@dataclass
class Record:
    """What a running study has found so far: rows, comparisons, findings, failures, tables to draw and times.

    ``out`` is the folder of the results.
    """

    plan: AnyPlan
    out: Path
    trust: bool = False  # whether pickles of another process may be read
    rows: list[Row] = field(default_factory=list)
    comparisons: list[Row] = field(default_factory=list)
    findings: list[Row] = field(default_factory=list)
    failures: list[Row] = field(default_factory=list)
    exhibits: dict[tuple[str, str, str], int] = field(default_factory=dict)  # numbers written so far
    times: list[Row] = field(default_factory=list)
    calls: list[Row] = field(default_factory=list)  # times of queries and updates on streams
    command: str = ""  # that makes these results
    leads: list[Lead] = field(default_factory=list)
    groups: list[tuple[Row, GroupScores]] = field(default_factory=list)  # with the place of each
    population: dict[str, int] = field(default_factory=dict)  # of all folds, if only known users are scored
    protocols: dict[tuple[str, str], str] = field(default_factory=dict)  # of streams, by data set and split

    @cached_property
    def store(self) -> StudyFolder:
        """Return the folder of stored results of the study."""
        return StudyFolder(self.out, names=tuple(self.plan.data), trust=self.trust)

    @cached_property
    def scored(self) -> ScoreStore:
        """Return the stored values of single systems, which another run of the study reads and need not compute."""
        return ScoreStore(self.out, self.store.manifest)

    @cached_property
    def values(self) -> Values:
        """Return the table of the metric values of all users, which is built on disk."""
        return Values(self.out / "cache" / "values")

    def write_exhibit(self, cell: StudyCell, exhibit: Exhibit) -> None:
        """Write an exhibit (a table to draw) about a cell (data set, split, fold, seed).

        Reports show exhibits in the order of these calls. Of two with one name, such as those of an experiment with
        other parameters, the second is named ``NAME-2``.
        """
        key = cell.dataset, cell.split, exhibit.name
        self.exhibits[key] = again = self.exhibits.get(key, 0) + 1
        if again > 1:
            exhibit = replace(exhibit, name=f"{exhibit.name}-{again}")
        self.store.write_exhibit(cell.dataset, cell.split, exhibit, order=sum(self.exhibits.values()) - 1)

    def note_failure(self, cell: StudyCell, name: str, error: Exception, *, in_dry_run: bool = False) -> None:
        """Record that a system, metric or experiment failed on a cell (data set, split, fold, seed).

        The error is written with its traceback into the folder. What failed in the dry run of a split of data is left
        out of all its folds and seeds. If a system failed during a stream, its results up to then are written, too.
        """
        about: Row = {
            "system": name,
            **self.identity(cell),
            "fold": cell.fold,
            "code": error.code if isinstance(error, RecassayError) else type(error).__name__,
            "message": str(error),
            "traceback": "".join(traceback.format_exception(error)),
            **({"dry_run": True} if in_dry_run else {}),
        }
        home = self.store.of_cell(cell)
        description, scored = (
            self.store.place(FAILURES, home, f"{file_name(name)}.{kind}") for kind in ("json", "parquet")
        )
        self.failures.append(about)
        write_json(about, description)
        self.store.manifest.remove(scored)
        if isinstance(error, StreamError):  # keep what was scored before the failure
            error.stream.copies[-1].write(scored)

    def note_time(self, cell: StudyCell, system: str | None, what: str, noted: Mapping[str, Any]) -> None:
        """Record how long a step of a system took on a cell (data set, split, fold, seed).

        ``system`` is None for a step of all systems, ``what`` names the step, such as ``fit``, and ``noted`` has
        seconds and threads. Nothing is recorded if ``noted`` is empty.
        """
        if noted:
            self.times.append({"system": system, **vars(cell), "what": what, **noted})

    def note_fold(
        self, name: str, split: Any, fold: Fold | SequenceFold | StreamFold, findings: Iterable[Finding] = ()
    ) -> None:
        """Write the description of a fold of data set ``name`` into the folder, and record the findings about it."""
        write_json(
            about_fold(fold),
            self.store.place(FOLDS, self.store.of_split(name, str(split)), f"fold-{fold.number}.json"),
        )
        self.note_findings(findings, StudyCell(name, str(split), fold.number, 0), None)
        for part, users in fold.how.get(POPULATION, {}).items():
            self.population[part] = self.population.get(part, 0) + users

    def note(self, cell: StudyCell, design: str, scored: StudyScores) -> None:
        """Record the scores of one fold under one design: a row per system and metric, user values and findings."""
        identity, scores = self.identity(cell) | {"design": design}, scored.scores
        self._rows(identity, cell.fold, scored)
        if scores.unit_metrics:
            table = scored.frame(**identity)
            self.values.add(table.insert_column(table.columns.index("unit"), pl.lit(cell.fold).alias("fold")))
        self.note_findings(scores.findings, cell, design)

    def _rows(self, identity: Row, fold: int | str, scored: StudyScores) -> None:
        self.rows += [{"system": row["system"], **identity, "fold": fold, **row} for row in scored.rows()]

    def note_findings(self, findings: Iterable[Finding], cell: StudyCell, design: str | None) -> None:
        """Record findings with the data set, split, fold and seed of the cell, and the design (None: not about one)."""
        about = {"dataset": cell.dataset, "split": cell.split, "design": design}
        self.findings += [{**found.to_dict(), **about, "fold": cell.fold, "seed": cell.seed} for found in findings]

    def pool_folds(
        self, cell: StudyCell, design: str, parts: list[StudyScores], folds: int, threads: int | None
    ) -> StudyScores | None:
        """Record and return the results over all folds, of the systems and metrics that have results in each fold.

        ``parts`` are the results of the folds that have any, and ``folds`` is the number of all folds. Return None, and
        record nothing, if a fold lacks results or if no system has results in each fold.
        """
        whole = [system for system in parts[0].scores.systems if all(system in part.scores.systems for part in parts)]
        metrics = [one for one in parts[0].scores.metrics if all(one in part.scores.metrics for part in parts)]
        if len(parts) < folds or not whole:
            return None
        chosen = [part.of(whole, metrics) for part in parts]
        scored = pool_folds(chosen, self.plan.study.judge, metrics=self.plan.metrics, threads=threads)
        self._rows(self.identity(cell) | {"design": design}, ALL, scored)
        return scored

    def note_comparisons(self, cell: StudyCell, design: str, rows: Iterable[Row]) -> None:
        """Record the comparisons of systems over all folds, with data set, split, seed and design."""
        identity = self.identity(cell) | {"design": design}
        self.comparisons += [{**identity, **row} for row in rows]

    def note_groups(self, cell: StudyCell, design: str, groups: GroupScores) -> None:
        """Record means by group of users or of items, with data set, split, seed and design."""
        self.groups.append((self.identity(cell) | {"design": design}, groups))

    def note_leads(self, cell: StudyCell, design: str, scores: Scores, comparison: Comparison | None) -> None:
        """Record, for each metric, the best system and the test of its lead over the second best.

        ``comparison`` has the tests; None if nothing was tested.
        """
        place = Place(**self.identity(cell), design=design)
        self.leads += leads_at(place, scores, comparison)

    def _note_lengths(self) -> None:
        """Record a finding where a metric without a cut-off was computed on lists of different lengths."""
        places: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.rows:
            places.setdefault((row["dataset"], row["split"], row["seed"]), []).append(row)
        for (dataset, split, seed), rows in places.items():
            if any(TARGET_SET_COLUMN in row for row in rows):
                self.note_findings(diagnose("list lengths", rows=rows), StudyCell(dataset, split, 0, seed), None)

    def write(self) -> Results:
        """Write the summary files and the report page, remove outdated files, and return the results."""
        self._note_lengths()
        found = tuple(merged_findings(self.findings))
        failures, times, calls = tuple(self.failures), tuple(self.times), tuple(self.calls)
        damaged = tuple(sorted(map(self.store.manifest.name_of, self.store.damaged)))
        verdict = verdict_of(self.leads, level=self.plan.study.judge.level)
        results = Results(
            self.out, tuple(self.rows), tuple(self.comparisons), found, failures, times, calls, verdict, damaged,
            tuple({**place, **groups.to_dict()} for place, groups in self.groups),
            {POPULATION: self.population} if self.population else {},
        )  # fmt: skip
        self.values.write(self.out / "scores.parquet")
        places = {axis: [place[axis] for place, _ in self.groups] for axis in AXES}
        write_groups([groups for _, groups in self.groups], self.out, **places)
        write_json(results.document(), self.out / "summary.json")
        write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found), self.out / "findings.jsonl")
        calls_noted = {"calls": self.calls} if self.calls else {}
        command = {"command": self.command} if self.command else {}
        write_json({"recassay": __version__, **command, "rows": self.times, **calls_noted}, self.out / TIMES)
        self.store.remove_outdated()
        self.scored.remove_unused()
        self.store.manifest.write()  # before the page, which needs every listed file
        write_report(self.out)
        self.store.manifest.write()
        return results

    def identity(self, cell: StudyCell) -> Row:
        """Return the data set, split, protocol and seed of ``cell`` as columns of a row."""
        protocol = self.protocols.get((cell.dataset, cell.split), str(self.plan.protocol))
        return {"dataset": cell.dataset, "split": cell.split, "protocol": protocol, "seed": cell.seed}
