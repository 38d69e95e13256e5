"""A study from its file to its folder: what is written, that it can go on, and what fails alone."""

import dataclasses
import json
import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
import yaml

import recassay as ra
from recassay.comparison.rules import SuddenDeathOptions
from recassay.data.io import write_bytes
from recassay.data.io.archive import save_archive
from recassay.data.io.manifest import recording
from recassay.data.synthetic import log
from recassay.engine.decisions.decide import sudden_deaths
from recassay.errors import InputError, RecassayError, UsageError
from recassay.models.baselines import Popular, Random
from recassay.report.folder.results import read_results
from recassay.study.config.sources import find_data_file
from recassay.study.run import lists as running
from recassay.study.run.dry_run import small_fold
from recassay.study.store import folder as folders

from ....refusals import refused
from ..conftest import files


def over_all(results, metric, design="lists"):
    return {
        row["system"]: row
        for row in results.rows
        if (row["metric"], row["design"], row["fold"]) == (metric, design, "all")
    }


def test_the_catalogue_is_the_items_of_the_training_log(study, tmp_path):
    rows = [(user, item) for user in range(30) for item in range(8)] + [(user, 100 + user) for user in range(30)]
    pl.DataFrame(rows, ["user_id", "item_id"], orient="row").write_csv(tmp_path / "log.csv")
    path = study(
        "study: catalogue\ndata: {path: log.csv}\nsplit: random(test=0.3)\nmodels: [Popular, Random]\n"
        "metrics: [coverage@3, gini@3, recall@3]\n"
    )
    results = ra.run_study(path, tmp_path / "out")
    (fold,) = ra.split.random(test=0.3)(ra.read_interactions(tmp_path / "log.csv"))
    trained = np.unique(fold.train.items).size
    assert trained < fold.train.n_items  # some items have no event in training
    runs = tmp_path / "out/runs/log/random(test=0.3)/fold-0/seed-0"
    alone = ra.score(runs, fold.test, "coverage@3 gini@3", train=fold.train.frame())
    for metric in ("coverage@3", "gini@3"):
        for system, row in over_all(results, metric).items():
            assert row["mean"] == alone.row(system, metric).mean
            assert row["parameters"]["catalogue_items"] == trained
    assert (
        f"Catalogue of coverage@3: {trained} items of the training log." in (tmp_path / "out/report.html").read_text()
    )


def test_the_folder_of_a_study(study, tmp_path):
    out = tmp_path / "out"
    results = ra.run_study(study(), out)
    written = set(files(out))
    assert {"study.lock.yaml", "scores.parquet", "summary.json", "findings.jsonl", "report.html"} <= written
    page = (out / "report.html").read_text()
    assert "Which system wins?" in page
    assert all(system in page for system in ("popular", "random", "svd"))
    for fold in (0, 1):
        assert f"folds/generated/k_folds(k=2)/fold-{fold}.json" in written
        for system in ("popular", "random", "svd"):
            assert f"runs/generated/k_folds(k=2)/fold-{fold}/seed-0/{system}.parquet" in written
            assert f"standings/generated/k_folds(k=2)/fold-{fold}/seed-0/{system}.npz" in written
    summary = json.loads((out / "summary.json").read_text())
    assert summary["rows"] == [json.loads(json.dumps(row)) for row in results.rows]
    assert {row["fold"] for row in summary["rows"]} == {0, 1, "all"}
    assert len(summary["rows"]) == 3 * 3 * 3
    assert {(row["a"], row["b"]) for row in summary["comparisons"]} == {("random", "popular"), ("svd", "popular")}
    assert (results.failures, summary["failures"]) == ((), [])


def test_the_rows_of_a_fold_are_those_of_score(study, tmp_path):
    out = tmp_path / "out"
    results = ra.run_study(study(), out)
    fold = ra.split.k_folds(k=2)(log(users=60, items=40, events=900))[1]
    runs = ra.read_runs(str(out / "runs/generated/k_folds(k=2)/fold-1/seed-0"))
    alone = ra.score(runs, ra.protocols.ranking().truth(fold), "recall@5 ndcg@10", interval=None)
    rows = {(row["system"], row["metric"]): row["mean"] for row in results.rows if row["fold"] == 1}
    for system in ("popular", "random", "svd"):
        for metric in ("recall@5", "ndcg@10"):
            assert rows[system, metric] == alone.row(system, metric).mean


def test_means_over_folds_weigh_users_by_fold(study, tmp_path):
    results = ra.run_study(study(), tmp_path / "out")
    scores = pl.read_parquet(tmp_path / "out" / "scores.parquet")
    assert scores.columns[:9] == ["system", "dataset", "split", "protocol", "design", "seed", "fold", "unit", "user"]
    for system, row in over_all(results, "recall@5").items():
        values = scores.filter(pl.col("system") == system)["recall@5"]
        assert row["mean"] == pytest.approx(values.mean(), abs=1e-14)
        assert row["n"] == scores["user"].n_unique()
        assert row["low"] < row["mean"] < row["high"]
    coverage = [row["mean"] for row in results.rows if row["metric"] == "coverage@5" and row["system"] == "svd"]
    assert coverage[-1] == pytest.approx(np.mean(coverage[:2]))


