"""L002: training events that are later than what they are to predict."""

from __future__ import annotations

from recassay.data.finding import Finding
from recassay.data.fold import Fold
from recassay.data.leaks import leaks
from recassay.diagnose.base import Facts, check, share


@check("L002", "The future leaks", "warning", needs=("fold",))
def future_leaks(facts: Facts) -> str | None:
    """Training events of a fold are later than its first test event: a system learned what it could not have known."""
    assert facts.fold is not None
    return _told(facts.fold)


def leak_finding(fold: Fold) -> Finding | None:
    """What L002 says of a fold, before any system is judged on it; None if nothing leaks or the log has no times.

    >>> import numpy as np
    >>> import polars as pl
    >>> from recassay.data.interactions import Interactions
    >>> frame = pl.DataFrame({"user_id": [*"aabb"], "item_id": [*range(4)], "timestamp": [1, 2, 3, 4]})
    >>> log = Interactions.from_frame(frame)
    >>> found = leak_finding(Fold(log.take(np.array([0, 2])), log.take(np.array([1, 3])), "per user", {}))
    >>> found.code, found.detail
    ('L002', '1 of 2 (50 %) training events are later than the first test event, 0 of 2 (0 %) later than the first
    test event of their own user')
    """
    detail = _told(fold)
    return None if detail is None else Finding("L002", future_leaks.severity, future_leaks.title, detail)


def _told(fold: Fold) -> str | None:
    if fold.train.timestamps is None:
        return None
    found = leaks(fold)
    if not found.later:
        return None
    return (
        f"{share(found.later, found.train)} training events are later than the first test event, "
        f"{share(found.later_of_user, found.train)} later than the first test event of their own user"
    )
