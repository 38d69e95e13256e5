"""Files that cannot be about the same users or items are refused, with examples of both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.data.vocabulary import positions
from recassay.errors import InputError
from recassay.threads import blocks

if TYPE_CHECKING:
    from recassay.metrics.align import Meeting

FIRST_LOOK = 512  # queries looked at together for any item that run and truth share; the first such block has one


def places_of(run: Run, truth: Truth) -> NDArray[np.int64]:
    """For each query of the truth the place of its list in the run, or -1."""
    integers = run.queries.dtype.is_integer(), truth.queries.dtype.is_integer()
    if integers[0] != integers[1]:
        kinds = ["integers" if integer else "strings" for integer in integers]
        raise InputError(
            "I403",
            f"user ids are {kinds[0]} in the run (such as {run.queries[0]!r}) and {kinds[1]} in the truth "
            f"(such as {truth.queries[0]!r}), so none can match",
            where=f"{run.origin} against {truth.origin or 'the truth'}",
            hint="write both files with the same type of id",
        )
    return positions(truth.queries, run.queries)


def refuse_other_users(run: Run, truth: Truth, match: NDArray[np.int64]) -> None:
    """Users that never meet are a mistake of the files, not a bad recommender."""
    if (match >= 0).any():
        return
    raise InputError(
        "I401",
        f"none of the {truth.queries.len():,} users of the truth (such as {_examples(truth.queries)}) is among the "
        f"{run.queries.len():,} of the run (such as {_examples(run.queries)})",
        where=f"{run.origin} against {truth.origin or 'the truth'}",
        hint="check that both files use the same ids, and name the columns with --columns user=...,item=...",
    )


def refuse_other_items(meeting: Meeting) -> None:
    """Likewise for items; the first mark anywhere settles it."""
    run, truth = meeting.run, meeting.truth
    if any(meeting.block(*cut).rank.size for cut in blocks(meeting.match.size, FIRST_LOOK)):
        return
    if np.isin(meeting.items, truth.items).any():  # the items are known, only never right
        return
    raise InputError(
        "I402",
        f"no item of the run (such as {_examples(run.vocabulary.decode(run.items[:50]))}) is among the items of "
        f"the truth (such as {_examples(truth.vocabulary.decode(truth.items[:50]))})",
        where=f"{run.origin} against {truth.origin or 'the truth'}",
        hint="check that both files use the same ids, and name the columns with --columns user=...,item=...",
    )


def _examples(ids: pl.Series) -> str:
    return ", ".join(repr(value) for value in ids.unique(maintain_order=True).head(3).to_list())