DESIGNS = ("TI-AR-AN", "TI-1R-NN(5)", "P1R")
TWO_METRICS = [(", coverage@5", "")]


@pytest.fixture
def judged(study, tmp_path):
    """A study under designs, and the assay of each of its folds made by hand."""
    path = study(replace=TWO_METRICS, add=f"designs: [lists, {', '.join(DESIGNS)}]\n")
    results = ra.run_study(path, tmp_path / "out")
    assays = []
    for fold in ra.split.k_folds(k=2)(log(users=60, items=40, events=900)):
        models = {"popular": Popular(), "random": Random(), "svd": ra.models.PureSVD(factors=4)}
        runs = {name: ra.play(model, fold, ra.protocols.ranking(), name=name) for name, model in models.items()}
        assays.append(ra.judge(runs, list(DESIGNS), "recall@5 ndcg@10", resamples=200))
    return results, assays


def test_rows_under_a_design_equal_those_of_judge(judged):
    results, assays = judged
    for row in results.rows:
        if row["design"] == "lists":
            assert "rho" not in row
        elif row["fold"] != "all":
            alone = assays[row["fold"]].row(row["system"], row["design"], row["metric"]).to_dict()
            assert {name: row[name] for name in alone} == alone


def test_pairs_and_users_keep_their_weights_over_folds(judged):
    """Under 1R every relevant item counts the same, under AR every user, in whichever fold they stand."""
    results, assays = judged
    for design in DESIGNS:
        for system, row in over_all(results, "ndcg@10", design).items():
            folds = [one.row(system, design, "ndcg@10") for one in assays]
            sets = {"TI-1R-NN(5)": [one.sets for one in folds], "TI-AR-AN": [60, 60], "P1R": [1, 1]}[design]
            share = np.array(sets) / sum(sets)
            assert row["mean"] == pytest.approx(share @ [one.mean for one in folds], abs=1e-12)
            assert row["random"] == pytest.approx(share @ [one.random for one in folds], abs=1e-12)
            assert row["rho"] == pytest.approx(share @ [one.rho for one in folds], abs=1e-12)
            chance = (row["mean"] - row["random"]) / (row["best"] - row["random"])
            assert row["corrected"] == pytest.approx(chance, abs=1e-12)
            assert row["sd_draws"] == pytest.approx(np.hypot(*(share * [one.sd_draws for one in folds])), abs=1e-12)
            assert row["sets"] == sum(one.sets for one in folds)
            assert row["low"] < row["mean"] < row["high"]


def test_designs_are_used_on_splits_that_they_fit(study, tmp_path):
    path = study(
        replace=[*TWO_METRICS, ("split: k_folds(k=2)", "split: [k_folds(k=2), 'uniform_items(test=0.1)']")],
        add="designs: [AI-AR-AN, TI-AR-AN, U1R]\n",
    )
    found = {(row["split"].partition("(")[0], row["design"]) for row in ra.run_study(path, tmp_path / "out").rows}
    assert found == {
        ("k_folds", "AI-AR-AN"), ("k_folds", "TI-AR-AN"), ("uniform_items", "TI-AR-AN"), ("uniform_items", "U1R"),
    }  # fmt: skip


