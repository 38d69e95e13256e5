"""Values of all users in Parquet files, and what can be asked of them without bringing them to one machine."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import polars as pl

from recassay.data.io.roles import USER
from recassay.data.scores import Values
from recassay.engine.spark.judge import ORDERS, Key, name_of, values_of
from recassay.engine.spark.session import carried, told
from recassay.engine.spark.tables import to_batches

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

FOUND = "found"

Columns = Mapping[Key, Values]


@dataclass(frozen=True, eq=False)
class Kept:
    """A folder of values: ``keys`` says what its columns are, ``there`` which of them hold any."""

    spark: SparkSession
    folder: str
    keys: tuple[Key, ...]
    there: frozenset[Key]
    owner: object = None  # of several folders in a temporary one: it goes when nobody has its owner any more

    def frame(self, keys: Iterable[Key]) -> DataFrame:
        """A row for each user with some of the columns; without ties any other order of them is the one there is."""
        from pyspark.sql import functions as F  # noqa: N812 (its usual name)

        places = {key: name_of(place) for place, key in enumerate(self.keys)}

        def column(key: Key) -> Any:
            kind, heading = key.column
            given = F.col(places[key])
            if kind in ORDERS:
                given = F.coalesce(given, F.col(places[Key(key.system, ("value", heading))]))
            return given.alias(places[key])

        with told():
            return values_of(self.spark, self.folder).select(USER, *(column(key) for key in keys))

    def summed(self, keys: Iterable[Key], sums: Callable[[Columns], Any]) -> Any:
        """What the values of all users add up to: ``sums`` of those of some, which ``+`` adds; None of nobody."""
        asked = tuple(keys)
        batches = self.frame(asked).mapInArrow(carried(_summing(self._named(asked), sums)), f"{FOUND} binary")
        with told():
            found = [pickle.loads(bytes(row[0])) for row in batches.collect()]
        return reduce(_plus, found) if found else None

    def in_one_task(self, keys: Iterable[Key], work: Callable[[pl.Series, Columns], Any]) -> Any:
        """What a task makes of the values of all users, who ascend."""
        asked = tuple(keys)
        placed = self.frame(asked).coalesce(1).sortWithinPartitions(USER)
        kind = dict(placed.dtypes)[USER]
        batches = placed.mapInArrow(carried(_whole(self._named(asked), kind, work)), f"{FOUND} binary")
        with told():
            return pickle.loads(bytes(batches.collect()[0][0]))

    def read(self, keys: Iterable[Key]) -> tuple[pl.Series, Columns]:
        """Users, ascending, and their values, here: for those who ask for them."""
        asked = tuple(keys)
        with told():
            frame = pl.DataFrame(self.frame(asked).sort(USER).toArrow())
        return frame[USER], _columns(frame, self._named(asked))

    def _named(self, keys: tuple[Key, ...]) -> dict[Key, str]:
        return {key: name_of(self.keys.index(key)) for key in keys}


def _summing(named: Mapping[Key, str], sums: Callable[[Columns], Any]) -> Callable[..., Any]:
    def summing(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        parts = (sums(_columns(pl.DataFrame(batch), named)) for batch in batches if batch.num_rows)
        found = reduce(_plus, parts, None)
        if found is not None:
            yield from to_batches(pl.DataFrame({FOUND: [pickle.dumps(found)]}))

    return summing


def _whole(named: Mapping[Key, str], kind: str, work: Callable[[pl.Series, Columns], Any]) -> Callable[..., Any]:
    def whole(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        empty: dict[str, Any] = {USER: pl.String if kind == "string" else pl.Int64} | dict.fromkeys(
            named.values(), pl.Float64
        )
        frame = pl.concat([pl.DataFrame(schema=empty), *(pl.DataFrame(batch) for batch in batches)], rechunk=True)
        yield from to_batches(pl.DataFrame({FOUND: [pickle.dumps(work(frame[USER], _columns(frame, named)))]}))

    return whole


def _columns(frame: pl.DataFrame, named: Mapping[Key, str]) -> dict[Key, Values]:
    return {key: frame[name].to_numpy() for key, name in named.items()}


def _plus(one: Any, other: Any) -> Any:
    return other if one is None else one + other
