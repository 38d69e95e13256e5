"""C0xx, L0xx, R010 and S006 of folds, tables and folders: leaks, other users or lists, removed rows, old files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from recassay.checks.base import TARGET_SET_COLUMN, check, diagnose, format_count, format_share
from recassay.data.fold import Fold, LeakReport, leaks
from recassay.errors import InputError
from recassay.metrics.base import CatalogueMetric
from recassay.metrics.registry import known_metric
from recassay.results.finding import Finding, Severity
from recassay.results.scores import PLACES

Row = Mapping[str, Any]

MANY_SHORT = 0.05  # share of the users
PLACE = ("dataset", "split", "protocol", "design", "seed", "fold")
APART = 1.1  # ratio of lengths; smaller differences come from users with few candidates
MOST_REMOVED = 1 / 10  # share of the rows
FEW_TIED = 0.01  # share of users; ties of fewer users hardly change a mean


@check("C012", "Systems with the same values", "warning", about="table")
def same_values(same: Sequence[tuple[str, str, str]]) -> str:
    """Return a warning if two systems have the same value for every user and metric.

    Most likely they are one run under two names. ``same`` has (data set, split and so on as text, system, system).
    """
    where, a, b = same[0]
    more = f", and {len(same) - 1:,} more such pairs" if len(same) > 1 else ""
    return f"{a} and {b} have the same values for all users and all metrics{where}{more}"


@check("C013", "Means over different users", "warning", about="table")
def other_users(rows: Sequence[Row]) -> tuple[Severity, str] | None:
    """Return a warning if systems of one table were averaged over different numbers of users.

    Their means are not comparable. The severity is info if only metrics that describe lists, such as diversity, differ
    in their users.
    """
    apart = {
        key: of_metric
        for key, of_metric in _by_metric(rows).items()
        if len({_count(row, "n") for row in of_metric}) > 1 and not isinstance(known_metric(key[0]), CatalogueMetric)
    }
    if not apart:
        return None
    judging = [key for key in apart if (metric := known_metric(key[0])) is None or not metric.describes]
    heading, where = key = (judging or list(apart))[0]
    least, most = (choose(apart[key], key=lambda row: _count(row, "n")) for choose in (min, max))
    return (
        "warning" if judging else "info",
        f"{heading}{f' ({where})' if where else ''} is a mean over {_count(least, 'n'):,} users for {least['system']} "
        f"and over {_count(most, 'n'):,} for {most['system']} (user numbers differ in "
        f"{format_count(len(apart), 'comparison')}); compare on the users that both have",
    )


@check("C019", "Lists shorter than those of another system", "warning", about="table")
def shorter_lists(rows: Sequence[Row]) -> str | None:
    """Return a warning if a system has short lists for users whose lists reach the cut-off in another system.

    Missing items count as misses, so a file that is cut, or a run with fewer items per user, has a lower mean. Systems
    are reported if this holds for at least 5 % of the users.
    """
    worst: tuple[int, Row, Row] | None = None
    for of_metric in _by_metric(rows).values():
        if any(TARGET_SET_COLUMN in row for row in of_metric):
            continue
        fullest = min(of_metric, key=lambda row: _count(row, "short") + _count(row, "missing"))
        shortest = max(of_metric, key=lambda row: _count(row, "short"))
        # a lower bound of the users with a short list in one system and a list that reaches the cut-off in the other
        users = _count(shortest, "short") - _count(fullest, "short") - _count(fullest, "missing")
        of_all = max(_count(row, "n") + _count(row, "undefined") for row in of_metric)
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


def _by_metric(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return the rows of all systems keyed by (metric, data set with split and so on as text)."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        where = ", ".join(str(row[part]) for part in PLACE if row.get(part) not in (None, "given"))
        groups.setdefault((str(row["metric"]), where), []).append(row)
    return groups


def _count(row: Row, name: str) -> int:
    return int(row.get(name) or 0)


@check("S006", "A metric without a cut-off compares lists of different lengths", "info", about="list lengths")
def different_lengths(rows: Iterable[Row]) -> str | None:
    """Return a warning if systems are compared by an uncut ranking metric on lists of different lengths.

    A metric is uncut if it has no cut-off: ``mrr`` uses all positions. A run cut at 10 then has a lower maximum than
    one with 100 positions, and neither equals the value of `judge` on the whole target set. A run next to a target set
    is reported too.
    """
    places: dict[str, dict[str, list[int | None]]] = {}  # None stands for all candidates
    for row in rows:
        metric, length = known_metric(str(row["metric"])), (row.get("parameters") or {}).get(PLACES)
        if metric is None or not metric.is_uncut or metric.family != "ranking":
            continue
        if length is not None or TARGET_SET_COLUMN in row:
            places.setdefault(row["metric"], {}).setdefault(row["system"], []).append(length)
    texts = []
    for heading, systems in places.items():
        lists = {name: max(of for of in lengths if of is not None) for name, lengths in systems.items() if any(lengths)}
        if not lists:
            continue
        short, long = min(lists, key=lambda name: lists[name]), max(lists, key=lambda name: lists[name])
        first = f"{heading} is computed on the first {lists[long]:,} positions of"
        if any(None in lengths for lengths in systems.values()):
            texts.append(f"{first} lists, and on whole target sets")
        elif lists[long] > APART * lists[short]:
            texts.append(f"{first} {long} and {lists[short]:,} of {short}: use {heading}@{lists[short]}")
    return "; ".join(texts) or None


@check("C016", "Filters or a split remove many rows", "info", about="removed rows")
def removed(steps: Mapping[str, tuple[int, Mapping[str, int]]]) -> str | None:
    """Return a warning if filters or the split removed more than a tenth of the rows of a log.

    This is their purpose, but the results are about the remaining users and items only.
    """
    parts = []
    for step, (before, reasons) in steps.items():
        gone = sum(reasons.values())
        if gone > MOST_REMOVED * before:
            why = ", ".join(f"{reason}: {count:,}" for reason, count in reasons.items() if count)
            parts.append(f"{step} removed {format_share(gone, before)} rows ({why})")
    return "; ".join(parts) or None


@check("C017", "Re-ranked items without features", "warning", about="re-ranking")
def bare_rows(rows: int, bare: int) -> str | None:
    """Return a warning if most rows of a run are of items that a re-ranker cannot compare.

    It has neither features nor training users for them, and treats them as unlike all others. Most often the ids in the
    table of items are of another kind than those of the run.
    """
    text = f"{format_share(bare, rows)} rows are of items without features: the new order says little about diversity"
    return text if 2 * bare > rows else None


@check("C018", "Metrics that a data set cannot have", "info", about="absent metrics")
def absent_metrics(metrics: Sequence[str]) -> str:
    """Return a warning if a study has metrics that need features of items, and a data set without them.

    The data set has no values of these metrics; the other data sets have them.
    """
    return f"the data set has no features of items (`items:`), so it has no {', '.join(metrics)}"


@check("R010", "A run in the folder of a study was replaced", "warning", about="replaced runs")
def replaced_run(files: Sequence[str]) -> str:
    """Return a warning if a run that the study computed was replaced by another, which is scored as it is.

    Items that its lists lack all tie below the listed ones, so designs that rank all items see a list, not a model.
    """
    shown = ", ".join(files[:3]) + (", ..." if len(files) > 3 else "")
    return (
        f"{format_count(len(files), 'run')} of this system are not what the study computed ({shown}); the "
        "scores are those of the files as they are; to compute them again, delete the files"
    )


def fold_findings(fold: Fold) -> tuple[Finding, ...]:
    """Return the findings of L002, L004 and L005 for a fold; no system needs to be evaluated.

    There are none for a log without times.

    >>> import numpy as np
    >>> import polars as pl
    >>> from recassay.data.interactions import Interactions
    >>> frame = pl.DataFrame({"user_id": [*"aabb"], "item_id": [*range(4)], "timestamp": [1, 2, 3, 4]})
    >>> log = Interactions.from_frame(frame)
    >>> (found,) = fold_findings(Fold(log.take(np.array([0, 2])), log.take(np.array([1, 3])), "per user", {}))
    >>> found.code, found.detail
    ('L002', '1 of 2 (50 %) training events are later than the first test event, 0 of 2 (0 %) later than the first
    test event of their own user')
    """
    report: LeakReport | str | None = None  # counts, or why they are unknown; None for a log without times
    if fold.train.timestamps is not None:
        try:
            report = leaks(fold)
        except InputError as error:
            report = error.what
    return diagnose("fold", fold=fold, leaks=report)


@check("L002", "Training events are later than test events", "warning", about="fold")
def future_leaks(leaks: LeakReport | str) -> str | None:
    """Return a warning if training events are later than the first test event: the system learned from the future."""
    if isinstance(leaks, str):
        return None
    of_user = format_share(leaks.later_of_user, leaks.train)
    if leaks.later is None:
        text = (
            f"{of_user} training events are later than the first test event of their own user; for others it is unknown"
        )
        return text if leaks.later_of_user else None
    of_all = f"{format_share(leaks.later, leaks.train)} training events are later than the first test event"
    return f"{of_all}, {of_user} later than the first test event of their own user" if leaks.later else None


@check("L004", "Unknown whether training events are later than test events", "info", about="fold")
def leak_unknown(leaks: LeakReport | str) -> str | None:
    """Return a warning if times are missing, or order only the events of single users.

    Training events may then be later than test events. A log of positions in histories has an order within each user
    only. Events of different users cannot be compared.
    """
    if isinstance(leaks, str):
        return f"{leaks}: which training events are later than the first test event is unknown"
    if leaks.later is not None or leaks.later_of_user:
        return None
    return (
        "no training event is later than the first test event of its own user; for other users it is unknown, because "
        "the times of the log only order the events of each user"
    )


@check("L005", "Row order decides which events are test", "info", about="fold")
def tied_tests(fold: Fold) -> str | None:
    """Return a warning if users have events at the time at which test begins.

    The order of rows then decides which of these events are test.
    """
    ties, users = int(fold.how.get("ties", 0)), np.unique(fold.test.users).size
    if ties < FEW_TIED * users or not ties:
        return None
    return (
        f"{format_share(ties, users)} users with test events have events of one time on both sides of the split: row "
        "order decides which of them are test"
    )
