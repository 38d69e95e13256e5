"""Every built-in model and adapter passes the checks of a recommender; the checks find faulty models."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cornac
import numpy as np
import polars as pl
import pytest
from implicit.cpu.lmf import LogisticMatrixFactorization
from implicit.nearest_neighbours import TFIDFRecommender
from scipy.sparse import csr_matrix

import recassay as ra
from recassay import models
from recassay.data.synthetic import log
from recassay.models.base.capabilities import fitted as fitted_on
from recassay.models.base.model import user_item_matrix
from recassay.models.neural.base import Neural
from recassay.models.rerank.base import Reranker
from recassay.report.listing import explain
from recassay.testing import SQUARES, _board, check_recommender, checkerboard

from ..refusals import refused


def board(fold=None):
    """Return the correct scores of the checkerboard."""
    return np.add.outer(np.arange(SQUARES), np.arange(SQUARES)) % 2 == 0


def parity(user):
    return (np.arange(SQUARES) % 2 == user % 2).astype(float)


def best(user, k):
    return [item for item in range(SQUARES) if item % 2 == user % 2][:k]


EVEN = np.arange(0, SQUARES, 2)
GENRES = pl.DataFrame({"item_id": range(SQUARES), "genres": [[f"g{item // 8}"] for item in range(SQUARES)]})

LEARNERS = [
    models.PureSVD(factors=2),
    models.UserKNN(neighbours=10),
    models.EASE(l2=10.0),
    models.UserKNN(neighbours=10, similarity="jaccard", shrink=1.0),
    models.PLSA(factors=2, iterations=100),
    models.ALS(factors=4, iterations=10),
    models.BPR(factors=4, iterations=300, learning_rate=0.05),
    models.ItemKNN(neighbours=20),
    models.ItemKNN(neighbours=20, similarity="tfidf"),
    models.incremental.ISGD(factors=200, iterations=100),
    models.incremental.BPRMF(factors=10, iterations=100),
    models.incremental.UKNN(neighbours=10),
    models.incremental.StreamItemKNN(),
    models.incremental.StreamItemKNN(recent=5),
    models.MMR(models.UserKNN(neighbours=10), weight=0.3, items=GENRES),
    models.MMR("ALS(factors=4, iterations=10)", weight=0.3, distance="factors"),
    models.XQuAD("UserKNN(neighbours=10)", weight=0.3, places=5, candidates=10, items=GENRES),
    models.DPP("UserKNN(neighbours=10)", weight=0.3, items=GENRES),
    models.Calibrated("UserKNN(neighbours=10)", weight=0.3, items=GENRES),
    models.LongTail("UserKNN(neighbours=10)", weight=0.3),
    models.Shuffled("UserKNN(neighbours=10)", weight=0.3),
    models.SPAD(models.ScoreTable(board().astype(float)), weight=0.3),
]


@pytest.mark.parametrize("model", LEARNERS, ids=str)
def test_learning_models_pass_the_checks(model):
    check_recommender(model)


OTHERS = [  # they ignore who had what, or need an order of events, which the checkerboard lacks
    models.Popular(),
    models.Random(seed=2),
    models.Markov(),
    models.RecentItemKNN(),
    models.RecentPopular(),
    models.GRU(dim=6, hidden=6, epochs=1),
    models.NARM(dim=6, hidden=6, epochs=1),
    models.SASRec(dim=6, epochs=1),
    models.BERT4Rec(dim=6, length=20, epochs=1, copies=1),
    models.incremental.ISGD(update="simultaneous", negatives=2),
    models.incremental.BPRMF.preset("mymedialite"),
    models.incremental.UKNN(stale=True),
    models.incremental.StreamPopular(),
    models.incremental.StreamRandom(seed=2),
    models.incremental.Recent(),
    models.incremental.Ensemble("StreamPopular Recent", window=10),
]


@pytest.mark.parametrize("model", OTHERS, ids=str)
def test_other_models_pass_the_checks_without_learning(model):
    if isinstance(model, Neural):
        pytest.importorskip("torch")
    check_recommender(model, learns=False)


READERS = [
    models.BiasedMF(factors=4, epochs=5),
    models.RatingKNN(),
    models.incremental.StreamBiasedMF(rate=0.1),
    models.incremental.Refitted("UserKNN(neighbours=5)", every=50),
    models.RatingKNN(similarity="cosine", predict="sum"),
]


@pytest.mark.parametrize("model", READERS, ids=str)
def test_models_that_read_ratings_pass_the_checks_without_learning(model):
    check_recommender(model, learns=False)


@pytest.mark.parametrize(
    "model",
    [one for one in (*LEARNERS, *OTHERS, *READERS) if not isinstance(one, Neural | models.BPR | Reranker)],
    ids=str,
)
def test_permuting_ratings_changes_a_model_only_if_it_says_that_it_reads_them(model):
    made = log(users=40, items=32, events=500, seed=2).frame()
    values = pl.Series(np.random.default_rng(3).integers(1, 6, made.height).astype(float))
    runs = []
    for ratings in (values, values.shuffle(seed=1)):
        whole = ra.read_interactions(made.with_columns(rating=ratings))
        fitted = fitted_on(model, whole)
        runs.append(fitted.recommend(np.arange(whole.n_users, dtype=np.int32), 10)[0])
    same = (runs[0] == runs[1]).all()
    assert same != bool(model.reads_ratings)
    assert "ratings" in explain(model.name).facts


IMPERSONAL = {"Popular", "Random", "Markov", "RecentPopular", "StreamPopular", "StreamRandom", "Recent"}
NEW = 7  # a user without training events


@pytest.mark.parametrize("model", [*LEARNERS, *OTHERS, *READERS], ids=str)
def test_a_model_that_knows_users_by_their_events_gives_no_list_to_a_user_without_events(model):
    if isinstance(model, Neural):
        pytest.importorskip("torch")
    fold = _board(model)
    train = fold.train.take(fold.train.users != NEW)
    fold = replace(fold, train=train)
    fitted = fitted_on(model, train)
    answers = model.name in IMPERSONAL or str(model).startswith("SPAD(of='scores'")  # a table has scores for everybody
    items, _ = fitted.recommend(np.array([NEW, 3], np.int32), 5)
    assert (items[:, 0] >= 0).tolist() == [answers, True]
    run = ra.play(fitted, fold, ra.protocols.ranking(k=5, bins=0))
    assert [user in run.queries for user in (NEW, 3)] == [answers, True]
    if not answers:
        frame = run.standings.frame().filter(user_id=NEW)
        assert frame.select("above AI", "tied AI").rows() == [(frame["pool AI"][0], 0)]


@pytest.mark.parametrize(
    "model",
    [
        models.ScoreFunction(lambda user: {} if user == NEW else parity(user)),
        models.RecommendFunction(lambda user, k: [] if user == NEW else best(user, k)),
        models.ScoreTable(np.where(np.arange(SQUARES)[:, None] == NEW, -np.inf, board())),
        models.ScoreBatches(lambda users: np.where(users[:, None] == NEW, -np.inf, np.ones((users.size, SQUARES)))),
        models.FactorTable(*(pl.DataFrame({"id": ids, "of": [[1.0]] * ids.size}) for ids in (EVEN, EVEN))),
        models.Implicit(TFIDFRecommender(K=21)),
        models.Implicit(LogisticMatrixFactorization(factors=4, iterations=2, num_threads=1, random_state=3)),
        models.Cornac(cornac.models.BPR(k=4, max_iter=2, seed=1)),
    ],
    ids=["empty mapping", "empty list", "table", "batches", "no vector", "neighbours", "factors", "cornac"],
)
def test_an_adapted_model_without_scores_for_a_user_gives_no_list_and_no_credit(model):
    fold = checkerboard()
    fold = replace(fold, train=fold.train.take(fold.train.users != NEW))
    run = ra.play(model, fold, ra.protocols.ranking(k=5, bins=0))
    assert [user in run.queries for user in (NEW, 8)] == [False, True]
    assert run.standings.frame().filter(pl.col("user_id") == NEW, pl.col("above AI") < pl.col("pool AI")).is_empty()


def test_all_registered_models_are_checked():
    checked = {type(model).name for model in (*LEARNERS, *OTHERS, *READERS)}
    assert checked == set(models.REGISTRY.built_in)


@pytest.mark.parametrize(
    "model",
    [
        models.ScoreTable(board().astype(float)),
        models.ScoreTable(csr_matrix(board().astype(np.float32))),
        models.ScoreFunction(parity),
        models.RecommendFunction(best),
        models.Implicit(TFIDFRecommender(K=21)),
    ],
    ids=["numpy", "scipy", "function", "lists", "implicit"],
)
def test_adapters_pass_the_checks(model):
    check_recommender(model)


def test_the_adapter_of_a_tensor_passes_the_checks():
    torch = pytest.importorskip("torch")
    check_recommender(models.ScoreTable(torch.tensor(board().astype(np.float32))))


class TestOtherLibraries:
    FOLD = ra.split.random(test=0.25, seed=1)(log(users=120, items=60, events=2_500, seed=3))[0]
    ASK = ra.protocols.ranking(k=60, bins=0)

    def test_lists_of_implicit_equal_those_of_the_library(self):
        adapted = models.Implicit(LogisticMatrixFactorization(factors=6, iterations=5, num_threads=1, random_state=3))
        fitted = adapted.fit(self.FOLD.train)
        users = np.arange(20, dtype=np.int32)
        seen = csr_matrix(user_item_matrix(self.FOLD.train), dtype=np.float32)
        adapted.model.fit(seen, show_progress=False)
        items, _ = adapted.model.recommend(users, seen[users], N=5)
        assert fitted.recommend(users, 5)[0].tolist() == items.tolist()
        assert str(adapted) == "LogisticMatrixFactorization"

    def test_scores_of_cornac_equal_those_of_the_library(self):
        adapted = models.Cornac(cornac.models.BPR(k=4, max_iter=20, seed=1))
        run = ra.play(adapted, self.FOLD, self.ASK)
        assert run.name == "BPR"
        fitted = adapted.fit(self.FOLD.train)
        table = fitted.scores(np.array([3], np.int32))
        model = fitted.function.args[0]
        train_set = model.train_set
        known = [train_set.iid_map[item] for item in range(5)]
        assert table[0, :5] == pytest.approx(np.asarray(model.score(train_set.uid_map[3]))[known])

    def test_functions_return_ids_and_scores(self):
        run = ra.play(models.RecommendFunction(lambda user, k: [(7, 2.5), (9, 1.5)], "two"), self.FOLD, self.ASK)
        assert set(run.frame()["item_id"]) <= {7, 9}
        assert run.standings.unlisted > 0
        assert set(run.scores.tolist()) <= {2.5, 1.5}

    @pytest.mark.parametrize(
        ("model", "code"),
        [
            (models.RecommendFunction(lambda user, k: ["x"]), "I372"),
            (models.RecommendFunction(lambda user, k: [7, 999]), "I372"),
            (models.ScoreFunction(lambda user: {999: 1.0}), "I372"),
            (models.ScoreFunction(lambda user: [1.0, 2.0]), "I308"),
            (models.ScoreTable(np.zeros((3, 4))), "I308"),
        ],
    )
    def test_unknown_items_and_wrong_shapes_are_errors(self, model, code):
        with refused(code):
            ra.play(model, self.FOLD, self.ASK)


@dataclass
class FaultyModel:
    """A model with one fault."""

    fault: str
    fitted: int = 0

    def __str__(self):
        return "faulty"

    def fit(self, train):
        if self.fault == "changes":
            self.fitted += 1
        return Fitted(self.fault, train)


class Fitted:
    def __init__(self, fault, train):
        self.fault, self.log = fault, train
        if fault == "nothing":
            return
        self.scores = self._scores
        if fault in ("seen", "twice"):
            self.recommend = self._recommend

    def __reduce__(self):
        return Fitted, ("" if self.fault == "forgets" else self.fault, self.log)

    def _scores(self, users):
        table = np.stack([parity(int(user)) for user in users])
        if self.fault == "shape":
            return table[:, :-1]
        if self.fault == "nan":
            table[0, 0] = np.nan
        if self.fault == "others":
            table += np.arange(users.size)[:, None] * table
        if self.fault == "forgets":
            return -table
        if self.fault == "dice":
            return table + np.random.default_rng().random(table.shape)
        return table

    def _recommend(self, users, k):
        items = np.tile(np.where(np.arange(k) < SQUARES, np.arange(k), -1).astype(np.int32), (users.size, 1))
        if self.fault == "twice":
            items[:, 2:] = -1
            items[:, :2] = (users[:, None] + 1) % SQUARES
        return items, np.zeros(items.shape)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("nothing", "neither scores nor recommend"),
        ("changes", "fitting changes faulty"),
        ("shape", "shape"),
        ("nan", "NaN"),
        ("others", "depend on who else"),
        ("seen", "has had"),
        ("twice", "twice"),
        ("dice", "depend on who else"),
        ("forgets", "lost in pickling"),
    ],
)
def test_each_fault_is_named(fault, words):
    with pytest.raises(AssertionError, match=words):
        check_recommender(FaultyModel(fault))


def test_a_model_that_cannot_be_pickled_is_named():
    with pytest.raises(AssertionError, match="cannot be pickled"):
        check_recommender(models.ScoreFunction(lambda user: 1.0 * (np.arange(SQUARES) % 2 == user % 2)))


def test_the_checkerboard_has_one_test_item_per_user():
    fold = checkerboard()
    assert len(fold.test) == SQUARES
    assert isinstance(fold.train.frame(), pl.DataFrame)
