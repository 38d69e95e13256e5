"""Orders of text ids that the tables of one call share."""

import numpy as np
import polars as pl

import recassay as ra
from recassay.columnar import numbering

IDS = pl.Series("user_id", ["bo", "ann", "cy", "ann"])
SAME = pl.Series("user", ["cy", "cy", "ann", "bo"])


def test_the_second_run_is_scored_without_sorting_its_users(monkeypatch):
    sorts = []
    given = numbering.text_hashes  # of texts that have been sorted
    monkeypatch.setattr(numbering, "text_hashes", lambda texts: sorts.append(1) or given(texts))
    users = np.repeat([f"user {number}" for number in range(50)], 2)
    truth = pl.DataFrame({"user_id": users, "item_id": np.tile(["x", "y"], 50)})
    run = truth.with_columns(score=np.tile([2.0, 1.0], 50))
    shuffled = {name: run.sample(fraction=1.0, shuffle=True, seed=seed) for seed, name in enumerate("abc")}
    scores = ra.score(shuffled, truth.sample(fraction=1.0, shuffle=True, seed=9), "ndcg@2")
    assert [row.mean for row in scores.rows] == [1.0, 1.0, 1.0]
    assert len(sorts) == 2  # of the truth's users and items
