"""What the models say they compute, computed otherwise."""

import builtins

import numpy as np
import polars as pl
import pytest
from threadpoolctl import threadpool_limits

from recassay.data.interactions import Interactions
from recassay.data.synthetic import log
from recassay.errors import UsageError
from recassay.models import ALS, BPR, PLSA, ItemKNN, PureSVD, UserKNN
from recassay.models.base import profiles
from recassay.optional import need

LOG = log(users=90, items=50, events=1_200, seed=4)
EVERYBODY = np.arange(LOG.n_users, dtype=np.int32)


def table():
    return profiles(LOG).toarray()


@pytest.mark.parametrize("similarity", ["cosine", "jaccard"])
def test_neighbours_by_hand(similarity):
    had, k, shrink = table(), 7, 3.0
    common = had @ had.T
    size = np.diag(common)
    outer = np.sqrt(np.outer(size, size)) if similarity == "cosine" else size[:, None] + size[None, :] - common
    similar = common / outer * (common / (common + shrink))
    scores = np.zeros(had.shape)
    for user in EVERYBODY:
        others = [v for v in np.argsort(-similar[user], kind="stable") if v != user and common[user, v] > 0][:k]
        scores[user] = sum((similar[user, v] * had[v] for v in others), np.zeros(had.shape[1]))
    found = UserKNN(k, similarity, shrink).fit(LOG).scores(EVERYBODY)
    assert np.allclose(found, scores, atol=1e-12)


def test_items_by_hand():
    had = table()
    unit = had / np.sqrt((had**2).sum(axis=0))
    similar = unit.T @ unit
    found = ItemKNN(neighbours=LOG.n_items).fit(LOG).scores(EVERYBODY)
    assert np.allclose(found, had @ similar, atol=1e-6)


def test_the_likelihood_of_plsa_never_decreases_and_its_parts_are_distributions():
    fitted = PLSA(factors=5, iterations=30).fit(LOG)
    assert (np.diff(fitted.likelihood) >= -1e-9).all()
    assert fitted.likelihood[-1] > fitted.likelihood[0] + 100
    assert np.allclose(fitted.user_factors.sum(axis=1), 1, atol=1e-5)
    assert np.allclose(fitted.item_factors.sum(axis=0), 1, atol=1e-5)
    assert np.allclose(fitted.scores(EVERYBODY).sum(axis=1), 1, atol=1e-4)


def test_a_step_of_plsa_is_that_of_the_formulas():
    one, two = PLSA(factors=3, iterations=1).fit(LOG), PLSA(factors=3, iterations=2).fit(LOG)
    had, mixtures, aspects = table(), one.user_factors.astype(float), one.item_factors.astype(float)
    chance = mixtures @ aspects.T
    responsible = mixtures * ((had / chance) @ aspects)
    assert np.allclose(two.user_factors, responsible / responsible.sum(axis=1, keepdims=True), atol=1e-5)
    explained = aspects * ((had / chance).T @ mixtures)
    assert np.allclose(two.item_factors, explained / explained.sum(axis=0), atol=1e-5)
    assert np.isclose(two.likelihood[1], (had * np.log(chance)).sum(), rtol=1e-6)


def test_a_user_without_items_has_the_mean_mixture():
    part = LOG.take(LOG.users != 3)
    fitted = PLSA(factors=4, iterations=3).fit(part)
    assert np.isclose(fitted.user_factors[3].sum(), 1, atol=1e-6)
    assert (fitted.user_factors[3] > 0.01).all()


def test_least_squares_are_solved_for_the_items():
    model = ALS(factors=6, regularization=0.1, alpha=4.0, iterations=100)
    fitted = model.fit(LOG)
    had, users = table(), fitted.user_factors.astype(np.float64)
    for item in (0, 17, 40):
        weight = np.where(had[:, item] > 0, model.alpha, 1.0)
        left = (users * weight[:, None]).T @ users + model.regularization * np.eye(6)
        wanted = np.linalg.solve(left, users.T @ (weight * had[:, item]))
        assert np.allclose(fitted.item_factors[item], wanted, atol=1e-3)


@pytest.mark.parametrize("model", [ALS(factors=8, iterations=4), BPR(factors=8, iterations=10), PLSA(4, 5), PureSVD(4)])
def test_threads_of_the_linear_algebra_change_no_bit(model):
    scores = []
    for threads in (1, 4):
        with threadpool_limits(threads):
            scores.append(model.fit(LOG).scores(EVERYBODY[:64]))
    assert scores[0].tobytes() == scores[1].tobytes()


@pytest.mark.parametrize("kind", [ALS, BPR, PLSA])
def test_another_seed_is_another_model(kind):
    one, other = (kind(factors=4, iterations=3, seed=seed).fit(LOG) for seed in (0, 1))
    assert not np.array_equal(one.user_factors, other.user_factors)


@pytest.mark.parametrize(
    "make",
    [
        lambda: UserKNN(0),
        lambda: UserKNN(shrink=-1.0),
        lambda: UserKNN(similarity="pearson"),
        lambda: PLSA(factors=0),
        lambda: ALS(iterations=0),
        lambda: BPR(learning_rate=-0.1),
        lambda: ItemKNN(neighbours=0),
    ],
)
def test_parameters_that_make_no_sense_are_refused(make):
    with pytest.raises(UsageError) as caught:
        make()
    assert caught.value.code == "U102"


def test_a_library_that_is_missing_is_named_with_the_command_that_installs_it(monkeypatch):
    with pytest.raises(UsageError, match="pip install no_such_library") as caught:
        need("no_such_library", for_="MyModel")
    assert caught.value.code == "U112"
    monkeypatch.setattr("importlib.import_module", missing("implicit"))
    with pytest.raises(UsageError, match=r"pip install 'recassay\[models\]'"):
        ALS().fit(LOG)


def test_a_library_that_is_there_and_broken_says_so(monkeypatch):
    monkeypatch.setattr("importlib.import_module", missing("libcuda"))
    with pytest.raises(ModuleNotFoundError, match="libcuda"):
        need("implicit.cpu.als", for_="ALS")


def missing(name):
    def fail(_):
        raise builtins.ModuleNotFoundError(f"No module named '{name}'", name=name)

    return fail


def test_an_empty_log_of_one_user_is_no_trouble():
    alone = Interactions.from_frame(pl.DataFrame({"user_id": [1], "item_id": [7]}))
    assert UserKNN().fit(alone).scores(np.array([0], np.int32)).tolist() == [[0.0]]
