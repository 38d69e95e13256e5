"""C0xx: who and what the files cover."""

from __future__ import annotations

from typing import cast

import numpy as np

from recassay.data.finding import Severity
from recassay.data.vocabulary import UNKNOWN
from recassay.diagnose.base import Facts, Stored, check, example, several, share
from recassay.diagnose.counts import NOBODY, Lengths, Share, Sight
from recassay.diagnose.leakage import profile_rows

PLACE = ("dataset", "split", "protocol", "design", "seed", "fold")


@check("C001", "Users without a list", "warning")
def missing_lists(facts: Facts) -> str | None:
    """Some users of the truth have no list in the run; by default each counts as an empty list."""
    met = facts.met
    if not met.missing:
        return None
    return (
        f"{share(met.missing, met.queries)} users of the truth have no list, such as "
        f"{example(met.examples['missing'])}; accuracy metrics count them as empty lists unless missing='skip'"
    )


def _lengths(sight: Sight) -> Lengths:
    lengths, deepest = sight.meeting.judged_lengths, sight.deepest
    return Lengths(int((lengths < (deepest or 0)).sum()), lengths.size, int(lengths.min(initial=NOBODY)))


@check("C002", "Lists shorter than the cut-off", "info", count=_lengths)
def short_lists(facts: Facts) -> str | None:
    """Some lists hold fewer items than the largest cut-off asked for; the empty places count as misses."""
    found: Lengths = facts.counted["C002"]
    if facts.deepest is None or not found.short:
        return None
    return (
        f"{share(found.short, found.lists)} lists hold fewer than {facts.deepest} items; the shortest holds "
        f"{found.least}"
    )


@check("C003", "Items repeated in a list", "warning")
def repeated_items(facts: Facts) -> str | None:
    """An item stands more than once in a list; by default only its first place counts and what follows moves up."""
    met = facts.met
    if not met.duplicate_rows:
        return None
    user, item = cast("tuple[object, object]", met.examples["duplicate"])
    done = "count again" if facts.conventions.duplicates == "keep" else "were dropped"
    where = f"{several(met.duplicate_rows, 'row')} of {several(met.duplicate_lists, 'list')}"
    return f"repeated items in {where}, such as item {example(item)} for user {example(user)}, {done}"


@check("C004", "Lists for users the truth does not have", "info")
def extra_queries(facts: Facts) -> str | None:
    """The run has lists for users the truth does not ask about; they are not judged."""
    met = facts.met
    if not met.extra_queries:
        return None
    return (
        f"{share(met.extra_queries, met.lists + met.extra_queries)} lists are for users without truth, "
        f"such as {example(met.examples['extra_query'])}; they are not judged"
    )


@check("C005", "Users with nothing to find", "info")
def nothing_to_find(facts: Facts) -> str | None:
    """Some users of the truth have no relevant item, so accuracy is undefined for them and they leave the mean."""
    undefined = {row.metric: row.undefined for row in facts.rows if row.undefined}
    if not undefined:
        return None
    worst = max(undefined, key=lambda metric: undefined[metric])
    units = facts.met.queries
    return f"{share(undefined[worst], units)} users have no value under {worst} and are left out of its mean"


def _merged(sight: Sight) -> Share:
    return Share(sight.meeting.truth.conflicting, sight.meeting.truth.merged)


@check("C006", "Truth rows repeated", "warning", count=_merged)
def truth_repeated(facts: Facts) -> str | None:
    """The truth holds a (user, item) pair more than once; the highest gain was kept."""
    found: Share = facts.counted["C006"]
    if not found.whole:
        return None
    disagree = f", {several(found.part, 'row')} of them with another gain" if found.part else ""
    return f"{several(found.whole, 'row')} of the truth repeat a user and item{disagree}; the highest gain was kept"


def _unknown_items(sight: Sight) -> Share:
    assert sight.train is not None
    run = sight.meeting.run
    codes = run.vocabulary.translate(run.items, sight.train.item_vocabulary)
    return Share.of_rows(codes == UNKNOWN, run.queries, run.offsets, run.items, run.vocabulary)


