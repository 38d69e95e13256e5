"""B0xx: concentration of the truth, and of recommendations, on few items."""

from __future__ import annotations

import numpy as np

from recassay.checks.base import Facts, check, format_count, format_share
from recassay.checks.counts import CheckInput, ItemFrequencies
from recassay.columnar.layout import is_one_number
from recassay.columnar.vocabulary import count_codes

LARGE = 100  # relevant or training items; with fewer, a share means little
MANY = 1_000  # rows; with fewer, a share means little
HALF = 0.05  # share of the items that hold half of all relevant rows
NARROW = 0.02  # share of the items that all lists together hold


def _relevant(given: CheckInput) -> ItemFrequencies:
    truth = given.alignment.truth
    counted = truth.item_counts if is_one_number(truth.gains) else count_codes(truth.items[truth.gains > 0])
    return ItemFrequencies.of_counts(*counted, truth.vocabulary, truth.queries.len())


@check("B004", "Few items make up most of the truth", "info", count=_relevant)
def concentrated_truth(facts: Facts) -> str | None:
    """Report if half of the relevant rows are of 5 % of the items or fewer.

    Recommending popular items to everybody does well on such a truth. Compare every system with a popularity baseline.
    """
    found: ItemFrequencies = facts.counted["B004"]
    counts = np.sort(found.counts)[::-1]
    rows = int(counts.sum())
    if counts.size < LARGE or rows < MANY:
        return None
    few = int(np.searchsorted(np.cumsum(counts), rows / 2)) + 1
    if few > HALF * counts.size:
        return None
    return f"half of {rows:,} relevant rows are of {format_share(few, counts.size)} relevant items"


def _recommended(given: CheckInput) -> ItemFrequencies:
    run = given.alignment.run
    return ItemFrequencies.of_codes(run.items, run.vocabulary, run.queries.len())


@check("B005", "A system recommends few items", "info", needs=("train",), count=_recommended)
def few_items(facts: Facts) -> str | None:
    """Report if all lists of a system together hold 2 % of the items of the training log or fewer.

    Nearly all users get the same recommendations. Accuracy does not show it; `coverage@10` and `gini@10` do.
    """
    assert facts.train is not None
    found: ItemFrequencies = facts.counted["B005"]
    known, held = int((facts.train.item_users > 0).sum()), found.items.len()
    if known < LARGE or found.counts.sum() < MANY or held > NARROW * known:
        return None
    return f"{format_count(found.lists, 'list')} hold {format_share(held, known)} items of the training log"
