"""L0xx: what should not be there: items a user had before, in lists and in the truth."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.layout import stretch_of
from recassay.data.recoding import Recoding
from recassay.data.vocabulary import UNKNOWN, Vocabulary
from recassay.diagnose.base import Facts, check, share
from recassay.diagnose.counts import Share, Sight


def _recommended(sight: Sight) -> Share:
    assert sight.train is not None
    run = sight.meeting.run
    return Share(_seen(sight.train, run.queries, run.offsets, run.items, run.vocabulary), run.items.size)


def _asked(sight: Sight) -> Share:
    assert sight.train is not None
    truth = sight.meeting.truth
    return Share(_seen(sight.train, truth.queries, truth.offsets, truth.items, truth.vocabulary), truth.items.size)


@check("L001", "Training items recommended", "warning", needs=("train",), count=_recommended)
def seen_items(facts: Facts) -> str | None:
    """Lists hold items of the user's own training profile: places wasted, or a leak if the truth holds them too."""
    found: Share = facts.counted["L001"]
    if not found.part:
        return None
    return f"{share(found.part, found.whole)} recommended rows are items of the user's own training profile"


@check("L003", "The truth repeats training events", "warning", needs=("train",), count=_asked)
def truth_was_trained(facts: Facts) -> str | None:
    """The truth holds items of the user's own training profile: a system that remembers is right without foretelling.

    Where users come back to items, and are meant to, that is what is asked; else the split leaks.
    """
    found: Share = facts.counted["L003"]
    if not found.part:
        return None
    return f"{share(found.part, found.whole)} rows of the truth are in the user's own training profile"


def profile_rows(train: Interactions, queries: pl.Series) -> NDArray[np.integer]:
    """The row of every query in the profiles of a log; less than 0 where it has none."""
    assert train.user_vocabulary.ids is not None
    vocabulary, codes = Vocabulary.encode(queries)
    rows = Recoding.between(vocabulary, train.user_vocabulary.ids, "user")(codes)
    offsets, _ = train.by_user
    if offsets.size < 2:  # a part of a log can be of nobody
        return np.full(queries.len(), -1)
    known: NDArray[np.integer] = np.where((rows >= 0) & (np.diff(offsets)[np.maximum(rows, 0)] > 0), rows, -1)
    return known


def _seen(
    train: Interactions,
    queries: pl.Series,
    offsets: NDArray[np.int64],
    items: NDArray[np.int32],
    vocabulary: Vocabulary,
) -> int:
    """How many rows of lists, or of a truth, are of items that their user has in training."""
    codes = vocabulary.translate(items, train.item_vocabulary)
    users = profile_rows(train, queries)[stretch_of(offsets)]
    known = (codes != UNKNOWN) & (users >= 0)
    starts, profile = train.by_user
    trained = stretch_of(starts) * train.n_items + profile
    asked = users[known] * train.n_items + codes[known]
    place = np.minimum(np.searchsorted(trained, asked), max(trained.size - 1, 0))
    return int((trained[place] == asked).sum()) if trained.size else 0
