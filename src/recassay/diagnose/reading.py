"""R0xx: what the files leave open, and how it was read."""

from __future__ import annotations

from dataclasses import dataclass

from recassay.data.finding import Severity
from recassay.data.order_signs import OrderSigns
from recassay.data.scores import Summary
from recassay.diagnose.base import Facts, check, several, share
from recassay.diagnose.counts import Sight

MANY_LISTS = 10  # of three items or more: in fewer, scores may count by accident


@dataclass(frozen=True)
class Remark:
    """What is to be said of a file, whichever part of it is looked at.

    >>> Remark(None) + Remark("no rank"), Remark("no rank") + Remark("no rank")
    (Remark(text='no rank'), Remark(text='no rank'))
    """

    text: str | None

    def __add__(self, other: Remark) -> Remark:
        return self if self.text is not None else other


def _order(sight: Sight) -> Remark:
    given = sight.meeting.conventions.order == "given"
    return Remark(sight.meeting.run.remarks.get("R001") if given else None)


@check("R001", "Order of the rows taken as given", "info", count=_order)
def rows_as_they_stand(facts: Facts) -> str | None:
    """The run has neither a rank nor a score, so that nothing but the place of its rows says what comes first.

    If that is meant, `--order row` says so, and this finding is gone.
    """
    found: Remark = facts.counted["R001"]
    return found.text


@check("R002", "Numbers of the truth left unread", "warning", count=lambda sight: _of_truth(sight, "R002"))
def unread_gains(facts: Facts) -> str | None:
    """The truth has no gain under a name that is known, and another column of numbers: every row counts as 1."""
    found: Remark = facts.counted["R002"]
    return found.text


def _of_truth(sight: Sight, code: str) -> Remark:
    return Remark(sight.meeting.truth.remarks.get(code))


def _several(sight: Sight) -> Remark:
    return Remark(sight.meeting.run.remarks.get("R003")) + _of_truth(sight, "R003")


@check("R003", "Several tables in one file", "warning", count=_several)
def tables_in_one_file(facts: Facts) -> str | None:
    """A column that nobody reads, such as `model`, `fold` or `split`, has several values for one and the same user.

    The rows of several systems, folds or parts are then one list, or one truth. Where each user has one value, as in
    cross-validation, nothing is mixed and nothing is said.
    """
    found: Remark = facts.counted["R003"]
    return found.text


def _signs(sight: Sight) -> OrderSigns:
    return sight.meeting.run.signs


@check("R004", "Scores that count like ranks", "warning", count=_signs)
def scores_like_ranks(facts: Facts) -> tuple[Severity, str] | None:
    """In every list the scores are 1, 2, 3 and so on, and the highest comes first. If they are ranks, it is the last.

    A warning where the rows stand in this order, as ranks do; where they stand in any order it is for information.
    Lists that are written with their highest score first mean it.
    """
    found: OrderSigns = facts.counted["R004"]
    if found.lists < MANY_LISTS or found.counting < found.lists:
        return None
    rows = ", one after the other as ranks stand" if found.ascending == found.lists else ""
    return (
        "warning" if rows else "info",
        f"in all {found.lists:,} lists the scores are 1, 2, 3, ... or 0, 1, 2, ...{rows}; the highest comes first; if "
        "they are ranks, name the column: --columns rank=NAME",
    )


@check("R005", "Scores against ranks", "info", count=_signs)
def scores_against_ranks(facts: Facts) -> tuple[Severity, str] | None:
    """Ranks order the lists, and the scores beside them would order them otherwise, as in lists that were re-ranked.

    A warning if most neighbours are the other way round: then ranks or scores run backwards.
    """
    found: OrderSigns = facts.counted["R005"]
    if not found.contrary or facts.conventions.order != "given":
        return None
    return (
        "warning" if 2 * found.contrary > found.pairs else "info",
        f"{share(found.contrary, found.pairs)} neighbours in {several(found.contrary_lists, 'list')} have the higher "
        "score at the lower rank; ranks decide, --order score takes the scores",
    )


@dataclass(frozen=True)
class Gains:
    """The highest gain of a truth, its rows, and how many of them have a gain between 0 and 1.

    >>> Gains(0.5, 4, 2) + Gains(2.0, 1, 0)
    Gains(highest=2.0, rows=5, fractions=2)
    """

    highest: float
    rows: int
    fractions: int

    def __add__(self, other: Gains) -> Gains:
        return Gains(max(self.highest, other.highest), self.rows + other.rows, self.fractions + other.fractions)


def _level(row: Summary) -> float | None:
    """From which gain an item is relevant, for metrics that look at nothing else of a gain."""
    level = row.parameters.get("relevant_from")
    return None if level is None or row.parameters.get("gain", "binary") != "binary" else float(level)


def _gains(sight: Sight) -> Gains:
    gains = sight.meeting.truth.gains
    if gains.strides == (0,) or not gains.size:  # all alike: there was no column of gains
        return Gains(1.0, gains.size, 0)
    return Gains(float(gains.max()), gains.size, int(((gains > 0) & (gains < 1)).sum()))


@check("R009", "Gains below what is relevant", "warning", count=_gains)
def low_gains(facts: Facts) -> tuple[Severity, str] | None:
    """No gain is as high as `relevant_from`: nobody has anything to find. Or it is 1, and gains are fractions.

    A gain of 0.5 is not relevant unless `--relevant-from` says so.
    """
    found: Gains = facts.counted["R009"]
    levels = [level for row in facts.rows if (level := _level(row)) is not None]
    if found.highest <= 0:
        return "error", "no gain of the truth is above 0: nobody has anything to find"
    if not levels:
        return None
    if found.highest < min(levels):
        return (
            "error",
            f"the highest gain of the truth is {found.highest:g}, and an item is relevant from {min(levels):g}: nobody "
            "has anything to find; say --relevant-from, or look at the gains",
        )
    if found.fractions and max(levels) == 1:
        return (
            "warning",
            f"{share(found.fractions, found.rows)} rows of the truth have a gain between 0 and 1, and an item is "
            "relevant from 1; say --relevant-from if they are relevant",
        )
    return None
