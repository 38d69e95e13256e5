"""Metrics without a cut-off: how far they look is said, and S006 where that differs."""

import json

import polars as pl
import pytest

import recassay as ra
from recassay.report.tables.scores import score_table

USERS = [f"u{n}" for n in range(12)]
TRUTH = {user: ["i3", "i70"] for user in USERS}
LONG = {user: [f"i{n}" for n in range(100)] for user in USERS}
SHORT = {user: items[:10] for user, items in LONG.items()}


def codes(scores):
    return [one.code for one in scores.findings if one.code == "S006"]


def test_lists_of_different_lengths_are_found_and_named():
    scores = ra.score({"long": LONG, "short": SHORT}, TRUTH, "mrr map ndcg@10", interval=None)
    found = [one for one in scores.findings if one.code == "S006"]
    assert [(one.severity, one.system) for one in found] == [("info", "")]
    assert "mrr is computed on the first 100 positions of long and 10 of short: use mrr@10" in found[0].detail
    assert "map is computed on the first 100 positions" in found[0].detail
    assert "ndcg" not in found[0].detail
    note = "mrr and map are computed over the longest list of each run: 100 ranks of long, 10 of short."
    assert note in " ".join(score_table(scores, None, "markdown").split())


@pytest.mark.parametrize(
    ("runs", "metrics"),
    [
        ({"a": SHORT, "b": SHORT}, "mrr map"),
        ({"a": LONG}, "mrr"),
        ({"long": LONG, "short": SHORT}, "mrr@10 ndcg@5"),
        ({"long": LONG, "short": SHORT}, "rprec"),  # have no cut-off to leave out
        ({"a": LONG, "b": {user: items[:95] for user, items in LONG.items()}}, "mrr"),
    ],
)
def test_equal_lengths_are_no_finding(runs, metrics):
    assert codes(ra.score(runs, TRUTH, metrics, interval=None)) == []


def test_results_name_the_number_of_positions():
    scores = ra.score({"a": SHORT}, TRUTH, "mrr mrr@5 rprec", interval=None)
    assert [row.parameters.get("places") for row in scores.rows] == [10, None, None]
    assert scores.metrics == ("mrr", "mrr@5", "rprec")
    written = scores.row("a", "mrr").to_dict()["parameters"]
    assert written["places"] == 10
    assert "mrr is computed over the first 10 ranks, the longest list of the run." in score_table(
        scores, None, "markdown"
    )
    assert "places" not in score_table(ra.score({"a": SHORT}, TRUTH, "mrr@5", interval=None), None, "markdown")


def test_lists_of_unmatched_users_do_not_count(tmp_path):
    extra = SHORT | {"other": LONG["u1"]}
    assert ra.score({"a": extra}, TRUTH, "mrr", interval=None).rows[0].parameters["places"] == 10
    run, truth = ({(user, item) for user in lists for item in lists[user]} for lists in (extra, TRUTH))
    frame = pl.DataFrame(
        [(user, item, rank) for user, items in extra.items() for rank, item in enumerate(items, 1)],
        schema=["user_id", "item_id", "rank"], orient="row",
    )  # fmt: skip
    frame.write_parquet(tmp_path / "a.parquet")
    pl.DataFrame(sorted(truth), schema=["user_id", "item_id"], orient="row").write_parquet(tmp_path / "truth.parquet")
    found = ra.score(
        str(tmp_path / "a.parquet"),
        str(tmp_path / "truth.parquet"),
        "mrr",
        interval=None,
        execution=ra.options.Execution(memory="8GB"),
    )
    assert found.rows[0].parameters["places"] == 10
    assert len(run) == frame.height


STUDY = """\
study: both
data: {generate: "log(users=60, items=40, events=900)"}
split: k_folds(k=2)
protocol: ranking(k=20)
models: {popular: Popular, random: Random}
designs: [lists, TI-AR-AN]
metrics: [mrr, ndcg@5]
judge: {resamples: 50}
"""


def test_a_study_with_lists_and_designs_reports_it_on_its_page(tmp_path):
    (tmp_path / "study.yaml").write_text(STUDY)
    results = ra.run_study(tmp_path / "study.yaml", tmp_path / "both")
    (found,) = [one for one in results.findings if one["code"] == "S006"]
    assert found["severity"] == "info"
    assert "mrr is computed on the first 20 positions of lists, and on whole target sets" in found["detail"]
    page = (tmp_path / "both" / "report.html").read_text()
    assert "mrr is computed over the first 20 ranks, the longest list of the runs." in page
    assert "Under a design it is computed over every whole target set." in page
    rows = json.loads((tmp_path / "both" / "summary.json").read_text())["rows"]
    assert {row["parameters"]["places"] for row in rows if row["metric"] == "mrr" and row["design"] == "lists"} == {20}
    for design in ("lists", "TI-AR-AN"):
        (tmp_path / "study.yaml").write_text(STUDY.replace("[lists, TI-AR-AN]", f"[{design}]"))
        alone = ra.run_study(tmp_path / "study.yaml", tmp_path / design)
        assert [one for one in alone.findings if one["code"] == "S006"] == []
