"""Systems are named by class and parameters: fitted models, models of one's own, and models that differ in one."""

import numpy as np
import pytest

import recassay as ra
from recassay.data.synthetic import log
from recassay.naming.system_names import system_name, system_names

LOG = log(users=60, items=60, events=1500, seed=1)
FOLD = ra.split.random(test=0.2)(LOG)[0]
RANKING = ra.protocols.ranking(bins=0)


class Mine:
    """A model of one's own without a text of its own."""

    def __init__(self, depth, rate=0.1):
        self.depth, self.rate, self.table = depth, rate, np.zeros(3)

    def fit(self, log):
        self.log = log
        return self

    def scores(self, users):
        return np.tile(np.arange(self.log.n_items, dtype=float), (users.size, 1))

    def recommend(self, users, k):
        raise AssertionError("it is ranked by its scores")


def test_a_model_of_ones_own_is_named_by_its_class_and_parameters():
    assert ra.play(Mine(depth=3), FOLD, RANKING).name == "Mine(depth=3)"
    assert system_name(Mine(3, rate=0.5)) == "Mine(depth=3, rate=0.5)"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (ra.models.PureSVD(factors=4), "PureSVD(factors=4)"),
        (ra.models.Popular(), "Popular"),
        (ra.models.UserKNN(neighbours=50), "UserKNN(neighbours=50)"),
        (ra.models.ScoreFunction(lambda user: {}, name="mine"), "mine"),
        (ra.models.LongTail(of="Popular"), "LongTail(of='Popular')"),
    ],
)
def test_a_run_of_a_fitted_model_is_named_as_the_model_that_was_fitted(model, name):
    assert ra.play(model.fit(FOLD.train), FOLD, RANKING).name == name


def test_the_name_of_a_fitted_model_is_kept_in_its_file(tmp_path):
    from recassay.data.io.archive import load_archive, save_archive

    save_archive(tmp_path / "model", ra.models.PureSVD(factors=4).fit(FOLD.train))
    assert system_name(load_archive(tmp_path / "model")) == "PureSVD(factors=4)"


def test_systems_that_differ_in_a_parameter_name_it_even_at_its_default():
    models = ["UserKNN(neighbours=100)", ra.models.UserKNN(neighbours=50), "PureSVD(factors=4)"]
    found = ra.evaluate(LOG, models, "ndcg@10", references=False)
    assert found.scores.systems == ("UserKNN(neighbours=100)", "UserKNN(neighbours=50)", "PureSVD(factors=4)")
    assert system_names([Mine(3), Mine(3, rate=0.5)]) == ["Mine(depth=3, rate=0.1)", "Mine(depth=3, rate=0.5)"]
    assert system_names([ra.models.MMR(of="Popular"), ra.models.MMR(of="Popular", weight=0.1)]) == [
        f"MMR(of='Popular', weight={weight})" for weight in (ra.models.MMR(of="Popular").weight, 0.1)
    ]
