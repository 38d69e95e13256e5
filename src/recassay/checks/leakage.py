"""L001, L003: items of the user's own training events in lists and in the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay.checks.base import Facts, check, format_share
from recassay.checks.counts import RowShare
from recassay.columnar.layout import row_groups
from recassay.columnar.vocabulary import UNKNOWN
from recassay.data.interactions import Interactions
from recassay.data.population import profile_rows
from recassay.data.run import Run
from recassay.data.truth import Truth


def _share(train: Interactions | None, lists: Run | Truth) -> RowShare:
    assert train is not None
    return RowShare(int(seen_rows(train, lists).sum()), lists.items.size)


@check(
    "L001",
    "Training items recommended",
    "warning",
    needs=("train",),
    count=lambda given: _share(given.train, given.alignment.run),
)
def seen_items(facts: Facts) -> str | None:
    """Report if lists hold items of the user's own training events, which wastes positions.

    If the truth holds such items too, it is a leak.
    """
    found: RowShare = facts.counted["L001"]
    if not found.part:
        return None
    return f"{format_share(found.part, found.whole)} recommended rows are items of the user's own training events"


@check(
    "L003",
    "The truth repeats training events",
    "warning",
    needs=("train",),
    count=lambda given: _share(given.train, given.alignment.truth),
)
def truth_was_trained(facts: Facts) -> str | None:
    """Report if the truth holds items of the user's own training events: a system can be right by repeating them.

    This is intended if repeated consumption is to be predicted; otherwise the split leaks.
    """
    found: RowShare = facts.counted["L003"]
    if not found.part:
        return None
    return f"{format_share(found.part, found.whole)} rows of the truth are in the user's own training events"


def seen_rows(train: Interactions, lists: Run | Truth) -> NDArray[np.bool_]:
    """Return a mask of the rows of lists, or of a truth, whose item is in the training events of their user."""
    codes = lists.vocabulary.translate(lists.items, train.item_vocabulary)
    users = profile_rows(train, lists.queries)[row_groups(lists.offsets)]
    known = (codes != UNKNOWN) & (users >= 0)
    starts, profile = train.by_user
    trained = row_groups(starts) * train.n_items + profile
    wanted = users[known] * train.n_items + codes[known]
    place = np.minimum(np.searchsorted(trained, wanted), max(trained.size - 1, 0))
    seen = np.zeros(known.size, np.bool_)
    if trained.size:
        seen[known] = trained[place] == wanted
    return seen
