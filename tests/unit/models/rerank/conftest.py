"""Data of the worked examples of re-ranking: six items with features, and eight profiles."""

import polars as pl
import pytest

import recassay as ra

SCORES = {1: 1.0, 4: 0.9, 2: 0.8, 3: 0.5, 6: 0.4, 5: 0.2}
FEATURES = {1: "x", 2: "x|y", 3: "y", 4: "x", 5: "z", 6: "y|z"}
BASKETS = {"p": [1, 2, 3], "q": [1, 2, 4], "r": [1, 2], "s": [3, 5, 6], "t": [5, 6], "v": [4, 7], "w": [1, 7]}


@pytest.fixture
def run():
    return ra.read_run({"ann": SCORES}, "mine")


@pytest.fixture
def items():
    return ra.read_items(pl.DataFrame({"item_id": list(FEATURES), "genres": list(FEATURES.values())}))


@pytest.fixture
def profiles():
    return ra.read_interactions([(user, item) for user, liked in {**BASKETS, "u": [1, 2, 5]}.items() for item in liked])


@pytest.fixture
def picks():
    """Return a function from a re-ranked run to items and values of the first picks of its list."""

    def found(reranked, n=4):
        ids = reranked.run.frame()["item_id"].to_list()[:n]
        return list(zip(ids, reranked.pick_values[0, :n].tolist(), strict=True))

    return found
