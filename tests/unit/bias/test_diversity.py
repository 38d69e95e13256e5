"""Experiments on re-rankers: what diversity costs, who wins, and where everybody is at home."""

from dataclasses import replace

import polars as pl
import pytest

import recassay as ra
from recassay.data.synthetic import item_features, log
from recassay.errors import UsageError

ITEMS = ra.read_items(item_features(items=120, seed=5))
FOLD = replace(ra.split.random(test=0.25, seed=3)(log(users=300, items=120, events=9_000, seed=5))[0], items=ITEMS)
SVD = ra.models.PureSVD(10)
MODELS = {
    "svd": SVD,
    "mmr": ra.models.MMR(SVD, weight=0.5),
    "xquad": ra.models.XQuAD(SVD, weight=0.5),
    "spad": ra.models.SPAD(SVD, weight=0.5),
}
ASK = ra.protocols.ranking(bins=0, k=20)


@pytest.fixture(scope="module")
def trial():
    return ra.bias.trial(MODELS, FOLD, ASK)


def test_sudden_death_is_that_of_the_runs(trial):
    curve, duels = ra.bias.sudden_death(at=5, resamples=50)(trial)
    contest = ra.sudden_death(dict(trial.runs), ASK.truth(FOLD), 5, interval=None)
    for at, share, system in curve.table.select("at", "sudden_death", "system").rows():
        assert share == contest.share(system, at)
    assert duels.table.equals(contest.duels())
    assert (curve.table["low"] <= curve.table["sudden_death"]).all()


def test_cut_offs_are_those_of_the_scores(trial):
    (exhibit,) = ra.bias.cutoffs(metrics="precision alpha_ndcg(alpha=0.9)", at=3, resamples=50)(trial)
    scores = ra.score(dict(trial.runs), ASK.truth(FOLD), "precision@2 alpha_ndcg(alpha=0.9)@2", items=ITEMS)
    own = exhibit.table.filter(at=2, system="xquad")
    assert dict(own.select("metric", "mean").rows()) == {
        "precision": scores.row("xquad", "precision@2").mean,
        "alpha_ndcg(alpha=0.9)": scores.row("xquad", "alpha_ndcg(alpha=0.9)@2").mean,
    }
    assert exhibit.table.height == 2 * 3 * 4
    assert exhibit.name == "cutoffs-precision-alpha_ndcg"


def test_the_point_of_a_weight_is_the_system_played_with_it(trial):
    points, quadrants, areas = ra.bias.trade_off(diversity="ild@10", steps=2)(trial)
    assert points.table.height == 1 + 3 * 2
    half = points.table.filter(system="mmr", weight=0.5)
    scores = ra.score(dict(trial.runs), ASK.truth(FOLD), "precision@10 ild@10", items=ITEMS, interval=None)
    assert half["ild@10"].to_list() == [scores.row("mmr", "ild@10").mean]
    assert half["precision@10"].to_list() == [scores.row("mmr", "precision@10").mean]
    shares = quadrants.table.group_by("system").agg(pl.col("share of weights").sum())
    assert shares["share of weights"].to_list() == pytest.approx([1, 1, 1])
    assert set(areas.table["system"]) == {"mmr", "xquad", "spad"}
    assert areas.table["hypervolume"].is_between(0, 1).all()


def test_every_weight_is_seen_from_the_system_that_is_re_ranked():
    popular = ra.models.Popular()
    models = {"svd": SVD, "of svd": ra.models.MMR(SVD), "of popular": ra.models.MMR(popular)}
    made = ra.bias.trade_off(diversity="ild@10", steps=1)(ra.bias.trial(models, FOLD, ASK))
    assert [one.name for one in made[::3]] == ["trade-off-ild@10-svd", "trade-off-ild@10-Popular"]
    alone = made[3].table.filter(system="Popular")
    played = ra.score(ra.play(popular, FOLD, ASK), ASK.truth(FOLD), "precision@10", interval=None)
    assert alone["precision@10"].to_list() == [played.row("Popular", "precision@10").mean]


def test_re_rankers_are_at_home_where_their_objective_is_measured(trial):
    ranks, means = ra.bias.home_and_away(metrics="precision@10 ild@10 alpha_ndcg@10")(trial)
    at_home = ranks.table.filter("home").select("metric", "system").rows()
    assert at_home == [("ild@10", "mmr"), ("alpha_ndcg@10", "xquad")]
    assert set(ranks.table["metric"]) == {"precision@10", "ild@10", "alpha_ndcg@10", "sudden_death@10"}
    assert set(means.table["where"]) == {"at home", "as guest", "on neutral ground"}


def test_a_weight_is_chosen_without_a_look_at_the_test_part(trial):
    ask = ra.bias.choose_weight(system="mmr", best="ild@10", keep="precision@10", loss=0.1, steps=4)
    (exhibit,) = ask(trial)
    table = exhibit.table.filter(metric="ild@10")
    chosen = table.filter("chosen")
    assert chosen.height == 1
    assert chosen["mean"].item() == table.filter("within")["mean"].max()
    assert chosen["mark"].to_list() == ["chosen"]
    assert f": {chosen['weight'].item():g}. In this study mmr has 0.5." in exhibit.caption
    other = replace(trial, fold=replace(FOLD, test=FOLD.test.take(FOLD.test.users < 100)))
    assert ask(other)[0].table.equals(exhibit.table)
    assert (table["weight"] == 0.25 * pl.Series(range(5))).all()


def test_part_of_the_training_data_is_held_out_though_seeds_are_the_same():
    fold = replace(ra.split.random(test=0.2, seed=0)(log(users=60, items=40, events=900))[0], items=ITEMS)
    trial = ra.bias.trial({"m": ra.models.MMR(ra.models.Popular())}, fold, ASK)
    assert ra.bias.choose_weight(system="m", best="precision@5", validation=0.2, seed=0)(trial)


@pytest.mark.parametrize("experiment", [ra.bias.trade_off(), ra.bias.choose_weight(system="svd", best="ild@10")])
def test_without_a_re_ranker_there_is_nothing_to_weigh(experiment):
    with pytest.raises(UsageError, match=r"U208.*no system is one"):
        experiment(ra.bias.trial({"svd": SVD}, FOLD, ASK))


def test_a_system_that_is_no_re_ranker_has_no_weight(trial):
    with pytest.raises(UsageError, match=r"U108.*no re-ranker 'mrm'") as caught:
        ra.bias.choose_weight(system="mrm", best="ild@10")(trial)
    assert "mmr" in str(caught.value)


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (lambda: ra.bias.cutoffs(at=0), "U102"),
        (lambda: ra.bias.cutoffs(metrics="precision@5"), "U102"),
        (lambda: ra.bias.cutoffs(metrics="precison"), "U101"),
        (lambda: ra.bias.trade_off(steps=0), "U102"),
        (lambda: ra.bias.trade_off(diversity="idl@10"), "U101"),
        (lambda: ra.bias.home_and_away(metrics="idl@10"), "U101"),
        (lambda: ra.bias.choose_weight(system="m", best="ild@10", steps=0), "U102"),
        (lambda: ra.bias.choose_weight(system="m", best="ild@10", validation=1.0), "U102"),
        (lambda: ra.bias.choose_weight(system="m", best="idl@10"), "U101"),
    ],
)
def test_senseless_experiments_are_refused_before_any_work(build, code):
    with pytest.raises(UsageError) as caught:
        build()
    assert caught.value.code == code
