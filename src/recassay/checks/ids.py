"""R006 to R008: ids that stand for missing values, are written in two ways, or are unknown to the other file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from recassay.checks.base import check, format_count, format_share
from recassay.checks.counts import MOST_USERS, CheckCounts, frequencies
from recassay.columnar.vocabulary import count_codes, rows_in_table
from recassay.data.interactions import Interactions
from recassay.metrics.align import Alignment

# How programs write a missing value; and names of columns, which end up among the users if a file has a second header.
NOTHING = r"(?i)^\s*(nan|none|null|nil|nat|<na>|#n/a)?\s*$"
HEADER = r"(?i)^(user_?id|user|uid|query_?id|qid)$"
LETTERS = 0.1  # share of the unmatched ids; fewer that differ only in letter case may be different ids
COMMON = 0.01  # share of the rows of a run
LINES = 1 << 20  # ids in one text
FIRST_LOOK = 1 << 14  # rows, or a 32nd of all if that is more: enough to see that a run is sound

# An id that matches NOTHING lies between two of these texts: blanks and "#" are below "0", and some are not ASCII.
BOUNDS = pl.Series(["", "0", "<", "=", "N", "O", "n", "o", "\x7f"])
LONGEST_HEADER = 16  # bytes; no letter takes more than two

# Only ids that match can have a key that is not the id, letter case aside.
REWRITTEN = r"""^[\s"'0]|[\s"']$|\.0+$"""


def count_ids(alignment: Alignment) -> CheckCounts:
    """Return what checks of ids look at: text ids of run and truth, odd ones, and how many rows have known items."""
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
    """Report if an id is `nan`, `None`, `null` or blank, which means a missing value.

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
    """Report if ids of run and truth only match without blanks, quotes, leading zeros or letter case.

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
    lines = [_lines(ids) for ids in (judged, listed)]
    rewritten = any(bool(text.str.contains("(?m)" + REWRITTEN).any()) for text in lines)
    capital = rewritten or any(bool((text != text.str.to_lowercase()).any()) for text in lines)
    if not capital:
        return
    unknown = _unknown(judged, listed), _unknown(listed, judged)
    for fold_case in (False, True) if rewritten else (True,):
        here = _joined(unknown[0], listed, fold_case), _joined(judged, unknown[1], fold_case)
        pairs = pl.concat(here).unique().sort("judged", "listed")
        least = LETTERS * min(part.len() for part in unknown if part.len()) if fold_case and pairs.height else 1
        if pairs.height >= least:
            first = pairs.row(0, named=True)
            yield (
                f"{format_count(pairs.height, noun)} of the truth and of the run differ only in the way their ids are "
                f"written, such as {first['judged']!r} in the truth and {first['listed']!r} in the run"
            )
            return


def _lines(ids: pl.Series) -> pl.Series:
    """Return ids as a few long texts with an id per line: a search in them takes a third of one in every id."""
    return pl.Series([ids.slice(begin, LINES).str.join("\n").item() for begin in range(0, ids.len(), LINES)])


def _unknown(ids: pl.Series, to: pl.Series) -> pl.Series:
    return ids.filter(pl.Series(rows_in_table(ids, to) < 0, dtype=pl.Boolean))


def _joined(judged: pl.Series, listed: pl.Series, fold_case: bool) -> pl.DataFrame:
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
    """Report if fewer than 1 % of the recommended rows are of items that the truth holds for any user.

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
