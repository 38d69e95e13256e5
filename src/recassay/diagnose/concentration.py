"""B0xx: how few items a truth is made of, and how few a system recommends."""

from __future__ import annotations

import numpy as np

from recassay.diagnose.base import Facts, check, several, share

LARGE = 100  # relevant items, or training items, of which a share says something
MANY = 1_000  # rows, likewise
HALF = 0.05  # half of all relevant rows on so small a share of the items
NARROW = 0.02  # all lists together from so small a share of the items


@check("B004", "Few items make most of the truth", "info")
def concentrated_truth(facts: Facts) -> str | None:
    """Half of what is relevant falls on a twentieth of the items or less: to know these is half of the work.

    Popularity does well on such a truth, whoever the user is; set a popular baseline beside every system.
    """
    relevant = facts.truth.items[facts.truth.gains > 0]
    counts = np.sort(np.unique(relevant, return_counts=True)[1])[::-1]
    if counts.size < LARGE or relevant.size < MANY:
        return None
    few = int(np.searchsorted(np.cumsum(counts), relevant.size / 2)) + 1
    if few > HALF * counts.size:
        return None
    return f"half of {relevant.size:,} relevant rows are of {share(few, counts.size)} relevant items"


@check("B005", "A system recommends few items", "info", needs=("train",))
def few_items(facts: Facts) -> str | None:
    """All lists of a system together hold a fiftieth of the items of the training log, or less.

    Nearly everybody is told the same. Accuracy does not see it: `coverage@10` and `gini@10` do.
    """
    assert facts.train is not None
    items, lists = facts.run.items, facts.run.queries.len()
    known, held = int((facts.train.item_users > 0).sum()), np.unique(items).size
    if known < LARGE or items.size < MANY or held > NARROW * known:
        return None
    return f"{several(lists, 'list')} hold {share(held, known)} items of the training log"
