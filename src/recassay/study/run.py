"""Runs a study: fit, play, judge, compare, and write each piece as soon as it is there."""

from __future__ import annotations

import functools
import itertools
import json
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from recassay._version import __version__
from recassay.data.exhibit import Exhibit
from recassay.data.finding import Finding
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.io import write_json, write_text
from recassay.data.run import Run
from recassay.engine.play import answer, question_of
from recassay.engine.question import Question
from recassay.errors import RecassayError, UsageError
from recassay.models.training import fit
from recassay.split import filters
from recassay.split.base import Split
from recassay.study import lock as locks
from recassay.study.judging import compared, judge_fold
from recassay.study.notes import about_fold, leak_of, merged_findings, placed_exhibits
from recassay.study.plan import Plan, System, plan_of
from recassay.study.reading import read_document
from recassay.study.rehearse import rehearse
from recassay.study.schema import read_study
from recassay.study.shelf import FAILURES, FOLDS, Cell, Shelf, digest_of, file_name, model_key
from recassay.study.sources import load
from recassay.study.values import Values
from recassay.study.verdict import Verdict, pooled

ALL = "all"  # the fold of what is over all folds

Report = Callable[[str, int, int], None]  # stage, done, of
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Results:
    """What a study found: plain rows, as in ``summary.json``, and where its files are."""

    folder: Path
    rows: tuple[Row, ...]
    comparisons: tuple[Row, ...]
    findings: tuple[Row, ...]
    failures: tuple[Row, ...]

    def summary(self) -> pl.DataFrame:
        """A row per system, design, metric and fold; fold ``all`` is over all folds."""
        rows = [{name: value for name, value in row.items() if name != "parameters"} for row in self.rows]
        return pl.DataFrame([{**row, "fold": str(row["fold"])} for row in rows], infer_schema_length=None)

    def at_least(self, severity: str) -> bool:
        """Whether a finding is as severe as this or more."""
        found = [Finding(one["code"], one["severity"], one["title"], one["detail"]) for one in self.findings]
        return any(one.at_least(severity) for one in found)  # type: ignore[arg-type]

    def document(self) -> dict[str, Any]:
        """Ready for JSON."""
        parts = {"rows": self.rows, "comparisons": self.comparisons, "findings": self.findings}
        return {"recassay": __version__, **{k: list(v) for k, v in parts.items()}, "failures": list(self.failures)}


def run_study(
    path: str | Path,
    out: str | Path,
    *,
    data: str | Path | None = None,
    quick: bool = False,
    values: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: Report | None = None,
) -> Results:
    """Run the study in a YAML file and write everything it finds into a folder.

    Stopped at any moment and started again it goes on where it was, and ends with the same files. ``data`` is the
    folder that data sets are looked up in by name; ``quick`` runs the small version of the study, and ``values`` take
    the place of its parameters. A model that fails is among the failures, and the others are judged without it.

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
    [('Popular', 'recall@5', 35), ('Random', 'recall@5', 35)]
    """
    document = read_document(path)
    plan = plan_of(document, read_study(document, quick=quick, values=values), quick=quick)
    return _Runner(plan, Path(out), None if data is None else Path(data), threads, progress or _silent).run()


