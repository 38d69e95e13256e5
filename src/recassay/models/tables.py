"""Systems that were trained elsewhere, for many users at a time: tables of factors, and scores of a batch of users.

They learn nothing from a log. So they answer for some users as they do for the same users among all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.io.clean import as_ids
from recassay.data.io.objects import object_table
from recassay.data.io.roles import role_named
from recassay.data.vocabulary import Vocabulary, mixed_kinds, positions
from recassay.errors import InputError
from recassay.models.base import FittedFactors, Scoring, checked

Float32 = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Vectors:
    """A vector of the same length for every id."""

    ids: pl.Series
    table: Float32

    @classmethod
    def of(cls, source: Any, whose: str) -> Vectors:
        """The ids and vectors of a table with one column of each, whatever their names; I423 if it is none.

        >>> frame = pl.DataFrame({"id": [7, 3], "features": [[0.5, 1.0], [0.0, 2.0]]})
        >>> Vectors.of(frame, "users").table.tolist()
        [[0.5, 1.0], [0.0, 2.0]]
        """
        if isinstance(source, Vectors):
            return source
        frame = _frame(source)
        name, vector = columns_of({one: frame[one].dtype.is_nested() for one in frame.columns}, whose)
        ids, vectors = as_ids(frame[name], whose), frame[vector]
        if vectors.dtype == pl.Array:
            vectors = vectors.arr.to_list()
        lengths = vectors.list.drop_nulls().list.len()
        length = int(lengths.mode().sort().to_numpy()[-1]) if ids.len() - lengths.null_count() else 0
        bad = lengths.ne_missing(length) | lengths.ne_missing(vectors.list.len())
        if bad.any():
            raise _unusable(
                f"{int(bad.sum()):,} of {ids.len():,} vectors do not have {length:,} numbers", ids, bad, whose
            )
        twice = ids.is_duplicated()
        if twice.any():
            raise _unusable(f"{ids.filter(twice).n_unique():,} ids have several vectors", ids, twice, whose)
        table = vectors.explode().cast(pl.Float32).to_numpy() if ids.len() else np.empty(0, np.float32)
        return cls(ids, table.reshape(ids.len(), length))

    def beside(self, vocabulary: Vocabulary, what: str) -> tuple[Float32, NDArray[np.bool_]]:
        """A row for every id of a vocabulary, and which of them have no vector; theirs is zero."""
        assert vocabulary.ids is not None, "a log's ids are dense"
        own = Vocabulary(self.ids)
        if self.ids.len() and own.kind != vocabulary.kind:
            raise mixed_kinds(what, own, vocabulary)
        row = positions(vocabulary.ids, self.ids) if self.ids.len() else np.full(vocabulary.size, -1)
        found = np.zeros((row.size, self.table.shape[1]), np.float32)
        found[row >= 0] = self.table[row[row >= 0]]
        return found, row < 0


def columns_of(nested: Mapping[str, bool], whose: str) -> tuple[str, str]:
    """The column of ids and that of vectors, from whether each column holds lists.

    >>> columns_of({"features": True, "id": False}, "users")
    ('id', 'features')
    """
    plain, lists = ([name for name, one in nested.items() if one is kind] for kind in (False, True))
    if len(plain) != 1 or len(lists) != 1:
        raise InputError(
            "I423",
            f"factors are a table with a column of ids and one of vectors, and this has {', '.join(nested) or 'none'}",
            where=f"factors of {whose}",
            hint="select these two",
        )
    return plain[0], lists[0]


def _unusable(what: str, ids: pl.Series, bad: pl.Series, whose: str) -> InputError:
    return InputError(
        "I423",
        f"{what}, the first {ids.filter(bad)[0]!r}",
        where=f"factors of {whose}",
        hint="give each id one vector, all of the same length",
    )


def _frame(source: Any) -> pl.DataFrame:
    if isinstance(source, str | Path):
        return pl.read_parquet(source)
    if isinstance(source, pl.DataFrame):
        return source
    table = object_table(source, role_named("items"), where="factors")
    return table.read({name: name for name in table.names})


@dataclass(frozen=True, eq=False)
class FactorTable:
    """Factors of users and of items, whose products are the scores: two tables of ids and vectors, or Parquet files.

    The factors that Spark's ALS, or any other library, has found. Whoever has no vector cannot be scored, and ties at
    the bottom. Played on a fold of Spark, ``users`` may be a table of Spark; ``items`` are sent to every task.

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

    of_parts: ClassVar[bool] = True

    def __str__(self) -> str:
        return self.name

    def fit(self, log: Interactions) -> FittedTables:
        """Nothing is learnt: the vectors of the log's users and items."""
        users, items = Vectors.of(self.users, "users"), Vectors.of(self.items, "items")
        if users.ids.len() and users.table.shape[1] != items.table.shape[1]:
            raise InputError(
                "I423",
                f"users have {users.table.shape[1]:,} factors, and items {items.table.shape[1]:,}",
                where=self.name,
                hint="give both tables of one model",
            )
        of_items, lost_items = items.beside(log.item_vocabulary, "item")
        of_users, lost_users = users.beside(log.user_vocabulary, "user")
        if not users.ids.len():
            of_users = np.zeros((lost_users.size, of_items.shape[1]), np.float32)
        return FittedTables(log, of_users, of_items, lost_users, lost_items)


