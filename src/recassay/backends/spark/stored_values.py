"""Values of all users in Parquet files, and reductions of them in the tasks of Spark."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import polars as pl

from recassay.backends.spark.scoring import ORDERS, Key, column_name, user_rows, values_schema
from recassay.backends.spark.session import carry_errors, translate_errors
from recassay.backends.spark.tables import to_batches
from recassay.data.io.roles import USER
from recassay.results.scores import Values

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

FOUND = "found"

Columns = Mapping[Key, Values]


@dataclass(frozen=True, eq=False)
class StoredValues:
    """A folder of Parquet files with the values of all users.

    ``user`` is the Spark type of its user ids, ``keys`` names its columns, and ``there`` those that have values.
    Folders inside one temporary folder share an ``owner``; the temporary folder is removed when none of them is used
    any more.
    """

    spark: SparkSession
    folder: str
    user: str
    keys: tuple[Key, ...]
    there: frozenset[Key]
    owner: object = None

    def frame(self, keys: Iterable[Key]) -> DataFrame:
        """Return a Spark table with a row for each user: the user id and the columns ``keys``.

        The columns for the best and worst order of ties are empty for users without ties; these users get the plain
        value.
        """
        from pyspark.sql import functions as F  # noqa: N812 (its usual name)

        places = {key: column_name(place) for place, key in enumerate(self.keys)}

        def column(key: Key) -> Any:
            kind, heading = key.column
            given = F.col(places[key])
            if kind in ORDERS:
                given = F.coalesce(given, F.col(places[Key(key.system, ("value", heading))]))
            return given.alias(places[key])

        with translate_errors():
            rows = user_rows(self.spark, self.folder, f"{USER} {self.user}{values_schema(self.keys)}")
            return rows.select(USER, *(column(key) for key in keys))

    def summed(self, keys: Iterable[Key], sums: Callable[[Columns], Any]) -> Any:
        """Apply ``sums`` to each chunk of users and return the results added by ``+``; None without users.

        ``sums`` takes the columns ``keys`` of a chunk.
        """
        chosen = tuple(keys)
        batches = self.frame(chosen).mapInArrow(
            carry_errors(_adding_work(self._column_names(chosen), sums)), f"{FOUND} binary"
        )
        with translate_errors():
            found = [pickle.loads(bytes(row[0])) for row in batches.collect()]
        return reduce(_add_or_first, found) if found else None

    def in_one_task(self, keys: Iterable[Key], work: Callable[[pl.Series, Columns], Any]) -> Any:
        """Return ``work(users, columns)`` for all users, ascending, computed by one task.

        ``columns`` are the columns of values with these ``keys``.
        """
        chosen = tuple(keys)
        placed = self.frame(chosen).coalesce(1).sortWithinPartitions(USER)
        kind = dict(placed.dtypes)[USER]
        batches = placed.mapInArrow(
            carry_errors(_all_users_work(self._column_names(chosen), kind, work)), f"{FOUND} binary"
        )
        with translate_errors():
            return pickle.loads(bytes(batches.collect()[0][0]))

    def read(self, keys: Iterable[Key]) -> tuple[pl.Series, Columns]:
        """Load the columns ``keys`` into this process; return (users, values by key), with the users ascending."""
        chosen = tuple(keys)
        with translate_errors():
            frame = pl.DataFrame(self.frame(chosen).sort(USER).toArrow())
        return frame[USER], _columns(frame, self._column_names(chosen))

    def _column_names(self, keys: tuple[Key, ...]) -> dict[Key, str]:
        return {key: column_name(self.keys.index(key)) for key in keys}


def _adding_work(named: Mapping[Key, str], sums: Callable[[Columns], Any]) -> Callable[..., Any]:
    def summing(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        parts = (sums(_columns(pl.DataFrame(batch), named)) for batch in batches if batch.num_rows)
        found = reduce(_add_or_first, parts, None)
        if found is not None:
            yield from to_batches(pl.DataFrame({FOUND: [pickle.dumps(found)]}))

    return summing


def _all_users_work(
    named: Mapping[Key, str], kind: str, work: Callable[[pl.Series, Columns], Any]
) -> Callable[..., Any]:
    def whole(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        empty: dict[str, Any] = {USER: pl.String if kind == "string" else pl.Int64} | dict.fromkeys(
            named.values(), pl.Float64
        )
        frame = pl.concat([pl.DataFrame(schema=empty), *(pl.DataFrame(batch) for batch in batches)], rechunk=True)
        yield from to_batches(pl.DataFrame({FOUND: [pickle.dumps(work(frame[USER], _columns(frame, named)))]}))

    return whole


def _columns(frame: pl.DataFrame, named: Mapping[Key, str]) -> dict[Key, Values]:
    return {key: frame[name].to_numpy() for key, name in named.items()}


def _add_or_first(one: Any, other: Any) -> Any:
    return other if one is None else one + other
