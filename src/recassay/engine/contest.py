"""``sudden_death``: from runs, or from outcomes of a stream, to who was the first to show something relevant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.comparison.intervals import Uncertainty
from recassay.comparison.sudden_death import NEVER, Loop, Rules, SuddenDeath, Ties, Users
from recassay.data.finding import Finding
from recassay.data.layout import stretch_of
from recassay.data.outcomes import Outcomes
from recassay.data.read import Columns, each_run, read_truth
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.data.vocabulary import Vocabulary
from recassay.diagnose import Facts
from recassay.diagnose.coverage import extra_queries, missing_lists, nan_scores, short_lists
from recassay.engine.judge import refuse_others
from recassay.engine.local import USERS_PER_BLOCK
from recassay.engine.stream.result import Stream
from recassay.engine.summary import said_once
from recassay.errors import InputError, UsageError
from recassay.metrics.align import Conventions, Meeting, meet
from recassay.metrics.base import LARGEST_CUTOFF
from recassay.spec import suggest
from recassay.threads import each_block

STRICT = Conventions(duplicates="error")
OF_LISTS = (missing_lists, short_lists, extra_queries, nan_scores)  # other checks ask about values, or the truth alone
ROUNDING = 1e-6

Places = NDArray[np.int32]


def sudden_death(
    runs: Any,
    truth: Any = None,
    at: int | Iterable[int] = 10,
    *,
    ties: Ties = "share",
    users: Users = "with_relevant",
    loop: Loop = "whole",
    relevant_from: float = 1.0,
    metric: str | None = None,
    by: Literal["event", "user"] = "event",
    columns: Columns = None,
    format: str | None = None,
    nan: str = "error",
    interval: str | None = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
) -> SuddenDeath:
    """Let systems compete: whoever has the first relevant item at the earliest place wins the user.

    ``runs`` and ``truth`` are what :func:`~recassay.score` takes, and one pass over them decides all cut-offs down to
    the deepest of ``at``. ``ties``, ``users`` and ``loop`` are the rules, see
    :class:`~recassay.comparison.sudden_death.Rules`. A user without a list is an empty list, counted and found (C001);
    an item twice in a list is an error. Runs that were played know what was relevant, and need no truth.

    On streams, ``runs`` are played streams, or outcomes, of systems that met the same events, and there is no truth.
    ``by="event"``: an event is won by whoever placed its item highest, told from ``metric``, a reciprocal rank or 0 and
    1 (``mrr`` if the outcomes have it, else their first one). ``by="user"``: a user is won by whoever was the first in
    time to hit one of the user's events, and ``at`` counts these events.

    >>> runs = {"a": {"ann": ["q", "x"], "bob": ["z"]}, "b": {"ann": ["x", "q"], "bob": ["z"]}}
    >>> contest = sudden_death(runs, {"ann": ["x"], "bob": ["z"]}, at=2)
    >>> contest.summary()["sudden_death"].to_list(), contest.summary()["outright"].to_list()
    ([0.5, 1.0], [0.0, 0.5])
    """
    for name, choice, known in (("ties", ties, Ties), ("users", users, Users), ("loop", loop, Loop)):
        if choice not in get_args(known):
            raise UsageError("U107", f"{name}={choice!r} is not known", hint=suggest(choice, get_args(known)))
    rules, cutoffs = Rules(ties, users, loop, float(relevant_from)), _cutoffs(at)
    streams = _streams(runs)
    if streams:
        contest = _on_streams(streams, cutoffs, rules, metric, by)
    else:
        truth = _played_truth(runs) if truth is None else read_truth(truth, columns=columns)
        runs = each_run(runs, columns=columns, format=format, nan=nan, keep_scores=False)
        contest = _on_runs(runs, truth, cutoffs, rules, threads)
    return replace(contest, confidence=Uncertainty(interval, level, resamples, seed), threads=threads)


def _cutoffs(at: int | Iterable[int]) -> tuple[int, ...]:
    cutoffs = tuple(at) if isinstance(at, Iterable) else (at,)
    wrong = [k for k in cutoffs if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1]
    if wrong or not cutoffs or max(cutoffs) > LARGEST_CUTOFF:
        what = f"a contest cannot be decided at {wrong[0] if wrong else at!r}"
        raise UsageError("U103", what, where="at", hint="a whole number of at least 1, or several")
    return tuple(dict.fromkeys(int(k) for k in cutoffs))


def _played_truth(runs: Any) -> Truth:
    """What was relevant when these runs were played."""
    given = [runs] if isinstance(runs, Run) else list(runs) if isinstance(runs, list | tuple) else []
    played = {run.name: run.standings for run in given if isinstance(run, Run) and run.standings is not None}
    if not played or len(played) < len(given):
        hint = "give the truth; only runs of ra.play can do without"
        raise UsageError("U205", "nobody said what is relevant", where="sudden_death", hint=hint)
    refuse_others(played)
    one = next(iter(played.values()))
    owners, items = one.queries.gather(stretch_of(one.offsets)), one.vocabulary.decode(one.item)
    return Truth.from_frame(pl.DataFrame({"user_id": owners, "item_id": items}))


def _on_runs(runs: Iterable[Run], truth: Truth, at: tuple[int, ...], rules: Rules, threads: int | None) -> SuddenDeath:
    deepest, found = max(at), list[Finding]()
    first: dict[str, Places] = {}
    missing, short = dict[str, int](), dict[str, int]()
    for run in runs:
        _refuse_twice(run.name, first)
        meeting = meet(run, truth, STRICT)
        first[run.name] = _first_places(meeting, deepest, rules.relevant_from, threads)
        missing[run.name] = meeting.met.missing
        short[run.name] = int((meeting.judged_lengths < deepest).sum())
        facts = Facts.of(meeting, deepest)
        found += [finding for ask in OF_LISTS if (finding := ask(facts)) is not None]
    relevant = truth.gains[truth.offsets[:-1]] >= rules.relevant_from  # the highest gain of a user stands first
    return SuddenDeath(
        tuple(first), truth.queries, np.stack(list(first.values())), relevant, at, rules,
        missing=missing, short=short, findings=said_once(found),
    )  # fmt: skip


def _first_places(meeting: Meeting, deepest: int, relevant_from: float, threads: int | None) -> Places:
    """For each user of the truth the place of the first relevant item, or NEVER."""
    out = np.empty(meeting.match.size, np.int32)

    def fill(begin: int, end: int) -> None:
        place = meeting.block(begin, end, deepest).first_relevant(deepest, relevant_from)
        out[begin:end] = np.where(place > 0, place, NEVER)

    each_block(fill, out.size, size=USERS_PER_BLOCK, threads=threads)
    return out


def _streams(runs: Any) -> list[Outcomes]:
    """The outcomes that were given, or that played streams have, if that is what was given."""
    several = list(runs) if isinstance(runs, list | tuple) else [runs]
    if not all(isinstance(one, Outcomes | Stream) for one in several):
        return []
    return [one.outcomes if isinstance(one, Stream) else one for one in several]


def _telling(metrics: Sequence[str]) -> str:
    """The first metric that tells a place, the first of all if there is none."""
    return next((metric for metric in metrics if metric.startswith("mrr")), metrics[0])


def _on_streams(
    streams: Sequence[Outcomes], at: tuple[int, ...], rules: Rules, metric: str | None, by: str
) -> SuddenDeath:
    if by not in ("event", "user"):
        raise UsageError("U107", f"by={by!r} is not known", hint=suggest(by, ("event", "user")))
    one, first = streams[0], dict[str, Places]()
    metric = metric or _telling(one.metrics)
    for stream in streams:
        _refuse_twice(stream.system, first)
        if not np.array_equal(stream.event, one.event):
            raise InputError(
                "I382",
                f"{stream.system} was scored on {len(stream):,} events and {one.system} on {len(one):,}, or on others",
                where=f"outcomes of {stream.system}",
                hint="play all systems on the same stream with the same protocol",
            )
        first[stream.system] = _event_places(stream, metric)
    units, places = pl.Series("event", one.event), np.stack(list(first.values()))
    if by == "user":
        if one.users is None:
            raise UsageError("U205", "these outcomes do not say whose events they are", hint="by='event'")
        units, places = _by_user(one.users, places)
    everyone = np.ones(units.len(), np.bool_)
    return SuddenDeath(tuple(first), units, places, everyone, at, rules, unit=by)


def _event_places(stream: Outcomes, metric: str) -> Places:
    """The place at which a system had the item of each event, from its reciprocal; NEVER for 0 and undefined."""
    values = stream.of(metric)
    hit = values > 0
    place = np.divide(1.0, values, out=np.zeros(values.size), where=hit)
    wrong = hit & (np.abs(place - np.round(place)) > ROUNDING * place)
    if wrong.any():
        raise UsageError(
            "U205",
            f"{int(wrong.sum()):,} values of {metric} are no reciprocal of a place, the first {values[wrong][0]:.4f}",
            where=f"outcomes of {stream.system}",
            hint="name a metric that says where the item stood, such as mrr@10, or whether it was hit, such as hit@10",
        )
    return np.where(hit, np.round(place), NEVER).astype(np.int32)


def _by_user(users: pl.Series, places: Places) -> tuple[pl.Series, Places]:
    """For each user the number, from 1, of the first of the user's events that each system hit."""
    vocabulary, codes = Vocabulary.dense(users)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(vocabulary.size + 1))
    number = np.arange(order.size) - np.repeat(starts[:-1], np.diff(starts)) + 1
    numbered = np.where(places[:, order] < NEVER, number, NEVER)
    ids = vocabulary.decode(np.arange(vocabulary.size, dtype=np.int32))
    return ids, np.minimum.reduceat(numbered, starts[:-1], axis=1).astype(np.int32)


def _refuse_twice(name: str, known: Iterable[str]) -> None:
    if name in known:
        raise UsageError("U109", f"two systems have the name '{name}'", hint="give them as a dict of name to run")
