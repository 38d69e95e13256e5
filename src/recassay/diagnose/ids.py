"""R0xx, ids: what stands in their place, is written in two ways, or is unknown on the other side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.vocabulary import positions, stacked
from recassay.diagnose.base import Facts, check, several, share
from recassay.diagnose.counts import Frequencies, Share, Sight

# How programs write that there is no value; and names of columns, which a second header leaves among the users.
NOTHING = r"(?i)^\s*(nan|none|null|nil|nat|<na>|#n/a)?\s*$"
HEADER = r"(?i)^(user_?id|user|uid|query_?id|qid)$"
MOST_USERS = 10_000  # that match nobody and are kept, the first of them
LETTERS = 0.1  # of the unmatched ids of the truth: fewer that differ in upper and lower case may be different ids
COMMON = 0.01  # of the rows of a run
FIRST_LOOK = 1 << 14  # rows, or a 32nd of them if that is more: enough to see that a run is sound

NO_TEXT = pl.Series("id", [], dtype=pl.String)


@dataclass(frozen=True)
class Empty:
    """Ids that say that there is none: how many of users and of items, and the first, by table."""

    users: int
    items: int
    first: tuple[str, str] | None = None  # the table and the id

    def __add__(self, other: Empty) -> Empty:
        firsts = [one.first for one in (self, other) if one.first is not None]
        return Empty(self.users + other.users, max(self.items, other.items), min(firsts) if firsts else None)


def _texts(ids: pl.Series | None) -> pl.Series:
    return ids.rename("id") if ids is not None and ids.dtype == pl.String else NO_TEXT


def _empty(sight: Sight) -> Empty:
    run, truth = sight.meeting.run, sight.meeting.truth
    users = {"run": _texts(run.queries), "truth": _texts(truth.queries)}
    items = {"run": _texts(run.vocabulary.ids), "truth": _texts(truth.vocabulary.ids)}
    words = {table: ids.filter(ids.str.contains(NOTHING) | ids.str.contains(HEADER)) for table, ids in users.items()}
    things = {table: ids.filter(ids.str.contains(NOTHING)) for table, ids in items.items()}
    found = [(table, id) for part in (words, things) for table, ids in part.items() for id in ids.to_list()]
    users_found, items_found = (sum(ids.len() for ids in part.values()) for part in (words, things))
    return Empty(users_found, items_found, min(found) if found else None)


@check("R006", "Ids that stand for a missing value", "warning", count=_empty)
def empty_ids(facts: Facts) -> str | None:
    """An id is `nan`, `None`, `null` or blank, or a user is called `user_id`: a missing value, or a second header.

    All rows of such an id count as those of one user, or of one item.
    """
    found: Empty = facts.counted["R006"]
    if found.first is None:
        return None
    table, word = found.first
    of = " and ".join(several(n, noun) for n, noun in ((found.users, "user"), (found.items, "item")) if n)
    return f"{of} of run and truth have an id that stands for a missing value, such as {word!r} in the {table}"


@dataclass(frozen=True, eq=False)
class Written:
    """Ids that are text: users of either table that the other lacks (the first ones), and all items of either."""

    asked: pl.Series
    answered: pl.Series
    judged: pl.Series
    listed: pl.Series

    def __add__(self, other: Written) -> Written:
        def together(one: pl.Series, two: pl.Series) -> pl.Series:
            return stacked([one, two]).unique().sort()

        return Written(
            together(self.asked, other.asked).head(MOST_USERS),
            together(self.answered, other.answered).head(MOST_USERS),
            together(self.judged, other.judged),
            together(self.listed, other.listed),
        )


def _written(sight: Sight) -> Written:
    meeting = sight.meeting
    run, truth = meeting.run, meeting.truth
    met = meeting.match[meeting.match >= 0]
    strange = np.ones(run.queries.len(), np.bool_)
    strange[met] = False
    return Written(
        _texts(truth.queries.filter(pl.Series(meeting.match < 0))).head(MOST_USERS),
        _texts(run.queries.filter(pl.Series(strange))).head(MOST_USERS),
        _texts(truth.vocabulary.ids),
        _texts(run.vocabulary.ids),
    )


@check("R007", "Ids written in two ways", "warning", count=_written)
def written_in_two_ways(facts: Facts) -> str | None:
    """Ids of run and truth match nothing as they are, and would match but for blanks, quotes, zeros or letter case.

    Such are `007` and `7`, `12.0` and `12`, `x` with a blank behind it and without. They count as different ids.
    """
    found: Written = facts.counted["R007"]
    said = [*_pairs("user", found.asked, found.answered), *_pairs("item", found.judged, found.listed)]
    return "; ".join(said) + "; they count as different ids" if said else None


def _pairs(noun: str, judged: pl.Series, listed: pl.Series) -> Iterator[str]:
    """A sentence about ids of the truth and of the run that are one but for the way they are written.

    One of the two is unknown to the other table: where both have both, they are different ids.
    """
    if not judged.len() or not listed.len():
        return
    strange = _unknown(judged, listed), _unknown(listed, judged)
    for fold_case in (False, True):
        here = _joined(strange[0], listed, fold_case), _joined(judged, strange[1], fold_case)
        pairs = pl.concat(here).unique().sort("judged", "listed")
        least = LETTERS * min(part.len() for part in strange if part.len()) if fold_case and pairs.height else 1
        if pairs.height >= least:
            first = pairs.row(0, named=True)
            yield (
                f"{several(pairs.height, noun)} of the truth and of the run differ only in the way their ids are "
                f"written, such as {first['judged']!r} in the truth and {first['listed']!r} in the run"
            )
            return


def _unknown(ids: pl.Series, to: pl.Series) -> pl.Series:
    return ids.filter(pl.Series(positions(ids, to) < 0, dtype=pl.Boolean))


def _joined(judged: pl.Series, listed: pl.Series, fold_case: bool) -> pl.DataFrame:
    """Pairs of ids of truth and run that are alike but not the same."""
    one, other = _keyed(judged, fold_case).rename({"id": "judged"}), _keyed(listed, fold_case).rename({"id": "listed"})
    return one.join(other, on="key").filter(pl.col("judged") != pl.col("listed")).select("judged", "listed")


def _keyed(ids: pl.Series, fold_case: bool) -> pl.DataFrame:
    """Ids with what is left of them without blanks, quotes, leading zeros and `.0`."""
    key = pl.col("id").str.strip_chars().str.strip_chars("\"'").str.strip_chars()
    key = key.str.replace(r"^([0-9]+)\.0+$", "${1}").str.replace(r"^0+([0-9])", "${1}")
    return pl.DataFrame({"id": ids}).with_columns((key.str.to_lowercase() if fold_case else key).alias("key"))


@dataclass(frozen=True, eq=False)
class Common:
    """Rows of a run, and how many are of items that the truth has anywhere.

    A part whose own truth has enough of them needs no more; else ``listed`` has its items, for the truth of all parts.
    """

    rows: int
    known: int
    listed: Frequencies | None
    judged: pl.Series

    def __add__(self, other: Common) -> Common:
        listed = [one.listed for one in (self, other) if one.listed is not None]
        together = listed[0] + listed[1] if len(listed) > 1 else listed[0] if listed else None
        judged = stacked([self.judged, other.judged]).unique().sort()
        return Common(self.rows + other.rows, self.known + other.known, together, judged)

    def all_known(self) -> int:
        """Rows of items that the truth of all parts has."""
        if self.listed is None:
            return self.known
        return self.known + int(self.listed.counts[positions(self.listed.items, self.judged) >= 0].sum())


def _common(sight: Sight) -> Common:
    meeting = sight.meeting
    rows, judged = meeting.items.size, np.unique(meeting.truth.items)
    known = _known(meeting.items, judged)
    decode = meeting.truth.vocabulary.decode
    if meeting.whole or known >= COMMON * rows:
        return Common(rows, known, None, decode(judged[:0] if meeting.whole else judged))
    listed = Frequencies.of_codes(meeting.run.items, meeting.run.vocabulary, meeting.run.queries.len())
    return Common(rows, 0, listed, decode(judged))


def _known(items: NDArray[np.int32], judged: NDArray[np.int32]) -> int:
    """How many rows are of such items; no more are looked at than it takes to see that they are enough."""
    first = max(FIRST_LOOK, items.size // 32)
    known = int(np.isin(items[:first], judged).sum())
    return known if known >= COMMON * items.size else known + int(np.isin(items[first:], judged).sum())


@check("R008", "Hardly an item in common", "warning", count=_common)
def few_in_common(facts: Facts) -> str | None:
    """Less than a hundredth of the recommended rows are of items that the truth has for anybody.

    A system that recommends what nobody wants has that too; where the training log knows the items nothing is said.
    """
    found: Common = facts.counted["R008"]
    known = found.all_known()
    trained: Share | None = facts.counted.get("C007")
    if known >= COMMON * found.rows or (trained is not None and trained.part < trained.whole / 2):
        return None
    return (
        f"{share(known, found.rows)} recommended rows are of items that the truth has for any user; check that both "
        "files use the same ids"
    )
