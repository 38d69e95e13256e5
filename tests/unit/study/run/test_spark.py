"""Answers computed ahead by tasks that run in this process."""

import dataclasses
import functools
from pathlib import Path
from types import SimpleNamespace

import pytest

import recassay as ra
from recassay.data.synthetic.tastes import log
from recassay.errors import UsageError
from recassay.study.config.reading import read_document
from recassay.study.config.schema import read_study
from recassay.study.plan.plan import make_plan
from recassay.study.run import spark
from recassay.study.run import study as running
from recassay.study.run.study import RUNNERS

from ..conftest import files
from .test_sequences import STUDY as SEQUENCES
from .test_streams import STUDY as STREAMS

SEEDS = "seeds: [0, 1]\n"
TUNE = "tune: {share: 0.2, grid: {isgd: {factors: [2, 4]}}}\n"


@pytest.fixture
def here(monkeypatch):
    """Run tasks in this process, one after the other; return the groups of each stage."""
    sent = {}

    def tasks(work, things, *, report, stage, **_):
        sent[stage] = list(things)
        report(stage, 0, len(things))
        return [work(thing) for thing in things]

    choose = running.choose
    backend = SimpleNamespace(tasks=lambda: tasks)

    def chosen(*, execution):
        return backend if execution.engine == "spark" else choose(execution=execution)

    monkeypatch.setattr(running, "choose", chosen)
    return sent


def kinds(study):
    return {
        "lists": study(add=SEEDS),
        "sequences": study(SEQUENCES, name="sequences.yaml", add=SEEDS),
        "streams": study(STREAMS, name="streams.yaml", add=TUNE + SEEDS),
    }


@pytest.mark.parametrize("kind", ["lists", "sequences", "streams"])
def test_tasks_compute_what_the_driver_would(study, tmp_path, here, kind):
    path = kinds(study)[kind]
    ra.run_study(path, tmp_path / "local")
    assert here == {}
    reports = []
    ra.run_study(path, tmp_path / "spark", engine="spark", progress=lambda *how: reports.append(how))
    without = ("cache", "times.json", *(["report.html"] if kind == "streams" else []))  # these tell times of calls
    assert files(tmp_path / "spark", without=without) == files(tmp_path / "local", without=without)
    kept = [{one.name for one in (tmp_path / out).rglob("cache/*/*")} for out in ("local", "spark")]
    assert kept[0] == kept[1]
    assert not any("events" in stage or "epoch" in stage for stage, _, _ in reports)


def test_answers_of_one_fitted_model_are_in_one_task(study, tmp_path, here):
    ra.run_study(study(add=SEEDS), tmp_path / "out", engine="spark")
    found = sorted((one[0].system, one[0].cell.fold, [piece.cell.seed for piece in one]) for one in here["answers"])
    assert found == [
        ("popular", 0, [0, 1]), ("popular", 1, [0, 1]),
        ("random", 0, [0]), ("random", 0, [1]), ("random", 1, [0]), ("random", 1, [1]),
        ("svd", 0, [0, 1]), ("svd", 1, [0, 1]),
    ]  # fmt: skip


def test_settings_are_played_before_answers(study, tmp_path, here):
    path = study(STREAMS, add=TUNE)
    ra.run_study(path, tmp_path / "out", engine="spark")
    assert [piece.setting for (piece,) in here["settings"]] == [0, 1]
    assert {piece.system for (piece,) in here["answers"]} == {"isgd", "uknn", "popular"}


def test_a_system_that_failed_in_the_dry_run_gets_no_task(study, tmp_path, here):
    path = study(replace=[("factors=4", "factors=64")])
    local = ra.run_study(path, tmp_path / "local")
    results = ra.run_study(path, tmp_path / "out", engine="spark")
    assert {piece.system for one in here["answers"] for piece in one} == {"popular", "random"}
    assert (results.failures, results.rows) == (local.failures, local.rows)


def test_stored_answers_give_no_task(study, tmp_path, here):
    ra.run_study(study(), tmp_path / "out", engine="spark")
    here.clear()
    ra.run_study(study(), tmp_path / "out", engine="spark")
    assert here == {}
    (tmp_path / "out/standings/generated/k_folds(k=2)/fold-1/seed-0/svd.json").unlink()
    ra.run_study(study(), tmp_path / "out", engine="spark")
    assert [[str(piece) for piece in one] for one in here["answers"]] == [
        ["svd on generated, k_folds(k=2), fold 1, seed 0"]
    ]


def ordered(path, out):
    """A runner, its logs, and the order of its tasks, in a folder that a study was run in."""
    ra.run_study(path, out)
    document = read_document(path)
    plan = make_plan(document, read_study(document))
    runner = RUNNERS[type(plan)](plan, out, None, None, lambda *_: None)
    logs = {name: runner.log(name) for name in plan.data}
    return runner, logs, spark.StudySpec.of(runner)


def refused(order, errand):
    with pytest.raises(UsageError) as caught:
        spark._run_tasks(order, errand)
    return caught.value


def test_a_worker_with_other_files_is_an_error(study, tmp_path):
    table = tmp_path / "log.csv"
    log(users=60, items=40, events=900).frame().write_csv(table)
    path = study(replace=[('generate: "log(users=60, items=40, events=900)"', "path: log.csv")])
    runner, logs, order = ordered(path, tmp_path / "out")
    (tmp_path / "out/runs/log/k_folds(k=2)/fold-0/seed-0/svd.parquet").unlink()
    ((piece,),) = spark._answer_tasks(runner, logs)

    elsewhere = refused(dataclasses.replace(order, number="a", out=tmp_path / "elsewhere"), (piece,))
    assert (elsewhere.code, elsewhere.where) == ("U229", str(tmp_path / "elsewhere"))
    other = refused(dataclasses.replace(order, number="b"), (dataclasses.replace(piece, key="other"),))
    assert (other.code, "svd on log, k_folds(k=2), fold 0, seed 0" in other.what) == ("U226", True)
    table.rename(tmp_path / "away.csv")
    missing = refused(dataclasses.replace(order, number="c"), (piece,))
    assert (missing.code, missing.where.split(",")[0], str(table) in missing.where) == ("U229", str(path), True)


def test_a_study_spec_has_absolute_paths(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECASSAY_DATA", "sets")
    path = Path(study().name)
    _, _, order = ordered(path, Path("out"))
    assert (order.out, order.data, order.document.path) == (tmp_path / "out", tmp_path / "sets", tmp_path / path)
    assert order.threads == 1


def test_an_answer_of_a_task_that_died_is_kept(study, tmp_path, monkeypatch):
    runner, logs, order = ordered(study(), tmp_path / "out")
    lists = tmp_path / "out/runs/generated/k_folds(k=2)/fold-0/seed-0/svd.parquet"
    held = lists.read_bytes()
    lists.unlink()
    (errand,) = spark._answer_tasks(runner, logs)
    lists.write_bytes(held)
    monkeypatch.setattr(running, "play_fitted", functools.partial(pytest.fail, "queried again"))
    assert spark._run_tasks(order, errand) == []
