"""The verdict in words: who, by how much, how sure, and where not."""

from __future__ import annotations

import math
from dataclasses import replace

from recassay.comparison.verdict import Lead, Verdict, verdict_of
from recassay.report.content.verdict import verdict_text
from recassay.results.score_set import Place

ONE = Lead(
    Place("ml-1m", "random(test=0.2)", "ranking", "lists", 0), "ndcg@10", ("als", "bpr", "pop"), "als", 0.31, 0.3, 0.32,
    "bpr", 0.02, 0.01, 0.03, 0.006, 3, 40, "permutation", "holm", True, True, ("bpr", "pop"),
)  # fmt: skip


def on(dataset, **changes):
    return replace(ONE, place=ONE.place._replace(dataset=dataset), **changes)


def headline(*leads):
    return verdict_text(verdict_of(leads)).headline


def test_a_significant_lead_says_who_where_by_how_much_and_how_sure():
    assert headline(ONE) == (
        "als is best by ndcg@10 on ml-1m, random(test=0.2): 0.3100, 0.0200 above bpr (95 % interval of the difference "
        "0.0100–0.0300; p = 0.0060, adjusted over 3 pairs of systems)."
    )


def test_a_lead_that_is_not_significant_establishes_nobody():
    text = headline(replace(ONE, significant=False, p=0.31, difference_low=-0.01, beaten=("pop",)))
    assert text.startswith("No system is established as best by ndcg@10")
    assert "p = 0.3100" in text
    assert text.endswith("als is significantly better than pop.")


def test_a_lead_without_a_test_a_tie_and_a_single_system_say_so():
    assert headline(replace(ONE, p=math.nan)).endswith("but its lead over bpr was not tested.")
    assert "als and bpr tie by ndcg@10" in headline(replace(ONE, difference=0.0, significant=False))
    assert "there is no other system" in headline(replace(ONE, runner_up=None, p=math.nan))
    assert headline().startswith("There is no verdict")


def test_a_metric_of_errors_leads_from_below():
    text = headline(replace(ONE, metric="rmse", difference=-0.02, difference_low=-0.03, difference_high=-0.01,
                            higher_is_better=False))  # fmt: skip
    assert "0.0200 below bpr (95 % interval of the difference 0.0100–0.0300" in text


def test_one_leader_everywhere():
    assert headline(ONE, on("steam", difference=0.05, p=0.001)) == (
        "als is best by ndcg@10 on all 2 data sets, by 0.0200 to 0.0500 over bpr, significant on each (largest "
        "p = 0.0060, adjusted over 3 pairs of systems)."
    )


def test_data_sets_where_the_lead_is_not_significant_are_named():
    text = headline(ONE, on("steam", significant=False, p=0.2), on("yelp"))
    assert "the lead is significant on 2 and not on steam (p = 0.2000)." in text
    assert headline(*(on(name, significant=False) for name in "ab")).endswith("and significantly on none.")


def test_data_sets_that_disagree_are_named_with_their_leader():
    text = headline(ONE, on("yelp"), on("steam", leader="bpr", runner_up="als", significant=False))
    assert text == (
        "No system is best by ndcg@10 on all 3 data sets: als leads on ml-1m and yelp (by 0.0200, significantly) and "
        "bpr on steam (by 0.0200, not significantly)."
    )


def test_splits_and_data_sets_are_counted_together():
    leads = [
        replace(ONE, place=Place(data, split, "ranking", "lists", 0))
        for data in ("a", "b")
        for split in ("x", "y", "z")
    ]
    assert "on all 6 settings (2 data sets, 3 splits)" in headline(*leads)


def test_the_baseline_has_a_sentence_of_its_own():
    own = replace(ONE, baseline="pop", better=("als",), unclear=("bpr",), worse=("random",))
    text = verdict_text(Verdict((own,)))
    assert text.details == (
        "Against the baseline pop: als is significantly better; random is significantly worse; bpr does not differ "
        "significantly.",
    )


def test_metrics_and_designs_that_contradict_are_listed_certain_ones_one_by_one():
    other = replace(ONE, leader="bpr", runner_up="als")
    unsure = replace(other, significant=False, p=0.4)
    leads = [
        ONE,
        replace(other, metric="recall@10"),
        replace(unsure, metric="mrr"),
        replace(unsure, metric="hit@10"),
        replace(ONE, metric="map"),
        replace(other, place=ONE.place._replace(design="P1R")),
    ]
    assert verdict_text(verdict_of(leads)).against == (
        "By recall@10, bpr leads instead (0.0200 ahead of als, significantly, p = 0.0060).",
        "Under P1R, bpr leads instead (0.0200 ahead of als, significantly, p = 0.0060).",
        "By mrr and hit@10, another system leads, but nowhere significantly.",
        "only 1 of the 4 other metrics has the same leader.",
    )


def test_a_verdict_survives_json():
    verdict = verdict_of([ONE, on("steam", p=math.nan, low=math.nan), replace(ONE, metric="mrr")])
    again = Verdict.from_dict(verdict.to_dict())
    assert again.to_dict() == verdict.to_dict()
    assert verdict_text(again) == verdict_text(verdict)
