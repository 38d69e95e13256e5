"""The order of rows that a run leaves open: which policies there are, and what each does."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.layout import LISTS_PER_BLOCK, readonly
from recassay.data.run import Run
from recassay.errors import UsageError
from recassay.metrics import _kernels
from recassay.threads import each_block

Ties = Literal["id", "id_descending", "trec", "row", "ranx", "expected", "optimistic", "pessimistic"]
ARBITRARY: frozenset[Ties] = frozenset({"id", "id_descending", "trec", "row", "ranx"})  # one order is picked
OF_ROWS: frozenset[Ties] = frozenset({"row", "ranx"})  # the order of the rows that were read decides


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
    if ties == "ranx" and run.order == "score":
        return _as_ranx(run)
    if ties in OF_ROWS:
        return run if run.rows is None else run.arranged(run.rows)
    if ties == "id_descending":
        return run.arranged(-run.items.astype(np.int64))
    if ties != "trec":
        return run.arranged()
    text = run.vocabulary.decode(run.items).cast(pl.String)
    return run.arranged(-text.rank("dense").to_numpy().astype(np.int64))


def _as_ranx(run: Run) -> Run:
    """Tied rows as ranx leaves them: its sort keeps the order of rows in lists of up to 15 items and in no others."""
    if run.scores is None:
        raise UsageError(
            "U107",
            "ties='ranx' asks for scores, which the run has let go",
            where=run.origin,
            hint="read it with keep_scores=True, or choose another policy",
        )
    place = np.empty(run.items.size, np.int64)
    offsets, scores, rows = readonly(run.offsets), readonly(run.scores), readonly(run.places)
    each_block(
        lambda begin, end: _kernels.places_in_ranx(offsets, scores, rows, begin, end, place),
        offsets.size - 1,
        size=LISTS_PER_BLOCK,
    )
    return run.arranged(place)


def tie_bounds(run: Run) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
    """First and last position of the stretch each row ties with."""
    if run.tied is None:
        return None, None
    heads = np.flatnonzero(~run.tied)
    sizes = np.diff(np.append(heads, run.tied.size))
    first = (heads - run.offsets[np.searchsorted(run.offsets, heads, side="right") - 1] + 1).astype(np.int32)
    return np.repeat(first, sizes), np.repeat((first + sizes - 1).astype(np.int32), sizes)
