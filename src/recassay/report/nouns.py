"""What is shown when an input (a log, run, truth, ...) is printed: a title, lines, and in notebooks a sparkline.

>>> from recassay.data.read import read_interactions
>>> read_interactions([("ann", "x"), ("ann", "y"), ("bob", "y")])
log of 3 events
  users  2
  items  2
  times  none
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.api.weight import Weights
from recassay.columnar.time_kind import KINDS
from recassay.comparison.across import Across
from recassay.comparison.consistency import Consistency
from recassay.comparison.power import Power
from recassay.comparison.sudden_death import SuddenDeath
from recassay.comparison.trade_off import TradeOff
from recassay.data.features import Features
from recassay.data.fold import Fold
from recassay.data.generated import Generated
from recassay.data.interactions import Interactions
from recassay.data.queries import Queries
from recassay.data.run import Run
from recassay.data.sequences import SequenceFold, Sequences
from recassay.data.standings import Standings
from recassay.data.stats import time_span
from recassay.data.truth import Truth
from recassay.engine.decisions.home_and_away import HomeAndAway
from recassay.engine.streams.result import Stream
from recassay.models.rerank.runs import Reranked
from recassay.report.content.groups import groups_counts, groups_title
from recassay.results.exhibit import Exhibit
from recassay.results.group_scores import GroupScores
from recassay.results.outcomes import Outcomes
from recassay.results.score_set import ScoreSet
from recassay.results.settings import population

BINS = 40  # points of a sparkline
NAMES = 5  # of systems, metrics or features, before "and n more"
HEAD = 5  # rows shown in a notebook
LEAKAGE = {
    "none": "all training events are earlier than all test events",
    "per user": "training events of others may be later than a user's test events",
    "global": "the split ignored time",
}


@dataclass(frozen=True, eq=False)
class ShownFacts:
    """What is shown of a value: a title, lines (name and text), sparklines by name, and rows of a table.

    The rows are shown in notebooks only, unless they are the whole of the value (``tabular``).
    """

    title: str
    lines: Mapping[str, str] = field(default_factory=dict)
    sparks: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    rows: pl.DataFrame | None = None
    tabular: bool = False


@singledispatch
def facts(value: Any) -> ShownFacts:
    """Return a title, lines and rows that describe a log, run, truth or other value.

    A function for each type is registered below.
    """
    raise TypeError(f"{type(value).__name__} has no facts to show")


@facts.register
def _log(log: Interactions) -> ShownFacts:
    lines = {"users": f"{_distinct(log.users):,}", "items": f"{_distinct(log.items):,}", "times": _times(log)}
    if log.ratings is not None:
        lines["ratings"] = _range(log.ratings)
    return ShownFacts(
        f"log of {counted(len(log), 'event')}", _with_origin(lines, log.origin), _over_time(log), _log_head(log)
    )


@facts.register
def _fold(fold: Fold) -> ShownFacts:
    parts = {"train": fold.train, "validation": fold.validation, "test": fold.test}
    lines = {name: _part(part) for name, part in parts.items() if part is not None}
    if fold.profile is not None:
        lines["profiles"] = f"{int(fold.profile.sum()):,} events of train, of users that are queried"
    timed = fold.train.timestamps is not None
    lines["leakage"] = f"{fold.leakage}: {LEAKAGE[fold.leakage]}" if timed else "unknown: the log has no times"
    if removed := {reason: count for reason, count in fold.removed.items() if count}:
        lines["removed"] = ", ".join(f"{count:,} {reason}" for reason, count in removed.items())
    if over := population(fold.how):
        lines["test users"] = over
    if fold.items is not None:
        lines["items"] = f"{fold.items.n_items:,} with {fold.items.names.len():,} features"
    sparks = {name: values for name, part in parts.items() if part is not None for values in _over_time(part).values()}
    return ShownFacts(f"fold {fold.number} of {fold.how.get('split', 'a log')}", lines, sparks)


@facts.register
def _truth(truth: Truth) -> ShownFacts:
    lines = {"users": f"{truth.queries.len():,}", "items": f"{_distinct(truth.items):,}", "gains": _range(truth.gains)}
    if truth.merged:
        lines["merged"] = f"{truth.merged:,} rows that repeat a user and item"
    head = truth.take(np.arange(min(truth.queries.len(), HEAD))).frame().head(HEAD)
    title = f"truth of {truth.items.size:,} judged items"
    return ShownFacts(title, _with_origin(lines, truth.origin), {"items per user": _lengths(truth.offsets)}, head)


@facts.register
def _run(run: Run) -> ShownFacts:
    sizes = np.diff(run.offsets)
    lines = {"users": f"{run.queries.len():,}", "items": f"{_distinct(run.items):,}", "lists": _sizes(sizes)}
    lines["order"] = f"by {run.order}" if run.order != "row" else "as the rows are"
    if run.tied is not None:
        lines["order"] += f", {int(run.tied.sum()):,} of {run.items.size:,} rows tied with the one before"
    if run.standings is not None:
        lines["standings"] = f"{run.standings.pairs:,} relevant items, for ra.judge"
    origin = "" if run.origin == run.name else run.origin
    return ShownFacts(f"run {run.name}", _with_origin(lines, origin), rows=_run_head(run))


@facts.register
def _standings(standings: Standings) -> ShownFacts:
    lines = {"users": f"{standings.queries.len():,}", "base sets": _some(standings.above)}
    return ShownFacts(f"standings of {standings.pairs:,} relevant items for {standings.name}", lines)


@facts.register
def _features(items: Features) -> ShownFacts:
    lines = {"columns": items.sources, "features": f"{items.names.len():,}: {_some(items.names.to_list())}"}
    return ShownFacts(f"features of {items.n_items:,} items", _with_origin(lines, items.origin))


@facts.register
def _queries(queries: Queries) -> ShownFacts:
    return ShownFacts(f"queries for {len(queries):,} users", {"users": _some(map(str, queries.ids.head(NAMES + 1)))})


@facts.register
def _sequences(made: Sequences) -> ShownFacts:
    lines = {"users": f"{_distinct(made.users):,}", "items": f"{_distinct(made.items):,}"}
    lines["lengths"] = _sizes(np.diff(made.offsets))
    lines["times"] = KINDS[made.kind]
    return ShownFacts(f"{len(made):,} sequences of {made.items.size:,} events", _with_origin(lines, made.origin))


@facts.register
def _sequence_fold(fold: SequenceFold) -> ShownFacts:
    lines = {
        name: f"{len(part):,} sequences of {part.items.size:,} events, {_distinct(part.items):,} items"
        for name, part in (("train", fold.train), ("test", fold.test))
    }
    if removed := {reason: count for reason, count in fold.removed.items() if count}:
        lines["removed"] = ", ".join(f"{count:,} {reason}" for reason, count in removed.items())
    return ShownFacts(f"fold {fold.number} of {fold.how.get('split', 'sequences')}", lines)


@facts.register
def _generated(made: Generated) -> ShownFacts:
    chances = "none" if np.isnan(made.chances).all() else "for every item"
    lines = {"lengths": _sizes(made.lengths), "probabilities": chances, "seed": str(made.seed)}
    return ShownFacts(f"{len(made):,} sequences generated by {made.name}", lines)


@facts.register
def _outcomes(outcomes: Outcomes) -> ShownFacts:
    lines = {"scored": f"{len(outcomes):,} of {outcomes.events:,} events"}
    lines |= {metric: f"mean {outcomes.mean(metric):.4f}" for metric in outcomes.metrics}
    sparks = {metric: _binned_means(outcomes.of(metric)) for metric in outcomes.metrics}
    return ShownFacts(f"{outcomes.system} on a stream", lines, sparks)


@facts.register
def _stream(stream: Stream) -> ShownFacts:
    if len(stream.copies) > 1:
        rows = stream.summary().iter_rows(named=True)
        lines = {row["metric"]: f"mean {row['mean']:.4f}, copies {row['low']:.4f} to {row['high']:.4f}" for row in rows}
        return ShownFacts(f"{stream.name} on a stream, {len(stream.copies)} copies", lines)
    found_facts = facts(stream.outcomes)
    alarms = {"alarms": f"{len(stream.alarms):,}"} if stream.alarms_by_copy else {}
    return ShownFacts(found_facts.title, {**found_facts.lines, **alarms}, found_facts.sparks)


@facts.register
def _score_set(scores: ScoreSet) -> ShownFacts:
    lines = {"systems": _some(scores.systems), "metrics": _some(scores.metrics)}
    axes = {axis: scores.along(axis) for axis in ("dataset", "split", "protocol", "design", "seed")}
    lines |= {axis: _some(map(str, values)) for axis, values in axes.items() if len(values) > 1}
    where = f" in {scores.folder}" if scores.folder else ""
    return ShownFacts(f"scores in {counted(len(scores), 'setting')}{where}", lines)


@facts.register
def _exhibit(exhibit: Exhibit) -> ShownFacts:
    table = f"{exhibit.table.height:,} rows of {_some(exhibit.table.columns)}"
    return ShownFacts(
        exhibit.title, {"picture": f"{exhibit.y} over {exhibit.x}", "table": table, "says": exhibit.caption}
    )


@facts.register(SuddenDeath)
@facts.register(HomeAndAway)
def _contest(contest: SuddenDeath | HomeAndAway) -> ShownFacts:
    name = "Sudden Death" if isinstance(contest, SuddenDeath) else "ranks at home and away"
    return ShownFacts(name, rows=contest.summary(), tabular=True)


@facts.register(Across)
@facts.register(Consistency)
@facts.register(Power)
def _framed(found: Across | Consistency | Power) -> ShownFacts:
    names = {Across: "comparison in several settings", Consistency: "agreement of orders", Power: "users needed"}
    return ShownFacts(names[type(found)], rows=found.frame(), tabular=True)


@facts.register(TradeOff)
@facts.register(Weights)
def _points(found: TradeOff | Weights) -> ShownFacts:
    if isinstance(found, Weights):
        title = f"{found.method} has the best {found.criterion}"
    else:
        title = f"{found.accuracy} against {_some(found.diversity)}, relative to {found.baseline}"
    return ShownFacts(title, rows=found.table, tabular=True)


@facts.register
def _reranked(reranked: Reranked) -> ShownFacts:
    counts = {name: f"{count:,}" for name, count in reranked.counts.items() if count}
    return ShownFacts(f"run {reranked.run.name}, reordered by {reranked.method}", counts)


def _log_head(log: Interactions) -> pl.DataFrame:
    """Return the first rows of a log as a data frame."""
    return log.take(np.arange(min(len(log), HEAD))).frame()


def _part(part: Interactions) -> str:
    when = f", {span}" if (span := time_span(part)) else ""
    return f"{len(part):,} events of {_distinct(part.users):,} users on {_distinct(part.items):,} items{when}"


def _times(log: Interactions) -> str:
    return f"{time_span(log)} ({KINDS[log.times]})" if log.timestamps is not None else "none"


def _with_origin(lines: Mapping[str, str], origin: str) -> dict[str, str]:
    return {**lines, "from": origin} if origin else dict(lines)


def _distinct(codes: NDArray[np.int32]) -> int:
    return int(np.count_nonzero(np.bincount(codes))) if codes.size else 0


def _lengths(offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how many lists have a length in each of at most 40 equal ranges.

    List i is ``offsets[i]:offsets[i + 1]``.
    """
    sizes = np.diff(offsets)
    return np.histogram(sizes, bins=min(BINS, int(sizes.max()) if sizes.size else 1))[0].astype(np.float64)


