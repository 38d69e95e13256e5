"""The dry run of a study on a small part of its data, so that failures show in seconds and not after hours."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from recassay.data.interactions import Interactions
from recassay.errors import InputError, RecassayError, UsageError
from recassay.study.plan.plan import AnyPlan
from recassay.study.plan.systems import System
from recassay.study.run.failing import Errors, JudgesAnswers, failing_metrics, unscorable
from recassay.study.store.folder import StudyCell

UNTRUSTED = "U236"  # a pickle of another process
FAILED = "U135"
Answer = TypeVar("Answer")
Failure = tuple[StudyCell, str, Exception]  # where, what and why


@dataclass(frozen=True)
class Rehearsal(Generic[Answer]):
    """What a dry run of a study calls on a small part of one fold.

    ``size`` says how large the part is. ``answer(system)`` fits a system on the part and returns its lists, sequences
    or outcomes of a stream, and ``judge`` scores these, by system, under all metrics of the study.
    """

    size: str
    answer: Callable[[System], Answer]
    judge: Callable[[dict[str, Answer]], Any]


class Rehearses(JudgesAnswers, Protocol):
    """A protocol for runners of a study, with what a dry run needs of them."""

    @property
    def report(self) -> Callable[[str, int, int], None]:
        """Return the function that reports progress."""

    def folds(self, name: str, log: Any, split: Any) -> Sequence[Any]:
        """Return the folds that a split makes of the log of a data set."""

    def rehearse(self, cell: StudyCell, split: Any, fold: Any) -> Rehearsal[Any]:
        """Return the functions, not yet called, that try systems and metrics on a small part of a fold."""


def dry_run(runner: Rehearses, logs: Mapping[str, Interactions], names: Collection[str]) -> list[Failure]:
    """Try systems and metrics on a small part of the data of a study; return what failed where, and why.

    A metric that failed is dropped from ``runner``; the caller must leave out a system on the data where it failed.
    ``names`` are the systems and metrics that are new or changed, or failed in an earlier dry run. Only the systems
    among them are tried: the first system of the study if there is none, and all if a metric is among them. Raise the
    first error if no system works anywhere.
    """
    plan, failed, works = runner.plan, list[Failure](), False
    systems = tuple(system for system in plan.systems if system.name in names) or plan.systems[:1]
    if set(names) - {system.name for system in plan.systems}:
        systems = plan.systems
    places = [(name, log, split) for name, log in logs.items() for split in plan.splits_of(name)]
    for done, (name, log, split) in enumerate(places):
        runner.report("dry run on a small part", done, len(places))
        fold = runner.folds(name, log, split)[0]
        cell = StudyCell(name, str(split), fold.number, plan.study.seeds[0])
        bad_systems, bad_metrics = failures_on(runner, systems, cell, split, fold)
        failed += [(cell, *one) for one in (bad_systems | bad_metrics).items()]
        runner.drop_metrics(bad_metrics)
        works = works or len(bad_systems) < len(plan.systems)
        runner.report("dry run on a small part", done + 1, len(places))
    for _, name, error in failed:
        if not works:
            raise error
        runner.report(f"{name} failed in the dry run and is left out", 0, 1)
    return failed


def failures_on(
    runner: Rehearses, systems: Sequence[System], cell: StudyCell, split: Any, fold: Any
) -> tuple[Errors, Errors]:
    """Return ({system: error}, {metric: error}) of what fails on a small part of a fold.

    A metric failed if no system can be scored by it, although another metric works. Raise an error about the request or
    the data of a metric, such as missing item features: it is a mistake in the study file.
    """

    def failures(headings: Sequence[str]) -> Errors:
        few = runner if len(headings) == len(runner.plan.metrics) else runner.with_metrics(headings)
        return _failing_systems(few.rehearse(cell, split, fold), few.plan, systems)

    def attempt(heading: str) -> None:
        errors = failures([heading])
        if len(errors) == len(systems):
            raise _cause(next(iter(errors.values())))

    plan = runner.plan
    failed = failures(list(plan.metrics))
    bad = failing_metrics(plan.metrics, attempt) if len(failed) == len(systems) else {}
    if not bad:
        return failed, {}
    about: Errors = {}
    for heading, error in bad.items():
        if isinstance(error, InputError | UsageError):
            raise plan.locate_metric(heading, error) from error
        about[heading] = plan.locate_metric(heading, _as_failure(heading, "a small part of the data", error))
        about[heading].__cause__ = error
    return failures([heading for heading in plan.metrics if heading not in bad]), about


def _failing_systems(rehearsal: Rehearsal[Any], plan: AnyPlan, systems: Sequence[System]) -> Errors:
    """Return the errors of the systems that fail on a small part of a fold.

    Each error names the line of its system in the study file.
    """
    answers: dict[str, Any] = {}
    failed: Errors = {}
    for system in systems:
        try:
            answers[system.name] = rehearsal.answer(system)
        except Exception as error:
            if isinstance(error, RecassayError) and error.code == UNTRUSTED:
                raise
            known = error if isinstance(error, RecassayError) else _as_failure(system.name, rehearsal.size, error)
            failed[system.name] = plan.document.locate(system.key, known)
            failed[system.name].__cause__ = error
    try:
        if answers:
            rehearsal.judge(answers)
    except Exception:
        errors = unscorable(rehearsal.judge, answers)
        if not errors:
            raise
        for system in systems:
            if (found := errors.get(system.name)) is not None:
                is_known = isinstance(found, RecassayError)
                failed[system.name] = found if is_known else _as_failure(system.name, rehearsal.size, found)
        if rest := {name: answer for name, answer in answers.items() if name not in errors}:
            rehearsal.judge(rest)
    return {system.name: failed[system.name] for system in systems if system.name in failed}


def _as_failure(name: str, size: str, error: Exception) -> RecassayError:
    """Return the error of a system or metric as U135; ``size`` says how much data it failed on."""
    what = f"{name} failed on {size}: {type(error).__name__}: {error}"
    found = UsageError(FAILED, what, hint="the traceback shows where; fix the code, or remove it from the study")
    found.__cause__ = error
    return found


def _cause(error: Exception) -> Exception:
    """Return the error that a system or metric raised itself, without the U135 around it."""
    wrapped = isinstance(error, RecassayError) and error.code == FAILED
    return error.__cause__ if wrapped and isinstance(error.__cause__, Exception) else error
