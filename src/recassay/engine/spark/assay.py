"""``judge`` for systems that were played on Spark: of few users by one task, of many by all of them.

One task has all standings, and does what the local engine does. Beyond that each task judges the users it has; values
go to Parquet files, a folder for each design, and what means are made of adds up exactly, to the same bits.
"""

from __future__ import annotations

import pickle
import shutil
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from recassay.comparison.intervals import LARGE, Uncertainty
from recassay.data.assay import Assay, Worth
from recassay.data.finding import Finding
from recassay.data.io.roles import USER
from recassay.data.scores import Scores, Values
from recassay.data.standings import Standings
from recassay.data.vocabulary import positions
from recassay.designs.expect import Users, bare_sets, by_query, judged_of, moments_by, zeros_of
from recassay.designs.grammar import Design
from recassay.designs.pooling import Pooled, merged
from recassay.designs.sets import Short, sets_of
from recassay.engine.judge import spread, summary_of, worth_of
from recassay.engine.spark.judge import Key, name_of, table_of
from recassay.engine.spark.kept import Kept
from recassay.engine.spark.play import SparkRun
from recassay.engine.spark.score import new_folder
from recassay.engine.spark.scores import KeptScores
from recassay.engine.spark.session import carried, session_of, told
from recassay.engine.spark.standing import LISTED, WORTH, About, Sets, standings_of
from recassay.engine.spark.sums import bounds_of_kept
from recassay.engine.spark.tables import TAG, Piece, SparkTable, by_user, to_batches
from recassay.errors import InputError
from recassay.metrics.base import UnitMetric

if TYPE_CHECKING:
    import pyarrow

DESIGN, TALLY, FOUND = "design", "tally", "found"
NOTHING = (np.empty(0), np.empty(0))  # values and weights that are in files
ADDED = -1  # in place of a design: the row of a task with what its users add up to


@dataclass(frozen=True, eq=False)
class How:
    """What is asked: designs, metrics by heading, and the options of :func:`~recassay.judge`."""

    designs: tuple[Design, ...]
    metrics: Mapping[str, UnitMetric]
    users: Users
    short: Short
    variance: bool
    uncertainty: Uncertainty


def judge_on_spark(
    runs: Mapping[str, SparkRun],
    how: How,
    locally: Callable[[Mapping[str, Standings]], Assay],
    *,
    work: str | Path | None = None,
    few: int = LARGE,
) -> Assay:
    """What systems are worth under every design; ``locally`` judges the standings that one task has, of up to ``few``.

    Findings about more users than that look at about so many of them, drawn by their ids.
    """
    first, *others = runs.values()
    for other in others:
        _refuse_others(first, other)
    if first.played.users <= few:
        return _in_one_task(runs, locally, 1)
    many = -(-first.played.users // max(few, 1))
    noted = _in_one_task(runs, locally, many)
    asked = f" (looked for among {noted.by_design[noted.designs[0]].units.len():,} users, drawn by their ids)"
    findings = [replace(finding, detail=finding.detail + asked) for finding in noted.findings]
    return _in_parts(runs, how, noted.settings, findings, work, few)


def _refuse_others(one: SparkRun, other: SparkRun) -> None:
    if (one.played.digest, one.played.queries) != (other.played.digest, other.played.queries):
        raise InputError(
            "I311",
            f"'{one.name}' was asked about {one.played.queries:,} users and {one.played.pairs:,} relevant items, "
            f"'{other.name}' about {other.played.queries:,} and {other.played.pairs:,}",
            hint="play all systems on the same fold with the same protocol",
        )


def _in_one_task(runs: Mapping[str, SparkRun], locally: Any, every: int) -> Assay:
    """The assay of all users, or of one in so many, made by one task."""
    from pyspark.sql import functions as F  # noqa: N812 (its usual name)

    rows = [
        run.rows.drop(LISTED, WORTH).where(F.pmod(F.xxhash64(USER), F.lit(every)) == 0).withColumn(TAG, F.lit(number))
        for number, run in enumerate(runs.values())
    ]
    about = [replace(run.about, name=name) for name, run in runs.items()]
    unlisted = [run.played.unlisted if every == 1 else 0 for run in runs.values()]
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), rows)
    work = carried(_Whole(about, unlisted, locally))
    with told():
        placed = together.coalesce(1).sortWithinPartitions(TAG, USER).mapInArrow(work, f"{FOUND} binary")
        assay: Assay = pickle.loads(zlib.decompress(bytes(placed.collect()[0][0])))
    return assay


