"""C0xx: users and items that the files contain or lack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import polars as pl

from recassay.checks.base import (
    TARGET_SET_COLUMN,
    AbsentMetricsFacts,
    Facts,
    FolderFacts,
    RerankFacts,
    check,
    format_count,
    format_id,
    format_share,
)
from recassay.checks.counts import NOBODY, CheckInput, ListLengths, RowShare
from recassay.columnar.vocabulary import UNKNOWN
from recassay.data.population import known_users
from recassay.errors import RecassayError
from recassay.metrics.base import CatalogueMetric
from recassay.metrics.registry import parse_metric
from recassay.results.finding import Severity

MANY_SHORT = 0.05  # share of the users
PLACE = ("dataset", "split", "protocol", "design", "seed", "fold")


def _untrained_missing(given: CheckInput) -> int:
    missing = given.alignment.match < 0
    if given.train is None or not missing.any():
        return 0
    users = given.alignment.truth.queries.filter(pl.Series(missing))
    return int(np.count_nonzero(~known_users(given.train, users)))


@check("C001", "Users without a list", "warning", count=_untrained_missing)
def missing_lists(facts: Facts) -> str | None:
    """Report if users of the truth have no list in the run; by default each counts as an empty list.

    Models that know users by their events give no list to a user without training events. If there are no others,
    C010 reports them instead.
    """
    met, untrained = facts.met, int(facts.counted["C001"])
    if met.missing == untrained:
        return None
    return (
        f"{format_share(met.missing, met.queries)} users of the truth have no list, "
        f"{f'{untrained:,} of them without training events, ' if untrained else ''}such as "
        f"{format_id(met.examples['missing'])}; accuracy metrics count them as empty lists unless missing='skip'"
    )


def _lengths(given: CheckInput) -> ListLengths:
    lengths, deepest = given.alignment.judged_lengths, given.deepest
    return ListLengths(int(np.count_nonzero(lengths < (deepest or 0))), lengths.size, int(lengths.min(initial=NOBODY)))


@check("C002", "Lists shorter than the cut-off", "info", count=_lengths)
def short_lists(facts: Facts) -> str | None:
    """Report if lists hold fewer items than the largest cut-off; missing items count as misses."""
    found: ListLengths = facts.counted["C002"]
    if facts.deepest is None or not found.short:
        return None
    return (
        f"{format_share(found.short, found.lists)} lists hold fewer than {facts.deepest} items; the shortest holds "
        f"{found.least}"
    )


@check("C003", "Items repeated in a list", "warning")
def repeated_items(facts: Facts) -> str | None:
    """Report if an item is in a list more than once; by default only the first counts, and later items move up."""
    met = facts.met
    if not met.duplicate_rows:
        return None
    user, item = cast("tuple[object, object]", met.examples["duplicate"])
    outcome = "are counted again" if facts.conventions.duplicates == "keep" else "were dropped"
    where = f"{format_count(met.duplicate_rows, 'row')} of {format_count(met.duplicate_lists, 'list')}"
    return f"repeated items in {where}, such as item {format_id(item)} for user {format_id(user)}, {outcome}"


@check("C004", "Lists for users that are not in the truth", "info")
def extra_queries(facts: Facts) -> str | None:
    """Report if the run has lists for users that are not in the truth; they are not scored."""
    met = facts.met
    if not met.extra_queries:
        return None
    return (
        f"{format_share(met.extra_queries, met.lists + met.extra_queries)} lists are for users that are not in the "
        f"truth{' or have no training event' if facts.conventions.users == 'known' else ''}, "
        f"such as {format_id(met.examples['extra_query'])}; they are not scored"
    )


@check("C005", "Users without relevant items", "info")
def nothing_to_find(facts: Facts) -> str | None:
    """Report if users of the truth have no relevant item: accuracy is undefined for them, and means exclude them."""
    undefined = {row.metric: row.undefined for row in facts.rows if row.undefined}
    if not undefined:
        return None
    worst = max(undefined, key=lambda metric: undefined[metric])
    units = facts.met.queries
    return f"{format_share(undefined[worst], units)} users have no value of {worst} and are excluded from its mean"


def _merged(given: CheckInput) -> RowShare:
    return RowShare(given.alignment.truth.conflicting, given.alignment.truth.merged)


@check("C006", "Truth rows repeated", "warning", count=_merged)
def truth_repeated(facts: Facts) -> str | None:
    """Report if the truth holds a pair of user and item more than once; the highest gain was kept."""
    found: RowShare = facts.counted["C006"]
    if not found.whole:
        return None
    disagree = f", {format_count(found.part, 'row')} of them with another gain" if found.part else ""
    return (
        f"{format_count(found.whole, 'row')} of the truth repeat a user and item{disagree}; the highest gain was kept"
    )


def _unknown_items(given: CheckInput) -> RowShare:
    assert given.train is not None
    run = given.alignment.run
    codes = run.vocabulary.translate(run.items, given.train.item_vocabulary)
    return RowShare.of_rows(codes == UNKNOWN, run.queries, run.offsets, run.items, run.vocabulary)


@check("C007", "Recommended items without training events", "info", needs=("train",), count=_unknown_items)
def unknown_items(facts: Facts) -> tuple[Severity, str] | None:
    """Report if lists hold items that are not in the training log: cold items, or ids that were mapped differently.

    The severity is warning if most recommended rows are of such items, else info.
    """
    found: RowShare = facts.counted["C007"]
    if found.first is None:
        return None
    counted = format_share(found.part, found.whole)
    return (
        "warning" if 2 * found.part > found.whole else "info",
        f"{counted} recommended rows are of items without training events, such as {format_id(found.first[1])}",
    )


@check("C008", "NaN scores placed last", "warning")
def nan_scores(facts: Facts) -> str | None:
    """Report if scores are NaN; with `--nan last` such items are at the end of their lists."""
    count = facts.met.nan_scores
    return (
        f"{format_count(count, 'item')} with a NaN score {'is' if count == 1 else 'are'} placed last in the list"
        if count
        else None
    )


@check("C009", "Too few units for an interval", "warning")
def few_units(facts: Facts) -> str | None:
    """Report if a mean is over fewer than ten units: its interval, and tests on it, are unreliable."""
    few = [row for row in facts.rows if row.n < 10]
    if not few:
        return None
    return (
        f"{few[0].metric} is a mean over {format_count(few[0].n, 'unit')}; its interval and tests on it are unreliable"
    )


def _untrained_users(given: CheckInput) -> RowShare:
    assert given.train is not None
    users = given.alignment.truth.queries
    unknown = ~known_users(given.train, users)
    first = users[int(np.argmax(unknown))] if unknown.any() else None
    return RowShare(int(unknown.sum()), unknown.size, None if first is None else (first, first))


@check("C010", "Users without training events", "warning", needs=("train",), count=_untrained_users)
def untrained_users(facts: Facts) -> tuple[Severity, str] | None:
    """Report if the truth has users who are not in the training log: no system can personalise for them.

    The severity is warning from 1 % of the users on, else info. Such users can turn the order of systems: there a
    popular list is the best that a system can do, and a personalised model gives none.
    """
    found: RowShare = facts.counted["C010"]
    if found.first is None:
        return None
    unlisted = int(facts.counted["C001"])
    return (
        "warning" if 100 * found.part >= found.whole else "info",
        f"{format_share(found.part, found.whole)} users of the truth have no training event, such as "
        f"{format_id(found.first[1])}{f' (no list for {unlisted:,} of them)' if unlisted else ''}; no system can "
        "personalise for them: score the others with users='known', or split so that every user has a past, such as "
        "random(test=0.2, by='user')",
    )


def _untrained_items(given: CheckInput) -> RowShare:
    assert given.train is not None
    train, truth = given.train, given.alignment.truth
    codes = truth.vocabulary.translate(truth.items, train.item_vocabulary)
    unknown = (codes < 0) | (train.item_users[np.maximum(codes, 0)] == 0)
    return RowShare.of_rows(unknown, truth.queries, truth.offsets, truth.items, truth.vocabulary)


@check("C011", "Relevant items without training events", "info", needs=("train",), count=_untrained_items)
def untrained_items(facts: Facts) -> str | None:
    """Report if the truth holds items without training events: a system that learns from these cannot find them."""
    found: RowShare = facts.counted["C011"]
    if found.first is None:
        return None
    counted = format_share(found.part, found.whole)
    return f"{counted} rows of the truth are of items without training events, such as {format_id(found.first[1])}"


@check("C012", "Systems with the same values", "warning", about=FolderFacts)
def same_values(facts: FolderFacts) -> str | None:
    """Report if two systems have the same value for every user and metric: most likely one run under two names."""
    if not facts.same:
        return None
    where, a, b = facts.same[0]
    more = f", and {len(facts.same) - 1:,} more such pairs" if len(facts.same) > 1 else ""
    return f"{a} and {b} have the same values for all users and all metrics{where}{more}"


@check("C013", "Means over different users", "warning", about=FolderFacts)
def other_users(facts: FolderFacts) -> tuple[Severity, str] | None:
    """Report if systems of one table were averaged over different numbers of users: their means are not comparable.

    The severity is info if only metrics that describe lists, such as diversity, have other users.
    """
    apart = {key: rows for key, rows in _by_metric(facts).items() if len({_count(row, "n") for row in rows}) > 1}
    apart = {key: rows for key, rows in apart.items() if _means(key[0]) != "catalogue"}
    if not apart:
        return None
    judging = [key for key in apart if _means(key[0]) == "judges"]
    key = metric, where = (judging or list(apart))[0]
    least, most = (choose(apart[key], key=lambda row: _count(row, "n")) for choose in (min, max))
    return (
        "warning" if judging else "info",
        f"{metric}{f' ({where})' if where else ''} is a mean over {_count(least, 'n'):,} users for {least['system']} "
        f"and over {_count(most, 'n'):,} for {most['system']} (user numbers differ in "
        f"{format_count(len(apart), 'comparison')}); compare on the users that both have",
    )


@check("C019", "Lists shorter than those of another system", "warning", about=FolderFacts)
def shorter_lists(facts: FolderFacts) -> str | None:
    """Report if a system has short lists for users whose lists reach the cut-off in another system.

    Missing items count as misses, so a file that is cut, or a run with fewer items per user, has a lower mean. Systems
    are reported if this holds for at least 5 % of the users.
    """
    worst: tuple[int, Mapping[str, Any], Mapping[str, Any]] | None = None
    for (_, _), rows in _by_metric(facts).items():
        if any(TARGET_SET_COLUMN in row for row in rows):
            continue
        fullest = min(rows, key=lambda row: _count(row, "short") + _count(row, "missing"))
        shortest = max(rows, key=lambda row: _count(row, "short"))
        # a lower bound of the users with a short list in one system and a list that reaches the cut-off in the other
        users = _count(shortest, "short") - _count(fullest, "short") - _count(fullest, "missing")
        of_all = max(_count(row, "n") + _count(row, "undefined") for row in rows)
        if users >= max(1, MANY_SHORT * of_all) and (worst is None or users > worst[0]):
            worst = users, shortest, fullest
    if worst is None:
        return None
    _, shortest, fullest = worst
    counts = (f"{_count(row, 'short'):,} of {row['system']}" for row in (shortest, fullest))
    return (
        f"lists that are too short for {shortest['metric']}: {' and '.join(counts)}; missing items count as misses: "
        f"look whether the run of {shortest['system']} is complete, or compare at a smaller cut-off"
    )


def _by_metric(facts: FolderFacts) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    """Return the rows of all systems by metric and place (data set, split and so on as text)."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in facts.rows:
        where = ", ".join(str(row[part]) for part in PLACE if row.get(part) not in (None, "given"))
        groups.setdefault((str(row["metric"]), where), []).append(row)
    return groups


