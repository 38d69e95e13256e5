"""What a changed study computes: what is new, and nothing else, with the bytes of a study that was never changed."""

import json

import pytest

import recassay as ra
from recassay.models.baselines.popular import Popular
from recassay.models.baselines.random import Random
from recassay.models.factors.pure_svd import PureSVD
from recassay.study.store.statistics import STATISTICS, stored_statistics

from ..conftest import files


@pytest.fixture
def fits(monkeypatch):
    """Count the fits of every model."""
    counted = []
    for kind in (Popular, Random, PureSVD):

        def fit(self, log, _fit=kind.fit):
            counted.append(self.name)
            return _fit(self, log)

        monkeypatch.setattr(kind, "fit", fit)
    return counted


def test_a_new_model_is_all_that_is_fitted_and_resampled(study, tmp_path, fits):
    fewer = [(', svd: "PureSVD(factors=4)"', "")]
    before = ra.run_study(study(replace=fewer), tmp_path / "out")
    assert "popular was fitted and answered on 2 folds: it is new in the study" in before.work
    fits.clear()
    after = ra.run_study(study(), tmp_path / "out")
    assert fits == ["PureSVD"] * 3  # the trial, and two folds
    assert after.work[:2] == (
        "svd was fitted and answered on 2 folds: it is new in the study",
        "4 answers of 2 other systems were taken from the folder",
    )
    computed = int(after.work[2].split()[0])
    whole = int(after.work[2].split()[2])
    metrics, folds = 2, 2
    of_means, of_differences = metrics * (folds + 1), metrics
    tests = metrics * 3  # two are new, and a single pair is tested in another way than one of several
    assert computed == of_means + of_differences + tests
    assert whole >= 2 * computed
    ra.run_study(study(name="fresh.yaml"), tmp_path / "fresh")
    assert files(tmp_path / "out") == files(tmp_path / "fresh")
    assert (tmp_path / "out" / STATISTICS).read_bytes() == (tmp_path / "fresh" / STATISTICS).read_bytes()


def test_a_new_metric_fits_nothing_but_the_trial_of_one_system(study, tmp_path, fits):
    ra.run_study(study(replace=[("recall@5, ", "")]), tmp_path / "out")
    fits.clear()
    after = ra.run_study(study(), tmp_path / "out")
    assert fits == ["Popular"]
    assert after.work[0] == "6 answers of 3 systems were taken from the folder"
    ra.run_study(study(name="fresh.yaml"), tmp_path / "fresh")
    assert files(tmp_path / "out") == files(tmp_path / "fresh")


@pytest.mark.parametrize("content", ["", "{", "[]", json.dumps({"versions": ["0", "0"], "results": {"a": [1.0]}})])
def test_statistics_that_cannot_be_used_are_computed_again(tmp_path, content):
    (tmp_path / "cache").mkdir()
    (tmp_path / STATISTICS).write_text(content)
    with stored_statistics(tmp_path) as memo:
        assert memo.known == {}


def test_a_flipped_digit_is_found(tmp_path):
    with stored_statistics(tmp_path) as memo:
        memo.used["a"] = (0.25, 0.5)
    path = tmp_path / STATISTICS
    path.write_text(path.read_text().replace("0.25", "0.26"))
    with stored_statistics(tmp_path) as memo:
        assert memo.known == {}


def test_a_failing_study_keeps_what_was_known(tmp_path):
    def fail(memo):
        memo.used["b"] = (2.0,)
        raise ZeroDivisionError

    with stored_statistics(tmp_path) as memo:
        memo.used["a"] = (1.0, float("nan"))
    with pytest.raises(ZeroDivisionError), stored_statistics(tmp_path) as memo:
        fail(memo)
    with stored_statistics(tmp_path) as memo:
        assert set(memo.known) == {"a", "b"}