@dataclass(frozen=True, eq=False)
class _Whole:
    """The work of the one task."""

    about: list[About]
    unlisted: list[int]
    locally: Callable[[Mapping[str, Standings]], Assay]

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        found = [pl.from_arrow(batch) for batch in batches]
        rows = pl.concat([frame for frame in found if isinstance(frame, pl.DataFrame)])
        systems = {
            one.name: standings_of(rows.filter(pl.col(TAG) == number), one, self.unlisted[number])
            for number, one in enumerate(self.about)
        }
        packed = zlib.compress(pickle.dumps(self.locally(systems)), 1)
        yield from to_batches(pl.DataFrame({FOUND: [packed]}))


class Owner:
    """Of a folder with values of all designs: whoever has scores of one of them has it too."""


class Column(NamedTuple):
    """Weights of a system by a metric, under a design of that number."""

    design: int
    key: Key


@dataclass(frozen=True, eq=False)
class Added:
    """What some users add up to under some designs, by the number of the design and system.

    ``weighs`` are columns in which some weight is not 1; in those of ``uneven`` it is that of a user with a value.
    """

    pooled: Mapping[tuple[int, str], Pooled]
    weighs: frozenset[Column]
    uneven: frozenset[Column]

    def __add__(self, other: Added) -> Added:
        pooled = merged(self.pooled, other.pooled, add)
        return Added(pooled, self.weighs | other.weighs, self.uneven | other.uneven)


@dataclass(frozen=True, eq=False)
class Judging:
    """The work of a task; ``zeros`` says whether there are users without a relevant item.

    ``alone`` and ``together`` say how many target sets there are in each bin, of all users.
    """

    how: How
    about: Mapping[str, About]
    zeros: bool
    alone: Sets
    together: Sets

    @property
    def keys(self) -> tuple[Key, ...]:
        """Columns, the same for every design."""
        kinds = [(kind, heading) for kind in ("value", "weight") for heading in self.how.metrics]
        return tuple(Key(system, column) for system in self.about for column in kinds)  # type: ignore[arg-type]

    def schema(self, user: str) -> str:
        """Of what it yields."""
        columns = ", ".join(f"{name_of(place)} double" for place in range(len(self.keys)))
        return f"{USER} {user}, {DESIGN} int, {TALLY} binary, {columns}"

    def __call__(self, pieces: Iterator[Piece]) -> Iterator[pl.DataFrame]:
        """Values of the users of each piece under each design, and at the end what they add up to."""
        found: Added | None = None
        rows = None
        for piece in pieces:
            systems = {name: standings_of(piece[table_of(name)], about) for name, about in self.about.items()}
            for number, design in enumerate(self.how.designs):
                one, rows = self._judged(number, design, systems)
                found = one if found is None else found + one
                yield rows
        if found is not None and rows is not None:
            packed = zlib.compress(pickle.dumps(found), 1)
            yield rows.clear(1).with_columns(
                pl.lit(ADDED, dtype=pl.Int32).alias(DESIGN), pl.lit(packed, dtype=pl.Binary).alias(TALLY)
            )

    def _judged(self, number: int, design: Design, systems: Mapping[str, Standings]) -> tuple[Added, pl.DataFrame]:
        how, first = self.how, next(iter(systems.values()))
        together = how.users == "all" and design.relevant == "AR" and not design.bins and self.zeros
        assert first.everyone is not None, "the table has them"
        units = first.everyone if together else first.queries
        places, queries = positions(first.queries, units), first.queries.len()
        sets = self.alone if design.relevant == "1R" else self.together
        pooled: dict[tuple[int, str], Pooled] = {}
        columns: dict[Key, Values] = {}
        for name, standings in systems.items():
            groups = sets_of(standings, design, how.short, None if design.bins is None else sets.get(design.bins))
            moments = moments_by(standings, design, groups, how.metrics, how.variance, 1)
            zeros = zeros_of(standings, design, groups, how.users)
            bare = bare_sets(standings, design, zeros)
            pooled[number, name] = Pooled.of(design, groups, moments, zeros, bare)
            for heading, one in moments.items():
                values, weights = spread(*by_query(groups, one, queries), places, units.len(), zeros=together)
                columns |= {Key(name, ("value", heading)): values, Key(name, ("weight", heading)): weights}
        weigh = {Column(number, key): column for key, column in columns.items() if key.column[0] == "weight"}
        known = {at: ~np.isnan(columns[Key(at.key.system, ("value", at.key.column[1]))]) for at in weigh}
        added = Added(
            pooled,
            frozenset(at for at, column in weigh.items() if (column != 1).any()),
            frozenset(at for at, column in weigh.items() if (column[known[at]] != 1).any()),
        )
        named = {name_of(place): columns[key] for place, key in enumerate(self.keys)}
        frame = pl.DataFrame({USER: units, DESIGN: pl.Series([number], dtype=pl.Int32).new_from_index(0, units.len())})
        nothing = pl.Series(TALLY, [None], dtype=pl.Binary).new_from_index(0, units.len())
        return added, frame.with_columns(nothing, **{name: pl.Series(one) for name, one in named.items()})


