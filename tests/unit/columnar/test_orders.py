"""Orders of text ids that the tables of one call share."""

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.columnar import orders
from recassay.columnar.orders import sharing_orders
from recassay.columnar.vocabulary import Vocabulary

IDS = pl.Series("user_id", ["bo", "ann", "cy", "ann"])
SAME = pl.Series("user", ["cy", "cy", "ann", "bo"])


def encoded(*columns):
    return [Vocabulary.encode(column) for column in columns]


def test_the_second_column_with_the_same_ids_has_the_order_of_the_first():
    with sharing_orders():
        (first, _), (second, codes) = encoded(IDS, SAME)
    assert second.ids is first.ids
    assert second.decode(codes).to_list() == SAME.to_list()


@pytest.mark.parametrize("other", [["bo", "ann"], ["bo", "ann", "di"], ["bo", "ann", "cy", "di"]])
def test_other_ids_have_an_order_of_their_own(other):
    with sharing_orders():
        _, (vocabulary, codes) = encoded(IDS, pl.Series(other))
    assert vocabulary.ids.to_list() == sorted(other)
    assert vocabulary.decode(codes).to_list() == other


def test_nothing_is_shared_outside_the_block():
    with sharing_orders():
        ((first, _),) = encoded(IDS)
    ((later, _),) = encoded(SAME)
    assert later.ids is not first.ids
    assert later.ids.to_list() == first.ids.to_list()


def test_few_orders_are_kept():
    columns = [pl.Series([f"{number}", "x"]) for number in range(orders.MOST_SHARED + 1)]
    with sharing_orders():
        kept, last = encoded(columns[0], *columns)[:2], encoded(columns[-1], columns[-1])
    assert kept[0][0].ids is kept[1][0].ids
    assert last[0][0].ids is not last[1][0].ids


def test_the_second_run_is_scored_without_sorting_its_users(monkeypatch):
    sorts = []
    given = orders.TextOrder._sorted
    monkeypatch.setattr(orders.TextOrder, "_sorted", lambda ids, distinct: sorts.append(1) or given(ids, distinct))
    users = np.repeat([f"user {number}" for number in range(50)], 2)
    truth = pl.DataFrame({"user_id": users, "item_id": np.tile(["x", "y"], 50)})
    run = truth.with_columns(score=np.tile([2.0, 1.0], 50))
    shuffled = {name: run.sample(fraction=1.0, shuffle=True, seed=seed) for seed, name in enumerate("abc")}
    scores = ra.score(shuffled, truth.sample(fraction=1.0, shuffle=True, seed=9), "ndcg@2")
    assert [row.mean for row in scores.rows] == [1.0, 1.0, 1.0]
    assert len(sorts) == 2  # of the truth's users and items