@check("C007", "Items the training log does not know", "info", needs=("train",), count=_unknown_items)
def unknown_items(facts: Facts) -> tuple[Severity, str] | None:
    """Lists hold items that no training row mentions: cold items, or ids that were mapped differently.

    A warning if they are most of what is recommended.
    """
    found: Share = facts.counted["C007"]
    if found.first is None:
        return None
    counted = share(found.part, found.whole)
    return (
        "warning" if 2 * found.part > found.whole else "info",
        f"{counted} recommended rows are of items without training events, such as {example(found.first[1])}",
    )


@check("C008", "NaN scores placed last", "warning")
def nan_scores(facts: Facts) -> str | None:
    """Scores were NaN, and --nan last was asked for: such items stand at the end of their lists."""
    count = facts.met.nan_scores
    return f"{several(count, 'item')} with NaN for a score: placed last in the list" if count else None


@check("C009", "Too few units for an interval", "warning")
def few_units(facts: Facts) -> str | None:
    """With fewer than ten units an interval or a test says little."""
    few = [row for row in facts.rows if row.n < 10]
    if not few:
        return None
    return f"{few[0].metric} rests on {several(few[0].n, 'unit')}; its interval and any test on it say little"


def _untrained_users(sight: Sight) -> Share:
    assert sight.train is not None
    users = sight.meeting.truth.queries
    unknown = profile_rows(sight.train, users) < 0
    first = users[int(np.argmax(unknown))] if unknown.any() else None
    return Share(int(unknown.sum()), unknown.size, None if first is None else (first, first))


@check("C010", "Users without training events", "info", needs=("train",), count=_untrained_users)
def untrained_users(facts: Facts) -> str | None:
    """The truth asks about users that the training log does not know: nothing personal can be recommended to them."""
    found: Share = facts.counted["C010"]
    if found.first is None:
        return None
    counted = share(found.part, found.whole)
    return f"{counted} users of the truth have no training event, such as {found.first[1]!r}"


def _untrained_items(sight: Sight) -> Share:
    assert sight.train is not None
    train, truth = sight.train, sight.meeting.truth
    codes = truth.vocabulary.translate(truth.items, train.item_vocabulary)
    unknown = (codes < 0) | (train.item_users[np.maximum(codes, 0)] == 0)
    return Share.of_rows(unknown, truth.queries, truth.offsets, truth.items, truth.vocabulary)


@check("C011", "Relevant items without training events", "info", needs=("train",), count=_untrained_items)
def untrained_items(facts: Facts) -> str | None:
    """The truth holds items that no training row mentions: who learns from the log alone cannot find them."""
    found: Share = facts.counted["C011"]
    if found.first is None:
        return None
    counted = share(found.part, found.whole)
    return f"{counted} rows of the truth are of items without training events, such as {example(found.first[1])}"


@check("C012", "Systems with the same values", "warning", about=Stored)
def same_values(facts: Stored) -> str | None:
    """Two systems have the same value for every user under every metric: one run under two names, most likely."""
    if not facts.same:
        return None
    where, a, b = facts.same[0]
    more = f", and {len(facts.same) - 1:,} more such pairs" if len(facts.same) > 1 else ""
    return f"{a} and {b} have the same values for all users under all metrics{where}{more}"


@check("C013", "Means over different users", "warning", about=Stored)
def other_users(facts: Stored) -> str | None:
    """Systems that stand side by side were averaged over different numbers of users: their means do not compare."""
    groups: dict[tuple[str, str], dict[str, int]] = {}
    for row in facts.rows:
        where = ", ".join(str(row[part]) for part in PLACE if row.get(part) not in (None, "given"))
        groups.setdefault((str(row["metric"]), where), {})[str(row["system"])] = int(row.get("n") or 0)
    apart = {key: counts for key, counts in groups.items() if len(set(counts.values())) > 1}
    if not apart:
        return None
    (metric, where), counts = next(iter(apart.items()))
    least, most = (choose(counts, key=counts.__getitem__) for choose in (min, max))
    return (
        f"{metric}{f' ({where})' if where else ''} is a mean over {counts[least]:,} users for {least} and over "
        f"{counts[most]:,} for {most}, and so in {several(len(apart), 'comparison')}; compare on the users both have"
    )
