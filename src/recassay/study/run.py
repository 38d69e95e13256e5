"""Runs a study from its file; one of ranked lists here, those of generated sequences and of streams beside it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from recassay.data.features import Features
from recassay.data.finding import Finding
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.diagnose.future import fold_findings
from recassay.engine.play import answer, question_of
from recassay.engine.question import Question
from recassay.engine.score import ENGINES
from recassay.engine.spark.session import spark_session
from recassay.errors import RecassayError
from recassay.models.training import Listener, fit
from recassay.protocols.base import Survey
from recassay.spec import check_word
from recassay.split.base import Split
from recassay.study.judging import judge_fold
from recassay.study.plan import AnyPlan, Plan, SequencePlan, StreamPlan, plan_of
from recassay.study.reading import read_document
from recassay.study.rehearse import rehearse
from recassay.study.results import Results
from recassay.study.runner import Report, Runner
from recassay.study.schema import read_study
from recassay.study.sequences import SequenceRunner
from recassay.study.shelf import Cell, digest_of, model_key
from recassay.study.sources import load_items
from recassay.study.spark import made_ahead
from recassay.study.streams import StreamRunner
from recassay.study.verdict import Verdict


def run_study(
    path: str | Path,
    out: str | Path,
    *,
    data: str | Path | None = None,
    quick: bool = False,
    values: Mapping[str, Any] | None = None,
    threads: int | None = None,
    engine: str = "local",
    progress: Report | None = None,
) -> Results:
    """Run the study in a YAML file and write everything it finds into a folder.

    Stopped at any moment and started again it goes on where it was, and ends with the same files, but for times.
    ``data`` is the folder that data sets are looked up in by name; ``quick`` runs the small version of the study, and
    ``values`` take the place of its parameters. A model that fails is among the failures, and the others are judged
    without it. With ``protocol: sequence(k=5)`` systems generate sequences and are judged by them; with
    ``protocol: prequential(at=10)`` they are asked at every event of a stream, and learn it then.

    With ``engine="spark"`` tasks of Spark make the answers, each on ``threads`` threads (one, if nothing is said), and
    put them into ``out``, which all nodes have to see. They are judged here, and all files are the same, bit for bit.

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
    check_word("engine", engine, ENGINES)
    document = read_document(path)
    plan = plan_of(document, read_study(document, quick=quick, values=values), quick=quick)
    runner = RUNNERS[type(plan)](plan, Path(out), None if data is None else Path(data), threads, progress or _silent)
    if engine == "spark":
        runner.ahead = functools.partial(made_ahead, spark_session())
    return runner.run()


def _last_question() -> Callable[[Fold, Survey], Question]:
    """Makes the question of a fold once for all its systems, and forgets it with the next fold."""
    return functools.lru_cache(maxsize=1)(question_of)


@dataclass
class _ListRunner(Runner[Fold, Run]):
    """One run of a study of ranked lists."""

    plan: Plan
    question: Callable[[Fold, Survey], Question] = field(default_factory=_last_question)

    @functools.cached_property
    def items(self) -> Callable[[str], Features | None]:
        """The features of the items of a data set, read once."""
        return functools.cache(self._features)

    def folds(self, name: str, log: Interactions, split: Split) -> tuple[Fold, ...]:
        """The folds of a split, with the features of items that the data has."""
        items = self.items(name)
        return split(log) if items is None else tuple(replace(fold, items=items) for fold in split(log))

    def _features(self, name: str) -> Features | None:
        number = list(self.plan.data).index(name)
        try:
            return load_items(self.plan.data[name], self.plan.folder, self.data)
        except RecassayError as error:
            raise self.plan.at_data(number, error) from error

    def rehearse(self, split: Split, fold: Fold) -> None:
        """Fit, answer, and judge under every design."""
        rehearse(self.plan, split, fold, threads=self.threads)

    def told_of(self, fold: Fold) -> tuple[Finding, ...]:
        """What leaks from the future, or cannot be told."""
        return fold_findings(fold)

    def fit(self, model: Any, fold: Fold, checkpoint: Path, listener: Listener) -> Any:
        """A model fitted on a log."""
        return fit(model, fold, checkpoint=checkpoint, listener=listener)

    def asked(self, fold: Fold, seed: int) -> str:
        """The same for every seed."""
        return str(self.plan.protocol)

    def prepare(self, fold: Fold) -> None:
        """Whom to ask, and about what."""
        self.question(fold, self.plan.protocol)

    def answer(self, fitted: Any, fold: Fold, name: str, seed: int, checkpoint: Path, listener: Listener) -> Run:
        """Lists and standings."""
        question = self.question(fold, self.plan.protocol)
        return answer(fitted, question, name, k=self.plan.protocol.k, threads=self.threads)

    def keep(self, cell: Cell, name: str, made: Run, fold: Fold, key: str) -> None:
        """Two tables and a mark."""
        self.shelf.keep_answer(cell, made, key)

    def is_kept(self, cell: Cell, name: str, key: str) -> bool:
        """Whether its mark says so."""
        return self.shelf.has_answer(cell, name, key)

    def kept(self, cell: Cell, name: str, fold: Fold, key: str) -> Run | None:
        """The run with its standings."""
        return self.shelf.answer(cell, name, key)

    def judged(
        self, split: Split, fold: Fold, answers: dict[str, Run], *, trial: bool = False
    ) -> tuple[dict[str, Verdict], tuple[Finding, ...]]:
        """Under every design."""
        return judge_fold(self.plan, split, fold, answers, trial=trial, threads=self.threads)

    def show(self, cell: Cell, split: Split, fold: Fold, answers: dict[str, Run]) -> None:
        """Every experiment, with the systems that answered; one that fails is told, as a system would be."""
        if not self.plan.experiments:
            return
        systems = [system for system in self.plan.systems if system.name in answers]
        models = {system.name: system.seeded(cell.seed) for system in systems}
        keys = {one.name: model_key(one.text, one.source, models[one.name], fold) for one in systems}

        from recassay.bias.base import Trial  # few studies have experiments

        @functools.cache
        def trial() -> Trial:
            fitted = {name: self.fitted(name, model, fold, keys[name]) for name, model in models.items()}
            return Trial(fold, self.plan.protocol, models, fitted, answers, self.threads)

        for done, experiment in enumerate(self.plan.experiments):
            self.told(f"{cell.dataset}, {cell.split}: experiments", done, len(self.plan.experiments))
            key = digest_of(keys, str(self.plan.protocol), str(experiment))
            try:
                if self.shelf.exhibits(key) is None:
                    self.shelf.keep_exhibits(key, experiment(trial()))
            except Exception as error:
                self.record.failed(cell, str(experiment), error)
                continue
            for exhibit in self.shelf.exhibits(key) or ():
                self.record.shown(cell, exhibit)


RUNNERS: Mapping[type[AnyPlan], Callable[..., Runner[Any, Any]]] = {
    Plan: _ListRunner,
    SequencePlan: SequenceRunner,
    StreamPlan: StreamRunner,
}


def _silent(_stage: str, _done: int, _of: int) -> None:
    """Nobody listens."""