@dataclass
class _Runner:
    """One run of a study."""

    plan: Plan
    out: Path
    data: Path | None
    threads: int | None
    told: Report
    rows: list[Row] = field(default_factory=list)
    comparisons: list[Row] = field(default_factory=list)
    findings: list[Row] = field(default_factory=list)
    failures: list[Row] = field(default_factory=list)
    exhibits: list[tuple[Cell, Exhibit]] = field(default_factory=list)

    @cached_property
    def shelf(self) -> Shelf:
        return Shelf(self.out)

    @cached_property
    def values(self) -> Values:
        return Values(self.out / "cache" / "values")

    def run(self) -> Results:
        """Everything, in order."""
        logs = {name: self._log(name, number) for number, name in enumerate(self.plan.data)}
        lock = locks.lock_of(self.plan, logs)
        if not locks.claim(self.out, lock):
            self._rehearse(logs)
            _make(self.out)
            write_text(locks.to_yaml(lock), self.out / locks.NAME)
        for name, log in logs.items():
            for split in self.plan.splits:
                self._split(name, log, split)
        return self._written(lock)

    def _log(self, name: str, number: int) -> Interactions:
        """A log as it is studied: read, and filtered."""
        data = self.plan.data[name]
        self.told(f"reading {name}", 0, 1)
        try:
            log = load(data, self.plan.folder, self.data)
            if self.plan.filters:
                log = filters.apply(log, self.plan.filters).log
        except RecassayError as error:
            raise self.plan.at_data(number, error) from error
        self.told(f"reading {name}", 1, 1)
        return log

    def _rehearse(self, logs: Mapping[str, Interactions]) -> None:
        of, done = len(logs) * len(self.plan.splits), 0
        for log in logs.values():
            for split in self.plan.splits:
                self.told("trying everything on a small part", done, of)
                rehearse(self.plan, split, split(log)[0], threads=self.threads)
                done += 1
                self.told("trying everything on a small part", done, of)

    def _split(self, name: str, log: Interactions, split: Split) -> None:
        """All folds of one split of one log, and what they come to together."""
        folds = split(log)
        worth: dict[tuple[int, str], list[Verdict]] = defaultdict(list)
        trial_runs: dict[str, Run] = {}  # of the first fold and seed: experiments are made with them
        steps = itertools.count(1)
        of = len(folds) * len(self.plan.study.seeds) * len(self.plan.systems)
        for fold in folds:
            self._note_fold(name, split, fold)
            ask = functools.cache(functools.partial(question_of, fold, self.plan.protocol))
            for seed in self.plan.study.seeds:
                cell = Cell(name, str(split), fold.number, seed)
                runs: dict[str, Run] = {}
                for system in self.plan.systems:
                    run = self._answer(cell, system, fold, ask)
                    if run is not None:
                        runs[system.name] = run
                        if fold is folds[0] and len(runs) == 1:  # too few candidates are told before hours are spent
                            judge_fold(self.plan, split, fold, runs, trial=True, threads=self.threads)
                    self.told(f"{name}, {split}", next(steps), of)
                if not runs:
                    continue
                trial_runs = trial_runs or runs
                judged, findings = judge_fold(self.plan, split, fold, runs, threads=self.threads)
                self._note_findings(findings, cell, None)
                for design, verdict in judged.items():
                    worth[seed, design].append(verdict)
                    self._note(cell, design, verdict)
        if trial_runs:
            self._experiment(Cell(name, str(split), folds[0].number, self.plan.study.seeds[0]), folds[0], trial_runs)
        for (seed, design), parts in worth.items():
            self._together(Cell(name, str(split), 0, seed), design, parts, len(folds))

    def _answer(self, cell: Cell, system: System, fold: Fold, ask: Callable[[], Question]) -> Run | None:
        """What a system answers, from the shelf if it is there; None if it fails, in whatever way."""
        model = system.seeded(cell.seed)
        fitted_key = model_key(system.text, system.source, model, fold)
        key = digest_of(fitted_key, str(self.plan.protocol))
        run = self.shelf.answer(cell, system.name, key)
        if run is not None:
            return run
        question = ask()
        try:
            fitted = self._fitted(system.name, model, fold, fitted_key)
            played = answer(fitted, question, system.name, k=self.plan.protocol.k, threads=self.threads)
        except Exception as error:
            self._failed(cell, system.name, error)
            return None
        self.shelf.keep_answer(cell, played, key)
        return self.shelf.answer(cell, system.name, key)  # as a run that goes on finds it

    def _fitted(self, name: str, model: Any, fold: Fold, key: str) -> Any:
        if not hasattr(model, "fit"):
            return model
        fitted = self.shelf.fitted(key, fold.train)
        if fitted is None:

            def listener(text: str, done: int, of: int) -> None:
                self.told(f"{name}: {text}", done, of)

            fitted = fit(model, fold, checkpoint=self.shelf.checkpoint(key), listener=listener)
            self.shelf.keep_fitted(key, fitted, fold.train)
        return fitted

    def _experiment(self, cell: Cell, fold: Fold, runs: Mapping[str, Run]) -> None:
        """Every experiment, with the systems that answered; one that fails is told, as a system would be."""
        if not self.plan.experiments:
            return
        systems = [system for system in self.plan.systems if system.name in runs]
        models = {system.name: system.seeded(cell.seed) for system in systems}
        keys = {one.name: model_key(one.text, one.source, models[one.name], fold) for one in systems}

        from recassay.bias.base import Trial  # few studies have experiments

        @functools.cache
        def trial() -> Trial:
            fitted = {name: self._fitted(name, model, fold, keys[name]) for name, model in models.items()}
            return Trial(fold, self.plan.protocol, models, fitted, runs, self.threads)

        for done, experiment in enumerate(self.plan.experiments):
            self.told(f"{cell.dataset}, {cell.split}: experiments", done, len(self.plan.experiments))
            key = digest_of(keys, str(self.plan.protocol), str(experiment))
            try:
                if self.shelf.exhibits(key) is None:
                    self.shelf.keep_exhibits(key, experiment(trial()))
            except Exception as error:
                self._failed(cell, str(experiment), error)
                continue
            for exhibit in self.shelf.exhibits(key) or ():
                self.shelf.show_exhibit(cell.dataset, cell.split, exhibit)
                self.exhibits.append((cell, exhibit))

    def _failed(self, cell: Cell, name: str, error: Exception) -> None:
        """A failure, with where it happened, for the folder and for the reader."""
        about: Row = {
            "system": name,
            **_identity(self.plan, cell),
            "fold": cell.fold,
            "code": error.code if isinstance(error, RecassayError) else type(error).__name__,
            "message": str(error),
            "traceback": "".join(traceback.format_exception(error)),
        }
        self.failures.append(about)
        write_json(about, self.shelf.place(FAILURES, cell.path, f"{file_name(name)}.json"))

    def _note_fold(self, name: str, split: Split, fold: Fold) -> None:
        write_json(
            about_fold(fold),
            self.shelf.place(FOLDS, file_name(name), file_name(str(split)), f"fold-{fold.number}.json"),
        )
        leak = leak_of(fold)
        if leak is not None:
            self._note_findings([leak], Cell(name, str(split), fold.number, 0), None)

    def _note(self, cell: Cell, design: str, verdict: Verdict) -> None:
        """The rows, the values per user and the findings of one fold under one design."""
        identity, scores = _identity(self.plan, cell) | {"design": design}, verdict.scores
        self._note_rows(identity, cell.fold, verdict)
        if scores.unit_metrics:
            table = scores.frame(**identity)
            self.values.add(table.insert_column(table.columns.index("unit"), pl.lit(cell.fold).alias("fold")))
        self._note_findings(scores.findings, cell, design)

    def _note_rows(self, identity: Row, fold: int | str, verdict: Verdict) -> None:
        self.rows += [{"system": row["system"], **identity, "fold": fold, **row} for row in verdict.rows()]

    def _note_findings(self, findings: Iterable[Finding], cell: Cell, design: str | None) -> None:
        about = {"dataset": cell.dataset, "split": cell.split, "design": design}
        self.findings += [{**one.to_dict(), **about, "fold": cell.fold, "seed": cell.seed} for one in findings]

    def _together(self, cell: Cell, design: str, parts: list[Verdict], folds: int) -> None:
        """Systems that answered in every fold, over all folds, and against each other."""
        whole = [system for system in parts[0].scores.systems if all(system in one.scores.systems for one in parts)]
        if len(parts) < folds or not whole:
            return
        powers = {heading: float(getattr(metric, "power", 1)) for heading, metric in self.plan.metrics.items()}
        verdict = pooled([one.of(whole) for one in parts], self.plan.study.judge, powers=powers, threads=self.threads)
        identity = _identity(self.plan, cell) | {"design": design}
        self._note_rows(identity, ALL, verdict)
        comparison = compared(self.plan, verdict.scores, threads=self.threads)
        if comparison is not None:
            self.comparisons += [{**identity, **row} for row in comparison.to_dicts()]

    def _written(self, lock: Mapping[str, Any]) -> Results:
        """The files that are about everything."""
        found = tuple(merged_findings(self.findings))
        results = Results(self.out, tuple(self.rows), tuple(self.comparisons), found, tuple(self.failures))
        self.values.write(self.out / "scores.parquet")
        write_json(results.document(), self.out / "summary.json")
        write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in found), self.out / "findings.jsonl")
        write_text(self._page(results, lock), self.out / "report.html")
        self.shelf.tidy()
        return results

    def _page(self, results: Results, lock: Mapping[str, Any]) -> str:
        from recassay.report.html import page  # templates: not needed before there is something to show

        study = self.plan.study
        return page(
            study.study,
            study.about,
            results.rows,
            comparisons=results.comparisons,
            findings=results.findings,
            exhibits=placed_exhibits(self.exhibits),
            lock=lock,
            failures=results.failures,
        )


def _identity(plan: Plan, cell: Cell) -> Row:
    return {"dataset": cell.dataset, "split": cell.split, "protocol": str(plan.protocol), "seed": cell.seed}


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            "U111", f"cannot make the folder: {error.strerror or error}", where=str(folder), hint="choose another -o"
        ) from None


def _silent(_stage: str, _done: int, _of: int) -> None:
    """Nobody listens."""