def _in_parts(
    runs: Mapping[str, SparkRun],
    how: How,
    settings: Mapping[str, Any],
    findings: Sequence[Finding],
    work: str | Path | None,
    few: int,
) -> Assay:
    """The assay of all users, by all tasks."""
    first = next(iter(runs.values()))
    spark, played = session_of(first.rows), first.played
    tables = {table_of(name): SparkTable(run.rows.drop(LISTED, WORTH), name) for name, run in runs.items()}
    about = {name: replace(run.about, name=name) for name, run in runs.items()}
    judging = Judging(how, about, played.users > played.owners, played.alone, played.together)
    with new_folder(spark, work) as (folder, forget):
        with told():
            made = by_user(tables, judging, judging.schema(tables[table_of(first.name)].kind(USER)))
            made.write.partitionBy(DESIGN).parquet(folder)
            tallies = spark.read.parquet(f"{folder}/{DESIGN}={ADDED}").select(TALLY).collect()
        added: Added = reduce(add, (pickle.loads(zlib.decompress(bytes(row[0]))) for row in tallies))
        owner, rows = Owner(), list[Worth]()
        by_design: dict[str, Scores] = {}
        for number, design in enumerate(how.designs):
            judged = {
                name: judged_of(added.pooled[number, name], design, how.variance, dict.fromkeys(how.metrics, NOTHING))
                for name in runs
            }
            at = f"{folder}/{DESIGN}={number}"
            values = frozenset(key for key in judging.keys if key.column[0] == "value")
            uneven = frozenset(column.key for column in added.uneven if column.design == number)
            weighs = frozenset(column.key for column in added.weighs if column.design == number)
            bounds = bounds_of_kept(Kept(spark, at, judging.keys, values | uneven), how.metrics, how.uncertainty, few)
            summaries = [
                summary_of(name, heading, one, metric, bounds)
                for name, one in judged.items()
                for heading, metric in how.metrics.items()
            ]
            kept, settled = Kept(spark, at, judging.keys, values | weighs, owner), {"design": str(design)}
            scores = KeptScores.of(kept, tuple(runs), tuple(how.metrics), rows=tuple(summaries), settings=settled)
            by_design[str(design)] = scores
            rows += [
                worth_of(name, runs[name].played.unlisted, one, heading, scores.row(name, heading))
                for name, one in judged.items()
                for heading in how.metrics
            ]
        assay = Assay(
            tuple(runs), tuple(by_design), tuple(how.metrics), tuple(rows), by_design, tuple(findings),
            {**settings, "engine": "spark", "values": folder},
        )  # fmt: skip
        if forget:
            weakref.finalize(owner, shutil.rmtree, Path(folder).parent, ignore_errors=True)
    return assay
