"""Every check has an outcome for every folder: a finding, fine, or why it does not apply."""

from __future__ import annotations

import json

import polars as pl
import pytest

import recassay as ra
from recassay.checks.base import CHECKS
from recassay.errors import InputError
from recassay.report.folder.checks import findings_in, run_checks
from recassay.report.folder.results import read_results, write_results
from recassay.study.run.study import run_study

from ....scoring import score

TRUTH = {user: ["x"] for user in "abcdefghijklm"}
GOOD = {user: ["x" if user < "h" else "y", "z"] for user in TRUTH}
BAD = {user: ["z", "x"] for user in TRUTH}
STUDY = """
study: tiny
data: {generate: "log(users=40, items=30, events=600)"}
split: random(test=0.2)
models: {popular: Popular, again: Popular, random: Random}
metrics: ndcg@5
designs: [lists, TI-1R-NN(5)]
judge: {resamples: 100}
"""


def outcomes(folder):
    return {outcome.check.code: outcome for outcome in run_checks(read_results(folder))}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    home = tmp_path_factory.mktemp("study")
    (home / "study.yaml").write_text(STUDY, encoding="utf-8")
    run_study(home / "study.yaml", home / "out")
    return home / "out"


def scored(folder, runs=None, **more):
    scores = score(runs or {"good": GOOD, "bad": BAD}, TRUTH, "hit@1 mrr", interval="normal", **more)
    write_results(scores, ra.compare(scores), folder)
    return outcomes(folder)


def test_every_check_has_an_outcome(study, tmp_path):
    for found in (outcomes(study), scored(tmp_path)):
        assert set(found) == set(CHECKS.kinds)
        assert all((one.outcome == "finding") == bool(one.findings) for one in found.values())
        assert all((one.outcome == "not applicable") == bool(one.why) for one in found.values())


def test_findings_of_a_study_are_reported_and_other_checks_are_fine(study):
    found = outcomes(study)
    kept = {json.loads(line)["code"] for line in (study / "findings.jsonl").read_text().splitlines()}
    reported = {code for code, one in found.items() if one.findings}
    assert kept <= reported
    assert reported - kept <= {"C012", "C013", "D001", "D002", "D003"}
    assert found["C001"].outcome == "fine"
    assert found["S002"].findings[0]["detail"].startswith("TI-1R-NN(5)")
    assert found["S001"].why.startswith("run by recassay correct")
    assert found["G001"].why == "no sequences were generated"


def test_one_system_under_two_names_is_a_finding(study, tmp_path):
    [finding] = outcomes(study)["C012"].findings
    assert finding["detail"].startswith("popular and again have the same values")
    assert scored(tmp_path)["C012"].outcome == "fine"


def test_equal_means_of_different_values_are_fine(tmp_path):
    mirrored = {user: ["x" if user >= "h" else "y", "z"] for user in list(TRUTH)[1:]}
    runs = {"good": {user: GOOD[user] for user in mirrored}, "mirrored": mirrored}
    scores = ra.score(runs, {user: ["x"] for user in mirrored}, "hit@1", interval=None)
    assert len({row.mean for row in scores.rows}) == 1
    write_results(scores, None, tmp_path)
    assert outcomes(tmp_path)["C012"].outcome == "fine"


def test_missing_inputs_are_the_reason(tmp_path):
    found = scored(tmp_path)
    assert found["L001"].why == "no training log was given"
    assert found["L002"].why == "run on the folds of a study"
    assert found["P001"].why == "no profile was used"
    assert found["B001"].why.startswith("no design was evaluated")
    trained = scored(tmp_path / "trained", train={user: ["w"] for user in TRUTH})
    assert trained["L001"].outcome == "fine"


def test_a_log_without_times_cannot_leak_from_the_future(tmp_path):
    log = pl.DataFrame({"user_id": [u for u in range(30) for _ in range(10)], "item_id": list(range(10)) * 30})
    log.write_csv(tmp_path / "log.csv")
    study = STUDY.replace('{generate: "log(users=40, items=30, events=600)"}', "{path: log.csv}")
    (tmp_path / "study.yaml").write_text(study.replace(", TI-1R-NN(5)", ""), encoding="utf-8")
    run_study(tmp_path / "study.yaml", tmp_path / "out")
    assert outcomes(tmp_path / "out")["L002"].why == "the log has no times"
    assert outcomes(tmp_path / "out")["B001"].why.startswith("no design")


def test_means_over_different_users_are_a_finding(tmp_path):
    found = scored(tmp_path, {"good": GOOD, "half": dict(list(BAD.items())[:11])}, missing="skip")
    assert "11 users for half and over 13 for good" in found["C013"].findings[0]["detail"]


def test_checks_on_decisions_use_the_comparisons_of_the_folder(tmp_path):
    scores = ra.score({"good": GOOD, "bad": BAD, "random": BAD}, TRUTH, "hit@1 mrr", interval=None)
    write_results(scores, ra.compare(scores, correction="none"), tmp_path)
    assert outcomes(tmp_path)["D001"].outcome == "finding"
    assert [one.code for one in findings_in(tmp_path)] == ["C012", "D001"]


def test_a_single_system_is_not_compared(tmp_path):
    write_results(ra.score({"good": GOOD}, TRUTH, "hit@1", interval=None), None, tmp_path)
    assert outcomes(tmp_path)["D001"].why == "no two systems were compared"


def test_a_folder_without_results_is_an_error_that_names_one_nearby(tmp_path):
    scored(tmp_path / "first")
    with pytest.raises(InputError, match="I316") as caught:
        read_results(tmp_path / "frist")
    assert "first" in caught.value.hint
    with pytest.raises(InputError, match="I316") as caught:
        read_results(tmp_path / "study.yaml")
    assert "recassay run" in caught.value.hint
    for text in ("[]", "{", '{"rows": 3}', '{"rows": [{"system": "a"}]}'):
        (tmp_path / "first" / "summary.json").write_text(text)
        with pytest.raises(InputError, match="I318"):
            read_results(tmp_path / "first")
