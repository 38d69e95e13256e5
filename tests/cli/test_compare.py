"""`recassay compare`: tables, a JSON document, files, and errors with a code."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import polars as pl
import pytest

import recassay as ra


def table(seed, n=50):
    rng = np.random.default_rng(seed)
    user_effect = rng.uniform(0.2, 0.7, n)
    parts = [
        pl.DataFrame({"user": np.arange(n), "system": name, "ndcg@10": user_effect + rng.normal(lift, 0.05, n),
                      "mrr": user_effect + rng.normal(-lift, 0.05, n)})
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
    assert "Agreement of system orders" in answer.out
    assert "How many users" not in answer.out
    assert "No findings." in answer.out


def test_baseline_test_and_power_options_are_used(recassay, scores):
    answer = recassay(
        "compare", "ml-1m.csv", "--baseline", "knn", "--test", "t", "--correction", "none", "--effect", "cliff",
        "-m", "ndcg@10", "--power", "--wanted", "0.01",
    )  # fmt: skip
    assert answer.code == 0
    for words in ("Paired t test, p uncorrected for 2 pairs", "cliff", "Users needed", "target", "D001"):
        assert words in answer.out
    need = ra.users_needed(
        next(iter(ra.read_scores("ml-1m.csv", metrics=["ndcg@10"]).sheets.values())), wanted=0.01, baseline="knn",
        correction="none",
    )  # fmt: skip
    assert f"{need.rows[0].users:,}" in answer.out


def test_systems_are_ranked_across_data_sets(recassay, scores):
    answer = recassay("compare", "ml-1m.csv", "steam.csv", "yelp.csv", "-m", "ndcg@10", "--details")
    assert answer.code == 0
    found = ra.overall.across(
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
        "power.csv", "exhibits", "manifest.jsonl",
    }  # fmt: skip
    document = json.loads((scores / "out/deep/comparison.json").read_text())
    assert pl.read_csv("out/deep/comparisons.csv").height == len(document["comparisons"]) == 12
    exhibit = json.loads((scores / "out/deep/exhibits/critical-difference-dataset.json").read_text())
    assert exhibit["axes"]["kind"] == "dot"


def test_a_folder_of_score_is_compared(recassay, scores):
    runs = {"a": {1: ["x", "q"], 2: ["y"], 3: ["q", "z"]}, "b": {1: ["q", "x"], 2: ["q"], 3: ["z"]}}
    for name, run in runs.items():
        rows = [(user, item, 1 - rank / 10) for user, items in run.items() for rank, item in enumerate(items)]
        pl.DataFrame(rows, ["user_id", "item_id", "score"], orient="row").write_csv(f"{name}.run.csv")
    pl.DataFrame({"user_id": [1, 2, 3], "item_id": ["x", "y", "z"]}).write_csv("truth.csv")
    assert recassay("score", "truth.csv", "a.run.csv", "b.run.csv", "-m", "mrr", "-o", "out").code == 0
    assert recassay("compare", "out").code == 0
    answer = recassay("compare", "out", "--sudden-death", 5)
    assert answer.code == 0
    assert "Sudden Death over 3 users" in answer.out
    assert "Duels within 5 ranks" in answer.out
    words = ("score", "truth.csv", "a.run.csv", "b.run.csv", "-m", "ndcg@2", "--relevant-from", 2, "-o", "none")
    assert recassay(*words).code == 0
    nobody = recassay("compare", "none", "--sudden-death", 5).out
    assert "Nobody can be won: no user has a relevant item. Rules: relevant from 2." in nobody
    assert "nan" not in nobody
    pathlib.Path("out/first-hits.parquet").unlink()
    refused = recassay("compare", "out", "--sudden-death", 5)
    assert (refused.code, refused.out) == (2, "")
    assert "[I318] first-hits.parquet is not as recassay wrote it: it is missing" in refused.err


def test_sudden_death_has_the_settings_and_the_findings_of_the_scores(recassay, scores):
    """A threshold of relevance, missing lists and copies: the same in ``score`` and in ``compare``."""
    rows = [(user, item, float(5 - place)) for user in range(40) for place, item in enumerate("abcd")]
    whole = pl.DataFrame(rows, ["user_id", "item_id", "score"], orient="row")
    for name, run in {"one": whole, "copy": whole, "half": whole.filter(pl.col("user_id") < 20)}.items():
        run.write_csv(f"{name}.run.csv")
    gains = [(user, item, gain) for user in range(40) for item, gain in (("a", 2.0), ("c", 5.0))]
    pl.DataFrame(gains, ["user_id", "item_id", "rating"], orient="row").write_csv("truth.csv")
    runs = [f"{name}.run.csv" for name in ("one", "copy", "half")]
    scored = recassay("score", "truth.csv", *runs, "-m", "hit@2 hit@3", "--relevant-from", 4, "-o", "out", "--json")
    hits = {name: {m: row["mean"] for m, row in of.items()} for name, of in scored.rows.items()}
    answer = recassay("compare", "out", "--sudden-death", 2, "--sudden-death", 3, "--json")
    shown = {(row["system"], row["at"]): row["hit"] for row in answer.json["sudden_death"]}
    names = {name: f"{name}.run" for name in ("one", "copy", "half")} if "one.run" in hits else {n: n for n in hits}
    assert shown == {(name, at): hits[name][f"hit@{at}"] for name in hits for at in (2, 3)}
    assert shown[names["one"], 2] == 0
    assert shown[names["half"], 3] == 0.5
    found = {(one["code"], one["system"]) for one in answer.json["findings"]}
    assert {("C001", names["half"]), ("C012", "")} <= found
    fewer = ["--competitor", names["one"], "--competitor", names["half"]]
    split = recassay("compare", "out", "--sudden-death", 3, "--ties", "split", *fewer, "--json")
    assert [row["sudden_death"] for row in split.json["sudden_death"]] == [0.75, 0.25]
    assert recassay("compare", "out", "--sudden-death", 3, "--competitor", "x").code == 2
    for form, words in (
        ("markdown", "## Sudden Death over 40 users"),
        ("latex", "% Sudden Death"),
        ("csv", "outright"),
    ):
        assert words in recassay("compare", "out", "--sudden-death", 3, "--table", form).out
    assert recassay("compare", "out", "--sudden-death", 3, "-o", "files").code == 0
    assert {"sudden-death.csv", "duels.csv"} <= {path.name for path in pathlib.Path("files").iterdir()}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("nowhere",), "I101"),
        (("ml-1m.csv", "--baseline", "knm"), "U108"),
        (("ml-1m.csv", "--test", "tt"), "U107"),
        (("ml-1m.csv", "--correction", "hol"), "U107"),
        (("ml-1m.csv", "--by", "user"), "U107"),
        (("ml-1m.csv", "--by", "dataset"), "U211"),
        (("ml-1m.csv", "--dataset", "ml"), "U115"),
        (("ml-1m.csv", "-m", "ndgc@10"), "I313"),
        (("ml-1m.csv", "--rope", "-1"), "U102"),
        (("ml-1m.csv", "--wanted", "0"), "U102"),
        (("ml-1m.csv", "--table", "html"), "U107"),
    ],
)
def test_errors_have_a_code_and_print_nothing_else(recassay, scores, arguments, code):
    answer = recassay("compare", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert f"[{code}]" in answer.err


def test_the_option_fail_on_sets_the_exit_status(recassay, scores):
    assert recassay("compare", "ml-1m.csv", "--correction", "none", "--fail-on", "info").code == 1
    assert recassay("compare", "ml-1m.csv", "--fail-on", "info").code == 0


def test_a_folder_whose_verdict_turns_without_cold_users_names_nobody_as_best(recassay, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known = range(110, 200)
    hits = {"knn": [user in known and user % 3 > 0 for user in range(200)], "pop": [user < 110 for user in range(200)]}
    for name, relevant in hits.items():
        lists = [(5, 1) if hit else (1, 2) for hit in relevant]
        rows = [(user, item, 9 - at) for user in range(200) for at, item in enumerate(lists[user])]
        pl.DataFrame(rows, ["user_id", "item_id", "score"], orient="row").write_csv(f"{name}.csv")
    pl.DataFrame({"user_id": range(200), "item_id": 5}).write_csv("truth.csv")
    pl.DataFrame({"user_id": known, "item_id": 9}).write_csv("train.csv")
    scoring = ("score", "truth.csv", "knn.csv", "pop.csv", "-m", "ndcg@2", "--train", "train.csv", "-o", "results")
    assert recassay(*scoring).code == 0
    answer = recassay("compare", "results")
    assert answer.out.startswith("No system is established as best by ndcg@2")
    assert "Without what C010 names the verdict is another" in " ".join(answer.out.split())
    assert not json.loads(recassay("compare", "results", "--json").out)["verdict"]["leads"][0]["established"]
