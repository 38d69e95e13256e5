"""`recassay score`: its output and files for valid input."""

import json
import math

import jsonschema
import polars as pl
import pytest

import recassay as ra

NUMBER = {"type": ["number", "null"]}
COUNT = {"type": "integer", "minimum": 0}


def thing(properties, **more):
    """Return the schema of a JSON object with these required keys; further keys are allowed."""
    return {"type": "object", "required": list(properties), "properties": properties, **more}


SUMMARY = {
    **dict.fromkeys(("mean", "low", "high"), NUMBER),
    **dict.fromkeys(("n", "missing", "short", "duplicate", "undefined"), COUNT),
    "parameters": {"type": "object"},
}
COMPARISON = {
    **{name: {"type": "string"} for name in ("metric", "a", "b", "test")},
    **dict.fromkeys(("difference", "low", "high"), NUMBER),
    **{name: {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1} for name in ("p", "p_adjusted")},
}
FINDING = {
    "code": {"type": "string", "pattern": "^[A-Z][0-9]{3}$"},
    "severity": {"enum": ["info", "warning", "error"]},
    **{name: {"type": "string"} for name in ("title", "detail", "system")},
}
PARTS = {
    "recassay": {"type": "string", "pattern": r"^\d+\.\d+"},
    "comparisons": {"type": "array", "items": thing(COMPARISON)},
    "findings": {"type": "array", "items": thing(FINDING)},
}
IDENTITY = {
    **{name: {"type": "string"} for name in ("system", "dataset", "split", "protocol", "design", "metric")},
    "seed": {"type": ["integer", "null"]},
}
DOCUMENT = thing(PARTS | {"rows": {"type": "array", "minItems": 1, "items": thing(IDENTITY | SUMMARY)}})


def test_json_is_one_document_with_the_documented_schema(recassay, folder):
    answer = recassay("score", "truth.csv", "runs", "-m", "ndcg@2", "-m", "recall@2 precision@1", "--json")
    assert answer.code == 0
    assert answer.err == ""
    jsonschema.validate(answer.json, DOCUMENT)
    assert answer.json["recassay"] == ra.__version__
    assert list(answer.rows) == ["first", "second"]
    for system in answer.rows.values():
        assert list(system) == ["ndcg@2", "recall@2", "precision@1"]
    assert {(row["a"], row["b"]) for row in answer.json["comparisons"]} == {("first", "second")}
    assert [row["metric"] for row in answer.json["comparisons"]] == ["ndcg@2", "recall@2", "precision@1"]


def test_json_equals_the_result_of_the_library(recassay, folder):
    answer = recassay("score", "truth.csv", "runs", "-m", "ndcg@2 rbp(p=0.9)", "--seed", "4", "--json")
    scores = ra.score(
        ra.read_runs("runs"), "truth.csv", ["ndcg@2", "rbp(p=0.9)"], interval=ra.options.Uncertainty(seed=4)
    )
    place = {"dataset": "truth", "split": "given", "protocol": "given", "design": "given", "seed": None}
    rows = [{"system": row.system, **place, "metric": row.metric, **row.to_dict()} for row in scores.rows]
    assert answer.json["rows"] == rows
    assert answer.json["findings"] == [finding.to_dict() for finding in scores.findings]
    assert answer.json["comparisons"] == [{**place, **row} for row in ra.compare(scores, seed=4).to_dicts()]
    assert answer.rows["second"]["ndcg@2"]["mean"] == 1.0


