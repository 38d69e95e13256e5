"""C0xx, B0xx, L0xx, T0xx and P0xx of lists: users and items that the files contain or lack, leaks, ties, few items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl

from recassay.arrays import Bool, Int32
from recassay.checks.base import check, format_count, format_id, format_share
from recassay.checks.counts import CheckCounts, count_lengths, frequencies
from recassay.checks.files import count_ids, count_reading
from recassay.columnar.layout import is_one_number, row_groups
from recassay.columnar.vocabulary import UNKNOWN, count_codes
from recassay.data.fold import known_users, profile_rows
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.metrics.align import Alignment, Conventions
from recassay.results.finding import Severity
from recassay.results.scores import Marks, Summary, bit

LARGE = 100  # relevant or training items; with fewer, a share means little
MANY = 1_000  # rows; with fewer, a share means little
HALF = 0.05  # share of the items that hold half of all relevant rows
NARROW = 0.02  # share of the items that all lists together hold
FEW_UNITS = 10


class TieRange(NamedTuple):
    """The mean of a metric in the worst and in the best order of tied rows; ``reach`` is half its interval's width."""

    worst: float
    best: float
    reach: float


def count(alignment: Alignment, deepest: int | None, train: Interactions | None) -> tuple[CheckCounts, Marks]:
    """Return what checks look at in lists that are aligned with the truth, and the marks of the users whom they name.

    ``deepest`` is the largest cut-off, None without one. Marks say which findings name each user of the truth; findings
    that need the training log name nobody without it.
    """
    run, truth, missing = alignment.run, alignment.truth, alignment.match < 0
    marks: Marks = np.where(missing, bit("C001"), 0).astype(np.uint8)
    marks[np.flatnonzero(~missing)[alignment.judged_lengths < (deepest or 0)]] |= bit("C002")
    sums = {"run_rows": run.items.size, "run_lists": run.queries.len(), "truth_rows": truth.items.size}
    sums |= {"merged_rows": truth.merged, "conflicting_rows": truth.conflicting}
    relevant = truth.item_counts if is_one_number(truth.gains) else count_codes(truth.items[truth.gains > 0])
    items = {"relevant_items": frequencies(relevant, truth.vocabulary)}
    examples: dict[str, tuple[Any, Any]] = {}
    if train is not None:
        untrained = ~known_users(train, truth.queries)
        sums |= {"untrained_users": int(untrained.sum()), "untrained_missing": int((untrained & missing).sum())}
        marks[untrained] |= bit("C010")
        if untrained.any():
            user = truth.queries[int(np.argmax(untrained))]
            examples["untrained_user"] = user, user
        codes, seen = _seen_rows(train, run)
        sums |= {"rows_untrained": int((codes == UNKNOWN).sum()), "rows_seen": int(seen.sum())}
        examples |= _first("untrained_item", codes == UNKNOWN, run)
        listed = np.zeros(run.queries.len() + 1, np.bool_)  # the last entry is for users without a list
        listed[row_groups(run.offsets)[seen]] = True
        marks[listed[alignment.match]] |= bit("L001")
        codes, seen = _seen_rows(train, truth)
        marks[np.unique(row_groups(truth.offsets)[seen])] |= bit("L003")
        unknown = (codes < 0) | (train.item_users[np.maximum(codes, 0)] == 0)
        sums |= {"truth_untrained": int(unknown.sum()), "truth_seen": int(seen.sum())}
        examples |= _first("untrained_relevant", unknown, truth)
        items["listed_items"] = frequencies(count_codes(run.items), run.vocabulary)
    counted = CheckCounts(sums, examples=examples, frequencies=items)
    parts = count_lengths(alignment, deepest), count_ids(alignment), count_reading(alignment, train)
    return sum(parts, counted), marks


def _seen_rows(train: Interactions, lists: Run | Truth) -> tuple[Int32, Bool]:
    """Return the codes of rows in the log, and a mask of those whose item is in the training events of their user."""
    codes = lists.vocabulary.translate(lists.items, train.item_vocabulary)
    users = profile_rows(train, lists.queries)[row_groups(lists.offsets)]
    known = (codes != UNKNOWN) & (users >= 0)
    starts, profile = train.by_user
    trained = row_groups(starts) * train.n_items + profile
    wanted = users[known] * train.n_items + codes[known]
    seen = np.zeros(known.size, np.bool_)
    if trained.size:
        seen[known] = trained[np.minimum(np.searchsorted(trained, wanted), trained.size - 1)] == wanted
    return codes, seen


def _first(name: str, which: Bool, lists: Run | Truth) -> dict[str, tuple[Any, Any]]:
    """Return the user and the item of the first row that the mask ``which`` selects, by ``name``; nothing if none."""
    if not which.any():
        return {}
    row = int(np.argmax(which))
    user = lists.queries[int(np.searchsorted(lists.offsets, row, side="right")) - 1]
    return {name: (user, lists.vocabulary.decode(lists.items[[row]])[0])}


