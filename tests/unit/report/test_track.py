"""Sending results to a tracker: what is sent, that twice changes nothing, and names that can be read back."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recassay as ra
from recassay.report.folder.results import write_results
from recassay.report.folder.track import metric_name, track_csv, track_mlflow, tracked_name

TRUTH = {user: ["x", "y"] for user in range(20)}
RUNS = {"first": {user: ["x", "z"] for user in TRUTH}, "second": {user: ["z", "z", "y"] for user in TRUTH}}


class Entity(NamedTuple):
    """A parameter, a metric or a tag, as MLflow has them."""

    key: str
    value: Any
    timestamp: int = 0
    step: int = 0


class Server:
    """The part of MLflow's client that is used, in memory; ``calls_until_it_fails`` interrupts it."""

    def __init__(self, calls_until_it_fails=10**9):
        self.experiments, self.runs, self.left = {}, {}, calls_until_it_fails

    def get_experiment_by_name(self, name):
        return SimpleNamespace(experiment_id=self.experiments[name]) if name in self.experiments else None

    def create_experiment(self, name):
        self.experiments[name] = str(len(self.experiments))
        return self.experiments[name]

    def search_runs(self, experiments, text):
        key, value = text.removeprefix("tags.`").replace("` = '", " ").removesuffix("'").split(" ")
        return [run for run in self.runs.values() if run.home in experiments and run.data.tags.get(key) == value]

    def create_run(self, home, tags):
        run = f"run{len(self.runs)}"
        data = SimpleNamespace(tags=dict(tags), params={}, metrics={})
        info = SimpleNamespace(run_id=run, status="RUNNING")
        self.runs[run] = SimpleNamespace(home=home, data=data, info=info, files=[])
        return self.runs[run]

    def delete_run(self, run):
        del self.runs[run]

    def log_batch(self, run, metrics=(), params=(), tags=()):
        self.left -= 1
        if not self.left:
            raise ConnectionError("the server has gone")
        assert len(params) <= 100
        for kept, sent in (("metrics", metrics), ("params", params), ("tags", tags)):
            getattr(self.runs[run].data, kept).update({one.key: one.value for one in sent})

    def log_artifact(self, run, path):
        self.runs[run].files.append(path.rpartition("/")[2])

    def set_terminated(self, run):
        self.runs[run].info.status = "FINISHED"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    entities = SimpleNamespace(Param=Entity, Metric=Entity, RunTag=Entity)
    monkeypatch.setitem(sys.modules, "mlflow", SimpleNamespace(entities=entities))
    scores = ra.score(RUNS, TRUTH, "hit@1 ndcg(gain='exp2')@2")
    return write_results(scores, ra.compare(scores), tmp_path / "results")


def test_a_run_for_the_folder_and_one_for_each_system(folder):
    server = Server()
    run, is_new = track_mlflow(folder, server, "shop")
    assert is_new
    parent, *children = server.runs.values()
    assert (parent.info.run_id, parent.files) == (run, ["report.html", "summary.json"])
    assert parent.data.params["conventions.ties"] == "id"
    assert [child.data.tags["mlflow.runName"] for child in children] == ["first", "second"]
    assert {child.data.tags["mlflow.parentRunId"] for child in children} == {run}
    first = children[0].data
    assert (first.metrics["hit_at_1"], first.metrics["hit_at_1.n"]) == (1.0, 20.0)
    assert metric_name(next(name for name in first.metrics if "gain" in name)) == "ndcg(gain='exp2')@2"
    assert "finding.C003" in children[1].data.tags
    assert "finding.C003" not in first.tags
    assert all(one.info.status == "FINISHED" for one in server.runs.values())


def test_sending_twice_changes_nothing(folder):
    server = Server()
    run, _ = track_mlflow(folder, server, "shop")
    assert track_mlflow(folder, server, "shop") == (run, False)
    assert len(server.runs) == 3


def test_what_an_interrupted_call_left_is_sent_again(folder):
    server = Server(calls_until_it_fails=4)
    with pytest.raises(ConnectionError):
        track_mlflow(folder, server, "shop")
    server.left = 10**9
    _, is_new = track_mlflow(folder, server, "shop")
    assert is_new
    assert sorted(one.data.tags["mlflow.runName"] for one in server.runs.values()) == ["first", "results", "second"]


def test_a_csv_file_grows_by_each_folder_once(folder, tmp_path):
    path = tmp_path / "all.csv"
    assert [track_csv(folder, path) for _ in range(2)] == [4, 0]
    before = path.read_text()
    write_results(ra.score(RUNS, TRUTH, "hit@2"), None, tmp_path / "next")
    assert track_csv(tmp_path / "next", path) == 2
    assert path.read_text().startswith(before)
    assert len(path.read_text().splitlines()) == 7
    path.write_text("other,columns\n")
    with pytest.raises(ra.InputError, match="I318"):
        track_csv(folder, path)


@given(
    st.text(st.characters(codec="ascii", exclude_categories=["Cc"])) | st.sampled_from(["a_at_b", "_x28_", "seq_mrr@5"])
)
def test_names_can_be_read_back(metric):
    name = tracked_name(metric)
    assert metric_name(name) == metric
    assert all(letter.isalnum() or letter in "_-./ " for letter in name)


def test_the_evaluator_of_mlflow(monkeypatch):
    """A row is a query with a list of retrieved and a list of relevant ids; numbers and findings go to the run."""
    server = Server()
    run = server.create_run("0", {}).info.run_id
    entities = SimpleNamespace(Param=Entity, Metric=Entity, RunTag=Entity)
    models = SimpleNamespace(EvaluationResult=SimpleNamespace)
    base = SimpleNamespace(ModelEvaluator=object)
    for name, module in (
        ("mlflow", SimpleNamespace(entities=entities, models=models, MlflowClient=lambda: server)),
        ("mlflow.models.evaluation.base", base),
    ):
        monkeypatch.setitem(sys.modules, name, module)
    from recassay.mlflow_evaluator import RecassayEvaluator

    assert RecassayEvaluator.can_evaluate(model_type="retriever", evaluator_config=None)
    assert not RecassayEvaluator.can_evaluate(model_type="classifier", evaluator_config={})
    dataset = SimpleNamespace(predictions_data=[["d2", "d1"], ["d3"]], labels_data=[["d1"], ["d3"]])
    config = {"metrics": "mrr@2"}
    result = RecassayEvaluator().evaluate(model_type="retriever", dataset=dataset, run_id=run, evaluator_config=config)
    assert result.metrics["mrr_at_2"] == 0.75
    assert server.runs[run].data.metrics["mrr_at_2.n"] == 2.0
    assert "finding.C009" in server.runs[run].data.tags
