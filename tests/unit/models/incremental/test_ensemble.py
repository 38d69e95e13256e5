"""Ensembles on streams: a worked example, equality with plain loops, and the choice of the best member."""

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.errors import UsageError
from recassay.models.incremental import BPRMF, ISGD, Ensemble, Recent, RiverLike, StreamBiasedMF

EVENTS = [("ann", "a"), ("ann", "b"), ("bob", "b"), ("bob", "a"), ("cid", "b"), ("ann", "c"), ("cid", "a")]


def learned(model, events):
    learner = model.start()
    users, items = np.array(events, np.int32).T
    learner.learn(users, items, np.ones(len(events)))
    return learner


def test_the_window_forgets_and_hits_replace_ranks():
    events = [(0, 0), (1, 1), (0, 2), (1, 0), (0, 1)]
    assert learned(Ensemble("StreamPopular Recent", window=1), events).weights.tolist() == [1, 1]
    hits = learned(Ensemble("StreamPopular Recent", at=1), events)
    assert hits.recent[:3].tolist() == [[0, 0], [0, 0], [1, 1]]


def test_on_a_stream_an_ensemble_equals_a_plain_loop():
    rows = [(*pair, place) for place, pair in enumerate(EVENTS * 2)]
    log = pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row")
    stream = ra.play(Ensemble("StreamPopular Recent", window=3), log, ra.protocols.prequential(at=1))
    counts, last, had, values, hits = {}, {}, {}, [], []
    for place, (user, item) in enumerate(EVENTS * 2):
        mine = had.setdefault(user, set())
        if mine and item not in mine:
            members = [counts, last]
            recent = values[-3:]
            weights = [sum(row[m] for row in recent) / max(1, len(recent)) for m in (0, 1)]
            weights = weights if any(weights) else [1, 1]
            ranks = [{i: 1 + sum(s > one[i] for s in one.values()) for i in one} for one in members]
            fused = {
                i: sum(w / (60 + r[i]) for w, r in zip(weights, ranks, strict=True)) for i in counts if i not in mine
            }
            hits.append(float(item == min(fused, key=lambda i: (-fused[i], i), default=None)))
            row = []
            for one in members:
                others = [s for i, s in one.items() if i not in mine]
                above = sum(s > one.get(item, np.inf) for s in others)
                ties = sum(s == one.get(item) for s in others) - 1
                row.append(1 / (1 + above + ties / 2) if item in one else 0.0)
            values.append(row)
        counts[item], last[item] = counts.get(item, 0) + 1, place
        mine.add(item)
    assert stream.outcomes.of("recall@1").tolist() == hits


def test_the_best_member_is_followed():
    """All users of the last events take the item that was taken before, so Recent is right and Random is not."""
    rng = np.random.default_rng(1)
    events = [(int(u), int(i)) for u, i in zip(rng.permutation(300) % 100, np.repeat(np.arange(60), 5), strict=True)]
    learner = learned(Ensemble("StreamRandom Recent", choose="best", window=50), events)
    alone = learned(Recent(), events)
    assert learner.weights.tolist() == [0, 1]
    assert np.argsort(-learner.scores(3)).tolist() == np.argsort(-alone.scores(3)).tolist()


class ItemMean:
    def __init__(self, add=0.0):
        self.add, self.seen = add, {}

    def learn_one(self, user, item, y):
        self.seen.setdefault(item, []).append(y)

    def predict_one(self, user, item):
        return np.mean(self.seen[item]) + self.add if item in self.seen else None


def test_ratings_are_weighted_by_squared_error():
    rows = [("a", 1, 4.0), ("b", 1, 2.0), ("c", 1, 3.0), ("a", 2, 5.0)]
    log = pl.DataFrame(
        [(*row, n) for n, row in enumerate(rows)], ["user_id", "item_id", "rating", "timestamp"], orient="row"
    )
    model = Ensemble([RiverLike(ItemMean()), RiverLike(ItemMean(add=1.0))])
    stream = ra.play(model, log, ra.protocols.prequential(predict="ratings"))
    # event 1: predictions 4 and 5, equal weights: 4.5; errors 2 and 3, so weights 1 and 4/9;
    # event 2: predictions 3 and 4: 3 + 4/9 / (13/9) = 3 + 4/13
    assert stream.outcomes.of("absolute_error") == pytest.approx([2.5, 4 / 13])
    assert str(model) == "Ensemble(models='given')"


def test_parameters_are_chosen_while_a_stream_runs():
    rng = np.random.default_rng(1)
    users, items = rng.integers(0, 30, 1500), rng.integers(0, 20, 1500)
    tastes = rng.normal(size=30)[users] + rng.normal(size=20)[items]
    log = pl.DataFrame({"user_id": users, "item_id": items, "rating": 3 + tastes, "timestamp": np.arange(1500)})
    ask = ra.protocols.prequential(predict="ratings")
    rates = [StreamBiasedMF(rate=rate) for rate in (0.0, 0.001, 0.1)]
    alone = [ra.play(one, log, ask).summary()["mean"][1] for one in rates]
    chosen = ra.play(Ensemble(rates, window=200, choose="best"), log, ask).summary()["mean"][1]
    assert chosen < alone[1] < alone[0]


def test_an_ensemble_is_a_text_with_the_seeds_of_its_members():
    model = ra.models.parse("Ensemble(models='ISGD(factors=2) BPRMF', window=10, seed=3)")
    assert str(model) == "Ensemble(models='ISGD(factors=2) BPRMF', window=10, seed=3)"
    assert [str(one) for one in model.members()] == ["ISGD(factors=2, seed=3)", "BPRMF(seed=3)"]
    assert Ensemble([ISGD(factors=2), BPRMF()], window=10, seed=3) == model


@pytest.mark.parametrize(
    "wrong", [{"models": "ISGD"}, {"models": "ISGD ALS"}, {"models": "ISGD UKNN", "window": 0}, {"models": 3}]
)
def test_what_is_no_ensemble_is_an_error(wrong):
    with pytest.raises(UsageError, match="U102"):
        Ensemble(**wrong)