def _sizes(sizes: NDArray[np.int64]) -> str:
    if not sizes.size:
        return "none"
    least, most = int(sizes.min()), int(sizes.max())
    return (
        f"{counted(least, 'item')} each"
        if least == most
        else f"{least:,} to {most:,} items, median {np.median(sizes):,.0f}"
    )


def _range(values: NDArray[np.float64]) -> str:
    known = values[~np.isnan(values)]
    if not known.size:
        return "all missing"
    least, most = float(known.min()), float(known.max())
    missing = f", {values.size - known.size:,} missing" if known.size < values.size else ""
    return (f"all {least:g}" if least == most else f"{least:g} to {most:g}, mean {known.mean():.3g}") + missing


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count and its noun in the singular (``one``) or plural (``many``, by default with an s).

    >>> counted(1, "system"), counted(1_200, "system"), counted(2, "pair of users", "pairs of users")
    ('1 system', '1,200 systems', '2 pairs of users')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _some(names: Iterable[str]) -> str:
    """Return the first five names joined as text, and the number of the others.

    >>> _some("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    known = list(names)
    more = f" and {len(known) - NAMES:,} more" if len(known) > NAMES else ""
    return ", ".join(known[:NAMES]) + more


def _over_time(log: Interactions) -> dict[str, NDArray[np.float64]]:
    """Return ``{"times": number of events in each of 40 equal spans of time}``; empty if times are unknown.

    It is also empty if the times only order the events of each user.
    """
    if log.times not in ("clock", "global") or log.timestamps is None or not len(log):
        return {}
    column = log.timestamps.drop_nulls()
    numbers = (column.cast(pl.Int64) if column.dtype.is_temporal() else column).to_numpy().astype(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    return {"times": np.histogram(numbers, bins=BINS)[0].astype(np.float64)} if numbers.size else {}


def _binned_means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the means of up to 40 successive, equally large parts of ``values``; NaN is dropped before."""
    defined = values[~np.isnan(values)]
    return np.array(
        [float(part.mean()) for part in np.array_split(defined, min(BINS, defined.size))] if defined.size else []
    )


def _run_head(run: Run) -> pl.DataFrame:
    size = min(run.items.size, HEAD)
    users = np.searchsorted(run.offsets, np.arange(size), side="right") - 1
    columns = {"user_id": run.queries.gather(users), "item_id": run.vocabulary.decode(run.items[:size])}
    if run.score_column is not None:
        columns["score"] = run.score_column.head(size)
    return pl.DataFrame(columns)


@facts.register
def _group_scores(groups: GroupScores) -> ShownFacts:
    rows = groups.gaps_frame().select("metric", "system", "gap", "low", "high", "p", "worst", "best")
    return ShownFacts(f"{groups_title(groups)}: {groups_counts(groups)}", rows=rows, tabular=True)