def test_the_folder_holds_values_per_unit_a_summary_and_findings(recassay, folder):
    answer = recassay("score", "truth.csv", "runs", "-m", "ndcg@2 hit@1", "-o", "out/deep")
    assert answer.code == 0
    assert {path.name for path in (folder / "out/deep").iterdir()} >= {
        "scores.parquet",
        "summary.json",
        "findings.jsonl",
    }
    frame = pl.read_parquet("out/deep/scores.parquet")
    identity = ["system", "dataset", "split", "protocol", "design", "seed", "unit", "user"]
    assert frame.columns == [*identity, "ndcg@2", "hit@1"]
    assert frame.height == 2 * 4
    assert frame["dataset"].unique().to_list() == ["truth"]
    assert frame.filter(system="second")["hit@1"].to_list() == [1.0, 1.0, 1.0, 1.0]
    summary = json.loads((folder / "out/deep/summary.json").read_text())
    jsonschema.validate(summary, DOCUMENT)
    assert [(row["system"], row["metric"]) for row in summary["rows"]] == [
        ("first", "ndcg@2"), ("first", "hit@1"), ("second", "ndcg@2"), ("second", "hit@1")
    ]  # fmt: skip
    means = frame.group_by("system").agg(pl.col("ndcg@2").mean())
    for row in summary["rows"]:
        if row["metric"] == "ndcg@2":
            assert row["mean"] == pytest.approx(means.filter(system=row["system"])["ndcg@2"].item())
    lines = (folder / "out/deep/findings.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == summary["findings"]
    assert lines


def test_an_undefined_value_is_null_in_the_folder(recassay, folder):
    (folder / "truth.csv").write_text("user_id,item_id,gain\n1,10,1\n2,10,0\n")
    recassay("score", "truth.csv", "runs/first.csv", "-m", "recall@2", "-o", "out")
    assert pl.read_parquet("out/scores.parquet")["recall@2"].to_list() == [1.0, None]


def test_train_and_items_reach_the_metrics(recassay, folder):
    texts = "epc@2 ild@2 coverage@2 gini@2"
    answer = recassay("score", "truth.csv", "runs", "-m", texts, "--train", "log.csv", "--items", "items.csv", "--json")
    assert answer.code == 0
    assert all(not math.isnan(row["mean"]) for row in answer.rows["first"].values())


def test_joined_genres_are_split_and_the_output_says_which_columns_became_features(recassay, folder):
    command = ("score", "truth.csv", "runs", "-m", "ild@2 eild@2 coverage@2 gini@2", "--train", "log.csv", "--items")
    piped = recassay(*command, "items.csv", "--json").rows
    genres = {10: "a, b", 11: "a", 12: "b", 13: "c", 99: "a, c"}
    rows = "".join(f'{item},"{of}"\n' for item, of in genres.items())
    (folder / "commas.csv").write_text(f"item_id,genres\n{rows}")
    with_commas = recassay(*command, "commas.csv", "--json").rows
    means = [[row["mean"] for system in of.values() for row in system.values()] for of in (piped, with_commas)]
    assert means[0] == means[1]
    shown = " ".join(recassay(*command, "commas.csv").out.split())
    assert "Features of items for ild@2, eild@2: 3 in genres (split at ',')." in shown
    assert "Catalogue of coverage@2, gini@2: 3 items of the training log." in shown


def test_linear_gains_below_the_threshold_count_which_is_said(recassay, folder):
    command = ("score", "truth.csv", "runs", "-m")
    low, high = (
        recassay(*command, "ndcg@2", "--relevant-from", level, "--json").rows["first"]["ndcg@2"] for level in (1, 2)
    )
    assert low["mean"] == high["mean"]  # as in trec_eval, whose -l does not change ndcg
    said = "Linear gains of ndcg@2: those below relevant_from=2 count too, as with trec_eval's -l."
    assert said in " ".join(recassay(*command, "ndcg@2", "--relevant-from", 2).out.split())
    assert "Linear gains" not in recassay(*command, "ndcg@2").out
    assert "gains of" not in recassay(*command, "ndcg(gain='binary')@2 recall@2", "--relevant-from", 2).out


def test_columns_of_runs_and_truth_can_be_named(recassay, folder):
    (folder / "t.csv").write_text("who,what\n1,10\n2,11\n")
    (folder / "r.csv").write_text("a,b,c\n1,10,0.5\n2,12,0.4\n")
    columns = ("--columns", "user=a,item=b,score=c", "--truth-columns", "user=who,item=what")
    answer = recassay("score", "t.csv", "r.csv", "-m", "recall@1", *columns, "--json")
    assert answer.rows["r"]["recall@1"]["mean"] == 0.5


@pytest.mark.parametrize(
    ("options", "mean"),
    [
        ([], 2 / 3),  # users 1, 2, 3 are judgeable; the run misses user 3
        (["--missing", "skip"], 1.0),
        (["--no-relevant", "zero"], 0.5),
        (["--relevant-from", "2"], 1.0),
    ],
)
def test_conventions_reach_the_metrics(recassay, folder, options, mean):
    (folder / "t.csv").write_text("user_id,item_id,gain\n1,10,2\n2,10,1\n3,10,1\n4,10,0\n")
    (folder / "r.csv").write_text("user_id,item_id,score\n1,10,1\n2,10,1\n4,10,1\n")
    answer = recassay("score", "t.csv", "r.csv", "-m", "recall@1", *options, "--json")
    assert answer.rows["r"]["recall@1"]["mean"] == pytest.approx(mean)


TIED = "user_id,item_id,score\n1,20,0.5\n1,10,0.5\n"
RANKED = "user_id,item_id,rank,score\n1,20,1,0.2\n1,10,2,0.8\n"


@pytest.mark.parametrize(
    ("run", "options", "mean"),
    [
        (TIED, ["--ties", "id"], 1.0),
        (TIED, ["--ties", "trec"], 0.0),
        (TIED, ["--ties", "expected"], 0.5),
        (RANKED, ["--order", "given"], 0.0),
        (RANKED, ["--order", "score"], 1.0),
        ("user_id,item_id,score\n1,99,NaN\n1,10,-5\n", ["--nan", "last"], 1.0),
        (TIED, ["--negative", "unjudged", "--ties", "id"], 1.0),
    ],
)
def test_an_option_of_reading_and_order_changes_the_mean(recassay, folder, run, options, mean):
    (folder / "t.csv").write_text(f"user_id,item_id,gain\n1,10,1\n1,30,{-1 if '--negative' in options else 0}\n")
    (folder / "r.csv").write_text(run)
    answer = recassay("score", "t.csv", "r.csv", "-m", "recall@1", *options, "--json")
    assert answer.rows["r"]["recall@1"]["mean"] == mean


def test_a_profile_changes_conventions_and_is_named(recassay, folder):
    answer = recassay("score", "truth.csv", "runs", "-m", "ndcg@2", "--profile", "trec_eval", "--json")
    assert answer.json["settings"]["profile"] == "trec_eval"
    assert answer.json["settings"]["conventions"]["order"] == "score"
    assert list(answer.rows["first"]) == ["ndcg@2"]


def test_comparisons_with_a_baseline(recassay, folder):
    (folder / "runs" / "third.csv").write_text((folder / "runs" / "first.csv").read_text())
    options = ("--baseline", "second", "--test", "t", "--correction", "bonferroni")
    answer = recassay("score", "truth.csv", "runs", "-m", "ndcg@2", *options, "--json")
    assert {frozenset((row["a"], row["b"])) for row in answer.json["comparisons"]} == {
        frozenset(("first", "second")), frozenset(("second", "third"))
    }  # fmt: skip
    assert {row["test"] for row in answer.json["comparisons"]} == {"t"}
    assert all(row["p_adjusted"] == min(1, 2 * row["p"]) for row in answer.json["comparisons"])


@pytest.mark.parametrize("interval", ["bootstrap", "bca", "percentile", "abc", "normal"])
def test_interval_methods_give_bounds(recassay, folder, interval):
    row = recassay("score", "truth.csv", "runs/first.csv", "-m", "ndcg@2", "--interval", interval, "--json")
    row = row.rows["first"]["ndcg@2"]
    assert row["low"] <= row["mean"] <= row["high"]
    assert row["low"] < row["high"]


@pytest.mark.parametrize(("severity", "code"), [("info", 1), ("warning", 1), ("error", 0)])
def test_the_option_fail_on_sets_the_exit_status(recassay, folder, severity, code):
    answer = recassay("score", "truth.csv", "runs", "-m", "ndcg@2", "--fail-on", severity, "--json", "-o", "out")
    assert answer.code == code
    jsonschema.validate(answer.json, DOCUMENT)
    assert (folder / "out/summary.json").exists()


def test_globs_and_several_paths_are_read(recassay, folder):
    for paths in (["runs/*.csv"], ["runs/second.csv", "runs/first.csv"]):
        answer = recassay("score", "truth.csv", *paths, "-m", "ndcg@2", "--json")
        assert set(answer.rows) == {"first", "second"}


def test_within_prints_the_number_of_users_and_runs_no_tests(recassay, folder):
    answer = recassay("score", "truth.csv", "runs", "-m", "hit@2", "--within", "0.01", "--strata", "2", "--json")
    assert answer.code == 0
    assert answer.json["comparisons"] == []
    assert answer.json["settings"]["within"] == {
        "width": 0.01, "strata": 2, "level": 0.95, "seed": 0, "users": 4, "of": 4,
    }  # fmt: skip
    shown = recassay("score", "truth.csv", "runs", "-m", "hit@2", "--within", "0.01")
    assert "All 4 users were scored: the means are exact." in shown.err


def test_a_truth_inside_a_fold_is_named_by_its_log_and_its_split(recassay, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"user_id": [n % 12 for n in range(96)], "item_id": [n * 5 % 17 for n in range(96)]}).write_csv(
        "games.csv"
    )
    recassay("split", "games.csv", "-o", "st", "--split", "random(test=0.3)")
    recassay("recommend", "Popular", "st/0", "-o", "st/0/runs/popular.csv")
    for truth in ("st/0", "st/0/truth.parquet"):
        recassay("score", truth, "st/0/runs", "-m", "ndcg@5", "-o", "out")
        assert "<h1>Scores on games, split by random(test=0.3)</h1>" in (tmp_path / "out/report.html").read_text()
        (row,) = json.loads((tmp_path / "out/summary.json").read_text())["rows"]
        assert (row["dataset"], row["split"]) == ("games", "random(test=0.3)")
    (tmp_path / "st/0/truth.parquet").rename(tmp_path / "held-out.parquet")
    recassay("score", "held-out.parquet", "st/0/runs", "-m", "ndcg@5", "-o", "out")
    assert "<h1>Scores on held-out</h1>" in (tmp_path / "out/report.html").read_text()


