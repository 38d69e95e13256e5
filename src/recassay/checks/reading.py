"""R0xx: ambiguous input files, and how they were read."""

from __future__ import annotations

import math
from dataclasses import dataclass

from recassay.checks.base import Facts, ReplacedRunFacts, check, format_count, format_share
from recassay.checks.counts import CheckInput
from recassay.columnar.layout import is_one_number, row_groups
from recassay.data.order_signs import OrderSigns
from recassay.results.finding import Severity
from recassay.results.scores import Summary

MANY_LISTS = 10  # of three items or more; in fewer, scores may look like ranks by accident


@dataclass(frozen=True)
class FileRemark:
    """A remark on a whole file, as a sentence; the sum of the remarks of partitions is the first sentence.

    >>> FileRemark(None) + FileRemark("no rank"), FileRemark("no rank") + FileRemark("no rank")
    (FileRemark(text='no rank'), FileRemark(text='no rank'))
    """

    text: str | None

    def __add__(self, other: FileRemark) -> FileRemark:
        return self if self.text is not None else other


def _order(given: CheckInput) -> FileRemark:
    as_given = given.alignment.conventions.order == "given"
    return FileRemark(given.alignment.run.remarks.get("R001") if as_given else None)


@check("R001", "Row order taken as rank order", "info", count=_order)
def rows_as_they_stand(facts: Facts) -> str | None:
    """Report if the run has neither ranks nor scores, so that the order of its rows is the order of the items.

    If this is intended, pass `--order row`, and the finding disappears.
    """
    found: FileRemark = facts.counted["R001"]
    return found.text


@check("R002", "A column of numbers in the truth was not read", "warning", count=lambda given: _of_truth(given, "R002"))
def unread_gains(facts: Facts) -> str | None:
    """Report if the truth has a column of numbers, but none with a known name for gains: every row has gain 1."""
    found: FileRemark = facts.counted["R002"]
    return found.text


@check("R011", "A column of numbers in the log was not read", "info", needs=("train",))
def unread_ratings(facts: Facts) -> str | None:
    """Report if the training log has a column of numbers, but none with a known name for ratings.

    Every row is then an event without a rating. `recassay split` and `recassay stats` say so too.
    """
    return None if facts.train is None else facts.train.remarks.get("R011")


def _of_truth(given: CheckInput, code: str) -> FileRemark:
    return FileRemark(given.alignment.truth.remarks.get(code))


def _several(given: CheckInput) -> FileRemark:
    return FileRemark(given.alignment.run.remarks.get("R003")) + _of_truth(given, "R003")


@check("R003", "Several tables in one file", "warning", count=_several)
def tables_in_one_file(facts: Facts) -> str | None:
    """Report if a column that is not read, such as `model`, `fold` or `split`, has several values for one user.

    The rows of several systems, folds or parts are then mixed in one list, or one truth. If each user has one value, as
    in cross-validation, nothing is mixed and nothing is reported.
    """
    found: FileRemark = facts.counted["R003"]
    return found.text


def _cut(given: CheckInput) -> FileRemark:
    files = (given.alignment.run, given.alignment.truth, given.train)
    texts = [file.remarks["R012"] for file in files if file is not None and "R012" in file.remarks]
    return FileRemark("; ".join(texts) or None)


@check("R012", "A file may be cut short", "warning", count=_cut)
def cut_short(facts: Facts) -> str | None:
    """Report if the last line of a text file has no end, and its last field is shorter than all those above it.

    So ends a file whose download was interrupted; rows below are then missing, and the last value is a part of one. A
    last line without an end is sound if its fields are whole.
    """
    found: FileRemark = facts.counted["R012"]
    return found.text


def _signs(given: CheckInput) -> OrderSigns:
    return given.alignment.run.signs


@dataclass(frozen=True)
class RankLikeScores:
    """Signs of ranks in the scores of lists, and the numbers of relevant items in the upper and lower half of lists.

    >>> (RankLikeScores(OrderSigns(2, 2), 30, 1) + RankLikeScores(OrderSigns(1), 0, 2)).mostly_upper
    True
    """

    signs: OrderSigns
    upper: int = 0
    lower: int = 0

    def __add__(self, other: RankLikeScores) -> RankLikeScores:
        return RankLikeScores(self.signs + other.signs, self.upper + other.upper, self.lower + other.lower)

    @property
    def mostly_upper(self) -> bool:
        """Return whether relevant items are more often in the upper half of lists than chance explains."""
        return self.upper - self.lower > 2 * math.sqrt(self.upper + self.lower)


def _rank_like(given: CheckInput) -> RankLikeScores:
    signs = given.alignment.run.signs
    if not signs.rank_like or signs.rank_like < signs.lists:
        return RankLikeScores(signs)
    lists = given.alignment.block(0, given.alignment.match.size)
    length = lists.length[row_groups(lists.start)]
    relevant, half = lists.grade > 0, length // 2
    upper, lower = relevant & (lists.rank <= half), relevant & (lists.rank > length - half)
    return RankLikeScores(signs, int(upper.sum()), int(lower.sum()))


