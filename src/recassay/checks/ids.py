"""R006 to R008: ids that stand for missing values, are written in two ways, or are unknown to the other file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.checks.base import Facts, check, format_count, format_share
from recassay.checks.counts import CheckInput, ItemFrequencies, RowShare
from recassay.columnar.vocabulary import concat_ids, rows_in_table

# How programs write a missing value; and names of columns, which end up among the users if a file has a second header.
NOTHING = r"(?i)^\s*(nan|none|null|nil|nat|<na>|#n/a)?\s*$"
HEADER = r"(?i)^(user_?id|user|uid|query_?id|qid)$"
MOST_USERS = 10_000  # unmatched users that are kept, the first ones by id
LETTERS = 0.1  # share of the unmatched ids; fewer that differ only in letter case may be different ids
COMMON = 0.01  # share of the rows of a run
LINES = 1 << 20  # ids in one text
FIRST_LOOK = 1 << 14  # rows, or a 32nd of all if that is more: enough to see that a run is sound

# An id that matches NOTHING lies between two of these texts: blanks and "#" are below "0", and some are not ASCII.
BOUNDS = pl.Series(["", "0", "<", "=", "N", "O", "n", "o", "\x7f"])
LONGEST_HEADER = 16  # bytes; no letter takes more than two

# Only ids that match can have a key that is not the id, letter case aside.
REWRITTEN = r"""^[\s"'0]|[\s"']$|\.0+$"""

NO_TEXT = pl.Series("id", [], dtype=pl.String)


@dataclass(frozen=True)
class MissingIds:
    """Numbers of user ids and item ids that stand for a missing value, and the first such id."""

    users: int
    items: int
    first: tuple[str, str] | None = None  # the table and the id

    def __add__(self, other: MissingIds) -> MissingIds:
        firsts = [each.first for each in (self, other) if each.first is not None]
        return MissingIds(self.users + other.users, max(self.items, other.items), min(firsts) if firsts else None)


def _texts(ids: pl.Series | None) -> pl.Series:
    return ids.rename("id") if ids is not None and ids.dtype == pl.String else NO_TEXT


def _empty(given: CheckInput) -> MissingIds:
    run, truth = given.alignment.run, given.alignment.truth
    users = {"run": _texts(run.queries), "truth": _texts(truth.queries)}
    items = {"run": _texts(run.vocabulary.ids), "truth": _texts(truth.vocabulary.ids)}
    words = {table: pl.concat([_nothing(ids), _headers(ids)]) for table, ids in users.items()}
    things = {table: _nothing(ids) for table, ids in items.items()}
    found = [(table, id) for part in (words, things) for table, ids in part.items() for id in ids.to_list()]
    users_found, items_found = (sum(ids.len() for ids in part.values()) for part in (words, things))
    return MissingIds(users_found, items_found, min(found) if found else None)


def _nothing(ids: pl.Series) -> pl.Series:
    """Return the ids that stand for a missing value; ``ids`` ascend, so few of them need a look."""
    begins, ends = np.append(ids.search_sorted(BOUNDS).to_numpy(), ids.len()).reshape(-1, 2).T
    if (begins == ends).all():
        return NO_TEXT
    few = ids.gather(np.concatenate([np.arange(*bounds) for bounds in zip(begins, ends, strict=True)]))
    return few.filter(few.str.contains(NOTHING))


def _headers(ids: pl.Series) -> pl.Series:
    few = ids.filter(ids.str.len_bytes() <= LONGEST_HEADER)
    return few.filter(few.str.contains(HEADER))


@check("R006", "Ids that stand for a missing value", "warning", count=_empty)
def empty_ids(facts: Facts) -> str | None:
    """Report if an id is `nan`, `None`, `null` or blank, which means a missing value.

    A user called `user_id` is reported too: it comes from a second header. All rows with such an id count as rows of
    one user, or of one item.
    """
    found: MissingIds = facts.counted["R006"]
    if found.first is None:
        return None
    table, word = found.first
    of = " and ".join(format_count(n, noun) for n, noun in ((found.users, "user"), (found.items, "item")) if n)
    return f"{of} of run and truth have an id that stands for a missing value, such as {word!r} in the {table}"


@dataclass(frozen=True, eq=False)
class UnmatchedIds:
    """Text ids to compare between run and truth: all items of both, and users that only one of them has.

    Of the users that only one has, the first 10,000 are kept.
    """

    truth_users: pl.Series
    run_users: pl.Series
    truth_items: pl.Series
    run_items: pl.Series

    def __add__(self, other: UnmatchedIds) -> UnmatchedIds:
        def union(first: pl.Series, second: pl.Series) -> pl.Series:
            return concat_ids([first, second]).unique().sort()

        return UnmatchedIds(
            union(self.truth_users, other.truth_users).head(MOST_USERS),
            union(self.run_users, other.run_users).head(MOST_USERS),
            union(self.truth_items, other.truth_items),
            union(self.run_items, other.run_items),
        )


def _written(given: CheckInput) -> UnmatchedIds:
    run, truth, match = given.alignment.run, given.alignment.truth, given.alignment.match
    without_list, without_truth = NO_TEXT, NO_TEXT
    if truth.queries.dtype == pl.String:
        unmatched = np.ones(run.queries.len(), np.bool_)
        unmatched[match[match >= 0]] = False
        without_list = truth.queries.filter(pl.Series(match < 0))
        without_truth = run.queries.filter(pl.Series(unmatched))
    return UnmatchedIds(
        _texts(without_list).head(MOST_USERS),
        _texts(without_truth).head(MOST_USERS),
        _texts(truth.vocabulary.ids),
        _texts(run.vocabulary.ids),
    )


@check("R007", "Ids written in two ways", "warning", count=_written)
def written_in_two_ways(facts: Facts) -> str | None:
    """Report if ids of run and truth only match without blanks, quotes, leading zeros or letter case.

    Examples are `007` and `7`, `12.0` and `12`, or `x` with and without a blank after it. They count as different ids.
    """
    found: UnmatchedIds = facts.counted["R007"]
    pairs = [*_pairs("user", found.truth_users, found.run_users), *_pairs("item", found.truth_items, found.run_items)]
    return "; ".join(pairs) + "; they count as different ids" if pairs else None


def _pairs(noun: str, judged: pl.Series, listed: pl.Series) -> Iterator[str]:
    """Yield a sentence if ids of truth (``judged``) and run (``listed``) differ only in how they are written.

    At least one id of a pair is unknown to the other table: if both tables have both ids, they are different. ``noun``
    is "user" or "item".
    """
    if not judged.len() or not listed.len():
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
    left, right = _keyed(judged, fold_case).rename({"id": "judged"}), _keyed(listed, fold_case).rename({"id": "listed"})
    return left.join(right, on="key").filter(pl.col("judged") != pl.col("listed")).select("judged", "listed")


def _keyed(ids: pl.Series, fold_case: bool) -> pl.DataFrame:
    """Return ids with a column ``key``: the id without blanks, quotes, leading zeros and `.0` at its end.

    With ``fold_case`` the key is in lower case.
    """
    key = pl.col("id").str.strip_chars().str.strip_chars("\"'").str.strip_chars()
    key = key.str.replace(r"^([0-9]+)\.0+$", "${1}").str.replace(r"^0+([0-9])", "${1}")
    return pl.DataFrame({"id": ids}).with_columns((key.str.to_lowercase() if fold_case else key).alias("key"))


@dataclass(frozen=True, eq=False)
class IdOverlap:
    """The number of rows of a run, and how many of their items are in the truth of any user.

    A part of the users whose own truth has enough of their items keeps the count ``known`` only. Any other part has
    ``known`` 0, and ``listed`` says how often its lists hold each item; these are looked up in ``judged``, the items of
    the truth, once all parts are added.
    """

    rows: int
    known: int
    listed: ItemFrequencies | None
    judged: pl.Series

    def __add__(self, other: IdOverlap) -> IdOverlap:
        listed = [each.listed for each in (self, other) if each.listed is not None]
        together = listed[0] + listed[1] if len(listed) > 1 else listed[0] if listed else None
        judged = concat_ids([self.judged, other.judged]).unique().sort()
        return IdOverlap(self.rows + other.rows, self.known + other.known, together, judged)

    def all_known(self) -> int:
        """Return the number of rows whose item is in the truth of any partition."""
        if self.listed is None:
            return self.known
        return self.known + int(self.listed.counts[rows_in_table(self.listed.items, self.judged) >= 0].sum())


def _overlap(given: CheckInput) -> IdOverlap:
    alignment = given.alignment
    rows, judged = alignment.items.size, alignment.truth.item_counts[0]
    known = _known(alignment.items, judged)
    decode = alignment.truth.vocabulary.decode
    if alignment.whole or known >= COMMON * rows:
        return IdOverlap(rows, known, None, decode(judged[:0] if alignment.whole else judged))
    listed = ItemFrequencies.of_codes(alignment.run.items, alignment.run.vocabulary, alignment.run.queries.len())
    return IdOverlap(rows, 0, listed, decode(judged))


def _known(items: NDArray[np.int32], judged: NDArray[np.int32]) -> int:
    """Return how many rows have an item of the truth; ``items`` are those of the rows, ``judged`` those of the truth.

    Only the first rows are counted if they are enough for the check.
    """
    first = max(FIRST_LOOK, items.size // 32)
    known = int(np.isin(items[:first], judged).sum())
    return known if known >= COMMON * items.size else known + int(np.isin(items[first:], judged).sum())


@check("R008", "Run and truth share very few items", "warning", count=_overlap)
def few_in_overlap(facts: Facts) -> str | None:
    """Report if fewer than 1 % of the recommended rows are of items that the truth holds for any user.

    This can also mean that a system recommends items that no user chose. If most items are in the training log, nothing
    is reported.
    """
    found: IdOverlap = facts.counted["R008"]
    known = found.all_known()
    trained: RowShare | None = facts.counted.get("C007")
    if known >= COMMON * found.rows or (trained is not None and trained.part < trained.whole / 2):
        return None
    return (
        f"{format_share(known, found.rows)} recommended rows are of items that the truth holds for any user; check "
        "that both "
        "files use the same ids"
    )
