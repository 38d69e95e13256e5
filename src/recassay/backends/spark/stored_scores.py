"""Scores whose values per user stay in Parquet files."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from recassay.backends.base import Remote
from recassay.backends.spark.scoring import Key, column_name
from recassay.backends.spark.session import spark_path, translate_errors
from recassay.backends.spark.stored_values import Columns, StoredValues
from recassay.comparison.compare import Comparison, SignificanceOptions, adjusted, compare, pairs_of
from recassay.data.io.roles import USER
from recassay.data.memberships import Memberships
from recassay.engine.lists.groups import GroupRules, user_groups
from recassay.metrics.base import UnitMetric
from recassay.results.group_scores import GroupScores
from recassay.results.scores import Scores, Summary, Values, weight_of
from recassay.stats.intervals import Uncertainty

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Found = TypeVar("Found")

AT_ONCE = 8  # metrics compared at the same time


class StoredColumns(Mapping[tuple[str, str], Values]):
    """The columns of one kind (values or weights) by system and metric, each read from Parquet when it is used."""

    def __init__(self, kept: StoredValues, kind: str) -> None:
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


@dataclass(frozen=True, eq=False, repr=False)
class StoredScores(Remote, Scores):
    """Scores made by Spark, whose values per user stay in Parquet files.

    ``values`` and ``weights`` read single columns, and ``units`` is empty; :meth:`here` loads everything into this
    process.
    """

    kept: StoredValues = dataclasses.field(kw_only=True)

    @classmethod
    def of(cls, kept: StoredValues, systems: tuple[str, ...], metrics: tuple[str, ...], **found: Any) -> StoredScores:
        """Return scores whose values per user are those in the folder ``kept``; ``found`` are their other fields."""
        nobody = pl.Series("user_id", [])
        values, weights = StoredColumns(kept, "value"), StoredColumns(kept, "weight")
        return cls(nobody, systems, metrics, values, weights, kept=kept, **found)

    def here(self) -> Scores:
        """Load the values of all users into this process and return the scores with them."""
        keys = [key for key in self.kept.keys if key in self.kept.there and key.column[0] in ("value", "weight")]
        users, columns = self.kept.read(keys)
        kinds: dict[str, dict[tuple[str, str], Values]] = {"value": {}, "weight": {}}
        for key, values in columns.items():
            kinds[key.column[0]][key.system, key.column[1]] = values
        return Scores(
            users, self.systems, self.metrics, kinds["value"], kinds["weight"], self.rows, self.findings, self.settings,
            groups=self.groups,
        )  # fmt: skip

    def frame(self, **identity: str | int | None) -> pl.DataFrame:
        """Return the values of all users as a table; this reads all values into this process."""
        return self.here().frame(**identity)

    def write(self, path: str | Path, **identity: str | int | None) -> None:
        """Write the table of :meth:`frame` as a folder of Parquet files, by the tasks."""
        parts = [self._rows(system, identity) for system in self.systems]
        target = spark_path(self.kept.spark, path)
        with translate_errors():
            reduce(lambda one, other: one.unionByName(other), parts).write.mode("overwrite").parquet(target)
        for extra in [
            *Path(target).glob(".*.crc"),
            *Path(target).glob("_SUCCESS"),
        ]:  # none where Spark writes elsewhere
            extra.unlink()

    def _rows(self, system: str, identity: Mapping[str, str | int | None]) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812 (its usual name)

        own = {key: column_name(place) for place, key in enumerate(self.kept.keys) if key.system == system}
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

    def compare_in_tasks(self, testing: SignificanceOptions, baseline: str | None, family: str) -> Comparison:
        """Return the comparison of every pair of systems, or of each with ``baseline``, each metric by itself.

        p-values are corrected over the pairs of one metric, or with ``family="all"`` of all metrics.
        """
        pairs_of(self.systems, baseline)
        found = self._each_metric(partial(_compare_one_metric, self.systems, self.rows, testing, baseline))
        rows = [list(one.rows) for one in found]
        families = [list(itertools.chain(*rows))] if family == "all" else rows
        corrected = tuple(row for one in families for row in adjusted(one, testing))
        leads = tuple(lead for one in found for lead in one.leads)
        return Comparison(corrected, baseline, family, testing.effect, testing.level, testing.seed, leads)

    def groups_in_tasks(
        self, memberships: Memberships, metrics: Mapping[str, UnitMetric], how: Uncertainty, rules: GroupRules
    ) -> GroupScores:
        """Return the means of these scores by group of users, each metric by itself.

        ``memberships`` say who is in which group, ``metrics`` are those with a value per user, ``how`` describes the
        intervals, and ``rules`` say which groups are reported and how they are tested.
        """
        work = partial(_groups_of_one_metric, self.systems, memberships, metrics, how, rules)
        found = self._each_metric(work)
        key = lambda one: self.systems.index(one.system)  # noqa: E731 (metrics are in order already)
        rows = sorted(itertools.chain(*(one.rows for one in found)), key=key)
        gaps = sorted(itertools.chain(*(one.gaps for one in found)), key=key)
        return dataclasses.replace(found[0], rows=tuple(rows), gaps=tuple(gaps))

    def _each_metric(self, work: Callable[..., Found]) -> list[Found]:
        """Return ``work`` applied to the values of each metric; up to ``AT_ONCE`` metrics at the same time."""

        def one(metric: str) -> Found:
            keys = [key for key in self.kept.keys if key in self.kept.there and key.column[1] == metric]
            chosen = [key for key in keys if key.column[0] in ("value", "weight")]
            found: Found = self.kept.apply(chosen, partial(work, metric))
            return found

        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(one, self.unit_metrics))


@dataclass(frozen=True, eq=False)
class _OneMetric:
    """The values of all users by one metric, in the form that a comparison reads."""

    systems: tuple[str, ...]
    metric: str
    columns: Columns
    rows: tuple[Summary, ...]

    @property
    def unit_metrics(self) -> tuple[str, ...]:
        """Return a tuple with the metric."""
        return (self.metric,)

    def values(self, system: str, metric: str) -> Values:
        """Return the values of a system by ``metric``, which must be the metric held here, one per user."""
        return self.columns[Key(system, ("value", metric))]

    def weights(self, system: str, metric: str) -> Values | None:
        """Return the weights of a system by ``metric``, which must be the metric held here, one per user.

        Return None if all weights are equal.
        """
        return self.columns.get(Key(system, ("weight", metric)))


def _groups_of_one_metric(
    systems: tuple[str, ...],
    memberships: Memberships,
    metrics: Mapping[str, UnitMetric],
    how: Uncertainty,
    rules: GroupRules,
    metric: str,
    users: pl.Series,
    columns: Columns,
) -> GroupScores:
    kinds: dict[str, dict[tuple[str, str], Values]] = {"value": {}, "weight": {}}
    for key, values in columns.items():
        kinds[key.column[0]][key.system, metric] = values
    scores = Scores(users, systems, (metric,), kinds["value"], kinds["weight"])
    return user_groups(scores, memberships, {metric: metrics[metric]}, how, rules, threads=1)


def _compare_one_metric(
    systems: tuple[str, ...],
    rows: tuple[Summary, ...],
    testing: SignificanceOptions,
    baseline: str | None,
    metric: str,
    _: pl.Series,
    columns: Columns,
) -> Comparison:
    own = _OneMetric(systems, metric, columns, tuple(row for row in rows if row.metric == metric))
    return compare(own, testing, baseline=baseline, threads=1)
