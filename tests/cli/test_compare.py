"""`recassay compare`: tables that fit, one JSON document, files, and mistakes with a code."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import recassay as ra


def table(seed, n=50):
    rng = np.random.default_rng(seed)
    luck = rng.uniform(0.2, 0.7, n)
    parts = [
        pl.DataFrame({"user": np.arange(n), "system": name, "ndcg@10": luck + rng.normal(lift, 0.05, n),
                      "mrr": luck + rng.normal(-lift, 0.05, n)})
        for name, lift in (("als", 0.1), ("<b>bpr</b>", 0.02), ("knn", 0.0))
    ]  # fmt: skip
    return pl.concat(parts)


@pytest.fixture
def scores(tmp_path, monkeypatch):
    for name, seed in (("ml-1m", 1), ("steam", 2), ("yelp", 3)):
        table(seed).write_csv(tmp_path / f"{name}.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_all_pairs_of_one_table(recassay, scores):
    answer = recassay("compare", "ml-1m.csv")
    assert (answer.code, answer.err) == (0, "")
    rows = ra.compare(next(iter(ra.read_scores("ml-1m.csv").sheets.values()))).rows
    for row in rows:
        assert f"{row.difference:+.4f}" in answer.out
    assert "paired permutation test, Holm over 3 pairs per metric" in answer.out.lower().replace("holm", "Holm")
    assert "Do systems stand in the same order?" in answer.out
    assert "How many users" not in answer.out
    assert "No findings." in answer.out


def test_a_baseline_other_tests_and_users_needed(recassay, scores):
    answer = recassay(
        "compare", "ml-1m.csv", "--baseline", "knn", "--test", "t", "--correction", "none", "--effect", "cliff",
        "-m", "ndcg@10", "--power", "--wanted", "0.01",
    )  # fmt: skip
    assert answer.code == 0
    for words in ("Paired t test, p uncorrected for 2 pairs", "cliff", "How many users it takes", "wanted", "D001"):
        assert words in answer.out
    need = ra.users_needed(
        next(iter(ra.read_scores("ml-1m.csv", metrics=["ndcg@10"]).sheets.values())), wanted=0.01, baseline="knn",
        correction="none",
    )  # fmt: skip
    assert f"{need.rows[0].users:,}" in answer.out


def test_several_data_sets_are_ranked_over(recassay, scores):
    answer = recassay("compare", "ml-1m.csv", "steam.csv", "yelp.csv", "-m", "ndcg@10")
    assert answer.code == 0
    found = ra.across(
        {name: next(iter(ra.read_scores(f"{name}.csv").sheets.values())) for name in ("ml-1m", "steam", "yelp")},
        metrics=["ndcg@10"],
    ).rankings[0]
    assert "Across 3 datasets: ndcg@10" in answer.out
    assert f"Friedman chi-square {found.test.chi_square:.3f}" in answer.out
    assert f"critical difference {found.test.critical_difference:.3f}" in answer.out
    assert f"{100 * found.pairs[0].better:.1f} %" in answer.out


def test_json_is_one_document_and_the_same_for_any_number_of_threads(recassay, scores):
    one, four = (recassay("compare", "ml-1m.csv", "steam.csv", "--json", "--threads", n) for n in (1, 4))
    assert one.out == four.out
    assert one.err == ""
    assert {row["dataset"] for row in one.json["comparisons"]} == {"ml-1m", "steam"}
    assert one.json["across"]["over"] == "dataset"
    assert {row["along"] for row in one.json["consistency"]["rows"]} == {"metric", "dataset"}


def test_files_and_an_exhibit_for_the_report(recassay, scores):
    answer = recassay("compare", "ml-1m.csv", "steam.csv", "--power", "-o", "out/deep")
    assert (answer.code, answer.err) == (0, "The comparison is in out/deep\n")
    assert {path.name for path in (scores / "out/deep").iterdir()} == {
        "comparison.json", "comparisons.csv", "ranks.csv", "ranked-pairs.csv", "agreement.csv", "swaps.csv",
        "power.csv", "exhibits",
    }  # fmt: skip
    document = json.loads((scores / "out/deep/comparison.json").read_text())
    assert pl.read_csv("out/deep/comparisons.csv").height == len(document["comparisons"]) == 12
    exhibit = json.loads((scores / "out/deep/exhibits/critical-difference-dataset.json").read_text())
    assert exhibit["axes"]["kind"] == "dot"


@pytest.mark.parametrize(
    ("form", "words"), [("markdown", "## ml-1m"), ("latex", "% ml-1m"), ("csv", "dataset,split,protocol,design,seed")]
)
def test_tables_for_papers(recassay, scores, form, words):
    answer = recassay("compare", "ml-1m.csv", "steam.csv", "--table", form)
    assert answer.code == 0
    assert words in answer.out


def test_a_folder_of_score_is_compared(recassay, scores):
    runs = {"a": {1: ["x", "q"], 2: ["y"], 3: ["q", "z"]}, "b": {1: ["q", "x"], 2: ["q"], 3: ["z"]}}
    for name, run in runs.items():
        rows = [(user, item, 1 - rank / 10) for user, items in run.items() for rank, item in enumerate(items)]
        pl.DataFrame(rows, ["user_id", "item_id", "score"], orient="row").write_csv(f"{name}.run.csv")
    pl.DataFrame({"user_id": [1, 2, 3], "item_id": ["x", "y", "z"]}).write_csv("truth.csv")
    assert recassay("score", "truth.csv", "a.run.csv", "b.run.csv", "-m", "mrr", "-o", "out").code == 0
    assert recassay("compare", "out").code == 0
    refused = recassay("compare", "out", "--sudden-death", 5)
    assert (refused.code, refused.out) == (2, "")
    assert "U213" in refused.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("nowhere",), "I101"),
        (("ml-1m.csv", "--baseline", "knm"), "U108"),
        (("ml-1m.csv", "--test", "tt"), "U107"),
        (("ml-1m.csv", "--correction", "hol"), "U107"),
        (("ml-1m.csv", "--by", "user"), "U107"),
        (("ml-1m.csv", "--by", "dataset"), "U211"),
        (("ml-1m.csv", "--dataset", "ml"), "U212"),
        (("ml-1m.csv", "-m", "ndgc@10"), "I313"),
        (("ml-1m.csv", "--rope", "-1"), "U216"),
        (("ml-1m.csv", "--wanted", "0"), "U214"),
        (("ml-1m.csv", "--table", "html"), "U107"),
    ],
)
def test_mistakes_have_a_code_and_print_nothing_else(recassay, scores, arguments, code):
    answer = recassay("compare", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert f"[{code}]" in answer.err


def test_findings_can_fail_a_build(recassay, scores):
    assert recassay("compare", "ml-1m.csv", "--correction", "none", "--fail-on", "info").code == 1
    assert recassay("compare", "ml-1m.csv", "--fail-on", "info").code == 0


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_an_infinite_value_is_said_with_its_count_and_makes_no_digits(recassay, tmp_path, kind):
    frame = pl.DataFrame({"system": ["a"] * 20 + ["b"] * 20, "user": [*range(20)] * 2,
                          "m": [0.5] * 19 + [float("inf")] + [0.25] * 20})  # fmt: skip
    path = tmp_path / f"scores.{kind}"
    getattr(frame, f"write_{kind}")(path)
    answer = recassay("compare", path, "--baseline", "b")
    assert (answer.code, answer.err) == (0, "")
    assert "+∞" in answer.out
    assert "1 unit has an infinite value" in answer.out
    assert len(max(answer.out.replace("─", " ").split(), key=len)) < 30
    (row,) = recassay("compare", path, "--baseline", "b", "--json").json["comparisons"]
    assert (row["difference"], row["low"], row["p"], row["infinite"]) == (None, None, None, 1)
    assert recassay("compare", path, "--power").code == 0
