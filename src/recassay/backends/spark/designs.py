"""Scores under target-set designs of systems played on Spark: few users in one task, many users in all tasks.

With few users one task has the standings of all (the ranks of relevant items) and does what the local back end does.
With more, each task evaluates its own users. Values go to Parquet files, a folder for each design, and the sums behind
the means add up exactly.
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

from recassay.backends.spark.play import SparkRun
from recassay.backends.spark.score import new_folder
from recassay.backends.spark.scoring import Key, column_name, run_table, values_schema
from recassay.backends.spark.session import carry_errors, session_of, translate_errors
from recassay.backends.spark.standings import LISTED, WORTH, Sets, StandingsSchema, standings_from_rows
from recassay.backends.spark.stored_scores import StoredScores
from recassay.backends.spark.stored_values import StoredValues
from recassay.backends.spark.sums import bounds_of_stored
from recassay.backends.spark.tables import TAG, SparkTable, UserChunk, map_users, read_own, to_batches
from recassay.columnar.vocabulary import rows_in_table
from recassay.data.io.roles import USER
from recassay.data.standings import Standings
from recassay.designs.expect import (
    group_moments,
    query_means,
    result_of_totals,
    sizes_without_relevant,
    users_without_relevant,
)
from recassay.designs.grammar import Design
from recassay.designs.pooling import DesignTotals, merge_mappings
from recassay.designs.sets import target_sets
from recassay.engine.ranks.judge import JudgeRequest, design_score, summary_of, to_all_units
from recassay.errors import InputError
from recassay.results.design_scores import DesignScore, DesignScores
from recassay.results.finding import Finding
from recassay.results.scores import Scores, Values
from recassay.stats.intervals import LARGE

if TYPE_CHECKING:
    import pyarrow

DESIGN, TALLY, FOUND = "design", "tally", "found"
NOTHING = (np.empty(0), np.empty(0))  # values and weights that are in files
ADDED = -1  # in place of a design number: the row with the totals of a task


def judge_on_spark(
    runs: Mapping[str, SparkRun],
    request: JudgeRequest,
    judge_here: Callable[[Mapping[str, Standings]], DesignScores],
    *,
    work: str | Path | None = None,
    few: int = LARGE,
) -> DesignScores:
    """Return the scores of systems, whose recommendations were computed on Spark, under every target-set design.

    A design says which candidates relevant items are ranked against. Up to ``few`` users are evaluated in one task, by
    ``judge_here`` from their standings (ranks of relevant items). With more users, every task evaluates its own users,
    and findings look at a sample of about ``few`` users, drawn by their ids. Values go to a folder within ``work``.
    """
    first, *others = runs.values()
    for other in others:
        _raise_if_queries_differ(first, other)
    if first.played.users <= few:
        return _in_one_task(runs, judge_here, 1)
    many = -(-first.played.users // max(few, 1))
    sampled = _in_one_task(runs, judge_here, many)
    scope = f" (checked on {sampled.by_design[sampled.designs[0]].units.len():,} users, sampled by their ids)"
    findings = [replace(finding, detail=finding.detail + scope) for finding in sampled.findings]
    return _in_all_tasks(runs, request, sampled.settings, findings, work, few)


def _raise_if_queries_differ(one: SparkRun, other: SparkRun) -> None:
    if (one.played.digest, one.played.queries) != (other.played.digest, other.played.queries):
        raise InputError(
            "I311",
            f"'{one.name}' was played for {one.played.queries:,} users and {one.played.pairs:,} relevant items, "
            f"'{other.name}' for {other.played.queries:,} and {other.played.pairs:,}",
            hint="play all systems on the same fold with the same protocol",
        )


def _in_one_task(runs: Mapping[str, SparkRun], judge_here: Any, every: int) -> DesignScores:
    """Return the scores of all users, computed in one task by ``judge_here``; ``every`` 1 means all.

    With ``every`` above 1, only a sample of about one in ``every`` users is scored, drawn by their ids.
    """
    from pyspark.sql import functions as F  # noqa: N812 (its usual name)

    rows = [
        run.rows.drop(LISTED, WORTH).where(F.pmod(F.xxhash64(USER), F.lit(every)) == 0).withColumn(TAG, F.lit(number))
        for number, run in enumerate(runs.values())
    ]
    about = [replace(run.about, name=name) for name, run in runs.items()]
    unlisted = [run.played.unlisted if every == 1 else 0 for run in runs.values()]
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), rows)
    work = carry_errors(_JudgeInOneTask(about, unlisted, judge_here))
    with translate_errors():
        placed = together.coalesce(1).sortWithinPartitions(TAG, USER).mapInArrow(work, f"{FOUND} binary")
        scores: DesignScores = pickle.loads(zlib.decompress(bytes(placed.collect()[0][0])))
    return scores


@dataclass(frozen=True, eq=False)
class _JudgeInOneTask:
    """The work of the single task that holds the standings of all systems: ``judge_here`` evaluates them.

    Standings are the ranks of relevant items among candidates.
    """

    about: list[StandingsSchema]
    unlisted: list[int]
    judge_here: Callable[[Mapping[str, Standings]], DesignScores]

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        found = [pl.from_arrow(batch) for batch in batches]
        rows = pl.concat([frame for frame in found if isinstance(frame, pl.DataFrame)])
        systems = {
            one.name: standings_from_rows(rows.filter(pl.col(TAG) == number), one, self.unlisted[number])
            for number, one in enumerate(self.about)
        }
        packed = zlib.compress(pickle.dumps(self.judge_here(systems)), 1)
        yield from to_batches(pl.DataFrame({FOUND: [packed]}))


class FolderOwner:
    """A token that keeps the folder of values alive: all scores share it; with the last one the folder is removed."""


class WeightColumn(NamedTuple):
    """The name of a column of weights: the number of the design, and the system and metric that the weights are for."""

    design: int
    key: Key


@dataclass(frozen=True, eq=False)
class DesignSums:
    """Totals over users of the scores under each design; those of disjoint groups of users add up.

    ``pooled`` has the totals by (number of the design, system). ``weighs`` are the columns of weights in which some
    weight is not 1; ``uneven`` those in which a user with a value has a weight other than 1.
    """

    pooled: Mapping[tuple[int, str], DesignTotals]
    weighs: frozenset[WeightColumn]
    uneven: frozenset[WeightColumn]

    def __add__(self, other: DesignSums) -> DesignSums:
        pooled = merge_mappings(self.pooled, other.pooled, add)
        return DesignSums(pooled, self.weighs | other.weighs, self.uneven | other.uneven)


@dataclass(frozen=True, eq=False)
class DesignTask:
    """The work of a task: to score its users under every design.

    ``zeros`` says whether there are users without a relevant item. A target set is what a system ranks: relevant items
    among candidates of their popularity bin. ``alone`` and ``together`` are the numbers of target sets in each bin over
    all users: ``alone`` if each relevant item has a set of its own, ``together`` if the relevant items of a user share
    one.
    """

    request: JudgeRequest
    about: Mapping[str, StandingsSchema]
    zeros: bool
    alone: Sets
    together: Sets

    @property
    def keys(self) -> tuple[Key, ...]:
        """Return the names of the columns of values (system, kind, heading), which are the same for every design."""
        kinds = [(kind, heading) for kind in ("value", "weight") for heading in self.request.unit_metrics]
        return tuple(Key(system, column) for system in self.about for column in kinds)  # type: ignore[arg-type]

    def schema(self, user: str) -> str:
        """Return the schema of the rows that the task yields."""
        return f"{USER} {user}, {DESIGN} int, {TALLY} binary{values_schema(self.keys)}"

    def __call__(self, pieces: Iterator[UserChunk]) -> Iterator[pl.DataFrame]:
        """Yield the values of the users of each chunk under each design, and at the end a row with their totals."""
        found: DesignSums | None = None
        rows = None
        for piece in pieces:
            systems = {name: standings_from_rows(piece[run_table(name)], about) for name, about in self.about.items()}
            for number, design in enumerate(self.request.designs):
                one, rows = self._judged(number, design, systems)
                found = one if found is None else found + one
                yield rows
        if found is not None and rows is not None:
            packed = zlib.compress(pickle.dumps(found), 1)
            yield rows.clear(1).with_columns(
                pl.lit(ADDED, dtype=pl.Int32).alias(DESIGN), pl.lit(packed, dtype=pl.Binary).alias(TALLY)
            )

    def _judged(self, number: int, design: Design, systems: Mapping[str, Standings]) -> tuple[DesignSums, pl.DataFrame]:
        request, first = self.request, next(iter(systems.values()))
        together = request.options.users == "all" and design.relevant == "AR" and not design.bins and self.zeros
        assert first.everyone is not None, "the table has them"
        units = first.everyone if together else first.queries
        places, queries = rows_in_table(first.queries, units), first.queries.len()
        sets = self.alone if design.relevant == "1R" else self.together
        pooled: dict[tuple[int, str], DesignTotals] = {}
        columns: dict[Key, Values] = {}
        for name, standings in systems.items():
            groups = target_sets(
                standings, design, request.options.short, None if design.bins is None else sets.get(design.bins)
            )
            moments = group_moments(standings, design, groups, request.unit_metrics, request.options.variance, 1)
            zeros = users_without_relevant(standings, design, groups, request.options.users)
            bare = sizes_without_relevant(standings, design, zeros)
            pooled[number, name] = DesignTotals.of(design, groups, moments, zeros, bare)
            for heading, one in moments.items():
                values, weights = to_all_units(*query_means(groups, one, queries), places, units.len(), zeros=together)
                columns |= {Key(name, ("value", heading)): values, Key(name, ("weight", heading)): weights}
        weigh = {WeightColumn(number, key): column for key, column in columns.items() if key.column[0] == "weight"}
        known = {at: ~np.isnan(columns[Key(at.key.system, ("value", at.key.column[1]))]) for at in weigh}
        added = DesignSums(
            pooled,
            frozenset(at for at, column in weigh.items() if (column != 1).any()),
            frozenset(at for at, column in weigh.items() if (column[known[at]] != 1).any()),
        )
        named = {column_name(place): columns[key] for place, key in enumerate(self.keys)}
        frame = pl.DataFrame({USER: units, DESIGN: pl.Series([number], dtype=pl.Int32).new_from_index(0, units.len())})
        nothing = pl.Series(TALLY, [None], dtype=pl.Binary).new_from_index(0, units.len())
        return added, frame.with_columns(nothing, **{name: pl.Series(one) for name, one in named.items()})


def _in_all_tasks(
    runs: Mapping[str, SparkRun],
    request: JudgeRequest,
    settings: Mapping[str, Any],
    findings: Sequence[Finding],
    work: str | Path | None,
    few: int,
) -> DesignScores:
    """Return the scores of all users under all designs; the users are spread over the tasks of Spark.

    Intervals are resampled if there are at most ``few`` users, else computed from sums. Values go to Parquet files in a
    folder within ``work``.
    """
    first = next(iter(runs.values()))
    spark, played = session_of(first.rows), first.played
    tables = {run_table(name): SparkTable(run.rows.drop(LISTED, WORTH), name) for name, run in runs.items()}
    about = {name: replace(run.about, name=name) for name, run in runs.items()}
    task = DesignTask(request, about, played.users > played.owners, played.alone, played.together)
    with new_folder(spark, work) as (folder, temporary):
        with translate_errors():
            user = tables[run_table(first.name)].kind(USER)
            made = map_users(tables, task, task.schema(user))
            made.write.partitionBy(DESIGN).parquet(folder)
            tallies = read_own(spark, f"{folder}/{DESIGN}={ADDED}", f"{TALLY} binary").collect()
        added: DesignSums = reduce(add, (pickle.loads(zlib.decompress(bytes(row[0]))) for row in tallies))
        owner, rows = FolderOwner(), list[DesignScore]()
        by_design: dict[str, Scores] = {}
        for number, design in enumerate(request.designs):
            judged = {
                name: result_of_totals(
                    added.pooled[number, name],
                    design,
                    request.options.variance,
                    dict.fromkeys(request.unit_metrics, NOTHING),
                )
                for name in runs
            }
            at = f"{folder}/{DESIGN}={number}"
            values = frozenset(key for key in task.keys if key.column[0] == "value")
            uneven = frozenset(column.key for column in added.uneven if column.design == number)
            weighs = frozenset(column.key for column in added.weighs if column.design == number)
            stored = StoredValues(spark, at, user, task.keys, values | uneven)
            bounds = bounds_of_stored(stored, request.unit_metrics, request.uncertainty, few)
            summaries = [
                summary_of(name, heading, one, metric, bounds)
                for name, one in judged.items()
                for heading, metric in request.unit_metrics.items()
            ]
            kept, settled = StoredValues(spark, at, user, task.keys, values | weighs, owner), {"design": str(design)}
            scores = StoredScores.of(
                kept, tuple(runs), tuple(request.unit_metrics), rows=tuple(summaries), settings=settled
            )
            by_design[str(design)] = scores
            rows += [
                design_score(name, runs[name].played.unlisted, one, heading, scores.row(name, heading))
                for name, one in judged.items()
                for heading in request.unit_metrics
            ]
        found = DesignScores(
            tuple(runs), tuple(by_design), tuple(request.unit_metrics), tuple(rows), by_design, tuple(findings),
            {**settings, "engine": "spark", "values": folder},
        )  # fmt: skip
        if temporary:
            weakref.finalize(owner, shutil.rmtree, Path(folder).parent, ignore_errors=True)
    return found
