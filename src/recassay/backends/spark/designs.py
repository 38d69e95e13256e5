"""Scores under target-set designs of systems played on Spark.

The standings of few users (the ranks of their relevant items) come to this process, which does what it does without
Spark. Of many users, each task scores its own, and the tallies add up exactly.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from recassay.backends.spark.play import SparkRun
from recassay.backends.spark.score import new_folder
from recassay.backends.spark.session import session_of, translate_errors
from recassay.backends.spark.standings import PlayedTotals, unpacked_standings
from recassay.backends.spark.tallies import map_packed, tallies_of
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
    if one.played.queries != other.played.queries or (one.played.digest - other.played.digest) % 2**64:
        raise InputError(
            "I311",
            f"'{one.name}' was played for {one.played.queries:,} users and {one.played.pairs:,} relevant items, "
            f"'{other.name}' for {other.played.queries:,} and {other.played.pairs:,}",
            hint="play all systems on the same fold with the same protocol",
        )


def judge_chunk(request: JudgeRequest, shared: Mapping[str, Any], played: PlayedTotals, packed: bytes) -> bytes:
    """Return the tallies of a chunk of users by the number of the design, from their standings; both are packed.

    The counts of a tally are sums over target sets. ``shared`` are the fields of standings that all chunks share, and
    ``played`` the totals over all users.
    """
    standings, options = unpacked_standings(packed, shared), request.options
    everyone, queries = standings.everyone, standings.queries.len()
    assert everyone is not None, "a task of a fold has them"
    tallies = {}
    for number, design in enumerate(request.designs):
        zeros = options.users == "all" and design.relevant == "AR" and not design.bins and played.users > played.owners
        units = everyone if zeros else standings.queries
        sets = played.alone if design.relevant == "1R" else played.together
        groups = target_sets(standings, design, options.short, sets[design.bins] if design.bins else None)
        moments = group_moments(standings, design, groups, request.unit_metrics, options.variance, 1)
        places, columns = rows_in_table(standings.queries, units), dict[Column, Values]()
        for heading, one in moments.items():
            columns["value", heading], columns["weight", heading] = to_all_units(
                *query_means(groups, one, queries), places, units.len(), zeros=zeros
            )
        totals = DesignTotals.of(standings, design, groups, moments, options.users)
        tallies[number] = UserTally(units, columns, totals)
    return pickle.dumps(tallies)


def _in_all_tasks(
    runs: Mapping[str, SparkRun], request: JudgeRequest, settings: Mapping[str, Any], findings: Sequence[Finding]
) -> DesignScores:
    """Return the scores of all users under all designs; the users are spread over the tasks of Spark."""
    metrics, execution = request.unit_metrics, request.execution
    in_task = replace(request, execution=replace(execution, threads=1, work=None))
    tallies = {}
    for name, run in runs.items():
        work = partial(judge_chunk, in_task, {**run.shared, "name": name}, run.played)
        with new_folder(session_of(run.chunks), execution.work) as folder, translate_errors():
            tallies[name] = tallies_of(map_packed(run.chunks, work), folder)
    rows = list[DesignScore]()
    by_design: dict[str, Scores] = {}
    for number, design in enumerate(request.designs):
        own = {name: by_number[number] for name, by_number in tallies.items()}
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