@check("C001", "Users without a list", "warning")
def missing_lists(missing: int, queries: int, examples: Mapping[str, object], untrained_missing: int = 0) -> str | None:
    """Report if users of the truth have no list in the run; by default each counts as an empty list.

    Models that know users by their events give no list to a user without training events. If there are no others,
    C010 reports them instead.
    """
    if missing == untrained_missing:
        return None
    return (
        f"{format_share(missing, queries)} users of the truth have no list, "
        f"{f'{untrained_missing:,} of them without training events, ' if untrained_missing else ''}such as "
        f"{format_id(examples['missing'])}; accuracy metrics count them as empty lists unless missing='skip'"
    )


@check("C002", "Lists shorter than the cut-off", "info")
def short_lists(short_lists: int, judged_lists: int, lengths: tuple[int, int], deepest: int) -> str:
    """Report if lists hold fewer items than the largest cut-off; missing items count as misses."""
    short = format_share(short_lists, judged_lists)
    return f"{short} lists hold fewer than {deepest} items; the shortest holds {lengths[0]}"


@check("C003", "Items repeated in a list", "warning")
def repeated_items(
    duplicate_rows: int, duplicate_lists: int, examples: Mapping[str, object], conventions: Conventions
) -> str:
    """Report if an item is in a list more than once; by default only the first counts, and later items move up."""
    user, item = cast("tuple[object, object]", examples["duplicate"])
    outcome = "are counted again" if conventions.duplicates == "keep" else "were dropped"
    where = f"{format_count(duplicate_rows, 'row')} of {format_count(duplicate_lists, 'list')}"
    return f"repeated items in {where}, such as item {format_id(item)} for user {format_id(user)}, {outcome}"


@check("C004", "Lists for users that are not in the truth", "info")
def extra_queries(extra_queries: int, examples: Mapping[str, object], conventions: Conventions, lists: int = 0) -> str:
    """Report if the run has lists for users that are not in the truth; they are not scored."""
    return (
        f"{format_share(extra_queries, lists + extra_queries)} lists are for users that are not in the "
        f"truth{' or have no training event' if conventions.users == 'known' else ''}, "
        f"such as {format_id(examples['extra_query'])}; they are not scored"
    )


@check("C005", "Users without relevant items", "info")
def nothing_to_find(rows: tuple[Summary, ...], queries: int) -> str | None:
    """Report if users of the truth have no relevant item: accuracy is undefined for them, and means exclude them."""
    undefined = {row.metric: row.undefined for row in rows if row.undefined}
    if not undefined:
        return None
    worst = max(undefined, key=lambda metric: undefined[metric])
    return f"{format_share(undefined[worst], queries)} users have no value of {worst} and are excluded from its mean"


@check("C006", "Truth rows repeated", "warning")
def truth_repeated(merged_rows: int, conflicting_rows: int = 0) -> str:
    """Report if the truth holds a pair of user and item more than once; the highest gain was kept."""
    disagree = f", {format_count(conflicting_rows, 'row')} of them with another gain" if conflicting_rows else ""
    rows = format_count(merged_rows, "row")
    return f"{rows} of the truth repeat a user and item{disagree}; the highest gain was kept"


@check("C007", "Recommended items without training events", "info", needs=("train",))
def unknown_items(rows_untrained: int, run_rows: int, untrained_item: tuple[Any, Any]) -> tuple[Severity, str]:
    """Report if lists hold items that are not in the training log: cold items, or ids that were mapped differently.

    The severity is warning if most recommended rows are of such items, else info.
    """
    counted = format_share(rows_untrained, run_rows)
    return (
        "warning" if 2 * rows_untrained > run_rows else "info",
        f"{counted} recommended rows are of items without training events, such as {format_id(untrained_item[1])}",
    )


@check("C008", "NaN scores placed last", "warning")
def nan_scores(nan_scores: int) -> str:
    """Report if scores are NaN; with `--nan last` such items are at the end of their lists."""
    are = "is" if nan_scores == 1 else "are"
    return f"{format_count(nan_scores, 'item')} with a NaN score {are} placed last in the list"


@check("C009", "Too few units for an interval", "warning")
def few_units(rows: tuple[Summary, ...]) -> str | None:
    """Report if a mean is over fewer than ten units: its interval, and tests on it, are unreliable."""
    few = next((row for row in rows if row.n < FEW_UNITS), None)
    if few is None:
        return None
    return f"{few.metric} is a mean over {format_count(few.n, 'unit')}; its interval and tests on it are unreliable"


