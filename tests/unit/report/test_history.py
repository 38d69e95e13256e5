"""Results of several folders: their order, what is comparable, and the comparison of the last two."""

from __future__ import annotations

import numpy as np
import pytest

import recassay as ra
from recassay.report.folder.history import history_of, history_table
from recassay.report.folder.results import write_results

USERS = 300
TRUTH = {user: ["x"] for user in range(USERS)}


def week(folder, hits, truth=TRUTH, metrics="hit@1 coverage(catalogue='truth')@1", **options):
    """Write the results of a model with this share of hits."""
    lists = {user: ["x", "y"] if user < hits * USERS else ["y", "x"] for user in truth}
    write_results(ra.score({"model": lists}, truth, metrics, **options), None, folder)
    return folder


def test_rows_are_in_the_order_of_the_folders(tmp_path):
    history = history_of([week(tmp_path / name, hits) for name, hits in (("b", 0.5), ("a", 0.52), ("c", 0.2))])
    rows = [(row["metric"], row["folder"], row["mean"]) for row in history.rows if row["metric"] == "hit@1"]
    assert rows == [("hit@1", "b", 0.5), ("hit@1", "a", 0.52), ("hit@1", "c", 0.2)]
    assert (history.breaks, history.gates["model"].verdict) == ({}, "fail")
    [criterion] = history.gates["model"].criteria
    assert (criterion.candidate, criterion.against) == pytest.approx((0.2, 0.52))
    assert len(history.exhibits()) == 1
    assert history_table(history, grouped=False).rows[1][-1].text == "yes"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            {"truth": {user: ["x", "z"] for user in range(USERS)}},
            "another truth: 300 users with 600 judged items, before 300",
        ),
        ({"conventions": ra.options.ConventionOptions(ties="expected")}, "ties=expected, before id"),
        ({"metrics": "hit@1", "relevant_from": 2.0, "truth": TRUTH}, "hit@1 is hit(relevant_from=2.0)@1"),
    ],
)
def test_what_is_not_comparable_is_said(tmp_path, options, why):
    first = week(tmp_path / "1", 0.5, metrics=options.get("metrics", "hit@1"))
    second = week(tmp_path / "2", 0.5, **{"metrics": "hit@1"} | options)
    history = history_of([first, second])
    assert why in history.breaks["2"]
    assert "model" in history.refusals
    assert history.frame()["line"].n_unique() == 2  # the line of the picture is broken


def test_metrics_and_systems_can_be_chosen_and_mistakes_are_told(tmp_path):
    folders = [week(tmp_path / name, 0.5) for name in "ab"]
    assert {row["metric"] for row in history_of(folders, metrics=["hit@1"]).rows} == {"hit@1"}
    for options in ({"metrics": ["ndcg"]}, {"systems": ["other"]}):
        with pytest.raises(ra.UsageError, match="U108"):
            history_of(folders, **options)
    with pytest.raises(ra.UsageError, match="U105"):
        history_of(folders[:1] * 2)
    with pytest.raises(ra.UsageError, match="U105"):
        history_of(folders[:1])


def test_studies_are_compared_by_data_and_split(tmp_path):
    study = 'study: s\ndata: {{generate: "log(users=60, items=40, events=1200, seed={})"}}\nsplit: random(test=0.2)\n'
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / f"{name}.yaml").write_text(study.format(seed) + "models: {pop: Popular}\nmetrics: [ndcg@5]\n")
        ra.run_study(tmp_path / f"{name}.yaml", tmp_path / name)
    history = history_of([tmp_path / name for name in "abc"])
    assert dict(history.breaks) == {"c": "another study: data changed"}
    assert not np.isnan(history.frame()["mean"].to_numpy()).any()
