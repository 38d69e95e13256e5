"""Studies whose answers tasks of Spark make: the same files, reported failures, workers that die."""

import json
import os

import pytest

import recassay as ra
from recassay.data.io import write_bytes
from recassay.data.io.manifest import recording
from recassay.data.synthetic.tastes import log
from recassay.errors import UsageError
from recassay.study.store.page import write_report

DATA = 'data: {generate: "log(users=40, items=30, events=600)"}\n'
LISTS = f"""\
study: lists
{DATA}split: k_folds(k=2)
models: {{popular: Popular, random: Random, mine: "mine.py:Mine"}}
metrics: [recall@5, coverage@5]
judge: {{resamples: 100}}
compare: {{baseline: popular}}
"""
SEQUENCES = """\
study: sequences
data: {generate: "log(users=40, items=30, events=600)", sequences: sessions(gap=4000000)}
split: sequence_folds(k=2)
protocol: sequence(k=3)
models: {chance: Uniform, chain: "NGram(order=2)"}
metrics: [seq_precision@3]
judge: {resamples: 100}
"""
STREAMS = f"""\
study: streams
{DATA}protocol: prequential(at=5)
models: {{isgd: "ISGD(factors=4)", popular: StreamPopular}}
metrics: [recall@5]
over_time: {{window: 100}}
tune: {{share: 0.3, grid: {{isgd: {{factors: [2, 4]}}}}}}
judge: {{resamples: 100}}
"""
MINE = """\
import os
from pathlib import Path

from recassay.models.baselines.popular import Popular

HERE = Path(__file__).parent


class Mine:
    def fit(self, log):
        in_driver = os.getpid() == int((HERE / "driver").read_text())
        with (HERE / "fits").open("a") as fits:
            fits.write(f"{'driver' if in_driver else 'worker'}\\n")
        PART
        return Popular().fit(log)
"""
DIES_ONCE = """if not in_driver and not (HERE / "mark").exists():
            (HERE / "mark").touch()
            os.kill(os.getpid(), 9)"""
DIES = "in_driver or os.kill(os.getpid(), 9)"
FAILS = """if log.fingerprint != (HERE / "first").read_text():
            raise ValueError("no")"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A study file with a model of its own beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "driver").write_text(str(os.getpid()))

    def write(text, part="pass"):
        (tmp_path / "mine.py").write_text(MINE.replace("PART", part))
        (tmp_path / "study.yaml").write_text(text)
        return "study.yaml"

    return write


def fits(tmp_path):
    """Who fitted, one line each time; asked once."""
    path = tmp_path / "fits"
    found = path.read_text().split()
    path.unlink()
    return found


def same(folder, other):
    """Whether two folders of results hold the same, but for how long it took."""
    with recording(other):
        write_bytes((folder / "times.json").read_bytes(), other / "times.json")
    write_report(folder)
    write_report(other)
    held = [
        {
            path.relative_to(one): path.read_bytes()
            for path in one.rglob("*")
            if path.is_file()
            and not path.is_relative_to(one / "cache" / "times")
            and not path.name.startswith(("state.json", "manifest"))
        }
        for one in (folder, other)
    ]
    assert held[0].keys() == held[1].keys()
    return [str(path) for path in held[0] if held[0][path] != held[1][path]] == []


@pytest.mark.parametrize("text", [LISTS + "seeds: [0, 1]\n", SEQUENCES, STREAMS], ids=["lists", "sequences", "streams"])
def test_the_same_files(spark, tmp_path, written, text):
    path, reports = written(text), []
    ra.run_study(path, "local")
    ra.run_study(path, "spark", engine="spark", progress=lambda *how: reports.append(how))
    assert same(tmp_path / "local", tmp_path / "spark")
    answers = [(done, of) for stage, done, of in reports if stage == "answers"]
    made = len([*(tmp_path / "spark" / "runs").rglob("*.parquet")])
    assert (answers[0], answers[-1]) == ((0, made), (made, made))


def test_a_model_that_fails_is_told_as_it_is_here_and_not_tried_again(spark, tmp_path, written):
    path = written(LISTS, FAILS)
    first = ra.split.k_folds(k=2)(log(users=40, items=30, events=600))[0]
    (tmp_path / "first").write_text(first.train.fingerprint)
    found = ra.run_study(path, "spark", engine="spark")
    assert fits(tmp_path) == ["driver", "worker", "worker"]  # a trial, and two folds
    ra.run_study(path, "local")
    (failure,) = found.failures
    assert (failure["system"], failure["fold"], failure["code"], failure["message"]) == ("mine", 1, "ValueError", "no")
    (written_failure,) = (tmp_path / "spark" / "failures").rglob("*.json")
    assert json.loads(written_failure.read_text()) == failure
    assert "mine.py" in failure["traceback"]
    assert same(tmp_path / "local", tmp_path / "spark")


def test_a_worker_that_dies_is_tried_again_and_nothing_counts_twice(spark, tmp_path, written):
    path = written(LISTS, DIES_ONCE)
    found = ra.run_study(path, "spark", engine="spark")
    assert fits(tmp_path) == ["driver", "worker", "worker", "worker"]  # a trial, and one of two folds twice
    ra.run_study(path, "local")
    assert found.failures == ()
    assert same(tmp_path / "local", tmp_path / "spark")


def test_a_worker_that_dies_each_time_is_named_and_what_is_done_stays(spark, tmp_path, written):
    path = written(LISTS, DIES)
    with pytest.raises(UsageError) as caught:
        ra.run_study(path, "spark", engine="spark")
    assert (caught.value.code, "mine on generated, k_folds(k=2), fold" in caught.value.what) == ("U226", True)
    assert fits(tmp_path).count("worker") >= 3
    path = written(LISTS)
    ra.run_study(path, "spark", engine="spark")
    ra.run_study(path, "local")
    assert same(tmp_path / "local", tmp_path / "spark")
