"""Uniform test item profiles, by hand."""

import numpy as np
import polars as pl
import pytest

from recassay import split
from recassay.data.interactions import Interactions
from recassay.errors import InputError, UsageError

COUNTS = [12, 10, 8, 6, 5, 4, 3, 2]


def log_of(counts=COUNTS, ratings=None):
    rows = [(user, item) for item, count in enumerate(counts) for user in range(count)]
    frame = pl.DataFrame(rows, ["user_id", "item_id"], orient="row")
    return Interactions.from_frame(frame if ratings is None else frame.with_columns(rating=pl.Series(ratings)))


@pytest.mark.parametrize(
    ("epsilon", "compat", "candidates", "each"),
    [(0.2, None, 7, 2), (0.5, None, 6, 2), (0.2, "jsocialnetworks", 7, 2), (0.5, "jsocialnetworks", 7, 1)],
)
def test_candidates_and_their_test_ratings(epsilon, compat, candidates, each):
    fold = split.uniform_items(test=0.2, epsilon=epsilon, compat=compat)(log_of())[0]
    assert (fold.how["candidates"], fold.how["per_item"]) == (candidates, each)
    assert np.bincount(fold.test.items, minlength=8).tolist() == [each] * candidates + [0] * (8 - candidates)
    assert fold.how["share_of_ratings"] == sum(COUNTS[:candidates]) / 50
    assert fold.how["share_of_items"] == candidates / 8
    if compat:
        assert fold.removed == {"no candidate": sum(COUNTS[candidates:])}
    else:
        assert fold.removed == {}
        assert np.bincount(fold.train.items, minlength=8)[candidates:].tolist() == COUNTS[candidates:]


def test_an_infeasible_share_names_the_largest_one():
    with pytest.raises(UsageError, match="U116") as caught:
        split.uniform_items(test=0.2, epsilon=0.7)(log_of())
    assert "test=0.12 is the most" in caught.value.hint
    fold = split.uniform_items(test=0.12, epsilon=0.7)(log_of())[0]
    assert len(fold.test) == 6
    with pytest.raises(UsageError, match="U116"):
        split.uniform_items(test=0.2, epsilon=0.7, compat="jsocialnetworks")(log_of())


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("compat", [None, "jsocialnetworks"])
@pytest.mark.parametrize("flatten", ["test", "train"])
def test_the_share_of_the_hint_is_feasible(epsilon, compat, flatten):
    wanted = 0.95 if flatten == "test" else 0.05
    with pytest.raises(UsageError, match="U116") as caught:
        split.uniform_items(test=wanted, epsilon=epsilon, compat=compat, flatten=flatten)(log_of([40, 30, 20, 15, 11]))
    share = float(caught.value.hint.partition("test=")[2].partition(" ")[0])
    again = split.uniform_items(test=share, epsilon=epsilon, compat=compat, flatten=flatten)
    candidates, each = again._candidates(np.array([40, 30, 20, 15, 11]))
    assert candidates >= 1
    assert each >= 1


def test_flatten_train_gives_equal_training_counts():
    fold = split.uniform_items(test=0.8, flatten="train")(log_of())[0]
    assert (fold.how["candidates"], fold.how["per_item"]) == (6, 2)
    assert np.bincount(fold.train.items, minlength=8).tolist() == [2] * 6 + [3, 2]
    assert np.bincount(fold.test.items, minlength=8).tolist() == [10, 8, 6, 4, 3, 2, 0, 0]


def test_positive_ratings_alone_can_be_balanced():
    ratings = [rating for count in COUNTS for rating in [5.0] * (count // 2) + [1.0] * (count - count // 2)]
    log = log_of(ratings=ratings)
    fold = split.uniform_items(test=0.2, balance_on="positive", positive_from=4)(log)[0]
    # positive counts 6 5 4 3 2 2 1 1, half of them 3 2 2 1 1 1 0 0, times k 3 4 6 4 5 6; 0.2 of 24 is 4.8: k = 6
    assert (fold.how["candidates"], fold.how["per_item"]) == (6, 1)
    assert set(fold.test.ratings) == {5.0}
    assert np.bincount(fold.test.items).tolist() == [1] * 6
    with pytest.raises(InputError, match="I307"):
        split.uniform_items(test=0.2, balance_on="positive", positive_from=4)(log_of())


def test_users_without_training_are_counted():
    fold = split.uniform_items(test=0.4, epsilon=0.0)(log_of([2, 2, 1]))[0]
    left = set(range(2)) - set(fold.train.users.tolist())
    assert fold.how["users_without_training"] == len(left)


@pytest.mark.parametrize(
    "wrong",
    ["test=0", "test=1.5", "test=0.2, epsilon=1", "test=0.2, balance_on='positive'", "test=0.2, positive_from=4"],
)
def test_invalid_parameters_are_errors(wrong):
    with pytest.raises(UsageError, match="U102"):
        split.parse(f"uniform_items({wrong})")