def test_a_design_that_fits_no_split_is_an_early_error(study, tmp_path):
    with pytest.raises(UsageError, match="uniform_items"):
        ra.run_study(study(replace=TWO_METRICS, add="designs: [U1R]\n"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_metric_without_designs_is_an_early_error(study, tmp_path):
    with pytest.raises(UsageError, match="coverage"):
        ra.run_study(study(add="designs: [TI-AR-AN]\n"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_lock_has_all_settings_and_no_time_or_path(study, tmp_path):
    ra.run_study(study(), tmp_path / "out")
    text = (tmp_path / "out" / "study.lock.yaml").read_text()
    lock = yaml.safe_load(text)
    assert lock["versions"]["recassay"] == ra.__version__
    assert lock["splits"] == [{"name": "k_folds", "k": 2, "by": "rating", "validation": 0.0, "seed": 0}]
    assert lock["models"]["svd"] == {"model": "PureSVD(factors=4)", "parameters": {"factors": 4}}
    assert lock["data"][0]["fingerprint"] == log(users=60, items=40, events=900).fingerprint
    assert lock["metrics"]["ndcg@10"]["gain"] == "linear"
    assert (lock["judge"]["users"], lock["compare"]["test"]) == ("all", "permutation")
    assert str(tmp_path) not in text


def test_the_same_study_elsewhere_with_other_threads_gives_the_same_bytes(study, tmp_path):
    ra.run_study(study(), tmp_path / "one", threads=1)
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "again.yaml").write_text(study().read_text())
    ra.run_study(other / "again.yaml", other / "out", threads=3)
    assert files(tmp_path / "one") == files(other / "out")


def counted(monkeypatch):
    """How often models are fitted and queried from here on."""
    counts = {"fit": 0, "answer": 0}
    fit, ask = Popular.fit, running.play_fitted

    def fitting(self, train):
        counts["fit"] += 1
        return fit(self, train)

    def asking(*arguments, **options):
        counts["answer"] += 1
        return ask(*arguments, **options)

    monkeypatch.setattr(Popular, "fit", fitting)
    monkeypatch.setattr(running, "play_fitted", asking)
    return counts


def test_stored_results_are_not_computed_again(study, tmp_path, monkeypatch):
    out = tmp_path / "out"
    ra.run_study(study(), out)
    before = files(out)
    counts = counted(monkeypatch)
    ra.run_study(study(), out)
    assert (counts, files(out)) == ({"fit": 0, "answer": 0}, before)
    dry_run = 1
    ra.run_study(study(replace=[("recall@5", "precision@5")]), out)
    assert counts == {"fit": dry_run, "answer": dry_run}
    ra.run_study(study(add="protocol: ranking(k=20)\n"), out)
    assert counts == {"fit": 2 * dry_run, "answer": dry_run + 3 * dry_run + 6}


def test_an_unchanged_study_is_answered_without_reading_its_data(study, tmp_path, monkeypatch):
    path = study()
    first = ra.run_study(path, tmp_path / "out")
    monkeypatch.setattr("recassay.study.run.study.read_plan", None)
    again = ra.run_study(path, tmp_path / "out")
    assert (again.rows, again.comparisons, again.verdict) == (first.rows, first.comparisons, first.verdict)


def test_a_model_without_a_text_form_is_named_after_its_expression(study, tmp_path, monkeypatch):
    text = "from recassay.models import Popular\n\n\nclass Mine:\n    fit = staticmethod(Popular().fit)\n"
    (tmp_path / "mine.py").write_text(text)
    path = study(
        replace=[('{popular: Popular, random: Random, svd: "PureSVD(factors=4)"}', '["mine.py:Mine", Popular]')]
    )
    path = study(path.read_text(), replace=[("compare: {baseline: popular}\n", "")])
    assert set(over_all(ra.run_study(path, tmp_path / "out"), "recall@5")) == {"Mine", "Popular"}
    before = files(tmp_path / "out")
    counts = counted(monkeypatch)
    ra.run_study(path, tmp_path / "out")
    assert (counts["answer"], files(tmp_path / "out")) == (0, before)


def test_damaged_files_are_computed_again(study, tmp_path):
    out = tmp_path / "out"
    ra.run_study(study(), out)
    before = files(out)
    for path in [*out.rglob("cache/fitted/*.model")]:
        path.write_bytes(b"PK\x03\x04")
    (out / "standings/generated/k_folds(k=2)/fold-1/seed-0/svd.npz").unlink()
    (out / "runs/generated/k_folds(k=2)/fold-0/seed-0/svd.parquet").unlink()
    ra.run_study(study(), out)
    assert files(out) == before


def test_files_of_removed_systems_are_deleted(study, tmp_path):
    out = tmp_path / "out"
    ra.run_study(study(add="seeds: [0, 1]\n"), out)
    assert any("seed-1" in path for path in files(out))
    ra.run_study(study(replace=[(', svd: "PureSVD(factors=4)"', "")]), out)
    assert not any("svd" in path or "seed-1" in path for path in files(out))
    ra.run_study(study(replace=[(', svd: "PureSVD(factors=4)"', "")]), tmp_path / "fresh")
    assert files(out) == files(tmp_path / "fresh")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("small", "other"), "its study was small and is other"),
        (("k=2", "k=3"), "of k_folds: k was 2 and is 3"),
        (("events=900", "events=901"), "data"),
    ],
    ids=["name", "split", "data"],
)
def test_a_folder_belongs_to_one_study(study, tmp_path, change, message):
    ra.run_study(study(), tmp_path / "out")
    with pytest.raises(UsageError) as caught:
        ra.run_study(study(replace=[change]), tmp_path / "out")
    assert (caught.value.code, message in caught.value.what) == ("U134", True)


def test_the_entry_that_differs_between_two_studies_of_the_same_data_is_named(study, tmp_path):
    pl.DataFrame({"item_id": range(40), "genres": ["a", "b"] * 20}).write_csv(tmp_path / "items.csv")
    path = study()
    ra.run_study(path, tmp_path / "out")
    path.write_text(path.read_text().replace('events=900)"}', 'events=900)", items: items.csv}'))
    with pytest.raises(UsageError, match="U134") as caught:
        ra.run_study(path, tmp_path / "out")
    assert "of generated: item_features was nothing and is items.csv" in caught.value.what