@check("R004", "Scores that look like ranks", "warning", count=_rank_like)
def scores_like_ranks(facts: Facts) -> tuple[Severity, str] | None:
    """Report if the scores of every list are 1, 2, 3 and so on, and the highest is ranked first.

    They may be ranks, of which the lowest is best. Lists whose rows go from the highest score to the lowest are not
    reported. The severity is info if the rows are not in ascending order and relevant items are mostly in the upper
    half of the lists, as scores would place them; else warning.
    """
    found: RankLikeScores = facts.counted["R004"]
    signs = found.signs
    if signs.lists < MANY_LISTS or signs.rank_like < signs.lists:
        return None
    ascending = signs.ascending == signs.lists
    rows = ", in ascending order as ranks usually are" if ascending else ""
    return (
        "warning" if ascending or not found.mostly_upper else "info",
        f"in all {signs.lists:,} lists the scores are 1, 2, 3, ... or 0, 1, 2, ...{rows}; the highest is ranked first, "
        f"which puts {format_share(found.upper, found.upper + found.lower)} relevant items of the lists into their "
        "upper half; if they are ranks, name the column: --columns rank=NAME",
    )


@check("R005", "Scores contradict ranks", "info", count=_signs)
def scores_against_ranks(facts: Facts) -> tuple[Severity, str] | None:
    """Report if ranks order the lists, and the scores in the same file would order them differently.

    Re-ranking can be the reason. The severity is warning if most neighbouring rows disagree, because ranks or scores
    are then probably reversed, else info.
    """
    found: OrderSigns = facts.counted["R005"]
    if not found.contrary or facts.conventions.order != "given":
        return None
    return (
        "warning" if 2 * found.contrary > found.pairs else "info",
        f"{format_share(found.contrary, found.pairs)} neighbours in {format_count(found.contrary_lists, 'list')} have "
        "the higher "
        "score at the worse rank; ranks decide; --order score uses the scores",
    )


@dataclass(frozen=True)
class GainRange:
    """The highest gain of a truth, the number of its rows, and how many of them have a gain between 0 and 1.

    >>> GainRange(0.5, 4, 2) + GainRange(2.0, 1, 0)
    GainRange(highest=2.0, rows=5, fractions=2)
    """

    highest: float
    rows: int
    fractions: int

    def __add__(self, other: GainRange) -> GainRange:
        return GainRange(max(self.highest, other.highest), self.rows + other.rows, self.fractions + other.fractions)


def _level(row: Summary) -> float | None:
    """Return the lowest gain that counts as relevant for a metric with binary gains; None for other metrics."""
    level = row.parameters.get("relevant_from")
    return None if level is None or row.parameters.get("gain", "binary") != "binary" else float(level)


def _gains(given: CheckInput) -> GainRange:
    gains = given.alignment.truth.gains
    if is_one_number(gains) or not gains.size:  # the truth has no column of gains
        return GainRange(1.0, gains.size, 0)
    return GainRange(float(gains.max()), gains.size, int(((gains > 0) & (gains < 1)).sum()))


@check("R009", "Gains below the threshold of relevance", "warning", count=_gains)
def low_gains(facts: Facts) -> tuple[Severity, str] | None:
    """Report an error if no gain of the truth is above 0 and reaches `relevant_from`: no user has a relevant item.

    Report a warning if `relevant_from` is 1 and some gains are fractions: a gain of 0.5 is not relevant unless
    `--relevant-from` says so.
    """
    found: GainRange = facts.counted["R009"]
    levels = [level for row in facts.rows if (level := _level(row)) is not None]
    if found.highest <= 0:
        return "error", "no gain of the truth is above 0: no user has a relevant item"
    if not levels:
        return None
    if found.highest < min(levels):
        return (
            "error",
            f"the highest gain of the truth is {found.highest:g}, and an item is relevant from {min(levels):g}: no "
            "user has a relevant item; set --relevant-from, or check the gains",
        )
    if found.fractions and max(levels) == 1:
        return (
            "warning",
            f"{format_share(found.fractions, found.rows)} rows of the truth have a gain between 0 and 1, and an item "
            "is "
            "relevant from 1; set --relevant-from if they are relevant",
        )
    return None


@check("R010", "A run in the folder of a study was replaced", "warning", about=ReplacedRunFacts)
def replaced_run(facts: ReplacedRunFacts) -> str | None:
    """Report if a run that the study computed was replaced by another, which is scored as it is.

    Items that its lists lack all tie below the listed ones, so designs that rank all items see a list, not a model.
    """
    if not facts.files:
        return None
    shown = ", ".join(facts.files[:3]) + (", ..." if len(facts.files) > 3 else "")
    return (
        f"{format_count(len(facts.files), 'run')} of this system are not what the study computed ({shown}); the "
        "scores are those of the files as they are; to compute them again, delete the files"
    )
