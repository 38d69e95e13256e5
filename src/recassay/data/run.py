"""A run: the ranked lists of one system, one per query."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.groups import GroupedRows, Rows
from recassay.columnar.layout import (
    chosen_rows,
    groups_per_block,
    mark_repeated,
    offsets_without,
    ranges,
    row_groups,
    rows_of_groups,
    sorted_within,
    strictly_ordered,
)
from recassay.columnar.order import OrderSigns, count_contrary_scores, count_rank_like_scores, may_be_ranks
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.standings import Standings
from recassay.errors import InputError, UsageError
from recassay.naming import choices
from recassay.shown import Displayable
from recassay.threads import each_block

Nan = choices.Nan
Order = Literal["rank", "score", "row"]


@dataclass(frozen=True, eq=False, repr=False)
class Run(Displayable):
    """Ranked lists of one system, one per query; queries ascend, and the rows of a list are in the order of ``order``.

    The items of query q are ``items[offsets[q]:offsets[q + 1]]``. ``order`` says what the lists were ordered by: rank,
    score or row. ``tied`` marks rows whose score or rank equals that of the previous row of the list; None if there are
    no such rows. :meth:`with_ties_broken` orders tied rows. ``standings`` hold the ranks of relevant items among all
    candidates. ``source`` is the fitted system, if it made the run in this process. ``rows`` is the position (from 0)
    of each row in its list as it was read. It is None if lists are in the order they were read, or if that order is
    unknown; then ``has_row_order`` is False. ``remarks`` maps the code of a finding (a problem that results report) to
    a text about the run's file.

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
    remarks: Mapping[str, str] = field(default_factory=dict, repr=False)
    signs: OrderSigns = field(default=OrderSigns(), repr=False)
    standings: Standings | None = field(default=None, repr=False)
    source: object = field(default=None, repr=False)
    rows: NDArray[np.int32] | None = field(default=None, repr=False)
    has_row_order: bool = field(default=True, repr=False)

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
        """Return the run of a table with columns user_id, item_id and rank and/or score.

        Lists are ordered by the column ``order``; by default by ``rank`` if there is one, else by ``score`` descending,
        else as the rows come. Scores are always checked; without ``keep_scores`` they are dropped once they have
        ordered the lists. Without ``keep_rows`` the original positions of rows are dropped too: then it is unknown
        which row of a repeated item was read last, and ties cannot be broken by row. ``nan`` says whether a NaN score
        is an error or comes last. ``remarks`` are texts about the file that findings quote, if ``frame`` does not carry
        them.
        """
        where = origin or name
        order = order or ("rank" if "rank" in frame.columns else "score" if "score" in frame.columns else "row")
        if order != "row" and order not in frame.columns:
            raise UsageError("U107", f"the run has no {order} column to order by", where=where)
        table = GroupedRows(frame, "user_id")
        remarks = table.remarks if remarks is None else remarks
        vocabulary, items = table.encode("item_id")
        scores, nan_scores = _scores(table, nan, where) if "score" in table.columns else (None, 0)
        reads = keep_scores or order == "rank" or (scores is not None and may_be_ranks(table.offsets, scores))
        read = scores if reads else None  # scores that are not read again need not follow their rows
        run = cls(name, table.users, table.offsets, items, vocabulary, "row", read, None, nan_scores, where, remarks)
        run = run if keep_rows else run.without_row_order()
        if order == "rank":
            run = run._ordered_by(_ranks(table, where), "rank")
            if run.score_column is not None:
                run = replace(run, signs=count_contrary_scores(table.offsets, run.score_column))
        elif order == "score":
            assert scores is not None
            run = run._ordered_by(scores, "score")
            run = replace(run, signs=count_rank_like_scores(table.offsets, scores, run.score_column))
        return run if keep_scores else replace(run, score_column=None)

    def by_score(self) -> Run:
        """Return the same lists ordered by score descending, ignoring ranks.

        Raise U107 if the run has no scores.
        """
        if self.order == "score":
            return self
        if self.score_column is None:
            raise UsageError("U107", "the run has no score column to order by", where=self.origin)
        return self._ordered_by(self.score_column, "score")

    def by_row(self) -> Run:
        """Return the same lists in their present order, with no rows marked as tied."""
        return self if self.order == "row" else replace(self, order="row", tied=None)

    @functools.cached_property
    def scores(self) -> NDArray[np.float64] | None:
        """Return the score of each row; None if the run has no scores."""
        return None if self.score_column is None else self.score_column.to_numpy()

    def _ordered_by(self, column: pl.Series, order: Order) -> Run:
        """Return the run with each list in the order of ``column``; lists that are sorted already are not copied."""
        if strictly_ordered(self.offsets, column, descending=order == "score"):
            return replace(self, order=order, tied=None)
        given = self._columns
        keys = (column if column.dtype.is_integer() else column.cast(pl.Float64)).to_numpy()
        columns, tied = sorted_within(self.offsets, keys, list(given.values()), descending=order == "score")
        run = self if columns[0] is self.items else self._with_columns(dict(zip(given, columns, strict=True)))
        return replace(run, order=order, tied=tied)

    @property
    def _columns(self) -> dict[str, NDArray[Any]]:
        """Return, by name, the arrays with a value per row, which move with the rows when a list is reordered."""
        columns: dict[str, NDArray[Any]] = {"items": self.items}
        if self.scores is not None:
            columns["scores"] = self.scores
        if self.has_row_order:
            columns["places"] = self.places
        return columns

    def _with_columns(self, columns: Mapping[str, NDArray[Any]]) -> Run:
        """Return the run with these arrays (a value per row, by name) in place of its own."""
        scores = columns.get("scores")
        column = None if scores is None else pl.Series(scores)
        return replace(self, items=columns["items"], score_column=column, rows=columns.get("places"))

    @property
    def places(self) -> NDArray[np.int32]:
        """Return the position (from 0) that each row had in its list when the run was read."""
        if self.rows is not None:
            return self.rows
        places, n = np.empty(self.items.size, np.int32), self.lengths.size

        def fill(begin: int, end: int) -> None:
            places[self.offsets[begin] : self.offsets[end]] = ranges(0, self.lengths[begin:end])

        each_block(fill, n, size=groups_per_block(n, places.size))
        return places

    def without_row_order(self) -> Run:
        """Return the same run without the order in which its rows were read."""
        return replace(self, rows=None, has_row_order=False)

    def with_float32_ties(self) -> Run:
        """Return the run with rows marked as tied if their scores are equal in single precision.

        This is for comparison with trec_eval, which reads scores as C floats.
        """
        if self.order != "score" or self.scores is None:
            return self
        with np.errstate(over="ignore"):
            keys = self.scores.astype(np.float32)
        tied = np.append(False, keys[1:] == keys[:-1])[: keys.size]
        tied[self.offsets[:-1][self.lengths > 0]] = False
        return replace(self, tied=tied if tied.any() else None)

    def with_ties_broken(self, preference: NDArray[np.integer] | None = None) -> Run:
        """Return the run with tied rows in ascending order of ``preference``, which has a number per row.

        The default is the item id.
        """
        if self.tied is None:
            return self
        affected = self.tied.copy()
        affected[:-1] |= self.tied[1:]
        rows = np.flatnonzero(affected)
        groups = np.append(np.flatnonzero(~self.tied[rows]), rows.size)  # the bounds of rows that tie with each other
        keys = (self.items if preference is None else preference)[rows].astype(np.float64)
        given = [column[rows] for column in self._columns.values()]
        found, _ = sorted_within(groups, keys, given)
        if found is given:
            return self
        columns = {name: column.copy() for name, column in self._columns.items()}
        for column, values in zip(columns.values(), found, strict=True):
            column[rows] = values
        return self._with_columns(columns)

    def repeated(self) -> NDArray[np.bool_]:
        """Return a mask of the rows whose item occurs earlier in the same list."""
        return mark_repeated(self.offsets, self.items)

    def with_last_scores(self) -> Run:
        """Return the run with repeated items merged, each at its first row with the score of its last row.

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
        kept = np.minimum.reduceat(read, heads)  # the row at the best place of the list
        scores = self.scores.copy()
        scores[kept] = self.scores[read[np.append(heads[1:], read.size) - 1]]
        rows = None if self.rows is None else self.rows.copy()
        if rows is not None and self.rows is not None:
            rows[kept] = self.rows[read[heads]]
        merged = replace(self, score_column=pl.Series(scores), rows=rows).without(again)
        return replace(merged, order="row", tied=None).by_score() if self.order == "score" else merged

    def _by_item(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (row numbers sorted by list, item and order of reading; positions at which another item begins)."""
        group = row_groups(self.offsets)
        order = np.lexsort((self.items, group) if self.rows is None else (self.rows, self.items, group))
        changes = (np.diff(group[order]) != 0) | (np.diff(self.items[order]) != 0)
        return order, np.flatnonzero(np.append(True, changes))

    def conflicting_repeats(self) -> NDArray[np.bool_]:
        """Return a mask of the rows that repeat an item of their list with another score."""
        if self.scores is None:
            return np.zeros(self.items.size, np.bool_)
        found = self.repeated()
        if found.any():
            order, heads = self._by_item()
            first = np.repeat(order[heads], np.diff(np.append(heads, order.size)))
            found[order] &= self.scores[order] != self.scores[first]
        return found

    def without(self, dropped: NDArray[np.bool_]) -> Run:
        """Return the run without the rows marked in ``dropped``; the rows below them move up."""
        if not dropped.any():
            return self
        keep = ~dropped
        tied = self.tied
        if tied is not None:  # a row still ties with the previous kept row if all dropped rows between them tied too
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
        """Return the length of each list."""
        return np.diff(self.offsets)

    def take(self, which: NDArray[np.integer]) -> Run:
        """Return only the queries at ``which``, ascending positions; ``standings`` and ``source`` are dropped."""
        which = chosen_rows(which, self.offsets.size - 1)
        rows, offsets = rows_of_groups(self.offsets, which)
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
        """Return the run as a table: user_id, item_id, rank from 1, and score if there is one."""
        group = row_groups(self.offsets)
        columns = {
            "user_id": self.queries.gather(group),
            "item_id": self.vocabulary.decode(self.items),
            "rank": pl.Series(ranges(1, self.lengths), dtype=pl.Int32),
        }
        if self.score_column is not None:
            columns["score"] = self.score_column
        return pl.DataFrame(columns)