def test_files_of_somebody_else_in_the_folder_stay(study, tmp_path):
    out = tmp_path / "out"
    ra.run_study(study(), out)
    notes = [out / "notes.txt", out / "runs" / "notes.txt", out / "exhibits" / "mine.json", out / "runs" / ".x.tmp"]
    for path in notes:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    ra.run_study(study(replace=[(', svd: "PureSVD(factors=4)"', "")]), out)
    assert [path.read_text() for path in notes] == ["mine"] * 4
    assert not list(out.rglob("svd.parquet"))
    assert read_results(out).exhibits == ()


def test_a_run_that_somebody_replaced_is_not_overwritten(study, tmp_path):
    path = tmp_path / "out/runs/generated/k_folds(k=2)/fold-0/seed-0/svd.parquet"
    ra.run_study(study(), tmp_path / "out")
    pl.read_parquet(path).head(50).write_parquet(path)
    replaced = path.read_bytes()
    assert "R010" in {finding["code"] for finding in ra.run_study(study(), tmp_path / "out").findings}
    with pytest.raises(UsageError, match=r"U111.*svd.parquet, and the study has to compute it again"):
        ra.run_study(study(replace=[("PureSVD(factors=4)", "PureSVD(factors=5)")]), tmp_path / "out")
    assert path.read_bytes() == replaced


@pytest.mark.parametrize("name", ["summary.json", "folds", "manifest.jsonl"])
def test_a_folder_of_results_that_lacks_files_is_refused(study, tmp_path, name):
    out = tmp_path / "out"
    ra.run_study(study(), out)
    shutil.rmtree(out / name) if (out / name).is_dir() else (out / name).unlink()
    with pytest.raises(RecassayError, match=r"I318.*it is missing"):
        ra.read_scores(out)
    with pytest.raises(RecassayError, match=r"I31[68]"):
        read_results(out)
    if name != "manifest.jsonl":
        ra.run_study(study(), out)
        assert (out / name).exists()
        assert read_results(out).rows


def test_a_folder_with_other_files_is_an_error(study, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="U111"):
        ra.run_study(study(), tmp_path / "out")


def test_an_invalid_lock_belongs_to_another_study(study, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "study.lock.yaml").write_text("a: [")
    with pytest.raises(UsageError, match="U134"):
        ra.run_study(study(), tmp_path / "out")


