"""L002, L004, L005: training events of a fold that are later than test events, and cases where this is unknown."""

from __future__ import annotations

import numpy as np

from recassay.checks.base import check, diagnose, format_share
from recassay.data.fold import Fold, LeakReport, leaks
from recassay.errors import InputError
from recassay.results.finding import Finding

FEW = 0.01  # share of users; ties of fewer users hardly change a mean


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
    found: LeakReport | str | None = None  # counts, or why they are unknown; None for a log without times
    if fold.train.timestamps is not None:
        try:
            found = leaks(fold)
        except InputError as error:
            found = error.what
    return diagnose("fold", fold=fold, leaks=found)


@check("L002", "Training events are later than test events", "warning", about="fold")
def future_leaks(leaks: LeakReport | str) -> str | None:
    """Report if training events are later than the first test event: the system learned from the future."""
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
    """Report if times are missing, or order only one user's events: training events may be later than test events.

    A log of positions in histories has an order within each user only. Events of different users cannot be compared.
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
    """Report if users have events at the time at which test begins: row order decides which of these are test."""
    ties, users = int(fold.how.get("ties", 0)), np.unique(fold.test.users).size
    if ties < FEW * users or not ties:
        return None
    return (
        f"{format_share(ties, users)} users with test events have events of one time on both sides of the split: row "
        "order decides which of them are test"
    )