def _count(row: Mapping[str, Any], name: str) -> int:
    return int(row.get(name) or 0)


def _means(heading: str) -> str:
    """Return ``judges`` or ``describes`` for a metric with values per user, by what it says, else ``catalogue``."""
    try:
        metric = parse_metric(heading)
    except RecassayError:
        return "judges"
    if isinstance(metric, CatalogueMetric):
        return "catalogue"
    return "describes" if metric.describes else "judges"


@check("C017", "Re-ranked items without features", "warning", about=RerankFacts)
def bare_rows(facts: RerankFacts) -> str | None:
    """Report if most rows of a run are of items that a re-ranker has no features for, or no users to compare.

    It treats such items as unlike all others. Most often the ids in the table of items are of another kind than those
    of the run.
    """
    if 2 * facts.bare <= facts.rows:
        return None
    counted = format_share(facts.bare, facts.rows)
    return f"{counted} rows are of items without features: the new order says little about diversity"


@check("C018", "Metrics that a data set cannot have", "info", about=AbsentMetricsFacts)
def absent_metrics(facts: AbsentMetricsFacts) -> str | None:
    """Report if a study has metrics that need features of items, and a data set without them.

    The data set has no values of these metrics; the other data sets have them.
    """
    if not facts.metrics:
        return None
    return f"the data set has no features of items (`items:`), so it has no {', '.join(facts.metrics)}"
