"""The order of rows that a run leaves open: which policies there are, and what each does."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.run import Run
from recassay.errors import UsageError

Ties = Literal["id", "id_descending", "trec", "row", "expected", "optimistic", "pessimistic"]
ARBITRARY: frozenset[Ties] = frozenset({"id", "id_descending", "trec", "row"})  # one order is picked for tied rows
OF_ROWS: frozenset[Ties] = frozenset({"row"})  # the order of the rows that were read decides


def settled(run: Run, ties: Ties) -> Run:
    """The run with its tied rows in the order of a policy; ascending by id where positions are judged as stretches."""
    if run.tied is None:
        return run
    if ties in OF_ROWS and not run.knows_rows:
        raise UsageError(
            "U107",
            f"ties={ties!r} asks for the order of rows, which the run no longer knows",
            where=run.origin,
            hint="read it with keep_rows=True, or choose another policy",
        )
    if ties == "row":
        return run if run.rows is None else run.arranged(run.rows)
    if ties == "id_descending":
        return run.arranged(-run.items.astype(np.int64))
    if ties != "trec":
        return run.arranged()
    text = run.vocabulary.decode(run.items).cast(pl.String)
    return run.arranged(-text.rank("dense").to_numpy().astype(np.int64))


def tie_bounds(run: Run) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
    """First and last position of the stretch each row ties with."""
    if run.tied is None:
        return None, None
    heads = np.flatnonzero(~run.tied)
    sizes = np.diff(np.append(heads, run.tied.size))
    first = (heads - run.offsets[np.searchsorted(run.offsets, heads, side="right") - 1] + 1).astype(np.int32)
    return np.repeat(first, sizes), np.repeat((first + sizes - 1).astype(np.int32), sizes)
