"""Adapters: online models of other libraries on streams and in other protocols."""

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.engine.streams.run import play_stream
from recassay.errors import InputError, UsageError
from recassay.models.incremental import PartialFit, RiverLike, StreamPopular
from recassay.protocols.prequential import Prequential

ROWS = [*zip("112212323123", "ababcacabcdd", strict=True)]
FRAME = pl.DataFrame(ROWS, ["user_id", "item_id"], orient="row").with_row_index("timestamp")
LOG = ra.read_interactions(FRAME)


class Pairs:
    def __init__(self):
        self.n = {}

    def learn_one(self, user, item, y, x=None):
        self.n[item] = self.n.get(item, 0) + y

    def predict_one(self, user, item, x=None):
        return self.n[item]


class Features(Pairs):
    def learn_one(self, x, y):
        assert set(x) == {"user", "item"}
        self.n[x["item"]] = self.n.get(x["item"], 0) + y

    def predict_one(self, x):
        return self.n[x["item"]]


class Rows:
    def __init__(self):
        self.n = np.zeros(10)

    def partial_fit(self, X):
        np.add.at(self.n, X[:, 1], 1)

    def predict(self, X):
        return self.n[X[:, 1]]


class Valued(Rows):
    def partial_fit(self, X, y, sample_weight=None):
        np.add.at(self.n, X[:, 1], y)


class Best(Rows):
    predict = None

    def __getattribute__(self, name):
        if name == "predict":
            raise AttributeError(name)
        return super().__getattribute__(name)

    def recommend(self, user, n):
        best = np.argsort(-self.n, kind="stable")[:n]
        return best[self.n[best] > 0].tolist()


@pytest.mark.parametrize(
    "model",
    [RiverLike(Pairs()), RiverLike(Features()), PartialFit(Rows()), PartialFit(Valued()), PartialFit(Best())],
    ids=str,
)
@pytest.mark.parametrize(
    "protocol", [Prequential(at=2), Prequential(at=2, batch=4), Prequential(at=2, repeats="allow")], ids=str
)
def test_a_counting_model_of_any_form_equals_stream_popular(model, protocol):
    ours = play_stream(StreamPopular(), LOG, protocol).outcomes
    theirs = play_stream(model, LOG, protocol).outcomes
    assert theirs.values["recall@2"].tolist() == ours.values["recall@2"].tolist()
    assert theirs.event.tolist() == ours.event.tolist()


def test_the_given_model_does_not_change():
    mine = Pairs()
    play_stream(RiverLike(mine), LOG, Prequential())
    assert mine.n == {}


class Mean:
    def __init__(self):
        self.sum, self.n = {}, {}

    def learn_one(self, user, item, y):
        for key in (item, "all"):
            self.sum[key], self.n[key] = self.sum.get(key, 0) + y, self.n.get(key, 0) + 1

    def predict_one(self, user, item):
        key = item if item in self.n else "all"
        return self.sum[key] / self.n[key] if self.n else None


def test_rating_errors_equal_the_worked_example():
    """Items a and b are predicted by their means, new items by the mean of all ratings."""
    rows = [("u", "a", 4), ("v", "a", 5), ("u", "b", 2), ("v", "b", 3), ("w", "a", 3), ("w", "b", 1)]
    log = ra.read_interactions(pl.DataFrame(rows, ["user_id", "item_id", "rating"], orient="row"))
    outcomes = play_stream(RiverLike(Mean()), log, Prequential(predict="ratings", order="row")).outcomes
    assert outcomes.values["absolute_error"].tolist() == [1, 2.5, 1, 1.5, 1.5]


def test_adapters_work_with_ranking_protocols():
    fold = ra.split.random(test=0.3, seed=1)(ra.read_interactions(FRAME))[0]
    lists = [
        ra.play(model, fold, ra.protocols.ranking(bins=0), name="same").frame()
        for model in (StreamPopular(), RiverLike(Pairs()), PartialFit(Rows()))
    ]
    assert lists[0].equals(lists[1])
    assert lists[0].equals(lists[2])


def test_a_file_model_with_learn_and_recommend_equals_recent(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "class Last:\n"
        "    def __init__(self, keep=5):\n"
        "        self.keep, self.items = keep, []\n"
        "    def __str__(self):\n"
        "        return 'last'\n"
        "    def learn(self, users, items, values):\n"
        "        self.items = [*dict.fromkeys([*items[::-1].tolist(), *self.items])][: self.keep]\n"
        "    def recommend(self, user, n, consumed):\n"
        "        return [item for item in self.items if item not in consumed][:n]\n"
    )
    model = ra.models.parse(f"{path}:Last(keep=9)")
    theirs = play_stream(model, LOG, Prequential(at=2)).outcomes
    ours = play_stream(ra.models.incremental.Recent(), LOG, Prequential(at=2)).outcomes
    assert theirs.values["recall@2"].tolist() == ours.values["recall@2"].tolist()


@pytest.mark.parametrize(
    ("adapter", "model", "missing"),
    [
        (RiverLike, Rows(), "learn_one and no predict_one"),
        (PartialFit, Pairs(), "partial_fit"),
        (PartialFit, StreamPopular(), "partial_fit"),
    ],
)
def test_a_model_without_the_needed_methods_is_an_error(adapter, model, missing):
    with pytest.raises(UsageError, match=f"U191.*has no {missing}"):
        adapter(model)


def test_fitting_a_model_that_only_lists_is_an_error():
    with pytest.raises(UsageError, match="U191"):
        PartialFit(Best()).fit(LOG)


class Wrong(Rows):
    def predict(self, X):
        return X.astype(float)


def test_predictions_of_a_wrong_shape_are_an_error():
    learner = PartialFit(Wrong()).start()
    learner.learn(np.array([0, 1], np.int32), np.array([0, 1], np.int32), np.ones(2))
    with pytest.raises(InputError, match="I308"):
        learner.scores(0)


class Breaks(Pairs):
    def learn_one(self, user, item, y):
        if len(self.n) == 3:
            raise ZeroDivisionError("three items are enough")
        super().learn_one(user, item, y)


def test_a_failing_model_is_reported_with_its_event_and_earlier_results_are_kept():
    with pytest.raises(InputError, match=r"event 5 .*three items are enough") as caught:
        play_stream(RiverLike(Breaks()), LOG, Prequential(at=2))
    whole = play_stream(StreamPopular(), LOG, Prequential(at=2)).outcomes
    assert caught.value.stream.outcomes.event.tolist() == whole.event[:3].tolist()
