"""What a study finds while it runs, in the order it is found, and the files that are about all of it."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from recassay._version import __version__
from recassay.data.exhibit import Exhibit
from recassay.data.file_names import file_name
from recassay.data.finding import Finding
from recassay.data.fold import Fold
from recassay.data.io import write_json, write_text
from recassay.data.sequences import SequenceFold
from recassay.diagnose.base import OF_SETS, Uncut, diagnose
from recassay.engine.stream.result import StreamError
from recassay.errors import RecassayError
from recassay.study.notes import about_fold, merged_findings
from recassay.study.page import write_report
from recassay.study.plan import AnyPlan
from recassay.study.results import Results, Row
from recassay.study.shelf import FAILURES, FOLDS, Cell, Shelf
from recassay.study.stream_fold import StreamFold
from recassay.study.times import NAME as TIMES
from recassay.study.values import Values
from recassay.study.verdict import Verdict, pooled

ALL = "all"  # the fold of what is over all folds


@dataclass
class Record:
    """Rows, comparisons, findings, failures and exhibits of a study."""

    plan: AnyPlan
    out: Path
    rows: list[Row] = field(default_factory=list)
    comparisons: list[Row] = field(default_factory=list)
    findings: list[Row] = field(default_factory=list)
    failures: list[Row] = field(default_factory=list)
    exhibits: int = 0  # written so far
    times: list[Row] = field(default_factory=list)
    calls: list[Row] = field(default_factory=list)  # what questions and events of a stream took
    asked: dict[str, str] = field(default_factory=dict)  # the protocol of a data set that has one of its own

    @cached_property
    def shelf(self) -> Shelf:
        """Where every piece lies."""
        return Shelf(self.out, names=tuple(self.plan.data))

    @cached_property
    def values(self) -> Values:
        """The values of all units."""
        return Values(self.out / "cache" / "values")

    def shown(self, cell: Cell, exhibit: Exhibit) -> None:
        """Write an exhibit, in the order in which they are shown."""
        self.shelf.show_exhibit(cell.dataset, cell.split, exhibit, order=self.exhibits)
        self.exhibits += 1

    def failed(self, cell: Cell, name: str, error: Exception) -> None:
        """A failure, with where it happened, for the folder and for the reader."""
        about: Row = {
            "system": name,
            **self._identity(cell),
            "fold": cell.fold,
            "code": error.code if isinstance(error, RecassayError) else type(error).__name__,
            "message": str(error),
            "traceback": "".join(traceback.format_exception(error)),
        }
        story, scored = self._failure_places(cell, name)
        self.failures.append(about)
        write_json(about, story)
        scored.unlink(missing_ok=True)
        if isinstance(error, StreamError):  # what was scored until then
            error.stream.copies[-1].write(scored)

    def failed_elsewhere(self, cell: Cell, name: str, about: Row) -> None:
        """A failure that somebody else has written down."""
        self._failure_places(cell, name)
        self.failures.append(about)

    def _failure_places(self, cell: Cell, name: str) -> list[Path]:
        """Of what it was, and of what was scored until then."""
        home = self.shelf.of_cell(cell)
        return [self.shelf.place(FAILURES, home, f"{file_name(name)}.{kind}") for kind in ("json", "parquet")]

    def note_time(self, cell: Cell, system: str | None, what: str, noted: Mapping[str, Any]) -> None:
        """How long a piece took; nothing is said of one whose time is not known."""
        if noted:
            self.times.append({"system": system, **vars(cell), "what": what, **noted})

    def note_fold(
        self, name: str, split: Any, fold: Fold | SequenceFold | StreamFold, findings: Iterable[Finding] = ()
    ) -> None:
        """What a fold is, and what was found in it."""
        write_json(
            about_fold(fold),
            self.shelf.place(FOLDS, self.shelf.of_split(name, str(split)), f"fold-{fold.number}.json"),
        )
        self.note_findings(findings, Cell(name, str(split), fold.number, 0), None)

    def note(self, cell: Cell, design: str, verdict: Verdict) -> None:
        """The rows, the values per user and the findings of one fold under one design."""
        identity, scores = self._identity(cell) | {"design": design}, verdict.scores
        self._rows(identity, cell.fold, verdict)
        if scores.unit_metrics:
            table = verdict.frame(**identity)
            self.values.add(table.insert_column(table.columns.index("unit"), pl.lit(cell.fold).alias("fold")))
        self.note_findings(scores.findings, cell, design)

    def _rows(self, identity: Row, fold: int | str, verdict: Verdict) -> None:
        self.rows += [{"system": row["system"], **identity, "fold": fold, **row} for row in verdict.rows()]

    def note_findings(self, findings: Iterable[Finding], cell: Cell, design: str | None) -> None:
        """Findings with their place."""
        about = {"dataset": cell.dataset, "split": cell.split, "design": design}
        self.findings += [{**one.to_dict(), **about, "fold": cell.fold, "seed": cell.seed} for one in findings]

    def together(
        self, cell: Cell, design: str, parts: list[Verdict], folds: int, threads: int | None
    ) -> Verdict | None:
        """Systems that answered in every fold, over all folds; None if there are none."""
        whole = [system for system in parts[0].scores.systems if all(system in one.scores.systems for one in parts)]
        if len(parts) < folds or not whole:
            return None
        powers = {heading: float(getattr(metric, "power", 1)) for heading, metric in self.plan.metrics.items()}
        verdict = pooled([one.of(whole) for one in parts], self.plan.study.judge, powers=powers, threads=threads)
        self._rows(self._identity(cell) | {"design": design}, ALL, verdict)
        return verdict

    def note_comparisons(self, cell: Cell, design: str, rows: Iterable[Row]) -> None:
        """Systems against each other."""
        identity = self._identity(cell) | {"design": design}
        self.comparisons += [{**identity, **row} for row in rows]

    def _note_lengths(self) -> None:
        """What is found where a metric without a cut-off stands for lists and for target sets in one place."""
        places: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.rows:
            places.setdefault((row["dataset"], row["split"], row["seed"]), []).append(row)
        for (dataset, split, seed), rows in places.items():
            if any(OF_SETS in row for row in rows):
                self.note_findings(diagnose(Uncut.of(rows)), Cell(dataset, split, 0, seed), None)

    def written(self) -> Results:
        """The files that are about everything."""
        self._note_lengths()
        found = tuple(merged_findings(self.findings))
        failures, times, calls = tuple(self.failures), tuple(self.times), tuple(self.calls)
        results = Results(self.out, tuple(self.rows), tuple(self.comparisons), found, failures, times, calls)
        self.values.write(self.out / "scores.parquet")
        write_json(results.document(), self.out / "summary.json")
        write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in found), self.out / "findings.jsonl")
        calls_noted = {"calls": self.calls} if self.calls else {}
        write_json({"recassay": __version__, "rows": self.times, **calls_noted}, self.out / TIMES)
        self.shelf.tidy()
        write_report(self.out)
        return results

    def _identity(self, cell: Cell) -> Row:
        protocol = self.asked.get(cell.dataset, str(self.plan.protocol))
        return {"dataset": cell.dataset, "split": cell.split, "protocol": protocol, "seed": cell.seed}
