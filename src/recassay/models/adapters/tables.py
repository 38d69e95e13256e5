"""Adapters for systems trained elsewhere: tables of factors, and functions that score a batch of users.

They learn nothing from a log, so their answers for a user do not depend on which other users the log has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.arrays import Bool, Float32, Int32, Int64
from recassay.columnar.vocabulary import Vocabulary, id_types_differ, rows_in_table
from recassay.data.interactions import Interactions
from recassay.data.io.clean import as_ids
from recassay.data.io.columns import role_named
from recassay.data.io.objects import object_table
from recassay.data.io.parquet import read_parquet
from recassay.errors import InputError
from recassay.models.adapters.functions import Adapter, FittedFunction
from recassay.models.base.model import FittedFactors, checked_scores


@dataclass(frozen=True, eq=False)
class Vectors:
    """Factors of users or of items: row i of ``table`` is the vector of ``ids[i]``."""

    ids: pl.Series
    table: Float32

    @classmethod
    def of(cls, source: Any, owner: str) -> Vectors:
        """Read a table with a column of ids and a column of vectors, under any names; raise I423 for any other table.

        ``owner`` says whose vectors they are, for errors.

        >>> frame = pl.DataFrame({"id": [7, 3], "features": [[0.5, 1.0], [0.0, 2.0]]})
        >>> Vectors.of(frame, "users").table.tolist()
        [[0.5, 1.0], [0.0, 2.0]]
        """
        if isinstance(source, Vectors):
            return source
        frame = _frame(source)
        name, vector = factor_columns({name: frame[name].dtype.is_nested() for name in frame.columns}, owner)
        ids, vectors = as_ids(frame[name], owner), frame[vector]
        if vectors.dtype == pl.Array:
            vectors = vectors.arr.to_list()
        lengths = vectors.list.drop_nulls().list.len()
        length = int(lengths.mode().sort().to_numpy()[-1]) if ids.len() - lengths.null_count() else 0
        bad = lengths.ne_missing(length) | lengths.ne_missing(vectors.list.len())
        if bad.any():
            raise _unusable(
                f"{int(bad.sum()):,} of {ids.len():,} vectors do not have {length:,} numbers", ids, bad, owner
            )
        repeated = ids.is_duplicated()
        if repeated.any():
            raise _unusable(f"{ids.filter(repeated).n_unique():,} ids have several vectors", ids, repeated, owner)
        table = vectors.explode().cast(pl.Float32).to_numpy() if ids.len() else np.empty(0, np.float32)
        return cls(ids, table.reshape(ids.len(), length))

    def aligned_to(self, ids: pl.Series, what: str) -> tuple[Float32, Bool]:
        """Return the vectors of ``ids``, in their order, and a mask of the ids without a vector.

        The vector of such an id is all 0. ``what`` names the ids in errors.
        """
        row = rows_in_table(_same_kind(ids, self.ids, what), self.ids) if self.ids.len() else np.full(ids.len(), -1)
        found = np.zeros((row.size, self.table.shape[1]), np.float32)
        found[row >= 0] = self.table[row[row >= 0]]
        return found, row < 0


def _same_kind(ids: pl.Series, others: pl.Series, what: str) -> pl.Series:
    """Return ``ids``, which are of a log; raise an error if they are text and ``others`` numbers, or the reverse."""
    ours, theirs = Vocabulary(ids), Vocabulary(others)
    if ours.kind != theirs.kind:
        raise id_types_differ(what, theirs, ours)
    return ids


def factor_columns(nested: Mapping[str, bool], owner: str) -> tuple[str, str]:
    """Return the names of the column of ids and of the column of vectors.

    ``nested`` says of each column whether it holds lists; ``owner`` names the table in errors. Raise I423 unless there
    is one column of each kind.

    >>> factor_columns({"features": True, "id": False}, "users")
    ('id', 'features')
    """
    plain, lists = ([name for name, is_list in nested.items() if is_list is kind] for kind in (False, True))
    if len(plain) != 1 or len(lists) != 1:
        raise InputError(
            "I423",
            "a table of factors must have one column of ids and one of vectors; the columns are "
            f"{', '.join(nested) or 'none'}",
            where=f"factors of {owner}",
            hint="select the column of ids and the column of vectors",
        )
    return plain[0], lists[0]


def _unusable(what: str, ids: pl.Series, bad: pl.Series, owner: str) -> InputError:
    """Return the error I423 about the ``ids`` marked in ``bad``; ``what`` says what is wrong with their vectors.

    ``owner`` says whose vectors they are: users or items.
    """
    return InputError(
        "I423",
        f"{what}, the first {ids.filter(bad)[0]!r}",
        where=f"factors of {owner}",
        hint="give each id one vector, all of the same length",
    )


def _frame(source: Any) -> pl.DataFrame:
    """Read a Parquet file, or a table object of another library, as a Polars frame."""
    if isinstance(source, str | Path):
        return read_parquet(source)
    if isinstance(source, pl.DataFrame):
        return source
    table = object_table(source, role_named("items"), where="factors")
    return table.read({name: name for name in table.names})


@dataclass(frozen=True, eq=False)
class FactorTable(Adapter):
    """Factors of users and items, whose products are the scores: two tables of ids and vectors, or Parquet files.

    Use it for factors computed by Spark's ALS or any other library. Users and items without a vector have no scores
    and tie at the bottom. On a Spark fold, ``users`` may be a Spark table; ``items`` are sent to every task.

    >>> from recassay.data.synthetic import log
    >>> users = pl.DataFrame({"id": [1, 2], "features": [[1.0, 0.0], [0.5, 2.0]]})
    >>> items = pl.DataFrame({"id": [1, 3], "features": [[1.0, 0.0], [0.5, 2.0]]})
    >>> fitted = FactorTable(users, items).fit(log(users=30, items=20, events=150))
    >>> fitted.scores(np.array([1], np.int32))[0, :3].tolist()
    [0.5, -inf, 4.25]
    """

    users: Any
    items: Any
    name: str = "factors"

    fits_by_user: ClassVar[bool] = True

    def fit(self, log: Interactions) -> FittedTables:
        """Return the vectors of the log's users and items; nothing is learned.

        Raise I423 if users and items have vectors of different lengths.
        """
        users, items = Vectors.of(self.users, "users"), Vectors.of(self.items, "items")
        if users.ids.len() and users.table.shape[1] != items.table.shape[1]:
            raise InputError(
                "I423",
                f"users have {users.table.shape[1]:,} factors, but items have {items.table.shape[1]:,}",
                where=self.name,
                hint="give two tables of one model",
            )
        item_factors, missing_items = items.aligned_to(log.item_ids, "item")
        user_factors, missing_users = users.aligned_to(log.user_ids, "user")
        if not users.ids.len():
            user_factors = np.zeros((missing_users.size, item_factors.shape[1]), np.float32)
        return FittedTables(log, user_factors, item_factors, missing_users, missing_items)


@dataclass(frozen=True, eq=False)
class FittedTables(FittedFactors):
    """Factors of a log's users and items, some of which may lack a vector.

    ``missing_users`` and ``missing_items`` are true for users and items without one; their factors are 0.
    """

    missing_users: Bool
    missing_items: Bool

    @property
    def unknown_users(self) -> Bool:
        """Return a mask of the users without a vector."""
        return self.missing_users

    def scores(self, users: Int32) -> Float32:
        """Return scores (n, items) for user codes; -inf for users and items without a vector."""
        table = super().scores(users)
        table[:, self.missing_items] = -np.inf
        table[self.missing_users[users]] = -np.inf
        return table


@dataclass(frozen=True, eq=False)
class ScoreBatches(Adapter):
    """A function from an array of user ids to a row of item scores for each user, as networks compute them.

    Columns are in the order of ``items``, or of the log's items (ascending by id) if ``items`` is None. Items of the
    log that are not among ``items`` have no score and are never recommended.

    >>> from recassay.data.synthetic import log
    >>> double = ScoreBatches(lambda users: np.outer(users, [2.0, 1.0]), items=[3, 1])
    >>> double.fit(log(users=30, items=20, events=150)).scores(np.array([4], np.int32))[0, :3].tolist()
    [5.0, -inf, 10.0]
    """

    function: Callable[[NDArray[Any]], Any]
    items: Sequence[Any] | None = None
    name: str = "scores"

    fits_by_user: ClassVar[bool] = True

    def fit(self, log: Interactions) -> FittedFunction:
        """Return the function together with the log that translates its ids; nothing is learned."""
        columns = None
        if self.items is not None:
            items = as_ids(pl.Series(list(self.items)))
            columns = rows_in_table(_same_kind(log.item_ids, items, "item"), items)
        return FittedFunction(log, partial(self._scores, log, columns), personal=False)

    def _scores(self, log: Interactions, columns: Int64 | None, users: Int32) -> NDArray[np.floating]:
        """Return the scores (n, items) of the function for user codes.

        ``columns[i]`` is the function's column of item i, -1 if it lacks the item; None if columns are the log's items.
        """
        table = np.asarray(self.function(log.user_vocabulary.decode(users).to_numpy()))
        if columns is None:
            return table
        assert self.items is not None, "columns are made from items"
        own = checked_scores(table, (users.size, len(self.items)), self.name)
        return np.where(columns >= 0, own[:, columns], own.dtype.type(-np.inf))
