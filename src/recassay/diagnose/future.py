"""L002, L004, L005: what a fold lets a system know of the future, and what nobody can tell of it."""

from __future__ import annotations

import numpy as np

from recassay.data.finding import Finding
from recassay.data.fold import Fold
from recassay.data.leaks import LeakReport, leaks
from recassay.diagnose.base import Check, Facts, check, share
from recassay.errors import InputError

FEW = 0.01  # ties of fewer users move no mean that is looked at


@check("L002", "The future leaks", "warning", needs=("fold",))
def future_leaks(facts: Facts) -> str | None:
    """Training events of a fold are later than its first test event: a system learned what it could not have known."""
    assert facts.fold is not None
    return _leak(_counted(facts.fold))


@check("L004", "Whether the future leaks is unknown", "info", needs=("fold",))
def leak_unknown(facts: Facts) -> str | None:
    """Nobody can tell whether training events are later than the first test event: times are missing or only an order.

    A log of positions in histories has an order within each user only, and with it nothing is known between users.
    """
    assert facts.fold is not None
    return _unknown(_counted(facts.fold))


@check("L005", "Ties of time decide what is test", "info", needs=("fold",))
def tied_tests(facts: Facts) -> str | None:
    """Users have events at the very time at which training ends and test begins: row order decides which are test."""
    assert facts.fold is not None
    return _tied(facts.fold)


def fold_findings(fold: Fold) -> tuple[Finding, ...]:
    """What these checks say of a fold, before any system is judged on it; nothing of a log without times.

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
    counted = _counted(fold)
    asked: tuple[tuple[Check, str | None], ...] = (
        (future_leaks, _leak(counted)),
        (leak_unknown, _unknown(counted)),
        (tied_tests, _tied(fold)),
    )
    return tuple(Finding(one.code, one.severity, one.title, detail) for one, detail in asked if detail is not None)


def _counted(fold: Fold) -> LeakReport | str | None:
    """Training events that are later than test events; why they cannot be counted; None for a log without times."""
    if fold.train.timestamps is None:
        return None
    try:
        return leaks(fold)
    except InputError as error:
        return error.what


def _leak(found: LeakReport | str | None) -> str | None:
    if not isinstance(found, LeakReport):
        return None
    of_user = share(found.later_of_user, found.train)
    if found.later is None:
        told = (
            f"{of_user} training events are later than the first test event of their own user; of others nobody knows"
        )
        return told if found.later_of_user else None
    if not found.later:
        return None
    of_all = f"{share(found.later, found.train)} training events are later than the first test event"
    return f"{of_all}, {of_user} later than the first test event of their own user"


def _unknown(found: LeakReport | str | None) -> str | None:
    if isinstance(found, str):
        return f"{found}: which training events are later than the first test event cannot be told"
    if found is None or found.later is not None or found.later_of_user:
        return None
    return (
        "no training event is later than the first test event of its own user; of other users nobody knows, for the "
        "times of the log are an order within each user only"
    )


def _tied(fold: Fold) -> str | None:
    ties, users = int(fold.how.get("ties", 0)), np.unique(fold.test.users).size
    if ties < FEW * users or not ties:
        return None
    return (
        f"{share(ties, users)} users with test events have events at one time on both sides of a cut: the order of "
        "rows decides which of them are test"
    )
