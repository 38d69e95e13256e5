"""Experiments on lists and re-rankers: what diversity costs, and who wins."""

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


def test_only_named_systems_compete(trial):
    curve, duels = ra.experiments.sudden_death(at=5, competitors="mmr svd", resamples=100)(trial)
    assert set(curve.table["system"]) == {"mmr", "svd"} == set(duels.table["system"])
    alone = ra.sudden_death(dict(trial.runs), ASK.truth(FOLD), 5, competitors=["mmr", "svd"], interval=None)
    assert curve.table.filter(system="mmr", at=5)["sudden_death"].item() == alone.share("mmr")


def test_without_a_re_ranker_there_is_nothing_to_weigh():
    with pytest.raises(UsageError, match=r"U201.*no system is one"):
        ra.experiments.trade_off()(ra.experiments.trial({"svd": SVD}, FOLD, ASK))


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (lambda: ra.experiments.cutoffs(at=0), "U102"),
        (lambda: ra.experiments.cutoffs(metrics="precision@5"), "U102"),
        (lambda: ra.experiments.cutoffs(metrics="precison"), "U101"),
        (lambda: ra.experiments.trade_off(steps=0), "U102"),
        (lambda: ra.experiments.trade_off(diversity="idl@10"), "U101"),
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
