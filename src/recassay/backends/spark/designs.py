"""Scores under target-set designs of systems played on Spark.

The standings of few users (the ranks of their relevant items) come to this process, which does what it does without
Spark. Of many users, each task scores its own, and the tallies add up exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recassay.backends.spark.play import SparkRun
from recassay.backends.spark.score import new_folder
from recassay.backends.spark.scoring import run_table
from recassay.backends.spark.session import session_of, translate_errors
from recassay.backends.spark.standings import LISTED, WORTH, Sets, StandingsSchema, standings_from_rows
from recassay.backends.spark.tables import SparkTable, UserChunk
from recassay.backends.spark.tallies import tallies_of
from recassay.columnar.vocabulary import rows_in_table
from recassay.designs.expect import DesignTotals, group_moments, query_means
from recassay.designs.sets import target_sets
from recassay.engine.ranks.judge import JudgeRequest, design_score, judge_in_memory, scores_of_design, to_all_units
from recassay.engine.tally import Column, UserTally
from recassay.errors import InputError, UsageError
from recassay.results.design_scores import DesignScore, DesignScores
from recassay.results.finding import Finding
from recassay.results.scores import Scores, Values
from recassay.stats.intervals import LARGE

DesignKey = tuple[int, str]  # number of the design, system


def judge_on_spark(played: Mapping[str, Any], request: JudgeRequest, *, few: int = LARGE) -> DesignScores:
    """Return the scores of systems, whose recommendations were computed on Spark, under every target-set design.

    A design says which candidates relevant items are ranked against. Up to ``few`` users are evaluated here, from their
    standings (ranks of relevant items). With more users, every task evaluates its own, and findings look at a sample of
    about ``few`` users, drawn by their ids.
    """
    runs = {name: one for name, one in played.items() if isinstance(one, SparkRun)}
    if len(runs) < len(played):
        unplayed = next(name for name in played if name not in runs)
        hint = "play it on the same Spark fold, or use run.here() of the others"
        raise UsageError("U122", f"'{unplayed}' was not played on Spark, but others were", hint=hint)
    if request.options.method != "exact":
        where = f"method='{request.options.method}'"
        raise UsageError("U107", "Spark evaluates designs in closed form only", where=where, hint="method='exact'")
    first, *others = runs.values()
    for other in others:
        _raise_if_queries_differ(first, other)
    every = max(1, -(-first.played.users // max(few, 1)))
    here = judge_in_memory({name: run.standings_here(every) for name, run in runs.items()}, request)
    if every == 1:
        return here
    scope = f" (checked on {here.by_design[here.designs[0]].units.len():,} users, sampled by their ids)"
    findings = [replace(finding, detail=finding.detail + scope) for finding in here.findings]
    return _in_all_tasks(runs, request, here.settings, findings)


def _raise_if_queries_differ(one: SparkRun, other: SparkRun) -> None:
    if (one.played.digest, one.played.queries) != (other.played.digest, other.played.queries):
        raise InputError(
            "I311",
            f"'{one.name}' was played for {one.played.queries:,} users and {one.played.pairs:,} relevant items, "
            f"'{other.name}' for {other.played.queries:,} and {other.played.pairs:,}",
            hint="play all systems on the same fold with the same protocol",
        )


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

    def __call__(self, piece: UserChunk) -> dict[DesignKey, UserTally]:
        """Return the tally of each design and system for a chunk of users; its counts are sums over target sets."""
        request = self.request
        systems = {name: standings_from_rows(piece[run_table(name)], about) for name, about in self.about.items()}
        first = next(iter(systems.values()))
        assert first.everyone is not None, "the table has them"
        tallies = {}
        for number, design in enumerate(request.designs):
            together = request.options.users == "all" and design.relevant == "AR" and not design.bins and self.zeros
            units = first.everyone if together else first.queries
            places, queries = rows_in_table(first.queries, units), first.queries.len()
            sets = self.alone if design.relevant == "1R" else self.together
            in_bins = None if design.bins is None else sets.get(design.bins)
            for name, standings in systems.items():
                groups = target_sets(standings, design, request.options.short, in_bins)
                moments = group_moments(standings, design, groups, request.unit_metrics, request.options.variance, 1)
                columns: dict[Column, Values] = {}
                for heading, one in moments.items():
                    means = query_means(groups, one, queries)
                    columns["value", heading], columns["weight", heading] = to_all_units(
                        *means, places, units.len(), zeros=together
                    )
                totals = DesignTotals.of(standings, design, groups, moments, request.options.users)
                tallies[number, name] = UserTally(units, columns, totals)
        return tallies


def _in_all_tasks(
    runs: Mapping[str, SparkRun], request: JudgeRequest, settings: Mapping[str, Any], findings: Sequence[Finding]
) -> DesignScores:
    """Return the scores of all users under all designs; the users are spread over the tasks of Spark."""
    first, metrics, execution = next(iter(runs.values())), request.unit_metrics, request.execution
    tables = {run_table(name): SparkTable(run.rows.drop(LISTED, WORTH), name) for name, run in runs.items()}
    about = {name: replace(run.about, name=name) for name, run in runs.items()}
    in_task = replace(request, execution=replace(execution, threads=1, work=None))
    task = DesignTask(
        in_task, about, first.played.users > first.played.owners, first.played.alone, first.played.together
    )
    with new_folder(session_of(first.rows), execution.work) as folder, translate_errors():
        tallies = tallies_of(tables, task, folder)
    rows = list[DesignScore]()
    by_design: dict[str, Scores] = {}
    for number, design in enumerate(request.designs):
        own = {name: tallies[number, name] for name in runs}
        columns = {
            (name, heading): (tally.columns["value", heading], tally.columns["weight", heading])
            for name, tally in own.items()
            for heading in metrics
        }
        judged = {
            name: tally.counts.result(
                design, request.options.variance, {heading: columns[name, heading] for heading in metrics}
            )
            for name, tally in own.items()
        }
        units = next(iter(own.values())).units
        scores = scores_of_design(judged, units, columns, metrics, request.uncertainty, execution.threads)
        by_design[str(design)] = scores
        rows += [
            design_score(name, runs[name].played.unlisted, one, heading, scores.row(name, heading))
            for name, one in judged.items()
            for heading in metrics
        ]
    return DesignScores(
        tuple(runs), tuple(by_design), tuple(metrics), tuple(rows), by_design, tuple(findings), settings
    )
