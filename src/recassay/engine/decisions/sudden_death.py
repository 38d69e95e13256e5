"""Sudden Death between systems: which one ranks its first relevant item highest, in runs or on a stream."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.checks import diagnose
from recassay.checks.counts import count_lengths
from recassay.checks.lists import extra_queries, missing_lists, nan_scores, short_lists
from recassay.columnar.layout import ranges, row_groups
from recassay.columnar.vocabulary import Vocabulary
from recassay.comparison.rules import NEVER, Loop, Rules, Ties, Users
from recassay.data.read import Columns, RunSource, TableSource, each_run, read_truth
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.engine.decisions.contest import SuddenDeath
from recassay.engine.finish import ENOUGH_USERS, merge_findings
from recassay.engine.lists.job import first_hits
from recassay.engine.ranks.judge import raise_if_queries_differ
from recassay.engine.streams.result import Stream
from recassay.errors import InputError, UsageError
from recassay.metrics.align import Alignment, Conventions, align
from recassay.metrics.base import LARGEST_CUTOFF
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import suggest
from recassay.naming.named import Departure, departs
from recassay.results.finding import Finding
from recassay.results.first_hits import FirstHits, SystemHits
from recassay.results.outcomes import Outcomes
from recassay.results.scores import Scores
from recassay.stats.intervals import Uncertainty

STRICT = Conventions(duplicates="error")
LIST_CHECKS = (missing_lists, short_lists, extra_queries, nan_scores)  # other checks need values, or only the truth
ROUNDING = 1e-6

Ranks = NDArray[np.int32]
Entry = TypeVar("Entry")


@departs(
    Departure(
        "sudden-death",
        "Algorithm 1 of the paper as printed never looks at the last rank; recassay does, as equation 6 says.",
        "ra.sudden_death(runs, truth, loop='printed')",
    ),
    Departure(
        "sudden-death",
        "The paper averages over all users; recassay leaves out those without a relevant item, because no system can "
        "win them; this raises all shares in proportion and keeps the order of systems.",
        "ra.sudden_death(runs, truth, users='all')",
    ),
)
@checks_types
def sudden_death(
    runs: RunSource,
    truth: TableSource = None,
    at: int | Iterable[int] = 10,
    *,
    ties: Ties = "share",
    users: Users = "with_relevant",
    loop: Loop = "whole",
    relevant_from: float | None = None,
    competitors: Iterable[str] | None = None,
    metric: str | None = None,
    by: Literal["event", "user"] = "event",
    columns: Columns = None,
    format: str | None = None,
    nan: choices.Nan = "error",
    interval: choices.IntervalMethod | None = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
) -> SuddenDeath:
    """Let systems compete: the system with the highest-ranked first relevant item wins the user.

    ``runs`` and ``truth`` are what :func:`~recassay.score` takes; one pass over them decides all cut-offs in ``at``.
    ``ties``, ``users`` and ``loop`` are the rules, see :class:`~recassay.comparison.rules.Rules`. A missing list
    counts as an empty list and is reported (C001); an item twice in a list is an error. ``relevant_from`` is the
    smallest gain of a relevant item, 1 by default. Played runs carry their relevant items and need no truth, and so do
    scores of ``score(..., first_hits=True)``: their lists, conventions and ``relevant_from`` are those that were
    scored. ``competitors`` names the systems that compete, by default all.

    On streams, ``runs`` are played streams or outcomes of systems on the same events, without a truth. With
    ``by="event"`` the system that ranks the event's item highest wins the event. The rank comes from ``metric``: a
    reciprocal rank, or 0 and 1 (by default ``mrr`` if the outcomes have it, else their first metric). With
    ``by="user"`` the system that first hits one of the user's events wins the user, and ``at`` counts these events.

    >>> runs = {"a": {"ann": ["q", "x"], "bob": ["z"]}, "b": {"ann": ["x", "q"], "bob": ["z"]}}
    >>> contest = sudden_death(runs, {"ann": ["x"], "bob": ["z"]}, at=2)
    >>> contest.summary()["sudden_death"].to_list(), contest.summary()["outright"].to_list()
    ([0.5, 1.0], [0.0, 0.5])
    """
    rules = Rules(ties, users, loop, 1.0 if relevant_from is None else float(relevant_from))
    cutoffs, chosen = _cutoffs(at), None if competitors is None else tuple(competitors)
    streams = _streams(runs)
    if streams:
        contest = _on_streams(
            dict(_chosen_systems(((stream.system, stream) for stream in streams), chosen)), cutoffs, rules, metric, by
        )
    elif isinstance(runs, Scores | FirstHits):
        contest = _on_first_hits(_kept_hits(runs, relevant_from), cutoffs, rules, chosen)
        of_lists = {check.code for check in LIST_CHECKS}  # they hold for any use of these lists
        if isinstance(runs, Scores):
            contest = contest.with_findings(*(finding for finding in runs.findings if finding.code in of_lists))
            contest = replace(contest, unit=runs.unit)
    else:
        truth = _played_truth(runs) if truth is None else read_truth(truth, columns=columns)
        reader = each_run(runs, columns=columns, format=format, nan=nan, keep_scores=False)
        contest = _on_runs(_chosen_systems(((run.name, run) for run in reader), chosen), truth, cutoffs, rules, threads)
    contest = contest.with_findings(*_equal_ranks_finding(contest))
    return replace(contest, confidence=Uncertainty(interval, level, resamples, seed), threads=threads)


def _chosen_systems(named: Iterable[tuple[str, Entry]], chosen: tuple[str, ...] | None) -> Iterator[tuple[str, Entry]]:
    """Yield the chosen systems with their names; raise U109 if a name comes twice, at the end U108 for an unknown one.

    All systems compete if ``chosen`` is None.
    """
    seen: list[str] = []
    for name, entry in named:
        if name in seen:
            raise UsageError("U109", f"two systems are named '{name}'", hint="give them as a dict of name to run")
        seen.append(name)
        if chosen is None or name in chosen:
            yield name, entry
    if unknown := [name for name in chosen or () if name not in seen]:
        raise UsageError(
            "U108", f"there is no system '{unknown[0]}'", where="competitors", hint=suggest(unknown[0], seen)
        )


def _equal_ranks_finding(contest: SuddenDeath) -> tuple[Finding, ...]:
    """Return warning (finding) C012 if systems have the same first relevant rank for all users, else an empty tuple.

    Most likely they are one run under two names.
    """
    lines = dict(zip(contest.competitors, contest.first, strict=True))
    alike = [
        (", in Sudden Death", a, b)
        for a, b in itertools.combinations(lines, 2)
        if contest.n >= ENOUGH_USERS and (lines[a] < NEVER).any() and np.array_equal(lines[a], lines[b])
    ]
    return diagnose("table", same=alike)


def _kept_hits(scores: Scores | FirstHits, relevant_from: float | None) -> FirstHits:
    """Return the ranks of first relevant items stored in scores; raise U205 if there are none.

    Raise U205 too if they are of another ``relevant_from``, the smallest gain of a relevant item.
    """
    hits = scores if isinstance(scores, FirstHits) else scores.first_hits
    if hits is None:
        raise UsageError(
            "U205",
            "these scores do not have the rank of each user's first relevant item",
            where="sudden_death",
            hint="score(..., first_hits=True), or give the runs and the truth",
        )
    if relevant_from is not None and relevant_from != hits.relevant_from:
        raise UsageError(
            "U205",
            f"items were scored as relevant from {hits.relevant_from:g}, not from {relevant_from:g}",
            where="relevant_from",
            hint="leave it out, or score again",
        )
    return hits


def _on_first_hits(hits: FirstHits, at: tuple[int, ...], rules: Rules, chosen: tuple[str, ...] | None) -> SuddenDeath:
    """Return Sudden Death at the cut-offs ``at``, from the ranks of first relevant items stored in scores.

    ``chosen`` names the systems that compete (None: all); ``rules`` say, for example, who wins a tie.
    """
    competing = dict(_chosen_systems(hits.by_system.items(), chosen))
    extra = sum(one.extra for one in competing.values())
    if rules.users == "all" and extra:
        what = f"{extra:,} lists belong to users who are not in the truth, and the scores lack these users"
        hint = "score again with a truth that has a row with gain 0 for each of these users (any item), or call "
        hint += "ra.sudden_death(runs, truth, users='all') with the run files"
        raise UsageError("U205", what, where="users='all'", hint=hint)
    first = np.stack([np.where(one.rank > 0, one.rank, NEVER).astype(np.int32) for one in competing.values()])
    return SuddenDeath(
        tuple(competing), hits.users, first, hits.has_relevant, at, replace(rules, relevant_from=hits.relevant_from),
        missing={name: int(np.isnan(one.length).sum()) for name, one in competing.items()},
        short={name: int((one.length < max(at)).sum()) for name, one in competing.items()},
    )  # fmt: skip


def _cutoffs(at: int | Iterable[int]) -> tuple[int, ...]:
    """Return the distinct cut-offs; raise U103 if one is not a whole number of at least 1."""
    cutoffs = tuple(at) if isinstance(at, Iterable) else (at,)
    wrong = [k for k in cutoffs if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1]
    if wrong or not cutoffs or max(cutoffs) > LARGEST_CUTOFF:
        raise UsageError(
            "U103",
            f"cut-offs must be whole numbers of at least 1, got {wrong[0] if wrong else at!r}",
            where="at",
            hint="such as at=10 or at=[5, 10]",
        )
    return tuple(dict.fromkeys(int(k) for k in cutoffs))


def _played_truth(runs: Any) -> Truth:
    """Return the relevant items that are stored in runs of ``ra.play``; raise U205 if a run does not have them.

    ``runs`` is a run or several. Such a run holds the rank of each relevant item of each user. All runs must have the
    same users and relevant items.
    """
    listed = [runs] if isinstance(runs, Run) else list(runs) if isinstance(runs, list | tuple) else []
    played = {run.name: run.standings for run in listed if isinstance(run, Run) and run.standings is not None}
    if not played or len(played) < len(listed):
        raise UsageError(
            "U205",
            "the relevant items are unknown",
            where="sudden_death",
            hint="give the truth; only runs of ra.play work without it",
        )
    raise_if_queries_differ(played)
    standings = next(iter(played.values()))
    return Truth.from_frame(
        pl.DataFrame(
            {
                "user_id": standings.queries.gather(row_groups(standings.offsets)),
                "item_id": standings.vocabulary.decode(standings.item),
            }
        )
    )


def _on_runs(
    runs: Iterable[tuple[str, Run]], truth: Truth, at: tuple[int, ...], rules: Rules, threads: int | None
) -> SuddenDeath:
    deepest, everyone = max(at), rules.users == "all"
    hits, found, others = dict[str, SystemHits](), list[Finding](), list[pl.Series]()
    checks = tuple(one for one in LIST_CHECKS if not (everyone and one is extra_queries))  # then none is left out
    for name, run in runs:
        alignment = align(run, truth, STRICT)
        hits[name] = SystemHits(*first_hits(alignment, rules.relevant_from, deepest, threads=threads))
        facts = {"system": name, "deepest": deepest, "conventions": STRICT}
        facts |= count_lengths(alignment, deepest).facts(alignment.counts)
        found += [finding for check in checks if (finding := check(facts)) is not None]
        if everyone:
            others.append(_users_outside(alignment))
    contest = _on_first_hits(FirstHits(truth.queries, hits, rules.relevant_from), at, rules, None)
    contest = replace(contest.with_findings(*merge_findings(found)), unit=truth.unit)
    if not everyone:
        return contest
    outside = pl.concat(others).unique().sort()
    more = (0, outside.len())
    return replace(
        contest,
        units=pl.concat([contest.units, outside.cast(contest.units.dtype)]),
        first=np.pad(contest.first, ((0, 0), more), constant_values=NEVER),
        has_relevant=np.pad(contest.has_relevant, more),
    )


def _users_outside(alignment: Alignment) -> pl.Series:
    """Return the users who have a list but no row in the truth."""
    queries = alignment.run.queries
    listed = np.zeros(queries.len(), np.bool_)
    listed[alignment.match[alignment.match >= 0]] = True
    return queries.filter(pl.Series(~listed))


def _streams(runs: Any) -> list[Outcomes]:
    """Return the outcomes of played streams; an empty list if the runs are not streams."""
    streams = list(runs) if isinstance(runs, list | tuple) else [runs]
    if not all(isinstance(stream, Outcomes | Stream) for stream in streams):
        return []
    return [stream.outcomes if isinstance(stream, Stream) else stream for stream in streams]


def _on_streams(
    streams: Mapping[str, Outcomes], at: tuple[int, ...], rules: Rules, metric: str | None, by: str
) -> SuddenDeath:
    """Return Sudden Death between outcomes of a stream, by event or by user; raise I311 if their events differ.

    ``at`` are the cut-offs: ranks, or ``by="user"`` events of a user. ``rules`` say, for example, who wins a tie.
    """
    reference = next(iter(streams.values()))
    metric = metric or next((name for name in reference.metrics if name.startswith("mrr")), reference.metrics[0])
    if others := [one for one in streams.values() if not np.array_equal(one.event, reference.event)]:
        raise InputError(
            "I311",
            f"{others[0].system} was scored on {len(others[0]):,} events and {reference.system} on {len(reference):,}: "
            "the events differ",
            where=f"outcomes of {others[0].system}",
            hint="play all systems on the same stream with the same protocol",
        )
    units = pl.Series("event", reference.event)
    ranks = np.stack([_event_ranks(stream, metric) for stream in streams.values()])
    if by == "user":
        if reference.users is None:
            raise UsageError("U205", "these outcomes have no user ids", hint="by='event'")
        units, ranks = _first_hits_of_users(reference.users, ranks)
    return SuddenDeath(tuple(streams), units, ranks, np.ones(units.len(), np.bool_), at, rules, unit=by)


def _event_ranks(stream: Outcomes, metric: str) -> Ranks:
    """Return the rank of each event's item, as 1 / reciprocal rank (``metric``); NEVER if that is 0 or undefined.

    NEVER is a rank behind all others. Raise U205 if values are not reciprocal ranks.
    """
    values = stream.of(metric)
    hit = values > 0
    rank = np.divide(1.0, values, out=np.zeros(values.size), where=hit)
    wrong = hit & (np.abs(rank - np.round(rank)) > ROUNDING * rank)
    if wrong.any():
        raise UsageError(
            "U205",
            f"{int(wrong.sum()):,} values of {metric} are not reciprocal ranks, the first {values[wrong][0]:.4f}",
            where=f"outcomes of {stream.system}",
            hint="choose a reciprocal rank, such as mrr@10, or a hit, such as hit@10",
        )
    return np.where(hit, np.round(rank), NEVER).astype(np.int32)


def _first_hits_of_users(users: pl.Series, ranks: Ranks) -> tuple[pl.Series, Ranks]:
    """Return two things: the users, and which of a user's events each system hits first.

    The second is an array (systems, users): the number of the event among those of its user, from 1, or NEVER for no
    hit. ``ranks`` (systems, events) is the rank of each event's item, NEVER for no hit.
    """
    vocabulary, codes = Vocabulary.dense(users)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(vocabulary.size + 1))
    number = ranges(1, np.diff(starts))
    numbered = np.where(ranks[:, order] < NEVER, number, NEVER)
    ids = vocabulary.decode(np.arange(vocabulary.size, dtype=np.int32))
    return ids, np.minimum.reduceat(numbered, starts[:-1], axis=1).astype(np.int32)
