"""Home and away: who is host of which metric, ranks, and finding H001."""

import polars as pl
import pytest

import recassay as ra
from recassay.engine.decisions.home_and_away import _kind_of, _kind_of_reranker

from ....refusals import refused

ITEMS = pl.DataFrame({"item_id": ["x", "y", "z"], "tags": [["a"], ["a"], ["b"]]})
TRUTH = {"ann": ["y"], "bob": ["x"]}
LOG = {"ann": ["x"], "bob": ["y"], "cem": ["x", "y", "z"]}
RUNS = {"mf": {"ann": ["y", "x"], "bob": ["y", "x"]}, "mmr": {"ann": ["x", "z"], "bob": ["y", "z"]}}
METRICS = "mrr ild@2 ild(distance='training')@2 alpha_ndcg@2 calibration@2"


def scores(metrics=METRICS):
    return ra.score(RUNS, TRUTH, metrics, items=ITEMS, train=LOG, interval=None)


@pytest.mark.parametrize(
    ("metric", "objective"),
    [
        ("ild@10", "MMR"),
        ("eild(distance='cosine')@5", "MMR(distance='cosine', form='mean')"),
        ("ild(distance='training', printed=True)@5", "mmr(distance='training')"),
        ("alpha_ndcg@20", "xQuAD(of='ALS()')"),
        ("err_ia@20", "xQuAD"),
        ("subtopic_recall@20", "xQuAD"),
        ("calibration@20", "Calibrated"),
        ("ild@20", "DPP(weight=0.3)"),
        ("precision_ia(aspects='subprofiles')@5", "SPAD(k1=3)"),
    ],
)
def test_diversity_metrics_are_close_to_their_objective(metric, objective):
    assert _kind_of(metric) == _kind_of_reranker(objective) is not None


@pytest.mark.parametrize(
    ("metric", "objective"),
    [("ild@10", "MMR(distance='training')"), ("ild@10", "xQuAD"), ("alpha_ndcg@10", "SPAD"), ("epd@10", "MMR")],
)
def test_other_metrics_are_close_to_no_objective(metric, objective):
    assert _kind_of(metric) != _kind_of_reranker(objective)
    assert _kind_of("ndcg@10") is _kind_of("sudden_death@10") is _kind_of("unheard of") is None
    assert _kind_of_reranker("popular") is _kind_of_reranker("a run.txt") is None


def test_ranks_and_home_systems_match_hand_computed_ones():
    made = ra.home_and_away(scores(), objectives={"mmr": "MMR"})
    ranks = {row["metric"]: (row["home"], row["mf"], row["mmr"]) for row in made.ranks().to_dicts()}
    assert ranks["mrr"] == ("", 1, 2)
    assert ranks["ild@2"] == ("mmr", 2, 1)
    assert ranks["ild(distance='training')@2"][0] == ""
    assert ranks["alpha_ndcg@2"] == ("", 1, 2)
    summary = {row["system"]: row for row in made.summary().to_dicts()}
    assert (summary["mmr"]["at_home"], summary["mmr"]["as_guest"]) == (1, None)
    assert (summary["mf"]["at_home"], summary["mf"]["as_guest"]) == (None, 2)
    assert made.exhibit().table.filter(pl.col("home"))["label"].to_list() == ["1.0 home"]


def test_the_lowest_value_ranks_first_if_lower_is_better():
    table = ra.home_and_away(scores("calibration@2")).table
    better = table.sort("mean")["system"][0]
    assert table.filter(pl.col("rank") == 1)["system"].to_list() == [better]


def test_h001_warns_of_a_home_winner_that_does_not_lead_elsewhere():
    made = ra.home_and_away(scores("mrr ild@2"), objectives={"mmr": "MMR"})
    (finding,) = made.findings
    assert (finding.code, finding.severity) == ("H001", "warning")
    assert "mmr leads under ild@2" in finding.detail
    assert "under 1 away metric its mean rank is 2.0, and that of mf is 1.0" in finding.detail


def test_h001_is_info_if_the_home_system_does_not_win():
    (finding,) = ra.home_and_away(scores("mrr ild@2"), objectives={"mf": "MMR"}).findings
    assert (finding.severity, finding.detail) == (
        "info",
        "1 metric of 2 may favour a system: ild@2 is the home metric of mf",
    )
    assert ra.home_and_away(scores("mrr ild@2"), objectives={"mmr": "SPAD"}).findings == ()


def test_sudden_death_is_at_home_for_no_system():
    contest = ra.sudden_death(RUNS, TRUTH, at=2, interval=None)
    made = ra.home_and_away(scores("ild@2"), contest.scores(), objectives={"mmr": "MMR"})
    assert made.metrics == ("ild@2", "sudden_death@2")
    assert made.home["sudden_death@2"] == ()


def test_objectives_default_to_reranker_names():
    runs = {"als": RUNS["mf"], "MMR(of='als', weight=0.3)": RUNS["mmr"]}
    scored = ra.score(runs, TRUTH, "mrr ild@2", items=ITEMS, interval=None)
    assert ra.home_and_away(scored).home["ild@2"] == ("MMR(of='als', weight=0.3)",)


def test_scores_of_different_systems_are_refused():
    others = ra.sudden_death({"mf": RUNS["mf"], "spad": RUNS["mmr"]}, TRUTH).scores()
    for ask, code in (
        (lambda: ra.home_and_away(scores(), others), "U204"),
        (lambda: ra.home_and_away(scores(), objectives={"mmr": "ndcg@10"}), "U204"),
        (lambda: ra.home_and_away(scores(), objectives={"xquad": "xQuAD"}), "U108"),
        (ra.home_and_away, "U113"),
    ):
        with refused(code):
            ask()
