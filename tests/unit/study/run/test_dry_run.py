"""What fails in the dry run of a study is left out and listed, and the study goes on with the rest."""

import json

import pytest

import recassay as ra
from recassay.errors import RecassayError, UsageError
from recassay.models.baselines import Popular

from ..conftest import files

MINE = '''
from dataclasses import dataclass
from recassay.metrics.base import Accuracy

class Broken:
    """A model of every kind that cannot learn."""
    def fit(self, log):
        raise ZeroDivisionError("broken")

@dataclass(frozen=True, repr=False)
class Bad(Accuracy):
    """Fails."""
    name = "bad_{name}"
    def judge(self, lists):
        if lists.size > {queries}:
            raise ArithmeticError("bad formula")
        return lists.hits(self.k, self.relevant_from) / self.k
'''
BROKEN = '"mine.py:Broken()"'
LISTS = """\
study: lists
data: {generate: "log(users=60, items=40, events=900)"}
split: k_folds(k=2)
models: {popular: Popular, broken: "mine.py:Broken()", random: Random}
metrics: [recall@5]
compare: {baseline: popular}
judge: {resamples: 100}
"""
DESIGNS = LISTS + "designs: [TI-AR-AN, 'TI-1R-NN(5)']\n"
SEQUENCES = """\
study: sequences
data: {generate: "log(users=60, items=40, events=900)", sequences: sessions(gap=4000000)}
split: sequence_folds(k=2)
protocol: sequence(k=3)
models: {popular: Unigram, broken: "mine.py:Broken()", random: Uniform}
metrics: [seq_precision@3]
compare: {baseline: popular}
judge: {resamples: 100}
"""
STREAMS = """\
study: streams
data: {generate: "drifting(users=80, items=50, events=1500)"}
protocol: prequential(at=5)
models: {popular: StreamPopular, broken: "mine.py:Broken()", random: StreamRandom}
metrics: [recall@5]
compare: {baseline: popular}
over_time: {window: 200}
judge: {resamples: 100}
"""
KINDS = {"lists": LISTS, "designs": DESIGNS, "sequences": SEQUENCES, "streams": STREAMS}


@pytest.fixture
def mine(tmp_path, request):
    """Write a Python file with a model and a metric that fail; the metric fails on blocks of more queries."""

    def write(queries=0):
        name = "".join(letter if letter.isalnum() else "_" for letter in request.node.name)
        (tmp_path / "mine.py").write_text(MINE.format(name=name, queries=queries))
        return f"bad_{name}@5"

    return write


@pytest.mark.parametrize("kind", KINDS)
def test_a_system_that_fails_in_the_dry_run_is_left_out(study, tmp_path, mine, kind):
    mine()
    results = ra.run_study(study(KINDS[kind]), tmp_path / "out")
    (failure,) = results.failures
    assert (failure["system"], failure["dry_run"]) == ("broken", True)
    assert "line 5" in failure["message"] or "line 4" in failure["message"]
    assert "remove" in failure["message"] or kind == "streams"  # the advice
    alone = ra.run_study(study(KINDS[kind].replace(f"broken: {BROKEN}, ", ""), name="two.yaml"), tmp_path / "two")
    assert results.rows == alone.rows
    assert results.comparisons == alone.comparisons
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["failures"] == [failure]
    assert "left out after the dry run" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_a_study_whose_systems_all_fail_ends_at_once(study, tmp_path, mine, kind):
    mine()
    models = next(line for line in KINDS[kind].splitlines() if line.startswith("models"))
    text = KINDS[kind].replace(models, f"models: {{a: {BROKEN}, b: {BROKEN}}}").replace("baseline: popular", "")
    with pytest.raises(RecassayError) as caught:
        ra.run_study(study(text), tmp_path / "out")
    assert (caught.value.exit_code, "a" in caught.value.what) == (2, True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["lists", "designs", "streams"])
def test_a_metric_that_fails_in_the_dry_run_is_left_out(study, tmp_path, mine, kind):
    heading = mine()
    text = KINDS[kind].replace(f"broken: {BROKEN}, ", "").replace("[TI-AR-AN, ", "[lists, ")
    out = tmp_path / "out"
    path = study(text.replace("[recall@5]", "['mine.py:Bad@5', recall@5]"))
    results = ra.run_study(path, out)
    (failure,) = results.failures
    assert (failure["system"], failure["dry_run"]) == (heading, True)
    assert ("ArithmeticError: bad formula" in failure["message"], "metrics" in failure["message"]) == (True, True)
    assert 'raise ArithmeticError("bad formula")' in failure["traceback"]
    alone = ra.run_study(study(text, name="one.yaml"), tmp_path / "one")
    assert (results.rows, results.comparisons) == (alone.rows, alone.comparisons)
    before = files(out)
    ra.run_study(path, out)  # the same again: it is tried again, and fails again
    assert files(out) == before


def test_a_metric_that_fails_later_is_left_out_from_there_on(study, tmp_path, mine):
    heading = mine(queries=100)  # the dry run scores 50 users
    text = LISTS.replace("users=60", "users=200").replace(f"broken: {BROKEN}, ", "")
    text = text.replace("[recall@5]", "['mine.py:Bad@5', recall@5]")
    results = ra.run_study(study(text), tmp_path / "out")
    (failure,) = results.failures
    assert (failure["system"], failure["code"], "dry_run" in failure) == (heading, "ArithmeticError", False)
    assert {row["metric"] for row in results.rows} == {"recall@5"}
    assert {row["system"] for row in results.rows} == {"popular", "random"}


def test_what_failed_in_the_dry_run_is_tried_again(study, tmp_path, monkeypatch):
    path, out = study(), tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(Popular, "fit", lambda self, train: 1 / 0)
        first = ra.run_study(path, out)
        before = files(out)
        assert ra.run_study(path, out).failures == first.failures
        assert files(out) == before
    assert [row["system"] for row in first.failures] == ["popular"]
    assert ra.run_study(path, out).failures == ()
    ra.run_study(path, tmp_path / "whole")
    assert files(out) == files(tmp_path / "whole")


def test_a_failing_system_is_left_out_of_the_data_where_it_fails(study, tmp_path):
    one = '{generate: "log(users=60, items=40, events=900)"}'
    big = '{name: big, generate: "log(users=120, items=120, events=3000)"}'
    replace = [("factors=4", "factors=64"), (one, f"[{one}, {big}]")]
    results = ra.run_study(study(replace=replace), tmp_path / "out")
    (failure,) = results.failures
    assert (failure["code"], failure["dataset"], "line 5, models.svd" in failure["message"]) == (
        "U102", "generated", True,
    )  # fmt: skip
    assert {row["dataset"] for row in results.rows if row["system"] == "svd"} == {"big"}


def test_mistakes_in_the_study_file_still_end_it(study, tmp_path):
    for replace in [("Random", "Randm")], [("factors=4", "factor=4")], [("coverage@5", "ild@5")]:
        with pytest.raises(UsageError):
            ra.run_study(study(replace=replace), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_model_of_another_kind_is_left_out(study, tmp_path):
    text = SEQUENCES.replace(BROKEN, "Popular")
    (failure,) = ra.run_study(study(text), tmp_path / "out").failures
    assert (failure["system"], failure["code"]) == ("broken", "U173")
