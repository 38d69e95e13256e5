"""Marks on the users whom the findings on a run name, such as those without a list."""

from __future__ import annotations

import numpy as np

from recassay.checks.counts import CheckCounts, CheckInput
from recassay.checks.leakage import seen_rows
from recassay.columnar.layout import row_groups
from recassay.data.population import known_users
from recassay.results.named_users import Marks, bit


def named_users(given: CheckInput, counted: CheckCounts) -> Marks:
    """Return the mark of every user of the truth: which findings name the user.

    ``counted`` is what checks counted in the same lists. Findings that need the training log name nobody without it.
    """
    alignment, train = given.alignment, given.train
    run, truth, match = alignment.run, alignment.truth, alignment.match
    found = match >= 0
    marks = np.where(found, 0, bit("C001")).astype(np.uint8)
    marks[np.flatnonzero(found)[alignment.judged_lengths < (given.deepest or 0)]] |= bit("C002")
    if train is None:
        return marks
    if "C010" in counted and counted["C010"].part:
        marks[~known_users(train, truth.queries)] |= bit("C010")
    if "L001" in counted and counted["L001"].part:
        seen = np.zeros(run.queries.len() + 1, np.bool_)  # the last entry is for users without a list
        seen[row_groups(run.offsets)[seen_rows(train, run)]] = True
        marks[seen[match]] |= bit("L001")
    if "L003" in counted and counted["L003"].part:
        marks[np.unique(row_groups(truth.offsets)[seen_rows(train, truth)])] |= bit("L003")
    return marks
