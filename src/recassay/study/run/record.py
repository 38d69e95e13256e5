"""The record of a running study: its results in order, and the files that summarise them."""

from __future__ import annotations

import json
import shutil
import traceback
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from recassay._version import __version__
from recassay.checks.base import TARGET_SET_COLUMN, diagnose, format_count
from recassay.comparison.compare import Comparison
from recassay.comparison.verdict import Lead, leads_at, verdict_of
from recassay.data.io import atomic, write_json, write_text
from recassay.data.io.manifest import manifest_of
from recassay.data.io.parquet import exact, scan_parquet
from recassay.data.io.write import file_name, writing
from recassay.engine.streams.result import StreamError
from recassay.errors import RecassayError
from recassay.report.content.csv_text import csv_text
from recassay.report.folder.results import write_groups
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Finding
from recassay.results.group_scores import GroupScores
from recassay.results.score_set import AXES, Place
from recassay.results.scores import POPULATION, Scores
from recassay.stats.resampling import Memo
from recassay.study.plan.plan import AnyPlan
from recassay.study.run.study_scores import StudyScores, pool_folds
from recassay.study.store.folder import EXHIBITS, FAILURES, FOLDS, SCORED, StudyCell, StudyFolder
from recassay.study.store.results import TIMES, Results, Row, write_report

ALL = "all"  # the fold name of results over all folds
ROWS_PER_GROUP = 1 << 18  # fixed, so that the bytes do not depend on the number of threads


@dataclass
class Values:
    """The table of the metric values of all users, to which tables are appended on disk and which becomes one file.

    It may be larger than memory. ``folder`` holds the appended ``parts`` until the file is written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     values = Values(Path(folder) / "parts")
    ...     values.add(pl.DataFrame({"user": [1], "unit": [1], "mrr": [0.5]}))
    ...     values.add(pl.DataFrame({"user": ["ann"], "unit": ["ann"], "mrr": [1.0]}))
    ...     values.write(Path(folder) / "scores.parquet")
    ...     pl.read_parquet(Path(folder) / "scores.parquet").rows()
    [('1', '1', 0.5), ('ann', 'ann', 1.0)]
    """

    folder: Path
    parts: list[Path] = field(default_factory=list)

    def add(self, table: pl.DataFrame) -> None:
        """Append a table with the metric values of some users or other units."""
        if not self.parts:
            shutil.rmtree(self.folder, ignore_errors=True)  # files of a killed run
            self.folder.mkdir(parents=True)
        self.parts.append(self.folder / f"{len(self.parts)}.parquet")
        with writing(self.parts[-1]):
            table.write_parquet(exact(self.parts[-1]))

    def write(self, path: Path) -> None:
        """Write all appended tables as one Parquet file, or remove the file if there are none.

        User ids become text if those of some tables are text and those of others are numbers.
        """
        if not self.parts:
            manifest_of(path.parent).remove(path)
            return
        with atomic(path) as temporary:
            pl.concat([scan_parquet(part) for part in self.parts], how="diagonal_relaxed").sink_parquet(
                exact(temporary), row_group_size=ROWS_PER_GROUP, maintain_order=True
            )
        shutil.rmtree(self.folder)


