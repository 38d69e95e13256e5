"""Which systems and metrics of a study fail, so that the study goes on without them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol, Self

from recassay.study.run.record import Record
from recassay.study.store.folder import StudyCell

TOO_FEW_CANDIDATES = "U120"
Errors = dict[str, Exception]  # by system or metric


class JudgesAnswers(Protocol):
    """A protocol for runners of a study that can score what systems answered (lists, sequences or outcomes)."""

    plan: Any

    @property
    def record(self) -> Record:
        """Return the record of the results."""

    def judge(self, split: Any, fold: Any, answers: dict[str, Any], *, dry_run: bool = False) -> Any:
        """Return the scores of all systems on a fold from ``answers``: lists, sequences or outcomes by system."""

    def with_metrics(self, headings: Sequence[str]) -> Self:
        """Return a runner of the same study with these metrics only."""

    def drop_metrics(self, headings: Collection[str]) -> None:
        """Leave out the metrics with these headings from here on."""


def leave_out(
    runner: JudgesAnswers, cell: StudyCell, split: Any, fold: Any, answers: dict[str, Any], *, one_of: int = 1
) -> bool:
    """Record and leave out the metrics that fail for all systems, or else the systems that cannot be scored.

    These systems are removed from ``answers``, results by system. Return whether anything was left out. ``one_of`` is
    the number of systems that ``answers`` will have in the end: while it has fewer, metrics that fail are kept, since
    the system may be to blame.
    """

    def unscorable_by(runner: JudgesAnswers) -> Errors:
        return unscorable(lambda some: runner.judge(split, fold, some, dry_run=True), answers)

    def attempt(heading: str) -> None:
        errors = unscorable_by(runner.with_metrics([heading]))
        if len(errors) == len(answers):
            raise next(iter(errors.values()))

    errors = unscorable_by(runner)
    metrics = failing_metrics(runner.plan.metrics, attempt) if errors and len(errors) == len(answers) else {}
    if metrics and len(answers) < one_of:
        return False
    runner.drop_metrics(metrics)
    for name, error in (metrics or errors).items():
        runner.record.note_failure(cell, name, error)
        answers.pop(name, None)
    return bool(errors)


def unscorable(judge: Callable[[dict[str, Any]], object], answers: Mapping[str, Any]) -> Errors:
    """Return the errors of the systems whose lists, sequences or outcomes (``answers``) cannot be scored alone.

    ``judge`` scores the answers of some systems, or raises. Raise an error about too few candidates, which no system
    can change.
    """
    failed: Errors = {}
    for name, answer in answers.items():
        try:
            judge({name: answer})
        except Exception as error:
            if getattr(error, "code", None) == TOO_FEW_CANDIDATES:
                raise
            failed[name] = error
    return failed


def failing_metrics(headings: Iterable[str], attempt: Callable[[str], None]) -> Errors:
    """Return ``{heading: error}`` of the metrics that fail although another one works; empty if all fail.

    ``attempt`` computes one metric, or raises its error.

    >>> def attempt(heading):
    ...     if heading == "mine":
    ...         raise ZeroDivisionError
    >>> failing_metrics(["mine", "mrr"], attempt)
    {'mine': ZeroDivisionError()}
    >>> failing_metrics(["mine"], attempt)
    {}
    """
    headings, failed = tuple(headings), Errors()
    for heading in headings:
        try:
            attempt(heading)
        except Exception as error:
            failed[heading] = error
    return failed if len(failed) < len(headings) else {}
