"""Scores whose values stay where they were made: in Parquet files, as many as there are users."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from recassay.comparison.compare import Comparison, HowTested, Row, adjusted, compare, pairs_of
from recassay.data.io.roles import USER
from recassay.data.scores import Scores, Values, weight_of
from recassay.engine.spark.judge import Key, name_of
from recassay.engine.spark.kept import Columns, Kept
from recassay.engine.spark.session import placed, told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

AT_ONCE = 8  # metrics compared at the same time, each by one task


class KeptColumns(Mapping[tuple[str, str], Values]):
    """Columns of one kind by system and heading, each read when it is asked for."""

    def __init__(self, kept: Kept, kind: str) -> None:
        self.kept = kept
        self.keys_of = {
            (key.system, key.column[1]): key for key in kept.keys if key in kept.there and key.column[0] == kind
        }

    def __getitem__(self, name: tuple[str, str]) -> Values:
        key = self.keys_of[name]
        return self.kept.read([key])[1][key]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.keys_of)

    def __len__(self) -> int:
        return len(self.keys_of)


@dataclass(frozen=True, eq=False)
class KeptScores(Scores):
    """Scores made by Spark: ``values`` and ``weights`` read what is asked for, and ``units`` stay where they are."""

    kept: Kept = dataclasses.field(kw_only=True)

    @classmethod
    def of(cls, kept: Kept, systems: tuple[str, ...], metrics: tuple[str, ...], **found: Any) -> KeptScores:
        """Scores with the values that a folder holds."""
        nobody = pl.Series("user_id", [])
        values, weights = KeptColumns(kept, "value"), KeptColumns(kept, "weight")
        return cls(nobody, systems, metrics, values, weights, kept=kept, **found)

    def here(self) -> Scores:
        """The same scores with the values of all users in this process, as the local engine has them."""
        keys = [key for key in self.kept.keys if key in self.kept.there and key.column[0] in ("value", "weight")]
        users, columns = self.kept.read(keys)
        kinds: dict[str, dict[tuple[str, str], Values]] = {"value": {}, "weight": {}}
        for key, values in columns.items():
            kinds[key.column[0]][key.system, key.column[1]] = values
        return Scores(
            users, self.systems, self.metrics, kinds["value"], kinds["weight"], self.rows, self.findings, self.settings
        )

    def frame(self, **identity: str | int | None) -> pl.DataFrame:
        """As of other scores, which needs all values here."""
        return self.here().frame(**identity)

    def write(self, path: str | Path, **identity: str | int | None) -> None:
        """The table of :meth:`frame` as a folder of Parquet files, written by the tasks."""
        parts = [self._rows(system, identity) for system in self.systems]
        target = placed(self.kept.spark, path)
        with told():
            reduce(lambda one, other: one.unionByName(other), parts).write.mode("overwrite").parquet(target)
        for extra in [
            *Path(target).glob(".*.crc"),
            *Path(target).glob("_SUCCESS"),
        ]:  # none where Spark writes elsewhere
            extra.unlink()

    def _rows(self, system: str, identity: Mapping[str, str | int | None]) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812 (its usual name)

        own = {key: name_of(place) for place, key in enumerate(self.kept.keys) if key.system == system}
        values = {key: name for key, name in own.items() if key.column[0] == "value"}
        weights = {key: name for key, name in own.items() if key.column[0] == "weight" and key in self.kept.there}
        same = {name: identity.get(name) or "given" for name in ("dataset", "split", "protocol", "design")}
        return self.kept.frame([*values, *weights]).select(
            F.lit(system).alias("system"),
            *(F.lit(value).alias(name) for name, value in same.items()),
            F.lit(identity.get("seed")).cast("bigint").alias("seed"),
            F.col(USER).alias("unit"),
            F.col(USER).alias("user"),
            *(F.nanvl(F.col(name), F.lit(None)).alias(key.column[1]) for key, name in values.items()),
            *(F.col(name).alias(weight_of(key.column[1])) for key, name in weights.items()),
        )

    def compared(self, testing: HowTested, baseline: str | None, family: str) -> Comparison:
        """Every pair of systems compared, a task for each metric."""
        pairs_of(self.systems, baseline)
        rows = self._each_metric(partial(_compared, self.systems, testing, baseline))
        families = [list(itertools.chain(*rows))] if family == "all" else rows
        corrected = tuple(row for one in families for row in adjusted(one, testing))
        return Comparison(corrected, baseline, family, testing.effect, testing.level, testing.seed)

    def _each_metric(self, work: Callable[..., list[Row]]) -> list[list[Row]]:
        """Metrics at the same time, as far as the cluster has room."""

        def one(metric: str) -> list[Row]:
            keys = [key for key in self.kept.keys if key in self.kept.there and key.column[1] == metric]
            asked = [key for key in keys if key.column[0] in ("value", "weight")]
            found: list[Row] = self.kept.in_one_task(asked, partial(work, metric))
            return found

        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(one, self.unit_metrics))


@dataclass(frozen=True, eq=False)
class _OneMetric:
    """Values of all users under one metric, as a comparison asks for them."""

    systems: tuple[str, ...]
    metric: str
    columns: Columns

    @property
    def unit_metrics(self) -> tuple[str, ...]:
        """The one."""
        return (self.metric,)

    def values(self, system: str, metric: str) -> Values:
        """Of a system."""
        return self.columns[Key(system, ("value", metric))]

    def weights(self, system: str, metric: str) -> Values | None:
        """Of a system, if it has any."""
        return self.columns.get(Key(system, ("weight", metric)))


def _compared(
    systems: tuple[str, ...], testing: HowTested, baseline: str | None, metric: str, _: pl.Series, columns: Columns
) -> list[Row]:
    found = compare(_OneMetric(systems, metric, columns), baseline=baseline, **asdict(testing), threads=1)
    return list(found.rows)
