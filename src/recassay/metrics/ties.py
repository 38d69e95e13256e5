"""Policies for tied rows: the order of rows that ranks or scores do not separate."""

from __future__ import annotations

import numpy as np
import polars as pl

from recassay.arrays import Int32
from recassay.columnar.layout import groups_per_block, readonly
from recassay.data.run import Run
from recassay.errors import UsageError
from recassay.metrics import _kernels
from recassay.naming import choices
from recassay.threads import each_block

Ties = choices.TieOrder
ARBITRARY: frozenset[Ties] = frozenset({"id", "id_descending", "trec", "row", "ranx"})  # policies that pick one order
OF_ROWS: frozenset[Ties] = frozenset({"row", "ranx"})  # policies that need the order of rows in the file


def with_tie_order(run: Run, ties: Ties) -> Run:
    """Return the run with its tied rows in the order that a policy defines.

    The order is ascending by id for policies under which metrics handle the ties (``expected``, ``optimistic``,
    ``pessimistic``). Raise U107 if the policy needs the order of rows in the file, or scores, which the run does not
    keep.
    """
    if ties in OF_ROWS and not run.has_row_order:
        raise UsageError(
            "U107",
            f"ties={ties!r} needs the order of rows, which this run does not keep",
            where=run.origin,
            hint="read it with keep_rows=True, or choose another policy",
        )
    if ties == "ranx" and run.order == "score":
        return _as_ranx(run)
    if ties in OF_ROWS:
        return run if run.rows is None else run.with_ties_broken(run.rows)
    if ties == "id_descending":
        return run.with_ties_broken(-run.items.astype(np.int64))
    if ties != "trec":
        return run.with_ties_broken()
    text = run.vocabulary.decode(run.items).cast(pl.String)
    return run.with_ties_broken(-text.rank("dense").to_numpy().astype(np.int64))


def _as_ranx(run: Run) -> Run:
    """Return the run with tied rows in the order of ranx, whose sort keeps the file order in lists of up to 15 rows.

    Raise U107 if the run keeps no scores.
    """
    if run.scores is None:
        raise UsageError(
            "U107",
            "ties='ranx' needs scores, which this run does not keep",
            where=run.origin,
            hint="read it with keep_scores=True, or choose another policy",
        )
    place = np.empty(run.items.size, np.int64)
    offsets, scores, rows = readonly(run.offsets), readonly(run.scores), readonly(run.places)
    each_block(
        lambda begin, end: _kernels.places_in_ranx(offsets, scores, rows, begin, end, place),
        offsets.size - 1,
        size=groups_per_block(offsets.size - 1, rows.size),
    )
    return run.with_ties_broken(place)


def tie_bounds(run: Run) -> tuple[Int32 | None, Int32 | None]:
    """Return for each row the first and the last position, in its list, of the rows that it ties with.

    Positions count from 1; for a row without ties both are its own position. Return (None, None) if nothing ties.
    """
    if run.tied is None:
        return None, None
    heads = np.flatnonzero(~run.tied)
    sizes = np.diff(np.append(heads, run.tied.size))
    first = (heads - run.offsets[np.searchsorted(run.offsets, heads, side="right") - 1] + 1).astype(np.int32)
    return np.repeat(first, sizes), np.repeat((first + sizes - 1).astype(np.int32), sizes)
