"""How long a study took: noted once, apart from results."""

import itertools
import json

import polars as pl
import pytest

import recassay as ra
from recassay.data.io.manifest import recording
from recassay.data.synthetic import log
from recassay.models.baselines import Popular
from recassay.study.store.folder import StudyFolder
from recassay.study.store.results import times_exhibit

from ..conftest import files


@pytest.fixture
def ticking(monkeypatch):
    """Every look at the clock is a second later."""

    def start():
        ticks = itertools.count()
        monkeypatch.setattr("recassay.study.store.folder.perf_counter", lambda: float(next(ticks)))

    start()
    return start


def test_every_system_fold_and_seed_has_its_times(study, tmp_path, ticking):
    results = ra.run_study(study(add="seeds: [0, 1]\n"), tmp_path / "out", threads=2)
    measured = {(row["system"], row["fold"], row["seed"], row["what"]): row["seconds"] for row in results.times}
    systems, folds, seeds = ("popular", "random", "svd"), (0, 1), (0, 1)
    fits_and_answers = set(itertools.product(systems, folds, seeds, ("fit", "answer")))
    assert set(measured) == fits_and_answers | set(itertools.product((None,), folds, seeds, ("judge",)))
    assert set(measured.values()) == {1.0}  # of two looks
    assert {row["threads"] for row in results.times} == {2}
    assert {(row["dataset"], row["split"]) for row in results.times} == {("generated", "k_folds(k=2)")}
    written = json.loads((tmp_path / "out" / "times.json").read_text())
    assert written.pop("command").startswith("recassay run ")
    assert written == {"recassay": ra.__version__, "rows": list(results.times)}


def test_times_are_not_part_of_results(study, tmp_path, ticking):
    ra.run_study(study(), tmp_path / "one")
    ticking()
    for _ in range(5):
        ra.run_study(study(), tmp_path / "two", threads=1)
    apart = ("cache", "times.json", "report.html")
    assert files(tmp_path / "one", without=apart) == files(tmp_path / "two", without=apart)
    assert "seconds" not in (tmp_path / "two" / "summary.json").read_text()
    assert "seconds" not in (tmp_path / "two" / "study.lock.yaml").read_text()


def test_stored_results_keep_their_first_time(study, tmp_path, monkeypatch, ticking):
    out = tmp_path / "out"
    first = {(row["system"], row["fold"], row["what"]): row["seconds"] for row in ra.run_study(study(), out).times}
    (out / "runs/generated/k_folds(k=2)/fold-1/seed-0/svd.parquet").unlink()
    looks = itertools.count()
    monkeypatch.setattr("recassay.study.store.folder.perf_counter", lambda: 5.0 * next(looks))
    again = {(row["system"], row["fold"], row["what"]): row["seconds"] for row in ra.run_study(study(), out).times}
    assert {key for key in first if first[key] != again[key]} == {
        ("svd", 1, "answer"),  # made anew; what was fitted is still there
        (None, 0, "judge"),  # judged anew, each time
        (None, 1, "judge"),
    }


def test_the_time_of_a_resumed_fit_includes_the_earlier_part(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("recassay.study.store.folder.perf_counter", lambda: now[0])
    clock = StudyFolder(tmp_path)

    def train(until, *, resumed):
        with recording(tmp_path), clock.timed("key", 1, resumed=resumed) as note:
            for _epoch in range(3):
                now[0] += 10
                note()
                if now[0] == until:
                    raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(20, resumed=False)
    assert clock.times("key")["seconds"] == 20
    train(None, resumed=True)
    assert clock.times("key")["seconds"] == 50
    train(None, resumed=False)
    assert clock.times("key")["seconds"] == 30


def test_failures_have_no_time(study, tmp_path, monkeypatch):
    second, fit = ra.split.k_folds(k=2)(log(users=60, items=40, events=900))[1].train, Popular.fit

    def failing(self, train):
        if train.fingerprint == second.fingerprint:
            raise MemoryError
        return fit(self, train)

    monkeypatch.setattr(Popular, "fit", failing)
    times = ra.run_study(study(), tmp_path / "out").times
    assert {(row["fold"], row["what"]) for row in times if row["system"] == "popular"} == {(0, "fit"), (0, "answer")}


def test_folders_without_times_can_be_read(study, tmp_path):
    out = tmp_path / "out"
    ra.run_study(study(), out)
    for path in (out / "cache" / "times").iterdir():
        path.unlink()
    (out / "cache" / "state.json").unlink()  # else the finished results are returned as they are
    assert {row["what"] for row in ra.run_study(study(), out).times} == {"judge"}


def test_times_are_bars_by_data_and_split():
    rows = [
        {
            "system": system,
            "dataset": data,
            "split": split,
            "fold": fold,
            "seed": 0,
            "what": "fit",
            "seconds": 1.0 + fold,
        }
        for system in ("a", "b")
        for data in ("x", "y")
        for split in ("s", "t")
        for fold in (0, 1)
    ]
    assert times_exhibit([{**rows[0], "system": None, "what": "judge"}]) is None
    one = times_exhibit(rows[:2])
    assert one is not None
    assert (one.facet, one.table.rows()) == (None, [("x", "a", "fit", 1.5)])
    every = times_exhibit(rows)
    assert every is not None
    assert every.facet == "data"
    assert every.table.filter(pl.col("system") == "b")["data"].to_list() == ["x, s", "x, t", "y, s", "y, t"]
    assert set(every.table["seconds"]) == {1.5}


def test_the_page_shows_times(study, tmp_path):
    ra.run_study(study(), tmp_path / "out")
    assert "How long systems took" in (tmp_path / "out" / "report.html").read_text()