def _scores(table: GroupedRows, nan: Nan, where: str) -> tuple[pl.Series, int]:
    """Return the scores as floats, and the number of NaN among them.

    If ``nan`` is ``"error"``, raise I301 for a score that is NaN or infinite; otherwise NaN becomes minus infinity. If
    there is a NaN, scores of minus infinity become the lowest finite number, so that they stay above it. ``where``
    names the table.
    """
    column = table["score"].cast(pl.Float64)
    if column.null_count():
        column = column.fill_null(float("nan"))
    if np.isfinite(float(column.sum())):  # a single NaN or infinity would show in the sum
        return column, 0
    scores = column.to_numpy()
    bad = ~np.isfinite(scores)
    if not bad.any():  # the sum overflowed, not the scores
        return column, 0
    if nan == "error":
        row = int(np.argmax(bad))
        raise InputError(
            "I301",
            f"{int(bad.sum()):,} of {scores.size:,} scores are NaN or infinite, the first ({scores[row]}) for user "
            f"{table['user_id'][row]!r}, item {table['item_id'][row]!r}",
            where=where,
            hint="fix the system, or put such items last with --nan last",
        )
    missing = np.isnan(scores)
    lowest = np.where(np.isneginf(scores), np.finfo(np.float64).min, scores)  # above a NaN, which comes last
    return pl.Series(np.where(missing, -np.inf, lowest if missing.any() else scores)), int(missing.sum())


def _ranks(table: GroupedRows, where: str) -> pl.Series:
    """Return the ranks in a table; raise I302, naming the table (``where``), if one is missing or negative."""
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
            hint="ranks count from 0 or 1 upwards; if the column holds scores, name it score",
        )
    return ranks