@check("C010", "Users without training events", "warning", needs=("train",))
def untrained_users(
    untrained_users: int, queries: int, untrained_user: tuple[Any, Any], untrained_missing: int = 0
) -> tuple[Severity, str]:
    """Report if the truth has users who are not in the training log: no system can personalise for them.

    The severity is warning from 1 % of the users on, else info. Such users can turn the order of systems: there a
    popular list is the best that a system can do, and a personalised model gives none.
    """
    return (
        "warning" if 100 * untrained_users >= queries else "info",
        f"{format_share(untrained_users, queries)} users of the truth have no training event, such as "
        f"{format_id(untrained_user[1])}{f' (no list for {untrained_missing:,} of them)' if untrained_missing else ''}"
        "; no system can personalise for them: score the others with users='known', or split so that every user has a "
        "past, such as random(test=0.2, by='user')",
    )


@check("C011", "Relevant items without training events", "info", needs=("train",))
def untrained_items(truth_untrained: int, truth_rows: int, untrained_relevant: tuple[Any, Any]) -> str:
    """Report if the truth holds items without training events: a system that learns from these cannot find them."""
    share, item = format_share(truth_untrained, truth_rows), format_id(untrained_relevant[1])
    return f"{share} rows of the truth are of items without training events, such as {item}"


@check("B004", "Few items make up most of the truth", "info")
def concentrated_truth(relevant_items: pl.DataFrame) -> str | None:
    """Report if half of the relevant rows are of 5 % of the items or fewer.

    Recommending popular items to everybody does well on such a truth. Compare every system with a popularity baseline.
    """
    counts = relevant_items["count"].sort(descending=True).to_numpy()
    rows = int(counts.sum())
    if counts.size < LARGE or rows < MANY:
        return None
    few = int(np.searchsorted(np.cumsum(counts), rows / 2)) + 1
    text = f"half of {rows:,} relevant rows are of {format_share(few, counts.size)} relevant items"
    return text if few <= HALF * counts.size else None


@check("B005", "A system recommends few items", "info", needs=("train",))
def few_items(train: Interactions, listed_items: pl.DataFrame, run_lists: int, run_rows: int) -> str | None:
    """Report if all lists of a system together hold 2 % of the items of the training log or fewer.

    Nearly all users get the same recommendations. Accuracy does not show it; `coverage@10` and `gini@10` do.
    """
    known, held = int((train.item_users > 0).sum()), listed_items.height
    if known < LARGE or run_rows < MANY or held > NARROW * known:
        return None
    return f"{format_count(run_lists, 'list')} hold {format_share(held, known)} items of the training log"


@check("L001", "Training items recommended", "warning", needs=("train",))
def seen_items(rows_seen: int, run_rows: int) -> str:
    """Report if lists hold items of the user's own training events, which wastes positions.

    If the truth holds such items too, it is a leak.
    """
    return f"{format_share(rows_seen, run_rows)} recommended rows are items of the user's own training events"


@check("L003", "The truth repeats training events", "warning", needs=("train",))
def truth_was_trained(truth_seen: int, truth_rows: int) -> str:
    """Report if the truth holds items of the user's own training events: a system can be right by repeating them.

    This is intended if repeated consumption is to be predicted; otherwise the split leaks.
    """
    return f"{format_share(truth_seen, truth_rows)} rows of the truth are in the user's own training events"


@check("T001", "Ties decide part of the result", "warning")
def ties_matter(
    tied_rows: int, tied_lists: int, tie_ranges: Mapping[str, TieRange], rows: tuple[Summary, ...]
) -> tuple[Severity, str] | None:
    """Report if equal scores or ranks leave the order of rows open, and a mean depends on that order.

    The mean lies between those of the worst and the best order. The severity is warning if these two are further apart
    than the width of the mean's interval, else info.
    """
    moved = {metric: ties for metric, ties in tie_ranges.items() if ties.best - ties.worst > 1e-12}
    if not moved:
        return None
    metric, widest = max(moved.items(), key=lambda pair: pair[1].best - pair[1].worst)
    matters = any(ties.best - ties.worst > 2 * ties.reach for ties in moved.values())
    mean = next(row.mean for row in rows if row.metric == metric)
    return (
        "warning" if matters else "info",
        f"{format_count(tied_rows, 'row')} of {format_count(tied_lists, 'list')} tie with the row above; "
        f"{metric} is {mean:.4f} and could be {widest.worst:.4f} to {widest.best:.4f} by the order of tied rows alone; "
        "ties='expected' takes the mean over all orders",
    )


@check("P001", "The profile does not reproduce all of these numbers", "warning")
def not_reproduced(exclusions: tuple[str, ...]) -> str:
    """Report if the input has properties that the profile's library leaves open or gets wrong.

    The library may then print other numbers than this profile.
    """
    return "; ".join(exclusions)