@dataclass
class Record:
    """The results of a running study so far: rows, comparisons, findings, failures, tables to draw and times.

    Findings are warnings about results.

    ``out`` is the folder of the results. ``computed`` and ``taken`` count by system the answers that were computed, and
    those that were taken from the folder; ``changed`` has the reason why the answers of a system must be computed.
    """

    plan: AnyPlan
    out: Path
    trust: bool = False  # whether pickles of another process may be read
    command: str = ""  # that makes these results
    rows: list[Row] = field(default_factory=list)
    comparisons: list[Row] = field(default_factory=list)
    findings: list[Row] = field(default_factory=list)
    failures: list[Row] = field(default_factory=list)
    times: list[Row] = field(default_factory=list)
    calls: list[Row] = field(default_factory=list)  # times of queries and updates on streams
    leads: list[Lead] = field(default_factory=list)
    groups: list[tuple[Row, GroupScores]] = field(default_factory=list)  # with the place of each
    exhibits: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # data set, split, name
    population: Counter[str] = field(default_factory=Counter)  # of all folds, if only known users are scored
    changed: Mapping[str, str] = field(default_factory=dict)
    computed: Counter[str] = field(default_factory=Counter)
    taken: Counter[str] = field(default_factory=Counter)

    @cached_property
    def store(self) -> StudyFolder:
        """Return the folder of stored results of the study."""
        return StudyFolder(self.out, tuple(self.plan.data), self.trust)

    @cached_property
    def values(self) -> Values:
        """Return the table of the metric values of all users, which is built on disk."""
        return Values(self.out / "cache" / "values")

    def identity(self, cell: StudyCell) -> Row:
        """Return the data set, split, protocol and seed of ``cell`` as columns of a row."""
        return {
            "dataset": cell.dataset,
            "split": cell.split,
            "protocol": str(self.plan.protocol_of(cell.dataset, cell.split)),
            "seed": cell.seed,
        }

    def write_exhibit(self, cell: StudyCell, exhibit: Exhibit) -> None:
        """Write an exhibit (a table to draw) of a split for readers: its table as CSV, and its description as JSON.

        Reports show exhibits in the order of these calls. Of two with one name, such as those of an experiment with
        other parameters, the second is named ``NAME-2``.
        """
        key = cell.dataset, cell.split, exhibit.name
        self.exhibits[key] += 1
        if self.exhibits[key] > 1:
            exhibit = replace(exhibit, name=f"{exhibit.name}-{self.exhibits[key]}")
        home, name = self.store.of_split(cell.dataset, cell.split), file_name(exhibit.name)
        about = {"dataset": cell.dataset, "split": cell.split, "order": self.exhibits.total() - 1}
        write_text(csv_text(exhibit.table), self.store.place(EXHIBITS, home, f"{name}.csv"))
        write_json({**exhibit.to_dict(), **about}, self.store.place(EXHIBITS, home, f"{name}.json"))

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
        text, scored = (self.store.place(FAILURES, home, f"{file_name(name)}.{kind}") for kind in ("json", "parquet"))
        self.failures.append(about)
        write_json(about, text)
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

    def note_fold(self, cell: StudyCell, fold: Any, about: Row) -> None:
        """Write the description of a fold as a JSON file: ``about`` (sizes, facts about times) and how it was made.

        If only users with training events are scored, also note how many these are, and of how many.
        """
        place = self.store.place(FOLDS, self.store.of_split(cell.dataset, cell.split), f"fold-{cell.fold}.json")
        origin = {"fingerprint": fold.fingerprint, "number": fold.number}
        write_json({**origin, **about, "removed": dict(fold.removed), "how": dict(fold.how)}, place)
        self.population.update(fold.how.get(POPULATION, {}))

    def note_scores(self, cell: StudyCell, design: str, scored: StudyScores) -> None:
        """Record the scores of one fold: a row per system and metric, the values of users, and warnings (findings).

        ``design`` says which items were ranked as candidates.
        """
        identity, scores = self.identity(cell) | {"design": design}, scored.scores
        self._note_rows(identity, cell.fold, scored)
        if scores.unit_metrics:
            table = scored.frame(**identity)
            self.values.add(table.insert_column(table.columns.index("unit"), pl.lit(cell.fold).alias("fold")))
        self.note_findings(scores.findings, cell, design)

    def _note_rows(self, identity: Row, fold: int | str, scored: StudyScores) -> None:
        self.rows += [{"system": row["system"], **identity, "fold": fold, **row} for row in scored.rows()]

    def note_findings(self, findings: Iterable[Finding], cell: StudyCell, design: str | None = None) -> None:
        """Record findings (warnings about results) with the data set, split, fold and seed of the cell.

        ``design``, which items were ranked as candidates, is None if the findings are not about one.
        """
        about = {"dataset": cell.dataset, "split": cell.split, "design": design}
        self.findings += [{**found.to_dict(), **about, "fold": cell.fold, "seed": cell.seed} for found in findings]

    def pool_folds(
        self, cell: StudyCell, design: str, parts: list[StudyScores], threads: int | None
    ) -> StudyScores | None:
        """Record and return the results over all folds, of the systems and metrics that have results in each fold.

        Return None, and record nothing, if no system has results in each of the folds, whose results are ``parts``.
        """
        systems, metrics = (
            [one for one in getattr(parts[0].scores, what) if all(one in getattr(part.scores, what) for part in parts)]
            for what in ("systems", "metrics")
        )
        if not systems:
            return None
        scored = pool_folds(
            [part.of(systems, metrics) for part in parts],
            self.plan.study.judge.uncertainty,
            metrics=self.plan.metrics,
            threads=threads,
        )
        self._note_rows(self.identity(cell) | {"design": design}, ALL, scored)
        return scored

    def note_comparisons(self, cell: StudyCell, design: str, rows: Iterable[Row]) -> None:
        """Record the comparisons of systems over all folds, with data set, split, seed and design (items ranked)."""
        self.comparisons += [{**self.identity(cell), "design": design, **row} for row in rows]

    def note_groups(self, cell: StudyCell, design: str, groups: GroupScores) -> None:
        """Record means by group of users or of items, with data set, split, seed and design (items ranked)."""
        self.groups.append((self.identity(cell) | {"design": design}, groups))

    def note_leads(self, cell: StudyCell, design: str, scores: Scores, comparison: Comparison | None) -> None:
        """Record, for each metric, the best system and the test of its lead over the second best.

        ``design`` says which items were ranked as candidates. ``comparison`` has the tests; None if nothing was tested.
        """
        self.leads += leads_at(Place(**self.identity(cell), design=design), scores, comparison)

    def _note_lengths(self) -> None:
        """Record a warning (finding) if a metric without a cut-off was computed on lists of different lengths."""
        places: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.rows:
            places.setdefault((row["dataset"], row["split"], row["seed"]), []).append(row)
        for (dataset, split, seed), rows in places.items():
            if any(TARGET_SET_COLUMN in row for row in rows):
                self.note_findings(diagnose("list lengths", rows=rows), StudyCell(dataset, split, 0, seed))

    def write(self) -> Results:
        """Write the summary files and the report page, remove outdated files, and return the results."""
        self._note_lengths()
        results = Results(
            self.out,
            tuple(self.rows),
            tuple(self.comparisons),
            tuple(merged_findings(self.findings)),
            tuple(self.failures),
            tuple(self.times),
            tuple(self.calls),
            verdict_of(self.leads, level=self.plan.study.judge.level),
            tuple(sorted(map(self.store.manifest.name_of, self.store.damaged))),
            tuple({**place, **groups.to_dict()} for place, groups in self.groups),
            {POPULATION: dict(self.population)} if self.population else {},
        )
        self.values.write(self.out / "scores.parquet")
        places = {axis: [place[axis] for place, _ in self.groups] for axis in AXES}
        write_groups([groups for _, groups in self.groups], self.out, **places)
        write_json(results.document(), self.out / "summary.json")
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in results.findings]
        write_text("".join(lines), self.out / "findings.jsonl")
        write_json(
            {
                "recassay": __version__,
                **({"command": self.command} if self.command else {}),
                "rows": self.times,
                **({"calls": self.calls} if self.calls else {}),
            },
            self.out / TIMES,
        )
        self.store.remove_outdated()
        self.store.manifest.write()  # before the page, which needs every listed file
        write_report(self.out)
        self.store.manifest.write()
        return results

    def work(self, memo: Memo) -> tuple[str, ...]:
        """Return sentences on what was computed, one for each system, and on what was taken from the folder.

        ``memo``, the cache of intervals and tests, counts those that were computed and those that were read from it.
        """
        lines = [
            f"{name} was fitted and answered on {format_count(folds, 'fold')}: "
            f"{self.changed.get(name, 'the folder had no such answers')}"
            for name, folds in self.computed.items()
        ]
        if self.taken:
            systems = format_count(len(self.taken), "other system" if self.computed else "system")
            answers = self.taken.total()
            were = "was" if answers == 1 else "were"
            lines.append(f"{format_count(answers, 'answer')} of {systems} {were} taken from the folder")
        for what, computed, taken in (
            ("intervals and tests", memo.computed, memo.taken),
            ("scorings of a system on a fold", self.store.computed[SCORED], self.store.taken[SCORED]),
        ):
            rest = ", the others taken from the folder" if taken else ""
            if computed + taken:
                lines.append(f"{computed:,} of {computed + taken:,} {what} were computed{rest}")
        return tuple(lines)


def merged_findings(findings: Iterable[Row]) -> list[Row]:
    """Return findings (warnings), one per code, system, data set, split and design, those of folds and seeds merged.

    The first of the merged ones is kept, with their number as ``cases``.
    """
    alike: dict[tuple[Any, ...], list[Row]] = {}
    for row in findings:
        alike.setdefault(tuple(row[key] for key in ("code", "system", "dataset", "split", "design")), []).append(row)
    return [{**same[0], "cases": len(same)} for same in alike.values()]
