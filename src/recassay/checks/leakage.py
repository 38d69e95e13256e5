"""L001, L003: items of the user's own training events in lists and in the truth."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.checks.base import Facts, check, format_share
from recassay.checks.counts import CheckInput, RowShare
from recassay.columnar.layout import row_groups
from recassay.columnar.vocabulary import UNKNOWN, Vocabulary
from recassay.data.interactions import Interactions
from recassay.data.population import profile_rows


def _recommended(given: CheckInput) -> RowShare:
    assert given.train is not None
    run = given.alignment.run
    return RowShare(_seen(given.train, run.queries, run.offsets, run.items, run.vocabulary), run.items.size)


def _judged(given: CheckInput) -> RowShare:
    assert given.train is not None
    truth = given.alignment.truth
    return RowShare(_seen(given.train, truth.queries, truth.offsets, truth.items, truth.vocabulary), truth.items.size)


@check("L001", "Training items recommended", "warning", needs=("train",), count=_recommended)
def seen_items(facts: Facts) -> str | None:
    """Report if lists hold items of the user's own training events, which wastes positions.

    If the truth holds such items too, it is a leak.
    """
    found: RowShare = facts.counted["L001"]
    if not found.part:
        return None
    return f"{format_share(found.part, found.whole)} recommended rows are items of the user's own training events"


@check("L003", "The truth repeats training events", "warning", needs=("train",), count=_judged)
def truth_was_trained(facts: Facts) -> str | None:
    """Report if the truth holds items of the user's own training events: a system can be right by repeating them.

    This is intended if repeated consumption is to be predicted; otherwise the split leaks.
    """
    found: RowShare = facts.counted["L003"]
    if not found.part:
        return None
    return f"{format_share(found.part, found.whole)} rows of the truth are in the user's own training events"


def _seen(
    train: Interactions,
    queries: pl.Series,
    offsets: NDArray[np.int64],
    items: NDArray[np.int32],
    vocabulary: Vocabulary,
) -> int:
    """Return the number of rows of lists, or of a truth, whose item is in the training events of their user.

    ``offsets[i]:offsets[i + 1]`` are the rows of ``queries[i]``, and ``items`` are codes in ``vocabulary``.
    """
    codes = vocabulary.translate(items, train.item_vocabulary)
    users = profile_rows(train, queries)[row_groups(offsets)]
    known = (codes != UNKNOWN) & (users >= 0)
    starts, profile = train.by_user
    trained = row_groups(starts) * train.n_items + profile
    wanted = users[known] * train.n_items + codes[known]
    place = np.minimum(np.searchsorted(trained, wanted), max(trained.size - 1, 0))
    return int((trained[place] == wanted).sum()) if trained.size else 0