def test_known_users_alone_are_scored_and_every_output_says_so(recassay, folder):
    pl.DataFrame({"user_id": ["u1", "u2"], "item_id": ["q", "q"]}).write_csv(folder / "log.csv")
    truth = pl.DataFrame({"user_id": ["u1", "u2", "u9"], "item_id": ["a", "b", "a"]})
    truth.write_csv(folder / "some.csv")
    lists = pl.DataFrame({"user_id": ["u1", "u2"], "item_id": ["a", "a"], "score": [1.0, 1.0]})
    lists.write_csv(folder / "mine.csv")
    command = ["score", "some.csv", "mine.csv", "-m", "hit@1", "--users", "known"]
    refused = recassay(*command)
    assert "U105" in refused.err
    assert "--train LOG" in refused.err
    answer = recassay(*command, "--train", "log.csv", "--json", "-o", "out")
    assert answer.rows["mine"]["hit@1"]["mean"] == 0.5
    assert answer.json["settings"]["population"] == {"users": 2, "of": 3}
    assert json.loads((folder / "out/summary.json").read_text())["settings"]["population"] == {"users": 2, "of": 3}
    assert "users with training events: 2 of 3" in (folder / "out/report.html").read_text()
    for table in ("text", "markdown", "latex"):
        shown = recassay(*command, "--train", "log.csv", "--table", table).out
        assert "Means are over users with training events: 2 of 3." in shown


def test_a_function_in_a_file_is_a_metric(recassay, folder):
    text = (
        "import recassay as ra\n\n@ra.metric\ndef top_is_relevant(items, truth):\n    return float(items[0] in truth)\n"
    )
    (folder / "mine.py").write_text(text)
    command = "score", "truth.csv", "runs", "-m", "top_is_relevant", "-m", "precision@1", "--interval", "none", "--json"
    rows = recassay("--plugin", "mine.py", *command).json["rows"]
    by_metric = {
        metric: [row["mean"] for row in rows if row["metric"] == metric]
        for metric in ("top_is_relevant", "precision@1")
    }
    assert by_metric["top_is_relevant"] == by_metric["precision@1"] != []
