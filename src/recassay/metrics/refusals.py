"""Errors for a run that cannot be judged against a truth, with example ids of both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import polars as pl

from recassay.arrays import Int64
from recassay.columnar.vocabulary import concat_ids, rows_in_table
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.errors import InputError
from recassay.threads import blocks

if TYPE_CHECKING:
    from recassay.metrics.align import Alignment, AlignmentCounts, Conventions

FIRST_LOOK = 512  # queries searched at once for an item that run and truth share; usually the first block has one
SHOWN = 3  # ids of each side in an error


@dataclass(frozen=True, eq=False)
class SharedIds:
    """Ids of a run and a truth, which show whether the two share any.

    The values of several groups of users can be added. ``where`` names both files. ``truth_users`` and ``run_users``
    are the first users of each, for error messages. ``hit`` says that some list holds a judged item. ``run_items`` and
    ``truth_items`` are the distinct items of each, to compare; they are empty if ``hit`` is true.
    """

    where: tuple[str, str]
    truth_users: pl.Series
    run_users: pl.Series
    hit: bool
    run_items: pl.Series
    truth_items: pl.Series

    @classmethod
    def of(cls, alignment: Alignment) -> SharedIds:
        """Return what shows whether a run and its truth share ids.

        If no list of the run holds a judged item, these are ids of both sides to compare. Lists are read only until a
        block has a judged item. The run may hold only some of the users.
        """
        run, truth = alignment.run, alignment.truth
        hit = any(alignment.block(*cut).rank.size for cut in blocks(alignment.match.size, FIRST_LOOK))
        rows = slice(0, 0) if hit else slice(None)
        return cls(
            (run.origin, truth.origin),
            truth.queries.head(SHOWN),
            run.queries.head(SHOWN),
            hit,
            run.vocabulary.decode(run.items[rows]).unique(maintain_order=True),
            truth.vocabulary.decode(truth.items[rows]).unique(maintain_order=True),
        )

    def __add__(self, other: SharedIds) -> SharedIds:
        hit = self.hit or other.hit
        run_items, truth_items = (
            concat_ids([self.run_items, other.run_items]),
            concat_ids([self.truth_items, other.truth_items]),
        )
        return SharedIds(
            self.where,
            concat_ids([self.truth_users, other.truth_users]).sort().head(SHOWN),
            concat_ids([self.run_users, other.run_users]).sort().head(SHOWN),
            hit,
            run_items.clear() if hit else run_items.unique(maintain_order=True),
            truth_items.clear() if hit else truth_items.unique(maintain_order=True),
        )


def raise_if_unusable(counts: AlignmentCounts, shared: SharedIds, conventions: Conventions) -> None:
    """Raise an error if the run shares no ids with the truth, or has something that the conventions forbid.

    That is a repeated item (I305), a repeated item whose last score is unknown (I319), or a query without a list
    (I404).
    """
    if counts.duplicate_rows and conventions.duplicates == "error":
        user, item = cast("tuple[object, object]", counts.examples["duplicate"])
        raise InputError(
            "I305",
            f"{counts.duplicate_rows:,} rows of {counts.duplicate_lists:,} lists repeat an item of the same list, "
            f"the first item {item!r} for user {user!r}",
            where=shared.where[0],
            hint="drop the repeats, or keep the first of each with --duplicates first",
        )
    if counts.unsettled_rows:  # only under duplicates="last"
        user, item = cast("tuple[object, object]", counts.examples["unsettled"])
        raise InputError(
            "I319",
            f"{counts.unsettled_rows:,} rows repeat an item of the same list with another score, the first item "
            f"{item!r} for user {user!r}, and the order of rows, which decides which score counts, is unknown",
            where=shared.where[0],
            hint="give the path of its files, whose rows have an order, drop the repeats, or take duplicates='first'",
        )
    if not counts.lists:
        raise no_shared_user_error(
            counts.queries, shared.truth_users, counts.extra_queries, shared.run_users, shared.where
        )
    if counts.missing and conventions.missing == "error":
        raise InputError(
            "I404",
            f"{counts.missing:,} of {counts.queries:,} queries have no list, the first {counts.examples['missing']!r}",
            where=shared.where[0],
            hint="add their lists, or count them as empty with --missing zero",
        )
    if (
        shared.hit or (rows_in_table(shared.run_items, shared.truth_items) >= 0).any()
    ):  # items are shared, but no list holds a relevant one
        return
    raise InputError(
        "I401",
        f"no item of the run (such as {_examples(shared.run_items)}) is among the items of the truth (such as "
        f"{_examples(shared.truth_items)})",
        where=_both(shared.where),
        hint="check that both files use the same ids, and name the columns with --columns user=...,item=...",
    )


def list_positions(run: Run, truth: Truth) -> Int64:
    """Return for each query of the truth the index of its list in the run, or -1.

    Raise I403 if one of the two has integers and the other strings, and none is the text of the other.
    """
    run_users, truth_users = run.queries, truth.queries
    match = rows_in_table(truth_users, run_users)
    integers = run_users.dtype.is_integer(), truth_users.dtype.is_integer()
    if integers[0] != integers[1] and not (match >= 0).any():
        kinds = ["integers" if integer else "strings" for integer in integers]
        raise InputError(
            "I403",
            f"user ids are {kinds[0]} in the run (such as {run_users.first()!r}) and {kinds[1]} in the truth "
            f"(such as {truth_users.first()!r}), and none matches",
            where=_both((run.origin, truth.origin)),
            hint="write both files with the same type of id",
        )
    return match


def raise_if_no_shared_user(run: Run, truth: Truth, match: Int64) -> None:
    """Raise I401 if run and truth share no user: that is a mistake in the files, not a bad recommender.

    ``match`` is the index of the list of each query of the truth, -1 if there is none.
    """
    if not (match >= 0).any():
        where = run.origin, truth.origin
        raise no_shared_user_error(truth.queries.len(), truth.queries, run.queries.len(), run.queries, where)


def no_shared_user_error(
    n_truth: int, truth_users: pl.Series, n_run: int, run_users: pl.Series, where: tuple[str, str]
) -> InputError:
    """Return error I401: run and truth have no user in common.

    ``n_truth`` and ``n_run`` are their numbers of users, ``truth_users`` and ``run_users`` the users to take examples
    from, and ``where`` names both files.
    """
    return InputError(
        "I401",
        f"none of the {n_truth:,} users of the truth (such as {_examples(truth_users)}) is among the "
        f"{n_run:,} of the run (such as {_examples(run_users)})",
        where=_both(where),
        hint="check that both files use the same ids, and name the columns with --columns user=...,item=...",
    )


def _both(where: tuple[str, str]) -> str:
    return f"{where[0]} against {where[1] or 'the truth'}"


def _examples(ids: pl.Series) -> str:
    return ", ".join(repr(value) for value in ids.unique(maintain_order=True).head(SHOWN).to_list())
