"""Scores of a stream are compared user by user: events of one user are not independent of each other."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.engine.lists.score_sets import read_scores

USERS = [1, 1, 1, 2, 2, 3]
HITS = {"a": [1.0, 0, 1, 0, 0, 1], "b": [0.0, 0, 1, 1, 0, 0]}


def table(protocol="prequential(at=5)", dataset="d"):
    rows = [
        {"system": system, "dataset": dataset, "protocol": protocol, "unit": event, "user": user, "recall@5": hit}
        for system, hits in HITS.items()
        for event, (user, hit) in enumerate(zip(USERS, hits, strict=True))
    ]
    return pl.DataFrame(rows)


def test_a_user_is_one_unit_weighted_by_its_events():
    (scores,) = read_scores(table()).sheets.values()
    assert scores.units.to_list() == [1, 2, 3]
    assert scores.values("a", "recall@5").tolist() == pytest.approx([2 / 3, 0.0, 1.0])
    assert scores.weights("a", "recall@5").tolist() == [3, 2, 1]
    assert scores.row("a", "recall@5").mean == pytest.approx(np.mean(HITS["a"]))


def test_the_difference_is_over_events_and_n_counts_users():
    (row,) = next(iter(ra.decide(read_scores(table())).compared.comparisons.values())).rows
    assert (row.difference, row.n) == (pytest.approx(np.mean(HITS["a"]) - np.mean(HITS["b"])), 3)


def test_data_sets_with_different_protocols_are_compared_but_not_ranked():
    both = pl.concat([table(), table("prequential(at=5, batch=2)", "e")])
    found = ra.decide(read_scores(both))
    assert (len(found.compared.comparisons), found.across) == (2, None)
    with pytest.raises(ra.RecassayError, match="U211"):
        ra.decide(read_scores(both), by="dataset")