def test_a_failing_model_is_recorded_and_the_others_are_scored(study, tmp_path, monkeypatch):
    """It fails on the second fold alone, so no trial can find out."""
    second = ra.split.k_folds(k=2)(log(users=60, items=40, events=900))[1].train.fingerprint
    fit = Popular.fit

    def failing(self, train):
        if train.fingerprint == second:
            raise MemoryError("too popular")
        return fit(self, train)

    out = tmp_path / "out"
    whole = ra.run_study(study(), tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(Popular, "fit", failing)
        results = ra.run_study(study(), out)
    (failure,) = results.failures
    assert (failure["system"], failure["fold"], failure["code"]) == ("popular", 1, "MemoryError")
    assert "too popular" in failure["traceback"]
    assert json.loads((out / "failures/generated/k_folds(k=2)/fold-1/seed-0/popular.json").read_text()) == failure
    assert set(over_all(results, "recall@5")) == {"random", "svd"}
    assert over_all(results, "recall@5")["svd"] == over_all(whole, "recall@5")["svd"]
    assert {row["fold"] for row in results.rows if row["system"] == "popular"} == {0}
    assert results.comparisons == ()  # its baseline is gone
    ra.run_study(study(), out)
    assert files(out) == files(tmp_path / "whole")


def test_findings_are_reported_once_for_all_folds(study, tmp_path):
    results = ra.run_study(study(), tmp_path / "out")
    (leak,) = [one for one in results.findings if one["code"] == "L002"]
    assert leak["cases"] == 2
    assert (results.at_least("warning"), results.at_least("error")) == (True, False)
    lines = (tmp_path / "out" / "findings.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [dict(one) for one in results.findings]


def test_standings_survive_storage(tmp_path):
    fold = ra.split.random(test=0.3)(log(users=50, items=40, events=600))[0]
    run = ra.play(Random(), fold, ra.protocols.ranking(bins=4), name="r")
    with recording(tmp_path):
        save_archive(tmp_path / "standings", run.standings, compressed=True)
    same(run.standings, folders.StudyFolder(tmp_path).archived(tmp_path / "standings"))


def same(one, other):
    for field in dataclasses.fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if dataclasses.is_dataclass(a):
            same(a, b)
        elif isinstance(a, dict) and all(dataclasses.is_dataclass(value) for value in a.values()):
            assert a.keys() == b.keys()
            for key in a:
                same(a[key], b[key])
        elif isinstance(a, dict) and field.name != "how":
            assert a.keys() == b.keys()
            for key in a:
                assert a[key].dtype == b[key].dtype
                np.testing.assert_array_equal(a[key], b[key])
        elif isinstance(a, np.ndarray):
            assert a.dtype == b.dtype, field.name
            np.testing.assert_array_equal(a, b)
        elif isinstance(a, pl.Series):
            assert a.to_list() == b.to_list()
        else:
            assert a == b, field.name


def test_a_fitted_model_is_stored_without_its_log(tmp_path):
    train = log(users=300, items=200, events=9000)
    store = folders.StudyFolder(tmp_path)
    fitted = Popular().fit(train)
    with recording(tmp_path):
        store.store_fitted("key", fitted, train)
    assert (tmp_path / "cache/fitted/key.model").stat().st_size < 4_000
    again = store.fitted("key", train)
    assert again.log is train
    assert store.fitted("other", train) is None
    store.store_fitted("lambda", lambda: None, train)  # cannot be pickled
    assert store.fitted("lambda", train) is None


class Trap:
    """An object whose pickle makes a folder when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_planted_pickle_is_refused_and_its_code_does_not_run_unless_it_is_trusted(tmp_path):
    train, trap = log(users=30, items=20, events=300), tmp_path / "trap"
    with recording(tmp_path):
        folders.StudyFolder(tmp_path).store_fitted("mine", lambda: None, train)
        write_bytes(pickle.dumps(Trap(trap)), tmp_path / "cache/fitted/mine.model")
    with pytest.raises(UsageError, match=r"mine\.model is a pickle.*\n.*\n.*--trust") as caught:
        folders.StudyFolder(tmp_path).fitted("mine", train)
    assert (caught.value.code, trap.exists()) == ("U236", False)
    folders.StudyFolder(tmp_path, trust=True).fitted("mine", train)
    assert trap.exists()


OWN_MODEL = """\
from recassay.models import Popular


class Own:
    def fit(self, log):
        return Fitted(Popular().fit(log).scores, log)

    def __str__(self):
        return "Own()"


class Fitted:
    def __init__(self, scores, log):
        self.kept, self.log = scores, log

    def scores(self, users):
        return self.kept(users)
"""


def own_model_study(study, tmp_path):
    (tmp_path / "own.py").write_text(OWN_MODEL)
    return study(replace=[("popular: Popular", 'popular: "own.py:Own"')])


def test_a_study_with_a_model_of_its_own_resumes_only_if_its_pickles_are_trusted(study, tmp_path):
    path, out, trap = own_model_study(study, tmp_path), tmp_path / "out", tmp_path / "trap"
    ra.run_study(path, out)
    before = files(out)
    stored = [*out.rglob("cache/fitted/*.model")]
    pickles = [path for path in stored if path.read_bytes()[:1] == b"\x80"]
    assert (len(stored), len(pickles)) == (6, 2)
    lost = out / "runs/generated/k_folds(k=2)/fold-0/seed-0/popular.parquet"
    lost.unlink()
    ra.run_study(path, out)  # this process wrote the pickles
    assert files(out) == before
    lost.unlink()
    again = subprocess.run([sys.executable, "-c", STUDY_ALONE, path, out], capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "U236" in again.stderr
    subprocess.run([sys.executable, "-c", STUDY_ALONE.replace("argv[2]", "argv[2], trust=True"), path, out], check=True)
    assert files(out) == before
    for planted in pickles:
        planted.write_bytes(pickle.dumps(Trap(trap)))
    lost.unlink()
    ra.run_study(path, out)  # what was planted is damaged, and the model is fitted again
    assert (files(out) == before, trap.exists()) == (True, False)


def test_different_names_have_different_file_names():
    texts = ["a b", "a/b", "a%2Fb", "k(x='1')", "k(x=1)", "x" * 300, "x" * 301, "é"]
    names = [folders.file_name(text) for text in texts]
    assert len(set(names)) == len(texts)
    assert all(len(name) < 143 and "/" not in name for name in names)


@pytest.mark.parametrize("name", ["..", "a/b"])
def test_the_name_of_a_data_set_changes_no_number_and_leaves_no_folder(study, tmp_path, name):
    given = ("generate:", f"name: {json.dumps(name)}, generate:")
    plain = ra.run_study(study(), tmp_path / "plain")
    named = ra.run_study(study(replace=[given]), tmp_path / "named" / "out")
    assert [row["mean"] for row in named.rows] == [row["mean"] for row in plain.rows]
    assert {row["dataset"] for row in named.rows} == {name}
    kinds = [{path.name for path in out.iterdir()} for out in (tmp_path / "plain", tmp_path / "named" / "out")]
    assert kinds[0] == kinds[1]
    assert [path.name for path in (tmp_path / "named").iterdir()] == ["out"]
    assert len([*(tmp_path / "named/out/runs").iterdir()]) == len([*(tmp_path / "named/out/standings").iterdir()]) == 1


def test_names_that_differ_in_case_have_different_folders(study, tmp_path):
    both = """[{name: log, generate: "log(users=60, items=40, events=900)"},
      {name: LOG, generate: "log(users=60, items=40, events=900, seed=2)"}]"""
    ra.run_study(study(replace=[('{generate: "log(users=60, items=40, events=900)"}', both)]), tmp_path / "out")
    for kind in ("runs", "standings", "folds"):
        assert len({path.name.lower() for path in (tmp_path / "out" / kind).iterdir()}) == 2


def test_sudden_deaths_of_a_study_use_names_of_systems_and_data(study, tmp_path):
    replace = [("generate:", 'name: "..", generate:'), ("svd:", '"svd: 4":')]
    ra.run_study(study(replace=replace), tmp_path / "out")
    ((name, contest),) = sudden_deaths(ra.read_scores(str(tmp_path / "out")), SuddenDeathOptions((5,))).items()
    assert name.startswith("..")
    assert set(contest.competitors) == {"popular", "random", "svd: 4"}


def test_a_small_fold_is_complete():
    whole = ra.split.random(test=0.2)(log(users=1500, items=100, events=20_000))[0]
    part = small_fold(whole)
    assert (part.train.n_users, np.unique(part.test.users).size) == (300, 300)
    rows = pl.concat([whole.train.frame(), whole.test.frame()])
    mine = pl.concat([part.train.frame(), part.test.frame()])
    assert mine.join(rows, on=rows.columns, how="anti").is_empty()
    assert (
        len(part.test)
        == whole.test.frame().filter(pl.col("user_id").is_in(part.test.frame()["user_id"].implode())).height
    )
    small = ra.split.random(test=0.2)(log(users=50, items=40, events=600))[0]
    assert small_fold(small) is small


def test_a_small_fold_has_the_most_frequent_items_and_users_with_training_events():
    whole = ra.split.user_folds(k=2)(log(users=900, items=3000, events=20_000))[0]
    part = small_fold(whole)
    assert part.train.n_items <= 500
    assert set(part.test.users.tolist()) <= set(part.train.users.tolist())
    assert part.profile.size == len(part.train)
    own = part.train.frame().with_columns(profile=part.profile)
    rows = whole.train.frame().with_columns(profile=whole.profile)
    assert own.join(rows, on=own.columns, how="anti").is_empty()


def test_a_small_fold_keeps_all_items_where_the_frequent_ones_leave_no_user_in_training():
    rows = [
        (user, 9000 + user if not step else (10 * user + step) % 600, step) for user in range(300) for step in range(11)
    ]
    table = pl.DataFrame(rows, schema=["user_id", "item_id", "timestamp"], orient="row")
    part = small_fold(ra.split.last(n=10)(ra.read_interactions(table))[0])
    assert (np.unique(part.test.users).size, part.train.n_items) == (300, 900)


@pytest.mark.parametrize("known", [0, 50])
def test_a_small_fold_has_training_events_where_few_test_users_do(known):
    past = [(1000 + user, item, 1) for user in range(400) for item in range(5)]
    test = [(user, item, 2) for user in (*range(600), *range(1000, 1000 + known)) for item in (6, 7)]
    table = pl.DataFrame(past + test, schema=["user_id", "item_id", "timestamp"], orient="row")
    part = small_fold(ra.split.global_time(at=2)(ra.read_interactions(table))[0])
    test_users = part.test.frame()["user_id"]
    assert len(part.train)
    assert test_users.n_unique() == (known or 300)
    assert test_users.filter(test_users >= 1000).n_unique() == known


def test_a_metric_without_its_data_is_an_early_error(study, tmp_path):
    with pytest.raises(UsageError, match="U105"):
        ra.run_study(study(replace=[("coverage@5", "ild@5")]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_too_few_candidates_are_an_error_after_the_first_system(study, tmp_path, monkeypatch):
    counts = counted(monkeypatch)
    path = study(replace=TWO_METRICS, add="designs: ['TI-1R-NN(39)']\n")
    with pytest.raises((InputError, UsageError)) as caught:
        ra.run_study(path, tmp_path / "out")
    assert "39" in str(caught.value)
    assert counts["answer"] == 3 + 1  # in the dry run, and the first system
    assert ra.run_study(study(replace=[*TWO_METRICS, ("resamples", "short: all, resamples")]), tmp_path / "out").rows


def test_a_summary_is_a_table(study, tmp_path):
    table = ra.run_study(study(), tmp_path / "out").summary()
    assert {"system", "design", "fold", "metric", "mean", "low", "high", "n", "missing"} <= set(table.columns)
    assert (table.height, table["fold"].unique().sort().to_list()) == (27, ["0", "1", "all"])


EXPERIMENTS = "experiments: ['sparsity(steps=3, n=5)', percentiles]\n"


def test_exhibits_of_experiments_are_stored(study, tmp_path, monkeypatch):
    from recassay.experiments import Experiment, percentiles, sparsity

    out = tmp_path / "out"
    path = study(replace=TWO_METRICS, add=EXPERIMENTS)
    ra.run_study(path, out)
    before = files(out)
    place = "exhibits/generated/k_folds(k=2)"
    table = pl.read_csv(out / place / "sparsity.csv")
    assert set(table["system"]) == {"popular", "random", "svd"}
    about = json.loads((out / place / "sparsity.json").read_text())
    assert (about["name"], len(about["rows"])) == ("sparsity", table.height)
    assert about["title"] in (out / "report.html").read_text()

    def never(self, trial):
        raise AssertionError("again")

    with monkeypatch.context() as patch:
        for kind in (sparsity, percentiles):
            patch.setattr(kind, "__call__", never)
        assert ra.run_study(path, out).failures == ()
    assert files(out) == before
    assert issubclass(sparsity, Experiment)
    ra.run_study(study(replace=TWO_METRICS), out)
    assert not any("exhibits" in name for name in files(out))


def test_two_experiments_of_one_kind_keep_their_exhibits(study, tmp_path):
    texts = [f"target_size(smallest=5, largest={largest}, sizes=2)" for largest in (10, 20)]
    path = study(replace=TWO_METRICS, add=f"experiments: {texts}\n")
    ra.run_study(path, tmp_path / "out")
    first, second = (
        pl.read_csv(tmp_path / f"out/exhibits/generated/k_folds(k=2)/{name}.csv")["t"].unique().to_list()
        for name in ("target-size", "target-size-2")
    )
    assert (sorted(first), sorted(second)) == ([5, 10], [5, 20])


def test_an_experiment_that_reads_ranks_fits_nothing(study, tmp_path, monkeypatch):
    out = tmp_path / "out"
    ra.run_study(study(), out)
    shutil.rmtree(out / "cache/fitted")
    counts = counted(monkeypatch)
    results = ra.run_study(study(add="experiments: [\"sampling_curve(sizes='5')\"]\n"), out)
    dry_run = 1
    assert (counts, results.failures) == ({"fit": dry_run, "answer": dry_run}, ())
    assert (out / "exhibits/generated/k_folds(k=2)").is_dir()


def test_a_failing_experiment_is_recorded(study, tmp_path, monkeypatch):
    from recassay.experiments import percentiles

    def failing(self, trial):
        raise ValueError("no bins")

    monkeypatch.setattr(percentiles, "__call__", failing)
    results = ra.run_study(study(replace=TWO_METRICS, add=EXPERIMENTS), tmp_path / "out")
    (failure,) = results.failures
    assert (failure["system"], failure["message"]) == ("percentiles", "no bins")
    assert (tmp_path / "out/exhibits/generated/k_folds(k=2)/sparsity.csv").is_file()
    assert len(over_all(results, "recall@5")) == 3


def test_no_relevant_item_is_an_early_error(study, tmp_path):
    rows = [f"{user},{item},3" for user in range(9) for item in range(12)]
    (tmp_path / "log.csv").write_text("\n".join(["user,item,rating", *rows]))
    path = study(
        replace=[('generate: "log(users=60, items=40, events=900)"', "path: log.csv")],
        add="protocol: ranking(relevant_from=4)\n",
    )
    with pytest.raises(UsageError, match="U135"):
        ra.run_study(path, tmp_path / "out")


def test_data_by_path_and_by_name(study, tmp_path, monkeypatch):
    table = log(users=60, items=40, events=900).frame().rename({"user_id": "who"})
    place = tmp_path / "data" / "mine"
    place.mkdir(parents=True)
    table.write_csv(place / "ratings.csv")
    table.write_csv(tmp_path / "beside.csv")
    old = '{generate: "log(users=60, items=40, events=900)"}'
    by_path = study(replace=[(old, "{path: beside.csv, columns: {user: who}}")], name="path.yaml")
    found = ra.run_study(by_path, tmp_path / "a")
    by_name = study(replace=[(old, "{name: mine, columns: {user: who}}")], name="name.yaml")
    named = ra.run_study(by_name, tmp_path / "b", data=tmp_path / "data")
    made = ra.run_study(study(), tmp_path / "c")
    for results in (found, named):
        assert over_all(results, "recall@5")["svd"]["mean"] == over_all(made, "recall@5")["svd"]["mean"]
    assert {row["dataset"] for row in [*found.rows, *named.rows]} == {"beside", "mine"}
    monkeypatch.setenv("RECASSAY_DATA", str(tmp_path / "data"))
    assert find_data_file("mine") == place / "ratings.csv"
    with pytest.raises(InputError) as caught:
        ra.run_study(by_path, tmp_path / "d", data=tmp_path) and find_data_file("yours")
    assert caught.value.code in ("I111", "I101")
    with pytest.raises(InputError) as caught:
        find_data_file("yours")
    assert (caught.value.code, str(tmp_path / "data" / "yours") in caught.value.where) == ("I111", True)


def test_a_log_with_missing_times_can_be_split_at_random(study, tmp_path):
    table = log(users=60, items=40, events=900).frame()
    some = pl.when(pl.int_range(pl.len()) % 3 > 0).then("timestamp").alias("timestamp")
    table.with_columns(some).write_parquet(tmp_path / "log.parquet")
    path = study(replace=[('generate: "log(users=60, items=40, events=900)"', "path: log.parquet")])
    results = ra.run_study(path, tmp_path / "out")
    assert (results.failures, [one["code"] for one in results.findings if one["code"] == "L002"]) == ((), [])
    (unknown,) = [one for one in results.findings if one["code"] == "L004"]
    assert "have no timestamp" in unknown["detail"]


def test_positions_in_histories_are_not_times(study, tmp_path):
    table = log(users=60, items=40, events=900).frame().sort("timestamp")
    table.with_columns(timestamp=pl.int_range(pl.len()).over("user_id")).write_parquet(tmp_path / "log.parquet")
    generated, random = 'generate: "log(users=60, items=40, events=900)"', "split: k_folds(k=2)"
    results = ra.run_study(study(replace=[(generated, "path: log.parquet"), (random, "split: last")]), tmp_path / "out")
    codes = {one["code"] for one in results.findings}
    assert ("L002" in codes, "L004" in codes) == (False, True)
    (about,) = (tmp_path / "out" / "folds").rglob("*.json")
    assert (json.loads(about.read_text())["times"], json.loads(about.read_text())["leakage"]) == ("user", "per user")
    timed = [(generated, "path: log.parquet"), (random, "split: global_time(quantile=0.8)")]
    with pytest.raises(ra.InputError, match="I385"):
        ra.run_study(study(replace=timed), tmp_path / "not")
    timed[0] = (generated, "path: log.parquet, times: global")
    assert ra.run_study(study(replace=timed), tmp_path / "said").failures == ()
    with pytest.raises(ra.UsageError, match=r"U132.*data"):
        ra.run_study(study(replace=[(generated, "path: log.parquet, times: order")]), tmp_path / "no")


def test_parquet_files_come_first(tmp_path):
    for name in ("mine.csv", "mine.parquet", "mine.md", "mine2.csv", "mine.csv.gz"):
        (tmp_path / name).touch()
    assert find_data_file("mine", tmp_path).name == "mine.parquet"
    (tmp_path / "mine.parquet").unlink()
    assert find_data_file("mine", tmp_path).name == "mine.csv"


def test_a_named_data_set_needs_a_data_folder(monkeypatch, study, tmp_path):
    monkeypatch.delenv("RECASSAY_DATA", raising=False)
    path = study(replace=[('{generate: "log(users=60, items=40, events=900)"}', "{name: ml-1m}")])
    with refused("I111") as caught:
        ra.run_study(path, tmp_path / "out")
    assert "--data DIR" in caught.value.hint
    assert f"{path}, line 3, data" in caught.value.where


@pytest.mark.parametrize(
    ("text", "code"),
    [("logs(users=1)", "U115"), ("log(users=20, items=30)", "U102"), ("log(user=20, items=30, events=99)", "U102")],
)
def test_unknown_generators_are_errors(study, tmp_path, text, code):
    path = study(replace=[("log(users=60, items=40, events=900)", text)])
    with pytest.raises(UsageError) as caught:
        ra.run_study(path, tmp_path / "out")
    assert (caught.value.code, f"{path}, line 3, data" in caught.value.where) == (code, True)


def test_a_log_of_a_power_law_can_be_generated(study, tmp_path):
    path = study(replace=[("log(users=60, items=40, events=900)", "power_law(users=60, items=40, ratings=900)")])
    results = ra.run_study(path, tmp_path / "out")
    assert over_all(results, "recall@5")["popular"]["n"] == 60


def test_integer_and_text_ids_share_a_table(study, tmp_path):
    log(users=60, items=40, events=900).frame().write_csv(tmp_path / "a.csv")
    text = (
        log(users=60, items=40, events=900)
        .frame()
        .with_columns(("u" + pl.col("user_id").cast(pl.String)).alias("user_id"))
    )
    text.write_csv(tmp_path / "b.csv")
    path = study(
        replace=[('{generate: "log(users=60, items=40, events=900)"}', "[{path: a.csv}, {path: b.csv}]")],
    )
    ra.run_study(path, tmp_path / "out")
    assert pl.read_parquet(tmp_path / "out" / "scores.parquet")["user"].dtype == pl.String


STUDY_ALONE = """\
import sys, recassay as ra, recassay.study.store.folder as times
times.perf_counter = lambda: 0.0
ra.run_study(sys.argv[1], sys.argv[2])
"""
