"""Values of all users in Parquet files, and reductions of them: in tasks of Spark, or here if the files are here."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from recassay.backends.spark.own_files import batches_of_users, own_files, users_of_files
from recassay.backends.spark.scoring import Key, column_name, user_rows, values_schema
from recassay.backends.spark.session import carry_errors, translate_errors
from recassay.backends.spark.tables import to_batches
from recassay.data.io.roles import USER
from recassay.engine.lists.parts import ORDERS
from recassay.results.scores import Values
from recassay.threads import each_block

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

        with translate_errors():
            rows = user_rows(self.spark, self.folder, f"{USER} {self.user}{values_schema(self.keys)}")
            columns = [F.coalesce(*map(F.col, names)).alias(names[0]) for names in self._alternatives(keys)]
            return rows.select(USER, *columns)

    def summed(self, keys: Iterable[Key], sums: Callable[[Columns], Any]) -> Any:
        """Apply ``sums`` to each chunk of users and return the results added by ``+``; None without users.

        ``sums`` takes the columns ``keys`` of a chunk.
        """
        chosen = tuple(keys)
        files = own_files(self.spark, self.folder)
        if files is not None:
            return self._summed_here(files, chosen, sums)
        batches = self.frame(chosen).mapInArrow(
            carry_errors(_adding_work(self._column_names(chosen), sums)), f"{FOUND} binary"
        )
        with translate_errors():
            found = [pickle.loads(bytes(row[0])) for row in batches.collect()]
        return reduce(_add_or_first, found) if found else None

    def apply(self, keys: Iterable[Key], work: Callable[[pl.Series, Columns], Any]) -> Any:
        """Return ``work(users, columns)`` for all users, ascending; without the files here, one task computes it.

        ``columns`` are the columns of values with these ``keys``.
        """
        chosen = tuple(keys)
        files = own_files(self.spark, self.folder)
        if files is not None:
            return work(*self._loaded(users_of_files(files, self._expressions(chosen)), chosen))
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
        files = own_files(self.spark, self.folder)
        if files is not None:
            return self._loaded(users_of_files(files, self._expressions(chosen)), chosen)
        with translate_errors():
            return self._loaded(pl.DataFrame(self.frame(chosen).sort(USER).toArrow()), chosen)

    def _summed_here(self, files: list[Path], keys: tuple[Key, ...], sums: Callable[[Columns], Any]) -> Any:
        names, columns = self._column_names(keys), self._expressions(keys)

        def of_files(begin: int, end: int) -> Any:
            frames = chain.from_iterable(batches_of_users(file, columns) for file in files[begin:end])
            return reduce(_add_or_first, (sums(_columns(frame, names)) for frame in frames), None)

        found = [one for one in each_block(of_files, len(files), size=1) if one is not None]
        return reduce(_add_or_first, found) if found else None

    def _loaded(self, frame: pl.DataFrame, keys: tuple[Key, ...]) -> tuple[pl.Series, Columns]:
        return frame[USER], _columns(frame, self._column_names(keys))

    def _column_names(self, keys: tuple[Key, ...]) -> dict[Key, str]:
        return {key: column_name(self.keys.index(key)) for key in keys}

    def _expressions(self, keys: tuple[Key, ...]) -> list[pl.Expr]:
        return [pl.coalesce(names).alias(names[0]) for names in self._alternatives(keys)]

    def _alternatives(self, keys: Iterable[Key]) -> list[list[str]]:
        """Return the names of the stored columns of each key: its own, and the one that counts where it is empty."""
        places = {key: column_name(place) for place, key in enumerate(self.keys)}
        plain = {key: Key(key.system, ("value", key.column[1])) for key in places if key.column[0] in ORDERS}
        return [[places[key], *([places[plain[key]]] if key in plain else [])] for key in keys]


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
