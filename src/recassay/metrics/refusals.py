"""Files that cannot be about the same users or items are refused, with examples of both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.data.vocabulary import positions, stacked
from recassay.errors import InputError
from recassay.threads import blocks

if TYPE_CHECKING:
    from recassay.metrics.align import Conventions, Meeting, Met

FIRST_LOOK = 512  # queries looked at together for any item that run and truth share; the first such block has one
SHOWN = 3  # ids of each side in an error


@dataclass(frozen=True, eq=False)
class Acquaintance:
    """What is left to tell whether run and truth are about the same users and items; adds up over parts.

    ``asked`` and ``answered`` are the first users of each side. Once a list holds a judged item, ``listed`` and
    ``judged``, the items of each side, are no longer needed and empty.
    """

    where: tuple[str, str]
    asked: pl.Series
    answered: pl.Series
    hit: bool
    listed: pl.Series
    judged: pl.Series

    @classmethod
    def of(cls, meeting: Meeting) -> Acquaintance:
        """Of one run and the truth, or of some users of both; the first mark anywhere settles it."""
        run, truth = meeting.run, meeting.truth
        hit = any(meeting.block(*cut).rank.size for cut in blocks(meeting.match.size, FIRST_LOOK))
        rows = slice(0, 0) if hit else slice(None)
        return cls(
            (run.origin, truth.origin),
            truth.queries.head(SHOWN),
            run.queries.head(SHOWN),
            hit,
            run.vocabulary.decode(run.items[rows]).unique(maintain_order=True),
            truth.vocabulary.decode(truth.items[rows]).unique(maintain_order=True),
        )

    def __add__(self, other: Acquaintance) -> Acquaintance:
        hit = self.hit or other.hit
        listed, judged = stacked([self.listed, other.listed]), stacked([self.judged, other.judged])
        return Acquaintance(
            self.where,
            stacked([self.asked, other.asked]).sort().head(SHOWN),
            stacked([self.answered, other.answered]).sort().head(SHOWN),
            hit,
            listed.clear() if hit else listed.unique(maintain_order=True),
            judged.clear() if hit else judged.unique(maintain_order=True),
        )


def refuse(met: Met, known: Acquaintance, conventions: Conventions) -> None:
    """Raise for what cannot be judged, or was to be an error."""
    _refuse_repeats(met, known, conventions)
    _refuse_unsettled(met, known)
    if not met.lists:
        raise other_users(met.queries, known.asked, met.extra_queries, known.answered, known.where)
    if met.missing and conventions.missing == "error":
        raise InputError(
            "I404",
            f"{met.missing:,} of {met.queries:,} queries have no list, the first {met.examples['missing']!r}",
            where=known.where[0],
            hint="add their lists, or count them as empty with --missing zero",
        )
    if known.hit or known.listed.is_in(known.judged.implode()).any():  # the items are known, only never right
        return
    raise InputError(
        "I402",
        f"no item of the run (such as {_examples(known.listed)}) is among the items of the truth (such as "
        f"{_examples(known.judged)})",
        where=_both(known.where),
        hint="check that both files use the same ids, and name the columns with --columns user=...,item=...",
    )


def _refuse_repeats(met: Met, known: Acquaintance, conventions: Conventions) -> None:
    if not met.duplicate_rows or conventions.duplicates != "error":
        return
    user, item = cast("tuple[object, object]", met.examples["duplicate"])
    raise InputError(
        "I305",
        f"{met.duplicate_rows:,} rows of {met.duplicate_lists:,} lists repeat an item of the same list, the first item "
        f"{item!r} for user {user!r}",
        where=known.where[0],
        hint="drop the repeats, or keep the first of each with --duplicates first",
    )


def _refuse_unsettled(met: Met, known: Acquaintance) -> None:
    """A last score is asked for, and nothing says which row of an item is the last."""
    if not met.unsettled_rows:
        return
    user, item = cast("tuple[object, object]", met.examples["unsettled"])
    raise InputError(
        "I319",
        f"{met.unsettled_rows:,} rows repeat an item of the same list with another score, the first item {item!r} for "
        f"user {user!r}, and the order of rows, which says whose score is the last, is not known",
        where=known.where[0],
        hint="give the path of its files, whose rows have an order, drop the repeats, or take duplicates='first'",
    )


def places_of(run: Run, truth: Truth) -> NDArray[np.int64]:
    """For each query of the truth the place of its list in the run, or -1."""
    refuse_other_kind(run.queries, truth.queries, (run.origin, truth.origin))
    return positions(truth.queries, run.queries)


def refuse_other_kind(answered: pl.Series, asked: pl.Series, where: tuple[str, str]) -> None:
    """Users of a run and of a truth of whom one are integers and the others strings never meet."""
    integers = answered.dtype.is_integer(), asked.dtype.is_integer()
    if integers[0] != integers[1]:
        kinds = ["integers" if integer else "strings" for integer in integers]
        raise InputError(
            "I403",
            f"user ids are {kinds[0]} in the run (such as {answered.first()!r}) and {kinds[1]} in the truth "
            f"(such as {asked.first()!r}), so none can match",
            where=_both(where),
            hint="write both files with the same type of id",
        )


def refuse_other_users(run: Run, truth: Truth, match: NDArray[np.int64]) -> None:
    """Users that never meet are a mistake of the files, not a bad recommender."""
    if not (match >= 0).any():
        where = run.origin, truth.origin
        raise other_users(truth.queries.len(), truth.queries, run.queries.len(), run.queries, where)


def other_users(
    asked: int, some_asked: pl.Series, answered: int, some_answered: pl.Series, where: tuple[str, str]
) -> InputError:
    """The error for so many users of the truth and of a run, such as these, that never meet."""
    return InputError(
        "I401",
        f"none of the {asked:,} users of the truth (such as {_examples(some_asked)}) is among the "
        f"{answered:,} of the run (such as {_examples(some_answered)})",
        where=_both(where),
        hint="check that both files use the same ids, and name the columns with --columns user=...,item=...",
    )


def _both(where: tuple[str, str]) -> str:
    return f"{where[0]} against {where[1] or 'the truth'}"


def _examples(ids: pl.Series) -> str:
    return ", ".join(repr(value) for value in ids.unique(maintain_order=True).head(SHOWN).to_list())
