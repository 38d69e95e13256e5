"""What a system answered: one ranked list per query."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.io import Columns
from recassay.data.layout import (
    Rows,
    grouped,
    ids_of,
    offsets_without,
    order_within,
    picked,
    repeated,
    stretch_of,
    strictly_ordered,
)
from recassay.data.order_signs import OrderSigns, signs_of_ranks, signs_of_scores
from recassay.data.standings import Standings
from recassay.data.vocabulary import Vocabulary
from recassay.errors import InputError, UsageError

Nan = Literal["error", "last"]
Order = Literal["rank", "score", "row"]

SCHEMA = {"user_id": "integer or string", "item_id": "integer or string", "rank": "Int32", "score": "Float64"}


@dataclass(frozen=True, eq=False)
class Run:
    """Ranked lists of one system, laid out by query (ascending), each list in the order it was given.

    ``tied`` marks rows that the given order does not separate from the row before them in the same list (equal score
    or equal rank); None where there is no such row. :meth:`arranged` settles them. ``standings`` say where relevant
    items stand among all candidates, and ``source`` is what may be asked again, if the run was played and not read.
    ``rows`` is the place of each row in its list as it was read, from 0; None where lists stand as they were read, or
    where nobody knows: then ``knows_rows`` is False.

    >>> run = Run.from_frame(pl.DataFrame({"user_id": [1, 1], "item_id": [5, 9], "score": [0.1, 0.7]}), "mine")
    >>> run.queries.to_list(), run.items.tolist(), run.order
    ([1], [9, 5], 'score')
    """

    name: str
    queries: pl.Series
    offsets: NDArray[np.int64]
    items: NDArray[np.int32]
    vocabulary: Vocabulary
    order: Order
    score_column: pl.Series | None = None
    tied: NDArray[np.bool_] | None = None
    nan_scores: int = 0
    origin: str = field(default="", repr=False)
    remarks: Mapping[str, str] = field(default_factory=dict, repr=False)  # what findings say of its file, by code
    signs: OrderSigns = field(default=OrderSigns(), repr=False)
    standings: Standings | None = field(default=None, repr=False)
    source: object = field(default=None, repr=False)
    rows: NDArray[np.int32] | None = field(default=None, repr=False)
    knows_rows: bool = field(default=True, repr=False)

    @classmethod
    def from_frame(
        cls,
        frame: Rows,
        name: str,
        *,
        order: Order | None = None,
        nan: Nan = "error",
        keep_scores: bool = True,
        keep_rows: bool = True,
        origin: str = "",
        remarks: Mapping[str, str] | None = None,
    ) -> Run:
        """Lay out a table with columns user_id, item_id and rank and/or score.

        Order: by ``rank`` if there is one, else by ``score`` descending, else the order of the rows. Scores are
        checked, and let go once they have ordered the lists unless ``keep_scores``. Without ``keep_rows`` the places
        of the rows are let go too: repeated items then have no last row, and tied rows no order of rows. ``remarks``
        are what findings say of the file, if that is not known of the ``frame``.
        """
        where = origin or name
        if remarks is None:
            remarks = frame.remarks if isinstance(frame, Columns) else {}
        order = order or ("rank" if "rank" in frame.columns else "score" if "score" in frame.columns else "row")
        if order != "row" and order not in frame.columns:
            raise UsageError("U107", f"the run has no {order} column to order by", where=where)
        frame, queries, offsets = grouped(frame, "user_id")
        vocabulary, items = Vocabulary.encode(ids_of(frame, "item_id"))
        scores, nan_scores = _scores(frame, nan, where) if "score" in frame.columns else (None, 0)
        kept = scores if keep_scores or order == "score" else None
        run = cls(name, queries, offsets, items, vocabulary, "row", kept, None, nan_scores, where, remarks)
        run = run if keep_rows else run.without_rows()
        if order == "rank":
            rows, run = run._ordered_by(_ranks(frame, where), "rank")
            if scores is not None:
                signs = signs_of_ranks(offsets, scores if rows is None else scores.gather(rows))
                run = replace(run, signs=signs)
        elif order == "score":
            assert scores is not None
            run = run.by_score()
            assert run.score_column is not None
            run = replace(run, signs=signs_of_scores(offsets, scores, run.score_column))
        return run if keep_scores else replace(run, score_column=None)

    def by_score(self) -> Run:
        """The same lists by score descending, whatever ranks said."""
        if self.order == "score":
            return self
        if self.score_column is None:
            raise UsageError("U107", "the run has no score column to order by", where=self.origin)
        return self._ordered_by(self.score_column, "score")[1]

    def by_row(self) -> Run:
        """The same lists as they stand, whatever orders them, and without ties."""
        return self if self.order == "row" else replace(self, order="row", tied=None)

    @functools.cached_property
    def scores(self) -> NDArray[np.float64] | None:
        """Score of each row, if the run has scores."""
        return None if self.score_column is None else self.score_column.to_numpy()

    def _ordered_by(self, column: pl.Series, order: Order) -> tuple[NDArray[np.int64] | None, Run]:
        """The run in that order, and the rows that brought it there, None if it was there already."""
        if strictly_ordered(self.offsets, column, descending=order == "score"):
            return None, replace(self, order=order, tied=None)
        keys = column.cast(pl.Float64).to_numpy()
        rows, may_tie = order_within(self.offsets, keys, descending=order == "score")
        run = self if rows is None else self._rearranged(rows)
        tied = _tied(self.offsets, keys if rows is None else keys[rows]) if may_tie else None
        return rows, replace(run, order=order, tied=tied)

    def _rearranged(self, rows: NDArray[np.int64]) -> Run:
        """The rows in another order, lists staying where they are."""
        scores = None if self.score_column is None else self.score_column.gather(rows)
        places = self.places[rows] if self.knows_rows else None
        return replace(self, items=self.items[rows], score_column=scores, rows=places)

    @property
    def places(self) -> NDArray[np.int32]:
        """The place of each row in its list as it was read, from 0."""
        if self.rows is not None:
            return self.rows
        return (np.arange(self.items.size) - np.repeat(self.offsets[:-1], self.lengths)).astype(np.int32)

    def without_rows(self) -> Run:
        """The same run, which no longer knows in which order its rows were read."""
        return replace(self, rows=None, knows_rows=False)

    def rounded(self) -> Run:
        """Ties as single-precision scores see them (trec_eval reads scores as C floats)."""
        if self.order != "score" or self.scores is None:
            return self
        with np.errstate(over="ignore"):
            return replace(self, tied=_tied(self.offsets, self.scores.astype(np.float32)))

    def arranged(self, preference: NDArray[np.integer] | None = None) -> Run:
        """Settle ties: rows that tie stand in ascending order of preference (by row; default: of the id)."""
        if self.tied is None:
            return self
        group = np.cumsum(~self.tied)
        affected = self.tied.copy()
        affected[:-1] |= self.tied[1:]
        rows = np.flatnonzero(affected)
        key: NDArray[np.integer] = self.items[rows] if preference is None else preference[rows]
        order = rows[np.lexsort((key, group[rows]))]
        everywhere = np.arange(self.items.size)
        everywhere[rows] = order
        return self._rearranged(everywhere)

    def repeated(self) -> NDArray[np.bool_]:
        """Rows whose item stands earlier in the same list."""
        return repeated(self.offsets, self.items)

    def with_last_scores(self) -> Run:
        """A repeated item stands once, at its first place with the score of its last row, as in a dict of items.

        The last row is the one that was read last, wherever ranks or scores put it.

        >>> rows = {"user_id": [1, 1, 1], "item_id": [5, 9, 5], "rank": [1, 2, 3], "score": [0.9, 0.5, 0.1]}
        >>> run = Run.from_frame(pl.DataFrame(rows), "mine").with_last_scores()
        >>> run.items.tolist(), run.by_score().items.tolist()
        ([5, 9], [9, 5])
        """
        again = self.repeated()
        if self.scores is None or not again.any():
            return self.without(again)
        read, heads = self._by_item()
        kept = np.minimum.reduceat(read, heads)  # what stands first in the list
        scores = self.scores.copy()
        scores[kept] = self.scores[read[np.append(heads[1:], read.size) - 1]]
        rows = None if self.rows is None else self.rows.copy()
        if rows is not None and self.rows is not None:
            rows[kept] = self.rows[read[heads]]
        merged = replace(self, score_column=pl.Series(scores), rows=rows).without(again)
        return replace(merged, order="row", tied=None).by_score() if self.order == "score" else merged

    def _by_item(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows by list, then item, then as they were read; and where in this order another item or list begins."""
        of = stretch_of(self.offsets)
        order = np.lexsort((self.items, of) if self.rows is None else (self.rows, self.items, of))
        changes = (np.diff(of[order]) != 0) | (np.diff(self.items[order]) != 0)
        return order, np.flatnonzero(np.append(True, changes))

    def contradicting(self) -> NDArray[np.bool_]:
        """Rows that repeat an item of their list with another score; none in a run without scores."""
        if self.scores is None:
            return np.zeros(self.items.size, np.bool_)
        found = self.repeated()
        if found.any():
            order, heads = self._by_item()
            first = np.repeat(order[heads], np.diff(np.append(heads, order.size)))
            found[order] &= self.scores[order] != self.scores[first]
        return found

    def without(self, dropped: NDArray[np.bool_]) -> Run:
        """The lists without some rows; what follows moves up."""
        if not dropped.any():
            return self
        keep = ~dropped
        tied = self.tied
        if tied is not None:  # a row still ties with the row before it if every row dropped between them tied too
            group = np.cumsum(~tied)[keep]
            tied = np.append(False, group[1:] == group[:-1])[: group.size]
        return replace(
            self,
            offsets=offsets_without(self.offsets, dropped),
            items=self.items[keep],
            score_column=None if self.score_column is None else self.score_column.filter(pl.Series(keep)),
            tied=tied,
            rows=None if self.rows is None else self.rows[keep],
        )

    @functools.cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Length of each list."""
        return np.diff(self.offsets)

    def take(self, which: NDArray[np.integer]) -> Run:
        """The lists of some queries, by their place, ascending; what was asked of the whole run is left behind."""
        rows, offsets = picked(self.offsets, which)
        tied = None if self.tied is None else self.tied[rows]
        return replace(
            self,
            queries=self.queries.gather(which),
            offsets=offsets,
            items=self.items[rows],
            score_column=None if self.score_column is None else self.score_column.gather(rows),
            rows=None if self.rows is None else self.rows[rows],
            tied=tied if tied is not None and tied.any() else None,
            standings=None,
            source=None,
        )

    def frame(self) -> pl.DataFrame:
        """The run as a table: user_id, item_id, rank from 1, and score if there is one."""
        of = stretch_of(self.offsets)
        columns = {
            "user_id": self.queries.gather(of),
            "item_id": self.vocabulary.decode(self.items),
            "rank": pl.Series(np.arange(self.items.size) - self.offsets[of] + 1, dtype=pl.Int32),
        }
        if self.score_column is not None:
            columns["score"] = self.score_column
        return pl.DataFrame(columns)


def _tied(offsets: NDArray[np.int64], keys: NDArray[np.generic]) -> NDArray[np.bool_] | None:
    tied = np.empty(keys.size, np.bool_)
    tied[:1] = False
    np.equal(keys[1:], keys[:-1], out=tied[1:])
    tied[offsets[:-1][np.diff(offsets) > 0]] = False
    return tied if tied.any() else None


def _scores(table: Rows, nan: Nan, where: str) -> tuple[pl.Series, int]:
    """The scores as floats, and how many were NaN."""
    column = table["score"].cast(pl.Float64)
    if column.null_count():
        column = column.fill_null(float("nan"))
    if np.isfinite(float(column.sum())):  # one NaN or infinity would make the sum one
        return column, 0
    scores = column.to_numpy()
    bad = ~np.isfinite(scores)
    if not bad.any():  # the sum overflowed, the scores did not
        return column, 0
    if nan == "error":
        row = int(np.argmax(bad))
        raise InputError(
            "I301",
            f"{int(bad.sum()):,} of {scores.size:,} scores are NaN or infinite, the first ({scores[row]}) for user "
            f"{table['user_id'][row]!r}, item {table['item_id'][row]!r}",
            where=where,
            hint="repair the system, or place such items last with --nan last",
        )
    lost = np.isnan(scores)
    return pl.Series(np.where(lost, -np.inf, scores)), int(lost.sum())


def _ranks(table: Rows, where: str) -> pl.Series:
    ranks = table["rank"]
    if ranks.dtype.is_float():
        ranks = ranks.fill_nan(None)
    if ranks.null_count():
        raise InputError(
            "I302",
            f"{ranks.null_count():,} of {ranks.len():,} ranks are missing",
            where=where,
            hint="give every row a rank, or leave the column out",
        )
    low = ranks.min()
    if low is not None and low < 0:  # type: ignore[operator]
        bad = ranks < 0
        row = int(bad.arg_max() or 0)
        raise InputError(
            "I302",
            f"{bad.sum():,} of {ranks.len():,} ranks are negative, the first ({ranks[row]}) for user "
            f"{table['user_id'][row]!r}, item {table['item_id'][row]!r}",
            where=where,
            hint="ranks count from 0 or 1 upwards; if the column is a score, say --columns score=rank",
        )
    return ranks
