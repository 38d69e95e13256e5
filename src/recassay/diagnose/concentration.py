"""B0xx: how few items a truth is made of, and how few a system recommends."""

from __future__ import annotations

import numpy as np

from recassay.diagnose.base import Facts, check, several, share
from recassay.diagnose.counts import Frequencies, Sight

LARGE = 100  # relevant items, or training items, of which a share says something
MANY = 1_000  # rows, likewise
HALF = 0.05  # half of all relevant rows on so small a share of the items
NARROW = 0.02  # all lists together from so small a share of the items


def _relevant(sight: Sight) -> Frequencies:
    truth = sight.meeting.truth
    return Frequencies.of_codes(truth.items[truth.gains > 0], truth.vocabulary, truth.queries.len())


@check("B004", "Few items make most of the truth", "info", count=_relevant)
def concentrated_truth(facts: Facts) -> str | None:
    """Half of what is relevant falls on a twentieth of the items or less: to know these is half of the work.

    Popularity does well on such a truth, whoever the user is; set a popular baseline beside every system.
    """
    found: Frequencies = facts.counted["B004"]
    counts = np.sort(found.counts)[::-1]
    rows = int(counts.sum())
    if counts.size < LARGE or rows < MANY:
        return None
    few = int(np.searchsorted(np.cumsum(counts), rows / 2)) + 1
    if few > HALF * counts.size:
        return None
    return f"half of {rows:,} relevant rows are of {share(few, counts.size)} relevant items"


def _recommended(sight: Sight) -> Frequencies:
    run = sight.meeting.run
    return Frequencies.of_codes(run.items, run.vocabulary, run.queries.len())


@check("B005", "A system recommends few items", "info", needs=("train",), count=_recommended)
def few_items(facts: Facts) -> str | None:
    """All lists of a system together hold a fiftieth of the items of the training log, or less.

    Nearly everybody is told the same. Accuracy does not see it: `coverage@10` and `gini@10` do.
    """
    assert facts.train is not None
    found: Frequencies = facts.counted["B005"]
    known, held = int((facts.train.item_users > 0).sum()), found.items.len()
    if known < LARGE or found.counts.sum() < MANY or held > NARROW * known:
        return None
    return f"{several(found.lists, 'list')} hold {share(held, known)} items of the training log"
