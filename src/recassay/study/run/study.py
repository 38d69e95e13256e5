"""``run_study``, and the runner of studies of ranked lists."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from recassay.checks.leaks import fold_findings
from recassay.columnar.time_kind import require_times
from recassay.data.features import Features
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.memberships import Memberships
from recassay.data.run import Run
from recassay.engine.lists.groups import GroupRules, user_groups
from recassay.engine.ranks.play import play_fitted, ranking_task
from recassay.engine.ranks.standings import standings_of_lists
from recassay.engine.ranks.task import RankingTask
from recassay.errors import RecassayError, UsageError
from recassay.metrics.base import UnitMetric
from recassay.models.base.capabilities import fitted_on_fold
from recassay.models.base.training import Listener
from recassay.naming.arguments import checks_types
from recassay.protocols.base import UserProtocol
from recassay.results.finding import Finding
from recassay.split.base import Split
from recassay.stats.intervals import Uncertainty
from recassay.study.config.parameters import Value
from recassay.study.config.schema import Tune
from recassay.study.config.sources import load_item_groups, load_items, load_user_groups
from recassay.study.plan.early import read_plan, require_run_files
from recassay.study.plan.plan import LISTS, AnyPlan, Plan, SequencePlan, StreamPlan
from recassay.study.plan.rerank_tuning import Choice, FailedChoice, choose_settings, reranker_exhibit
from recassay.study.plan.run_files import RunFile
from recassay.study.plan.systems import System
from recassay.study.run.dry_run import UNTRUSTED, Rehearsal
from recassay.study.run.judging import Remember, absent_metrics, compute_again, judge_fold, judge_item_groups
from recassay.study.run.runner import ReportProgress, Runner
from recassay.study.run.sequences import SequenceRunner
from recassay.study.run.small_fold import rehearsal_of_lists
from recassay.study.run.streams import StreamRunner
from recassay.study.run.study_scores import StudyScores
from recassay.study.store import state
from recassay.study.store.folder import StudyCell, digest_of, model_key
from recassay.study.store.results import Results


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
    request = state.request(path, data=data, quick=quick, values=values)
    if (found := state.stored_results(out, request)) is not None:
        return found
    plan = read_plan(path, data=data, quick=quick, values=values)
    folder = None if data is None else Path(data)
    runner = RUNNERS[type(plan)](plan, Path(out), folder, threads, progress or _silent, trust, wait)
    runner.record.command = run_command(path, out, data=data, quick=quick, values=values)
    runner.arguments = request
    return runner.run()


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


def _cached_task() -> Callable[[Fold, UserProtocol], RankingTask]:
    """Return a function that makes the ranking task of a fold and keeps the last one, for the next systems."""
    return functools.lru_cache(maxsize=1)(ranking_task)


@dataclass
class _ListRunner(Runner[Fold, Run]):
    """One run of a study of ranked lists."""

    plan: Plan
    task: Callable[[Fold, UserProtocol], RankingTask] = field(default_factory=_cached_task)
    digests: WeakKeyDictionary[Run, str] = field(default_factory=WeakKeyDictionary)  # of the files of stored runs
    choices: dict[tuple[int, str], Choice] = field(default_factory=dict)  # by fold and tuned re-ranker, of a split

    @functools.cached_property
    def items(self) -> Callable[[str], Features | None]:
        """Return a function from the name of a data set to its item features, which are read once."""
        return functools.cache(self._features)

    def folds(self, name: str, log: Interactions, split: Split) -> tuple[Fold, ...]:
        """Return the folds of a split with the item features of the data set; raise an error if a run file is missing.

        Groups that the study asks for are read first, so that a mistake in them is found before models are fitted.
        """
        for by in self.plan.study.by:
            self.user_groups(name, by)
        for by in self.plan.study.by_item:
            self.item_groups(name, by)
        items, folds = self.items(name), split(log)
        require_run_files(self.plan, name, str(split), [fold.number for fold in folds])
        if self.plan.study.users == "known":
            folds = tuple(fold.of_known_users() for fold in folds)
        return folds if items is None else tuple(replace(fold, items=items) for fold in folds)

    def _features(self, name: str) -> Features | None:
        try:
            return load_items(self.plan.data[name], self.plan.folder, self.data)
        except RecassayError as error:
            raise self.plan.locate_data(name, error, "items") from error

    @functools.cached_property
    def user_groups(self) -> Callable[[str, str], Memberships]:
        """Return a function from data set and column to the groups of users that the column makes.

        Each column is read once.
        """
        return functools.cache(self._user_groups)

    def _user_groups(self, name: str, by: str) -> Memberships:
        try:
            return load_user_groups(self.plan.data[name], by, self.plan.folder, self.data)
        except RecassayError as error:
            raise self.plan.locate_data(name, error) from error

    @functools.cached_property
    def item_groups(self) -> Callable[[str, str], Memberships]:
        """Return a function from data set and column to the groups of items that the column makes.

        Each column is read once.
        """
        return functools.cache(self._item_groups)

    def _item_groups(self, name: str, by: str) -> Memberships:
        try:
            return load_item_groups(self.plan.data[name], by, self.plan.folder, self.data)
        except RecassayError as error:
            raise self.plan.locate_data(name, error) from error

    def compare(self, cell: StudyCell, design: str, scored: StudyScores) -> None:
        """Compare the systems over all folds, and record their means by group if the study asks for groups."""
        super().compare(cell, design, scored)
        study, judge = self.plan.study, self.plan.study.judge
        known = {name: self.plan.metrics[name] for name in scored.scores.metrics if name in self.plan.metrics}
        metrics = {name: metric for name, metric in known.items() if isinstance(metric, UnitMetric)}
        how = Uncertainty(judge.method, judge.level, judge.resamples, judge.seed)
        rules = GroupRules(study.smallest_group, study.compare.correction, judge.level)
        for by in study.by:
            groups = user_groups(scored.scores, self.user_groups(cell.dataset, by), metrics, how, rules, self.threads)
            self.record.note_groups(cell, design, groups)
        for groups_of_items in scored.item_groups:
            self.record.note_groups(cell, design, groups_of_items.scores(scored.scores, how, rules))

    def check_log(self, name: str, log: Interactions) -> None:
        """Raise an error with the line of the split if a split needs times that the log does not have."""
        for number, split in enumerate(self.plan.splits_of(name)):
            try:
                require_times(log, split.needs, split)
            except RecassayError as error:
                raise self.plan.locate_split(name, number, error) from None

    def rehearse(self, cell: StudyCell, split: Split, fold: Fold) -> Rehearsal[Run]:
        """Return two functions, not yet called, that try the study on a small part of a fold.

        One fits a system and returns its lists; the other scores lists under every design and metric.
        """
        return rehearsal_of_lists(self.plan, cell, split, fold, threads=self.threads)

    def systems(self, fold: Fold) -> tuple[System, ...]:
        """Return the systems; re-rankers under ``tune`` have the best parameters on the validation part of the fold."""
        tune, found = self.plan.study.tune, []
        for system in self.plan.systems:
            if tune is not None and system.name in tune.grid:
                self.report(f"{system.name}: settings", 0, 1)
                system, choice = self._tuned(system, tune, fold)  # noqa: PLW2901
                self.choices[fold.number, system.name] = choice
            found.append(system)
        return tuple(found)

    def _tuned(self, system: System, tune: Tune, fold: Fold) -> tuple[System, Choice]:
        """Return a re-ranker with tuned parameters, and what was tried.

        Raise an error for a mistake in the grid. If tuning fails otherwise, return a system that fails when it is
        fitted, so that the other systems still run.
        """
        try:
            return choose_settings(system, tune, fold, self.plan.protocol, self.out, self.threads)
        except UsageError as error:
            raise self.plan.document.locate(("tune",), error) from error
        except Exception as error:
            if isinstance(error, RecassayError) and error.code == UNTRUSTED:
                raise
            return replace(system, model=FailedChoice(error)), {"chosen": {}, "tried": []}

    def _exhibit_choices(self, cell: StudyCell) -> None:
        """Write a chart of the parameters of re-rankers that were tried on the folds of a split."""
        tune, by_system = self.plan.study.tune, dict[str, dict[int, Choice]]()
        for (number, name), choice in self.choices.items():
            if choice["tried"]:
                by_system.setdefault(name, {})[number] = choice
        if by_system and tune is not None:
            self.record.write_exhibit(cell, reranker_exhibit(by_system, tune))
        self.choices = {}

    def findings_of_fold(self, fold: Fold) -> tuple[Finding, ...]:
        """Return findings about training events that are later than test events, and metrics that lack their data."""
        return *fold_findings(fold), *absent_metrics(self.plan, fold)

    def fitted(self, name: str, model: Any, fold: Fold, key: str) -> Any:
        """Return the fitted model of system ``name``, or the ranked lists in its run file."""
        return model.read(name) if isinstance(model, RunFile) else super().fitted(name, model, fold, key)

    def fit(self, model: Any, fold: Fold, checkpoint: Path, listener: Listener) -> Any:
        """Return the model fitted on the training part of a fold.

        Training in epochs writes ``checkpoint`` after every epoch, resumes from it, and reports to ``listener``.
        """
        return fitted_on_fold(model, fold, checkpoint=checkpoint, listener=listener)

    def protocol_text(self, fold: Fold, seed: int) -> str:
        """Return the protocol as text, the same for every seed."""
        return str(self.plan.protocol)

    def prepare(self, fold: Fold) -> None:
        """Make the ranking task of the fold (users, candidates and relevant items), which all systems share."""
        self.task(fold, self.plan.protocol)

    def answer(self, fitted: Any, fold: Fold, name: str, seed: int, checkpoint: Path, listener: Listener) -> Run:
        """Return the ranked lists of a fitted system with standings (counts of candidates above each relevant item)."""
        task = self.task(fold, self.plan.protocol)
        return play_fitted(fitted, task, name, k=self.plan.protocol.k, threads=self.threads)

    def store_answer(self, cell: StudyCell, name: str, made: Run, fold: Fold, key: str) -> None:
        """Write the ranked lists and standings of a system on a cell (fold and seed), together with ``key``.

        Standings are counts of candidates above each relevant item, and the key is a digest of all that the lists
        depend on. The file with the key is written last: it makes the others valid.
        """
        self.store.store_answer(cell, made, key)

    def load_answer(self, cell: StudyCell, name: str, fold: Fold, key: str) -> Run | None:
        """Return the ranked lists of a system that are stored for a cell (fold and seed), with standings.

        Return None if none are stored with this ``key``, a digest of all that they depend on. Standings are counts of
        candidates above each relevant item; if another program wrote the lists, they are computed from these.
        """
        run = self.store.answer(cell, name, key)
        if run is None:
            return None
        if run.standings is not None:
            self.digests[run] = self.store.answer_digest(cell, name)
            return run
        task = self.task(fold, self.plan.protocol)
        return replace(run, standings=standings_of_lists(task, run, threads=self.threads))

    def judge(
        self, split: Split, fold: Fold, answers: dict[str, Run], *, dry_run: bool = False
    ) -> tuple[dict[str, StudyScores], tuple[Finding, ...]]:
        """Return the scores of the ranked lists of all systems on a fold by design, and the findings."""
        remember = compute_again if dry_run else self._remember(answers)
        return judge_fold(self.plan, split, fold, answers, dry_run=dry_run, threads=self.threads, remember=remember)

    def _remember(self, answers: Mapping[str, Run]) -> Remember:
        """Return a function (system, parts, compute) -> result that looks in the folder before it calls ``compute``.

        A stored result is taken if it was computed from the same ranked lists (in ``answers``, by system) and
        ``parts``.
        """

        def remember(system: str, parts: tuple[object, ...], compute: Callable[[], Any]) -> Any:
            digest = self.digests.get(answers[system])
            if digest is None:
                return compute()
            return self.record.scored.remembered((system, digest, *parts), compute)

        return remember

    def _judged(
        self, cell: StudyCell, split: Split, fold: Fold, answers: dict[str, Run]
    ) -> tuple[dict[str, StudyScores], tuple[Finding, ...]]:
        """Return scores by design, and findings; ranked lists have groups of items if the study asks for these."""
        found, findings = super()._judged(cell, split, fold, answers)
        if self.plan.study.by_item and LISTS in found:
            memberships = [self.item_groups(cell.dataset, by) for by in self.plan.study.by_item]
            groups = judge_item_groups(self.plan, fold, answers, memberships, self.threads)
            found[LISTS] = replace(found[LISTS], item_groups=groups)
        return found, findings

    def make_exhibits(self, cell: StudyCell, split: Split, fold: Fold, answers: dict[str, Run]) -> None:
        """Run every experiment of the study on the systems of a fold, and write its exhibits (tables to draw).

        A failure is recorded like that of a system.
        """
        self._exhibit_choices(cell)
        if not self.plan.experiments:
            return
        systems = [system.at(cell) for system in self.systems(fold) if system.name in answers]
        models = {system.name: system.model for system in systems}
        keys = {each.name: model_key(each.text, each.source, models[each.name], fold) for each in systems}

        from recassay.experiments.base import Lazy, Trial  # few studies have experiments

        @functools.cache
        def trial() -> Trial:
            fitted = Lazy(models, lambda name: self.fitted(name, models[name], fold, keys[name]))
            described = {name: fitted[name] if isinstance(model, RunFile) else model for name, model in models.items()}
            return Trial(fold, self.plan.protocol, described, fitted, answers, self.threads)

        for done, experiment in enumerate(self.plan.experiments):
            self.report(f"{cell.dataset}, {cell.split}: experiments", done, len(self.plan.experiments))
            key = digest_of(keys, str(self.plan.protocol), str(experiment))
            try:
                if self.store.exhibits(key) is None:
                    self.store.store_exhibits(key, experiment(trial()))
            except Exception as error:
                if isinstance(error, RecassayError) and error.code == UNTRUSTED:
                    raise
                self.record.note_failure(cell, str(experiment), error)
                continue
            for exhibit in self.store.exhibits(key) or ():
                self.record.write_exhibit(cell, exhibit)


RUNNERS: Mapping[type[AnyPlan], Callable[..., Runner[Any, Any]]] = {
    Plan: _ListRunner,
    SequencePlan: SequenceRunner,
    StreamPlan: StreamRunner,
}


def _silent(_stage: str, _done: int, _of: int) -> None:
    """Do nothing: the progress callback of a study that reports no progress."""
