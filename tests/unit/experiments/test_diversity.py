"""Experiments on re-rankers: what diversity costs, who wins, and where everybody is at home."""

from dataclasses import replace

import polars as pl
import pytest

import recassay as ra
from recassay.data.synthetic import item_features, log
from recassay.errors import UsageError

from ...refusals import refused

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
    return ra.experiments.trial(MODELS, FOLD, ASK)


def test_sudden_death_is_that_of_the_runs(trial):
    curve, duels = ra.experiments.sudden_death(at=5, resamples=50)(trial)
    contest = ra.sudden_death(dict(trial.runs), ASK.truth(FOLD), 5, interval=None)
    for at, share, system in curve.table.select("at", "sudden_death", "system").rows():
        assert share == contest.share(system, at)
    assert duels.table.equals(contest.duels())
    assert (curve.table["low"] <= curve.table["sudden_death"]).all()


def test_cut_offs_are_those_of_the_scores(trial):
    (exhibit,) = ra.experiments.cutoffs(metrics="precision alpha_ndcg(alpha=0.9)", at=3, resamples=50)(trial)
    scores = ra.score(dict(trial.runs), ASK.truth(FOLD), "precision@2 alpha_ndcg(alpha=0.9)@2", items=ITEMS)
    own = exhibit.table.filter(at=2, system="xquad")
    assert dict(own.select("metric", "mean").rows()) == {
        "precision": scores.row("xquad", "precision@2").mean,
        "alpha_ndcg(alpha=0.9)": scores.row("xquad", "alpha_ndcg(alpha=0.9)@2").mean,
    }
    assert exhibit.table.height == 2 * 3 * 4
    assert exhibit.name == "cutoffs-precision-alpha_ndcg"


def test_the_point_of_a_weight_is_the_system_played_with_it(trial):
    points, quadrants, areas = ra.experiments.trade_off(diversity="ild@10", steps=2)(trial)
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
    made = ra.experiments.trade_off(diversity="ild@10", steps=1)(ra.experiments.trial(models, FOLD, ASK))
    assert [one.name for one in made[::3]] == ["trade-off-ild@10-svd", "trade-off-ild@10-Popular"]
    alone = made[3].table.filter(system="Popular")
    played = ra.score(ra.play(popular, FOLD, ASK), ASK.truth(FOLD), "precision@10", interval=None)
    assert alone["precision@10"].to_list() == [played.row("Popular", "precision@10").mean]


def test_re_rankers_are_at_home_where_their_objective_is_measured(trial):
    ranks, means = ra.experiments.home_and_away(metrics="precision@10 ild@10 alpha_ndcg@10")(trial)
    at_home = ranks.table.filter("home").select("metric", "system").rows()
    assert at_home == [("ild@10", "mmr"), ("alpha_ndcg@10", "xquad")]
    assert set(ranks.table["metric"]) == {"precision@10", "ild@10", "alpha_ndcg@10", "sudden_death@10"}
    assert set(means.table["where"]) == {"at home", "as guest", "on neutral ground"}


def test_re_rankers_without_a_home_metric_are_guests_everywhere():
    models = {"svd": SVD, "mmr": ra.models.MMR(SVD), "tail": ra.models.LongTail(SVD), "any": ra.models.Shuffled(SVD)}
    ranks, means = ra.experiments.home_and_away(metrics="precision@10 ild@10")(ra.experiments.trial(models, FOLD, ASK))
    assert ranks.table.filter("home").select("metric", "system").rows() == [("ild@10", "mmr")]
    assert means.table.filter(pl.col("system").is_in(["tail", "any"]), where="at home")["mean rank"].null_count() == 2


def test_only_named_systems_compete(trial):
    curve, duels = ra.experiments.sudden_death(at=5, competitors="mmr svd", resamples=100)(trial)
    assert set(curve.table["system"]) == {"mmr", "svd"} == set(duels.table["system"])
    alone = ra.sudden_death(dict(trial.runs), ASK.truth(FOLD), 5, competitors=["mmr", "svd"], interval=None)
    assert curve.table.filter(system="mmr", at=5)["sudden_death"].item() == alone.share("mmr")


def test_a_weight_is_chosen_without_a_look_at_the_test_part(trial):
    ask = ra.experiments.choose_weight(system="mmr", best="ild@10", keep="precision@10", loss=0.1, steps=4)
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
    trial = ra.experiments.trial({"m": ra.models.MMR(ra.models.Popular())}, fold, ASK)
    assert ra.experiments.choose_weight(system="m", best="precision@5", validation=0.2, seed=0)(trial)


