"""R0xx: ambiguous input files, and how they were read: odd ids, and scores, gains and columns that may mislead."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict

import numpy as np
import polars as pl

from recassay.checks.base import check, format_count, format_share
from recassay.checks.counts import MOST_USERS, CheckCounts, frequencies
from recassay.columnar.layout import is_one_number, row_groups
from recassay.columnar.vocabulary import count_codes, rows_in_table
from recassay.data.interactions import Interactions
from recassay.metrics.align import Alignment, Conventions
from recassay.results.finding import Severity
from recassay.results.scores import Summary

# How programs write a missing value; and names of columns, which end up among the users if a file has a second header.
NOTHING = r"(?i)^\s*(nan|none|null|nil|nat|<na>|#n/a)?\s*$"
HEADER = r"(?i)^(user_?id|user|uid|query_?id|qid)$"
LETTERS = 0.1  # share of the unmatched ids; fewer that differ only in letter case may be different ids
MANY_LISTS = 10  # of three items or more; in fewer, scores may look like ranks by accident
COMMON = 0.01  # share of the rows of a run
LINES = 1 << 20  # ids in one text
FIRST_LOOK = 1 << 14  # rows, or a 32nd of all if that is more: enough to see that a run is sound

# An id that matches NOTHING lies between two of these texts: blanks and "#" are below "0", and some are not ASCII.
BOUNDS = pl.Series(["", "0", "<", "=", "N", "O", "n", "o", "\x7f"])
LONGEST_HEADER = 16  # bytes; no letter takes more than two

# Only ids that match can have a key that is not the id, letter case aside.
REWRITTEN = r"""^[\s"'0]|[\s"']$|\.0+$"""


def count_ids(alignment: Alignment) -> CheckCounts:
    """Return the counts and ids that the checks of ids need.

    They are the text ids of run and truth, ids that stand for a missing value, and the number of rows of the run whose
    item is in the truth.
    """
    run, truth, match = alignment.run, alignment.truth, alignment.match
    examples: dict[str, tuple[str, str]] = {}
    texts: dict[str, pl.Series] = {}
    listed: dict[str, pl.DataFrame] = {}
    items = {"run": run.vocabulary.ids, "truth": truth.vocabulary.ids}
    users = {"run": run.queries, "truth": truth.queries}
    odd_users = [(table, odd) for table, ids in users.items() for odd in _odd_users(ids)]
    odd_items = [(table, odd) for table, ids in items.items() for odd in _missing_values(ids)]
    if odd_users or odd_items:
        examples["odd_id"] = min([*odd_users, *odd_items])
    if truth.queries.dtype == run.queries.dtype == pl.String:
        unmatched = np.ones(run.queries.len(), np.bool_)
        unmatched[match[match >= 0]] = False
        texts["truth_users"] = truth.queries.filter(pl.Series(match < 0)).head(MOST_USERS).rename("user")
        texts["run_users"] = run.queries.filter(pl.Series(unmatched)).head(MOST_USERS).rename("user")
    texts |= {
        f"{table}_items": ids.rename("item")
        for table, ids in items.items()
        if ids is not None and ids.dtype == pl.String
    }
    rows, judged = alignment.items.size, truth.item_counts[0]
    first = max(FIRST_LOOK, rows // 32)
    known = int(np.isin(alignment.items[:first], judged).sum())
    if known < COMMON * rows:
        known += int(np.isin(alignment.items[first:], judged).sum())
    if not alignment.whole:
        # the items of a part are looked up in those of the whole truth if its own does not have enough of them
        texts["judged"] = truth.vocabulary.decode(judged).rename("item")
        if known < COMMON * rows:
            known, listed["listed"] = 0, frequencies(count_codes(run.items), run.vocabulary)
    sums = {"odd_users": len(odd_users), "known_rows": known}
    return CheckCounts(sums, {"odd_items": (0, len(odd_items))}, examples, ids=texts, frequencies=listed)


def _odd_users(ids: pl.Series) -> list[str]:
    """Return the text ids that stand for a missing value, or are the name of a column of users."""
    if ids.dtype != pl.String:
        return []
    few = ids.filter(ids.str.len_bytes() <= LONGEST_HEADER)
    return [*_missing_values(ids), *few.filter(few.str.contains(HEADER))]


def _missing_values(ids: pl.Series | None) -> list[str]:
    """Return the text ids that stand for a missing value; ``ids`` ascend, so few of them need a look."""
    if ids is None or ids.dtype != pl.String:
        return []
    begins, ends = np.append(ids.search_sorted(BOUNDS).to_numpy(), ids.len()).reshape(-1, 2).T
    if (begins == ends).all():
        return []
    few = ids.gather(np.concatenate([np.arange(*bounds) for bounds in zip(begins, ends, strict=True)]))
    return few.filter(few.str.contains(NOTHING)).to_list()


@check("R006", "Ids that stand for a missing value", "warning")
def empty_ids(odd_id: tuple[str, str], odd_items: tuple[int, int], odd_users: int = 0) -> str:
    """Return a warning if an id is `nan`, `None`, `null` or blank, which means a missing value.

    A user called `user_id` is reported too: it comes from a second header. All rows with such an id count as rows of
    one user, or of one item.
    """
    table, word = odd_id
    of = " and ".join(format_count(n, noun) for n, noun in ((odd_users, "user"), (odd_items[1], "item")) if n)
    return f"{of} of run and truth have an id that stands for a missing value, such as {word!r} in the {table}"


@check("R007", "Ids written in two ways", "warning")
def written_in_two_ways(
    truth_users: pl.Series | None = None,
    run_users: pl.Series | None = None,
    truth_items: pl.Series | None = None,
    run_items: pl.Series | None = None,
) -> str | None:
    """Return a warning if ids of run and truth are the same but for blanks, quotes, leading zeros or letter case.

    Examples are `007` and `7`, `12.0` and `12`, or `x` with and without a blank after it. They count as different ids.
    """
    pairs = [*_pairs("user", truth_users, run_users), *_pairs("item", truth_items, run_items)]
    return "; ".join(pairs) + "; they count as different ids" if pairs else None


def _pairs(noun: str, judged: pl.Series | None, listed: pl.Series | None) -> Iterator[str]:
    """Yield a sentence if ids of truth (``judged``) and run (``listed``) differ only in how they are written.

    At least one id of a pair is unknown to the other table: if both tables have both ids, they are different. ``noun``
    is "user" or "item".
    """
    if judged is None or listed is None or not judged.len() or not listed.len():
        return
    # if every key is its id, different ids have different keys
    # a search in a few long texts with an id per line takes a third of one in every id
    lines = [
        pl.Series([ids.slice(begin, LINES).str.join("\n").item() for begin in range(0, ids.len(), LINES)])
        for ids in (judged, listed)
    ]
    rewritten = any(bool(text.str.contains("(?m)" + REWRITTEN).any()) for text in lines)
    if not (rewritten or any(bool((text != text.str.to_lowercase()).any()) for text in lines)):
        return
    unknown = _unknown(judged, listed), _unknown(listed, judged)
    for fold_case in (False, True) if rewritten else (True,):
        here = (
            _pairs_equal_when_cleaned(unknown[0], listed, fold_case),
            _pairs_equal_when_cleaned(judged, unknown[1], fold_case),
        )
        pairs = pl.concat(here).unique().sort("judged", "listed")
        least = LETTERS * min(part.len() for part in unknown if part.len()) if fold_case and pairs.height else 1
        if pairs.height >= least:
            first = pairs.row(0, named=True)
            yield (
                f"{format_count(pairs.height, noun)} of the truth and of the run differ only in the way their ids are "
                f"written, such as {first['judged']!r} in the truth and {first['listed']!r} in the run"
            )
            return


def _unknown(ids: pl.Series, to: pl.Series) -> pl.Series:
    return ids.filter(pl.Series(rows_in_table(ids, to) < 0, dtype=pl.Boolean))


def _pairs_equal_when_cleaned(judged: pl.Series, listed: pl.Series, fold_case: bool) -> pl.DataFrame:
    """Return pairs of different ids of truth and run that are equal without blanks, quotes and leading zeros.

    With ``fold_case`` letter case is ignored too.
    """
    key = pl.col("id").str.strip_chars().str.strip_chars("\"'").str.strip_chars()
    key = key.str.replace(r"^([0-9]+)\.0+$", "${1}").str.replace(r"^0+([0-9])", "${1}")
    key = (key.str.to_lowercase() if fold_case else key).alias("key")
    left, right = (pl.DataFrame({"id": ids}).with_columns(key) for ids in (judged, listed))
    both = left.rename({"id": "judged"}).join(right.rename({"id": "listed"}), on="key")
    return both.filter(pl.col("judged") != pl.col("listed")).select("judged", "listed")


@check("R008", "Run and truth share very few items", "warning")
def few_in_overlap(
    run_rows: int,
    known_rows: int = 0,
    judged: pl.Series | None = None,
    listed: pl.DataFrame | None = None,
    train: Interactions | None = None,
    rows_untrained: int = 0,
) -> str | None:
    """Return a warning if fewer than 1 % of the recommended rows are of items that the truth holds for any user.

    This can also mean that a system recommends items that no user chose. If most items are in the training log, nothing
    is reported.
    """
    if listed is not None and judged is not None:
        known_rows += int(listed["count"].filter(rows_in_table(listed["item"], judged) >= 0).sum())
    if known_rows >= COMMON * run_rows or (train is not None and 2 * rows_untrained < run_rows):
        return None
    return (
        f"{format_share(known_rows, run_rows)} recommended rows are of items that the truth holds for any user; check "
        "that both files use the same ids"
    )


def count_reading(alignment: Alignment, train: Interactions | None) -> CheckCounts:
    """Return the counts that checks of the files need: remarks, signs that scores are ranks, and the range of gains."""
    run, truth = alignment.run, alignment.truth
    cut = [file.remarks["R012"] for file in (run, truth, train) if file is not None and "R012" in file.remarks]
    remarks = {
        "order_remark": run.remarks.get("R001", "") if alignment.conventions.order == "given" else "",
        "gain_remark": truth.remarks.get("R002", ""),
        "tables_remark": run.remarks.get("R003") or truth.remarks.get("R003", ""),
        "cut_remark": "; ".join(cut),
    }
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
    return CheckCounts(sums, ranges, remarks={name: remark for name, remark in remarks.items() if remark})


@check("R001", "Row order taken as rank order", "info")
def rows_as_they_stand(order_remark: str) -> str:
    """Return a warning if the run has neither ranks nor scores: its order is then that of the rows in the file.

    If this is intended, pass `--order row`, and the finding disappears.
    """
    return order_remark


@check("R002", "A column of numbers in the truth was not read", "warning")
def unread_gains(gain_remark: str) -> str:
    """Return a warning if the truth has a column of numbers, but none with a known name for gains.

    Every row then has gain 1.
    """
    return gain_remark


@check("R011", "A column of numbers in the log was not read", "info", needs=("train",))
def unread_ratings(train: Interactions) -> str | None:
    """Return a warning if the training log has a column of numbers, but none with a known name for ratings.

    Every row is then an event without a rating. `recassay split` and `recassay stats` say so too.
    """
    return train.remarks.get("R011")


@check("R003", "Several tables in one file", "warning")
def tables_in_one_file(tables_remark: str) -> str:
    """Return a warning if a column that is not read, such as `model` or `fold`, has several values for one user.

    The rows of several systems, folds or parts are then mixed in one list, or one truth. If each user has one value, as
    in cross-validation, nothing is mixed and nothing is reported.
    """
    return tables_remark


@check("R012", "A file may be cut short", "warning")
def cut_short(cut_remark: str) -> str:
    """Return a warning if the last line of a text file has no end, and its last field is shorter than all others.

    A file ends like this if its download was interrupted; then rows are missing, and the last value is incomplete. A
    last line without an end is sound if its fields are whole.
    """
    return cut_remark


@check("R004", "Scores that look like ranks", "warning")
def scores_like_ranks(
    rank_like_signs: int, lists_signs: int, ascending_signs: int = 0, upper: int = 0, lower: int = 0
) -> tuple[Severity, str] | None:
    """Return a warning if the scores of every list are 1, 2, 3 and so on, and the highest is ranked first.

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
    """Return a warning if ranks order the lists, and the scores in the same file would order them differently.

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
    """Return an error if no gain of the truth is above 0 and reaches `relevant_from`: no item is relevant.

    Return a warning if `relevant_from` is 1 and some gains are fractions: a gain of 0.5 is not relevant unless
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