@dataclass(frozen=True, eq=False)
class FittedTables(FittedFactors):
    """Factors of a log's users and items; ``lost_users`` and ``lost_items`` have none."""

    lost_users: NDArray[np.bool_]
    lost_items: NDArray[np.bool_]

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float32]:
        """A score of every item for each user; minus infinity where there is none."""
        table = super().scores(users)
        table[:, self.lost_items] = -np.inf
        table[self.lost_users[users]] = -np.inf
        return table


@dataclass(frozen=True, eq=False)
class ScoreBatches:
    """A function of an array of users' ids that gives a row of item scores for each, as networks are asked.

    Columns stand in the order of ``items``, else in that of the log's items, ascending by id. Items of the log that are
    not among ``items`` cannot be scored.

    >>> from recassay.data.synthetic import log
    >>> double = ScoreBatches(lambda users: np.outer(users, [2.0, 1.0]), items=[3, 1])
    >>> double.fit(log(users=30, items=20, events=150)).scores(np.array([4], np.int32))[0, :3].tolist()
    [5.0, -inf, 10.0]
    """

    function: Callable[[NDArray[Any]], Any]
    items: Sequence[Any] | None = None
    name: str = "scores"

    of_parts: ClassVar[bool] = True

    def __str__(self) -> str:
        return self.name

    def fit(self, log: Interactions) -> FittedBatches:
        """Nothing is learnt."""
        assert log.item_vocabulary.ids is not None, "a log's ids are dense"
        columns = None
        if self.items is not None:
            own = Vocabulary(as_ids(pl.Series(list(self.items))))
            if own.kind != log.item_vocabulary.kind:
                raise mixed_kinds("item", own, log.item_vocabulary)
            assert own.ids is not None, "it was made of some"
            columns = positions(log.item_vocabulary.ids, own.ids)
        return FittedBatches(log, self, columns)


@dataclass(frozen=True, eq=False)
class FittedBatches(Scoring):
    """A function and the log whose ids it is asked about; ``columns`` are those of the log's items, -1 for none."""

    log: Interactions
    asked: ScoreBatches
    columns: NDArray[np.int64] | None

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.floating]:
        """What the function says of these users."""
        table = np.asarray(self.asked.function(self.log.user_vocabulary.decode(users).to_numpy()))
        if self.columns is None:
            return table
        assert self.asked.items is not None, "they have places"
        own = checked(table, (users.size, len(self.asked.items)), self.asked.name)
        scores: NDArray[np.floating] = np.where(self.columns >= 0, own[:, self.columns], own.dtype.type(-np.inf))
        return scores