@pytest.mark.parametrize(
    "experiment", [ra.experiments.trade_off(), ra.experiments.choose_weight(system="svd", best="ild@10")]
)
def test_without_a_re_ranker_there_is_nothing_to_weigh(experiment):
    with pytest.raises(UsageError, match=r"U201.*no system is one"):
        experiment(ra.experiments.trial({"svd": SVD}, FOLD, ASK))


def test_a_system_that_is_no_re_ranker_has_no_weight(trial):
    with pytest.raises(UsageError, match=r"U108.*no re-ranker 'mrm'") as caught:
        ra.experiments.choose_weight(system="mrm", best="ild@10")(trial)
    assert "mmr" in str(caught.value)


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (lambda: ra.experiments.cutoffs(at=0), "U102"),
        (lambda: ra.experiments.cutoffs(metrics="precision@5"), "U102"),
        (lambda: ra.experiments.cutoffs(metrics="precison"), "U101"),
        (lambda: ra.experiments.trade_off(steps=0), "U102"),
        (lambda: ra.experiments.trade_off(diversity="idl@10"), "U101"),
        (lambda: ra.experiments.home_and_away(metrics="idl@10"), "U101"),
        (lambda: ra.experiments.choose_weight(system="m", best="ild@10", steps=0), "U102"),
        (lambda: ra.experiments.choose_weight(system="m", best="ild@10", validation=1.0), "U102"),
        (lambda: ra.experiments.choose_weight(system="m", best="idl@10"), "U101"),
    ],
)
def test_senseless_experiments_are_refused_before_any_work(build, code):
    with refused(code):
        build()


LITERAL = {**MODELS, "max": ra.models.MMR(SVD, weight=0.5, form="max", norm="none")}


class TestClaims:
    CLAIMS = ra.experiments.diversity_claims(base="svd", ours="mmr xquad spad", literal="max xquad spad", at=4, steps=2)

    @pytest.fixture(scope="class")
    @classmethod
    def rows(cls):
        trial = ra.experiments.trial(LITERAL, FOLD, ASK)
        (exhibit,) = cls.CLAIMS(trial)
        return trial, {(row["form"], row["claim"]): row for row in exhibit.table.to_dicts()}

    def test_each_form_has_a_verdict_on_every_claim(self, rows):
        _, verdicts = rows
        assert len({claim for _, claim in verdicts}) * 2 == len(verdicts) == 24

    @pytest.mark.parametrize(("form", "mmr"), [("ours", "mmr"), ("literal", "max")])
    def test_the_leader_is_counted_cut_off_by_cut_off(self, rows, form, mmr):
        trial, verdicts = rows
        chosen = {name: trial.runs[name] for name in ("svd", mmr, "xquad", "spad")}
        for text, metric, best, first in (
            ("ILD is highest for MMR", "ild", mmr, 2), ("MRR is highest for SPAD", "mrr", "spad", 1),
        ):  # fmt: skip
            led = 0
            for at in range(first, 5):
                scores = ra.score(chosen, ASK.truth(FOLD), f"{metric}@{at}", items=ITEMS, interval=None)
                means = {row.system: row.mean for row in scores.rows}
                led += means[best] == max(means.values())
            of = 5 - first
            word = "holds" if led == of else "fails"
            assert verdicts[form, text]["verdict"] == f"{word}: {led} of {of} cut-offs"

    def test_sudden_death_is_that_of_the_four_systems_alone(self, rows):
        trial, verdicts = rows
        contest = ra.sudden_death([trial.runs[name] for name in MODELS], ASK.truth(FOLD), 4, interval=None)
        led = sum(contest.share("spad", at) == max(contest.share(name, at) for name in MODELS) for at in range(1, 5))
        assert verdicts["ours", "Sudden Death is highest for SPAD"]["cases"] == led / 4

    def test_weights_that_gain_both_are_those_of_the_trade_off(self, rows):
        trial, verdicts = rows
        points, *_ = ra.experiments.trade_off(diversity="ild@10", steps=2)(trial)
        base = points.table.filter(system="svd").to_dicts()[0]
        spad = points.table.filter(system="spad").to_dicts()
        gained = sum(row["precision@10"] >= base["precision@10"] and row["ild@10"] >= base["ild@10"] for row in spad)
        row = verdicts["ours", "For most weights SPAD gains precision and ILD"]
        assert row["cases"] == gained / 2
        assert row["verdict"].startswith("holds" if gained > 1 else "fails")

    def test_unknown_systems_and_too_few_names_are_refused(self, rows):
        trial, _ = rows
        for options, code in (({"base": "x"}, "U108"), ({"base": "svd", "ours": "mmr x spad"}, "U108")):
            with refused(code):
                ra.experiments.diversity_claims(**{"ours": "mmr xquad spad", **options})(trial)
        with pytest.raises(UsageError):
            ra.experiments.diversity_claims(base="svd", ours="mmr")
