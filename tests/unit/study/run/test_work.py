"""What a changed study computes: what is new, and nothing else, with the bytes of a study that was never changed."""

import json

import pytest

import recassay as ra
from recassay.data.io.manifest import recording
from recassay.engine.lists.job import Job
from recassay.engine.ranks import judge as judging_of_designs
from recassay.metrics.registry import METRICS
from recassay.models.baselines import Popular, Random
from recassay.models.factors import PureSVD
from recassay.study.store.folder import COMPUTED, STATISTICS, StudyFolder

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
    assert after.work[3] == "2 of 6 scorings of a system on a fold were computed, the others taken from the folder"
    ra.run_study(study(name="fresh.yaml"), tmp_path / "fresh")
    assert files(tmp_path / "out") == files(tmp_path / "fresh")
    assert (tmp_path / "out" / STATISTICS).read_bytes() == (tmp_path / "fresh" / STATISTICS).read_bytes()


def test_a_new_model_is_all_that_is_scored(study, tmp_path, monkeypatch):
    designs = "designs: [lists, TI-AR-AN, TI-1R-NN(9)]\n"
    ra.run_study(
        study(replace=[(', svd: "PureSVD(factors=4)"', ""), (", coverage@5", "")], add=designs), tmp_path / "out"
    )
    scored = []
    judge, expect = Job.judge, judging_of_designs.expect
    monkeypatch.setattr(Job, "judge", lambda self, run, truth: scored.append(run.name) or judge(self, run, truth))
    monkeypatch.setattr(
        judging_of_designs, "expect", lambda one, *a, **b: scored.append(one.name) or expect(one, *a, **b)
    )
    after = ra.run_study(study(replace=[(", coverage@5", "")], add=designs), tmp_path / "out")
    real = scored[3:]  # after the dry run, of a list and two designs
    assert real == ["svd"] * 3 * 2
    assert after.work[3].startswith("6 of 18 scorings")
    ra.run_study(study(replace=[(", coverage@5", "")], add=designs, name="fresh.yaml"), tmp_path / "fresh")
    assert files(tmp_path / "out") == files(tmp_path / "fresh")
    stored = [
        {path.name: path.read_bytes() for path in (tmp_path / out / COMPUTED / "scored").iterdir()}
        for out in ("out", "fresh")
    ]
    assert stored[0] == stored[1]


PLUGIN = '''
from dataclasses import dataclass

from recassay.metrics.base import Accuracy


@dataclass(frozen=True, repr=False)
class Misses(Accuracy):
    """Places without a relevant item."""

    name = "misses_that_change"
    bounds = (0.0, float("inf"))

    def judge(self, lists):
        return self.k - lists.hits(self.k, self.relevant_from)
'''


def test_metrics_of_a_plugin_are_scored_again_because_their_code_may_change(study, tmp_path):
    (tmp_path / "mine.py").write_text(PLUGIN)
    changes = [("recall@5", "misses_that_change@5"), (', svd: "PureSVD(factors=4)"', "")]
    try:
        results = ra.run_study(study(replace=changes, add="plugins: mine.py\n"), tmp_path / "out")
    finally:
        METRICS.find("misses_that_change").name = ""
    assert not any("scorings" in line for line in results.work)
    assert not (tmp_path / "out" / COMPUTED / "scored").exists()


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
    with StudyFolder(tmp_path).statistics() as memo:
        assert memo.known == {}


def test_a_failing_study_keeps_what_was_known(tmp_path):
    def fail(memo):
        memo.used["b"] = (2.0,)
        raise ZeroDivisionError

    with recording(tmp_path):
        with StudyFolder(tmp_path).statistics() as memo:
            memo.used["a"] = (1.0, float("nan"))
        with pytest.raises(ZeroDivisionError), StudyFolder(tmp_path).statistics() as memo:
            fail(memo)
        with StudyFolder(tmp_path).statistics() as memo:
            assert set(memo.known) == {"a", "b"}
