"""Scores under target-set designs of systems played on Spark.

If the users are few, this process loads their standings (the ranks of their relevant items) and scores them as without
Spark. If they are many, each task scores its own users, and the sums of all tasks add up exactly.
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
    """Return the scores under every target-set design of systems that were played on Spark.

    A design says which candidates relevant items are ranked against. If there are at most ``few`` users, they are
    evaluated in this process, from their standings (ranks of relevant items). With more users, every task evaluates its
    own users, and findings look at a sample of about ``few`` users, drawn by their ids.
    """
    runs = {name: one for name, one in played.items() if isinstance(one, SparkRun)}
    if len(runs) < len(played):
        unplayed = next(name for name in played if name not in runs)
        raise UsageError(
            "U122",
            f"'{unplayed}' was not played on Spark, but others were",
            hint="play it on the same Spark fold, or use run.here() of the others",
        )
    if request.options.method != "exact":
        raise UsageError(
            "U107",
            "Spark evaluates designs in closed form only",
            where=f"method='{request.options.method}'",
            hint="method='exact'",
        )
    first, *others = runs.values()
    for other in others:
        one, more = first.played, other.played
        if one.queries != more.queries or (one.digest - more.digest) % 2**64:
            raise InputError(
                "I311",
                f"'{first.name}' was played for {one.queries:,} users and {one.pairs:,} relevant items, "
                f"'{other.name}' for {more.queries:,} and {more.pairs:,}",
                hint="play all systems on the same fold with the same protocol",
            )
    every = max(1, -(-first.played.users // max(few, 1)))
    here = judge_in_memory({name: run.standings_here(every) for name, run in runs.items()}, request)
    if every == 1:
        return here
    scope = f" (checked on {here.by_design[here.designs[0]].units.len():,} users, sampled by their ids)"
    findings = [replace(finding, detail=finding.detail + scope) for finding in here.findings]
    return _in_all_tasks(runs, request, here.settings, findings)


def judge_chunk(request: JudgeRequest, shared: Mapping[str, Any], played: PlayedTotals, packed: bytes) -> bytes:
    """Return the scores of a chunk of users under each design, from their standings; both are packed as bytes.

    The result maps the number of a design to a :class:`~recassay.engine.tally.UserTally`: values per user, and sums
    over target sets. ``shared`` are the fields of standings that all chunks share, and ``played`` the totals over all
    users.
    """
    standings, options = unpacked_standings(packed, shared), request.options
    everyone, queries = standings.everyone, standings.queries.len()
    assert everyone is not None, "a task of a fold has them"
    tallies = {}
    for number, design in enumerate(request.designs):
        zeros = design.counts_zeros(options.users) and played.users > played.owners
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
    """Return the scores of ``runs`` over all users, under all designs; every task of Spark scores some users."""
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
