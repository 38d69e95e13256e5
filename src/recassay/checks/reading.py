"""R0xx: ambiguous input files, and how they were read."""

from __future__ import annotations

import math
from dataclasses import asdict

from recassay.checks.base import check, format_count, format_share
from recassay.checks.counts import CheckCounts
from recassay.columnar.layout import is_one_number, row_groups
from recassay.data.interactions import Interactions
from recassay.metrics.align import Alignment, Conventions
from recassay.results.finding import Severity
from recassay.results.scores import Summary

MANY_LISTS = 10  # of three items or more; in fewer, scores may look like ranks by accident


def count_reading(alignment: Alignment, train: Interactions | None) -> CheckCounts:
    """Return remarks on the files, signs of ranks in the scores, and the range of gains."""
    run, truth = alignment.run, alignment.truth
    remarks = {}
    if alignment.conventions.order == "given" and "R001" in run.remarks:
        remarks["order_remark"] = run.remarks["R001"]
    if "R002" in truth.remarks:
        remarks["gain_remark"] = truth.remarks["R002"]
    if tables := run.remarks.get("R003") or truth.remarks.get("R003"):
        remarks["tables_remark"] = tables
    if cut := [file.remarks["R012"] for file in (run, truth, train) if file is not None and "R012" in file.remarks]:
        remarks["cut_remark"] = "; ".join(cut)
    sums = {f"{name}_signs": number for name, number in asdict(run.signs).items()}
    if run.signs.rank_like and run.signs.rank_like == run.signs.lists:
        lists = alignment.block(0, alignment.match.size)
        length = lists.length[row_groups(lists.start)]
        relevant, half = lists.grade > 0, length // 2
        sums["upper"] = int((relevant & (lists.rank <= half)).sum())
        sums["lower"] = int((relevant & (lists.rank > length - half)).sum())
    gains, ranges = truth.gains, {"gains": (1.0, 1.0)}
    if not is_one_number(gains) and gains.size:  # else the truth has no column of gains
        ranges = {"gains": (float(gains.min()), float(gains.max()))}
        sums["fractions"] = int(((gains > 0) & (gains < 1)).sum())
    return CheckCounts(sums, ranges, remarks=remarks)


@check("R001", "Row order taken as rank order", "info")
def rows_as_they_stand(order_remark: str) -> str:
    """Report if the run has neither ranks nor scores, so that the order of its rows is the order of the items.

    If this is intended, pass `--order row`, and the finding disappears.
    """
    return order_remark


@check("R002", "A column of numbers in the truth was not read", "warning")
def unread_gains(gain_remark: str) -> str:
    """Report if the truth has a column of numbers, but none with a known name for gains: every row has gain 1."""
    return gain_remark


@check("R011", "A column of numbers in the log was not read", "info", needs=("train",))
def unread_ratings(train: Interactions) -> str | None:
    """Report if the training log has a column of numbers, but none with a known name for ratings.

    Every row is then an event without a rating. `recassay split` and `recassay stats` say so too.
    """
    return train.remarks.get("R011")


@check("R003", "Several tables in one file", "warning")
def tables_in_one_file(tables_remark: str) -> str:
    """Report if a column that is not read, such as `model`, `fold` or `split`, has several values for one user.

    The rows of several systems, folds or parts are then mixed in one list, or one truth. If each user has one value, as
    in cross-validation, nothing is mixed and nothing is reported.
    """
    return tables_remark


@check("R012", "A file may be cut short", "warning")
def cut_short(cut_remark: str) -> str:
    """Report if the last line of a text file has no end, and its last field is shorter than all those above it.

    So ends a file whose download was interrupted; rows below are then missing, and the last value is a part of one. A
    last line without an end is sound if its fields are whole.
    """
    return cut_remark


@check("R004", "Scores that look like ranks", "warning")
def scores_like_ranks(
    rank_like_signs: int, lists_signs: int, ascending_signs: int = 0, upper: int = 0, lower: int = 0
) -> tuple[Severity, str] | None:
    """Report if the scores of every list are 1, 2, 3 and so on, and the highest is ranked first.

    They may be ranks, of which the lowest is best. Lists whose rows go from the highest score to the lowest are not
    reported. The severity is info if the rows are not in ascending order and relevant items are mostly in the upper
    half of the lists, as scores would place them; else warning.
    """
    if lists_signs < MANY_LISTS or rank_like_signs < lists_signs:
        return None
    ascending = ascending_signs == lists_signs
    rows = ", in ascending order as ranks usually are" if ascending else ""
    mostly_upper = upper - lower > 2 * math.sqrt(upper + lower)  # more often than chance explains
    return (
        "warning" if ascending or not mostly_upper else "info",
        f"in all {lists_signs:,} lists the scores are 1, 2, 3, ... or 0, 1, 2, ...{rows}; the highest is ranked first, "
        f"which puts {format_share(upper, upper + lower)} relevant items of the lists into their upper half; if they "
        "are ranks, name the column: --columns rank=NAME",
    )


@check("R005", "Scores contradict ranks", "info")
def scores_against_ranks(
    contrary_signs: int, pairs_signs: int, contrary_lists_signs: int, conventions: Conventions
) -> tuple[Severity, str] | None:
    """Report if ranks order the lists, and the scores in the same file would order them differently.

    Re-ranking can be the reason. The severity is warning if most neighbouring rows disagree, because ranks or scores
    are then probably reversed, else info.
    """
    if conventions.order != "given":
        return None
    lists = format_count(contrary_lists_signs, "list")
    return (
        "warning" if 2 * contrary_signs > pairs_signs else "info",
        f"{format_share(contrary_signs, pairs_signs)} neighbours in {lists} have the higher score at the worse rank; "
        "ranks decide; --order score uses the scores",
    )


@check("R009", "Gains below the threshold of relevance", "warning")
def low_gains(
    rows: tuple[Summary, ...], gains: tuple[float, float], truth_rows: int, fractions: int = 0
) -> tuple[Severity, str] | None:
    """Report an error if no gain of the truth is above 0 and reaches `relevant_from`: no user has a relevant item.

    Report a warning if `relevant_from` is 1 and some gains are fractions: a gain of 0.5 is not relevant unless
    `--relevant-from` says so.
    """
    highest = gains[1]
    binary = [row.parameters for row in rows if row.parameters.get("gain", "binary") == "binary"]
    levels = [float(level) for about in binary if (level := about.get("relevant_from")) is not None]
    if highest <= 0:
        return "error", "no gain of the truth is above 0: no user has a relevant item"
    if levels and highest < min(levels):
        return (
            "error",
            f"the highest gain of the truth is {highest:g}, and an item is relevant from {min(levels):g}: no "
            "user has a relevant item; set --relevant-from, or check the gains",
        )
    if levels and fractions and max(levels) == 1:
        return (
            "warning",
            f"{format_share(fractions, truth_rows)} rows of the truth have a gain between 0 and 1, and an item is "
            "relevant from 1; set --relevant-from if they are relevant",
        )
    return None
