"""Scores of factor and neighbour models compared with straightforward computations."""

import builtins

import numpy as np
import polars as pl
import pytest
from threadpoolctl import threadpool_limits

from recassay.data.interactions import Interactions
from recassay.data.synthetic import log
from recassay.errors import UsageError
from recassay.models import ALS, BPR, PLSA, ItemKNN, PureSVD, UserKNN
from recassay.models.base.model import user_item_matrix
from recassay.optional import need

from ....refusals import refused

LOG = log(users=90, items=50, events=1_200, seed=4)
ALL_USERS = np.arange(LOG.n_users, dtype=np.int32)


def table():
    return user_item_matrix(LOG).toarray()


@pytest.mark.parametrize("similarity", ["cosine", "jaccard"])
def test_user_neighbours_equal_a_dense_computation(similarity):
    matrix, k, shrink = table(), 7, 3.0
    common = matrix @ matrix.T
    size = np.diag(common)
    outer = np.sqrt(np.outer(size, size)) if similarity == "cosine" else size[:, None] + size[None, :] - common
    similar = common / outer * (common / (common + shrink))
    scores = np.zeros(matrix.shape)
    for user in ALL_USERS:
        others = [v for v in np.argsort(-similar[user], kind="stable") if v != user and common[user, v] > 0][:k]
        scores[user] = sum((similar[user, v] * matrix[v] for v in others), np.zeros(matrix.shape[1]))
    found = UserKNN(k, similarity, shrink).fit(LOG).scores(ALL_USERS)
    assert np.allclose(found, scores, atol=1e-12)


def test_item_neighbours_equal_a_dense_computation():
    matrix = table()
    unit = matrix / np.sqrt((matrix**2).sum(axis=0))
    similar = unit.T @ unit
    found = ItemKNN(neighbours=LOG.n_items).fit(LOG).scores(ALL_USERS)
    assert np.allclose(found, matrix @ similar, atol=1e-6)


def test_plsa_never_decreases_the_likelihood_and_its_factors_are_distributions():
    fitted = PLSA(factors=5, iterations=30).fit(LOG)
    assert (np.diff(fitted.likelihood) >= -1e-9).all()
    assert fitted.likelihood[-1] > fitted.likelihood[0] + 100
    assert np.allclose(fitted.user_factors.sum(axis=1), 1, atol=1e-5)
    assert np.allclose(fitted.item_factors.sum(axis=0), 1, atol=1e-5)
    assert np.allclose(fitted.scores(ALL_USERS).sum(axis=1), 1, atol=1e-4)


def test_a_step_of_plsa_follows_the_formulas():
    one, two = PLSA(factors=3, iterations=1).fit(LOG), PLSA(factors=3, iterations=2).fit(LOG)
    matrix, mixtures, aspects = table(), one.user_factors.astype(float), one.item_factors.astype(float)
    probability = mixtures @ aspects.T
    responsible = mixtures * ((matrix / probability) @ aspects)
    assert np.allclose(two.user_factors, responsible / responsible.sum(axis=1, keepdims=True), atol=1e-5)
    explained = aspects * ((matrix / probability).T @ mixtures)
    assert np.allclose(two.item_factors, explained / explained.sum(axis=0), atol=1e-5)
    assert np.isclose(two.likelihood[1], (matrix * np.log(probability)).sum(), rtol=1e-6)


def test_a_user_without_items_has_the_mean_mixture():
    part = LOG.take(LOG.users != 3)
    fitted = PLSA(factors=4, iterations=3).fit(part)
    assert np.isclose(fitted.user_factors[3].sum(), 1, atol=1e-6)
    assert (fitted.user_factors[3] > 0.01).all()


def test_als_item_factors_solve_the_least_squares_equations():
    model = ALS(factors=6, regularization=0.1, alpha=4.0, iterations=100)
    fitted = model.fit(LOG)
    matrix, users = table(), fitted.user_factors.astype(np.float64)
    for item in (0, 17, 40):
        weight = np.where(matrix[:, item] > 0, model.alpha, 1.0)
        left = (users * weight[:, None]).T @ users + model.regularization * np.eye(6)
        wanted = np.linalg.solve(left, users.T @ (weight * matrix[:, item]))
        assert np.allclose(fitted.item_factors[item], wanted, atol=1e-3)


@pytest.mark.parametrize("model", [ALS(factors=8, iterations=4), BPR(factors=8, iterations=10), PLSA(4, 5), PureSVD(4)])
def test_scores_do_not_depend_on_blas_threads(model):
    scores = []
    for threads in (1, 4):
        with threadpool_limits(threads):
            scores.append(model.fit(LOG).scores(ALL_USERS[:64]))
    assert scores[0].tobytes() == scores[1].tobytes()


@pytest.mark.parametrize("kind", [ALS, BPR, PLSA])
def test_another_seed_gives_another_model(kind):
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
def test_parameters_out_of_range_are_an_error(make):
    with refused("U102"):
        make()


def test_the_error_of_a_missing_library_has_the_command_that_installs_it(monkeypatch):
    with refused("U112", match="pip install no_such_library"):
        need("no_such_library", for_="MyModel")
    monkeypatch.setattr("importlib.import_module", missing("implicit"))
    with pytest.raises(UsageError, match=r"pip install 'recassay\[models\]'"):
        ALS().fit(LOG)


def test_a_broken_library_raises_its_own_error(monkeypatch):
    monkeypatch.setattr("importlib.import_module", missing("libcuda"))
    with pytest.raises(ModuleNotFoundError, match="libcuda"):
        need("implicit.cpu.als", for_="ALS")


def missing(name):
    def fail(_):
        raise builtins.ModuleNotFoundError(f"No module named '{name}'", name=name)

    return fail


def test_a_log_of_one_event_can_be_fitted():
    alone = Interactions.from_frame(pl.DataFrame({"user_id": [1], "item_id": [7]}))
    assert UserKNN().fit(alone).scores(np.array([0], np.int32)).tolist() == [[0.0]]
