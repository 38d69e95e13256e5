"""Bias experiments on small generated logs: what should fall falls, what should stay stays."""

import dataclasses
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.synthetic import log
from recassay.errors import UsageError
from recassay.experiments.base import fits
from recassay.experiments.popularity import whole_log
from recassay.models.base.model import ScoringModel

FOLD = ra.split.random(test=0.25, seed=3)(log(users=400, items=150, events=14_000, seed=5))[0]
MODELS = {"popular": ra.models.Popular(), "svd": ra.models.PureSVD(10), "random": ra.models.Random()}


@pytest.fixture(scope="module")
def trial():
    return ra.experiments.trial(MODELS, FOLD, ra.protocols.ranking(bins=5))


def test_precision_of_all_relevant_items_falls_in_proportion_to_what_is_left(trial):
    exhibit, lines, _ = ra.experiments.sparsity(steps=5, n=20)(trial)
    assert exhibit.table["removed"].unique().sort().to_list() == [0.0, 0.2, 0.4, 0.6, 0.8]
    together = lines.table.filter(design="TI-AR-AN")
    assert (together["r2"] > 0.98).all()
    table = exhibit.table.filter(design="TI-AR-AN", system="svd").sort("removed")
    assert table["mean"][-1] / table["mean"][0] == pytest.approx(0.2, abs=0.05)
    alone = exhibit.table.filter(design="TI-1R-NN(20)", system="svd").sort("removed")
    assert alone["mean"][-1] / alone["mean"][0] == pytest.approx(1, abs=0.1)


def test_the_mean_over_users_with_a_relevant_item_is_that_of_judge(trial):
    table = ra.experiments.sparsity(steps=2, n=20, metric="recall@10", users="with_relevant")(trial)[0].table
    left = ra.split.subsample(trial.fold, 0.5, seed=0)
    run = ra.play(ra.models.PureSVD(10), left, trial.ask)
    wanted = ra.judge({"svd": run}, "TI-AR-AN", "recall@10", users="with_relevant", interval=None).rows[0].mean
    found = table.filter(system="svd", design="TI-AR-AN", removed=0.5)["mean"]
    assert found.to_list() == pytest.approx([wanted], abs=1e-12)


@pytest.mark.parametrize(
    ("metric", "users", "parts", "absent"),
    [
        ("precision@10", "all", ["users count 0 once", "precision@10 falls in proportion"], ["with_relevant"]),
        ("recall@10", "all", ["users count 0 once", "users='with_relevant' leaves"], ["in proportion"]),
        ("recall@10", "with_relevant", ["over users with a relevant item"], ["count 0", "in proportion", "falls"]),
        ("precision@10", "with_relevant", ["over users with a relevant item"], ["count 0", "in proportion"]),
    ],
)
def test_the_caption_says_what_holds_for_the_metric_and_the_users(trial, metric, users, parts, absent):
    caption = ra.experiments.sparsity(steps=2, n=20, metric=metric, users=users)(trial)[0].caption
    assert all(part in caption for part in parts)
    assert not any(part in caption for part in absent)


def test_several_metrics_are_those_of_single_calls(trial):
    both = ra.experiments.sparsity(steps=2, n=20, metric="precision@5, ndcg@5")(trial)[0].table
    for metric in ("precision@5", "ndcg@5"):
        alone = ra.experiments.sparsity(steps=2, n=20, metric=metric)(trial)[0].table
        assert both.filter(metric=metric).drop("metric and design").equals(alone)


def test_frozen_candidates_are_all_items(trial):
    exhibit, *_ = ra.experiments.sparsity(steps=2, n=20, freeze=True)(trial)
    assert set(exhibit.table["design"]) == {"AI-AR-AN", "AI-1R-NN(20)"}


def test_larger_sets_make_smaller_numbers_between_narrower_bounds(trial):
    exhibit, lines = ra.experiments.target_size(smallest=20, largest=80, sizes=4)(trial)
    table = exhibit.table.filter(system="svd").sort("t")
    assert table["t"].to_list() == [20, 40, 60, 80]
    assert (table["mean"].diff().drop_nulls() < 0).all()
    assert ((table["low"] <= table["mean"]) & (table["mean"] <= table["high"])).all()
    assert ((table["high"] - table["low"]).diff().drop_nulls() < 0).all()
    assert (lines.table["r2"] > 0.95).all()


def test_models_trained_in_each_bin_are_those_of_a_loop(trial):
    table = ra.experiments.percentiles(bins=3, metric="precision@5", n=9, train="per_bin")(trial)[0].table
    tested = trial.fold.test.frame()["item_id"].unique().sort().to_list()
    whole = pl.concat([part.frame() for part in (trial.fold.train, trial.fold.test)])
    users = dict(whole.group_by("item_id").len().rows())
    order = sorted(tested, key=lambda item: (-users[item], item))
    wanted = []
    for number, some in enumerate(np.array_split(order, 3), start=1):
        train, test = (part.take(part.frame()["item_id"].is_in(some.tolist()).to_numpy())
                       for part in (trial.fold.train, trial.fold.test))  # fmt: skip
        part = replace(trial.fold, train=train, test=test)
        runs = {name: ra.play(model, part, replace(trial.ask, bins=0)) for name, model in trial.models.items()}
        scores = ra.judge(runs, "TI-1R-NN(9)", "precision@5", short="all", interval=None)
        wanted += [(number, row.system, row.mean) for row in scores.rows]
    assert table.select("percentile", "system").rows() == [row[:2] for row in wanted]
    assert table["mean"].to_list() == pytest.approx([row[2] for row in wanted], abs=1e-12)


def test_where_everything_is_equally_popular_nobody_beats_chance_and_popularity_loses(trial):
    experiment = ra.experiments.popularity(steps=2, users=300, items=80, ratings=6_000, n=20, metric="precision@5")
    table = experiment(trial)[0].table
    flat = {row["system"]: row["mean"] for row in table.filter(alpha=0.0).to_dicts()}
    steep = {row["system"]: row["mean"] for row in table.filter(alpha=2.0).to_dicts()}
    assert flat["popular"] < 1 / 21
    assert steep["popular"] > 1.5 / 21
    assert flat["random"] == pytest.approx(1 / 21, rel=0.2)


def test_experiments_are_named_values():
    assert str(ra.experiments.parse("sparsity(steps=5)")) == "sparsity(steps=5)"
    several = ra.experiments.parse_list("formulas, percentiles(bins=4)")
    assert [one.name for one in several] == ["formulas", "percentiles"]
    for text in (
        "sparsity(steps=1)",
        "target_size(smallest=50, largest=20)",
        "sparsity(n=0)",
        "popularity(steps=1)",
        "popularity(steepest=0)",
        "sparsty",
    ):
        with pytest.raises(UsageError):
            ra.experiments.parse(text)


def test_a_line_through_a_constant_explains_nothing():
    table = pl.DataFrame({"x": [1.0, 2.0], "y": [3.0, 3.0], "who": ["a", "a"]})
    line = fits(table, "x", "y", ["who"])
    assert (line["slope"].item(), str(line["r2"].item())) == (0.0, "nan")


def published_example():
    """The worked example of target sets: eight items, three users, one ranking for everybody."""
    train = {"u1": "A5B2", "u2": "B4C5D3", "u3": "A3D4"}
    test = {"u1": "C5D2E4", "u2": "A4E1", "u3": "B5F4C2"}
    rows = [
        (user, text[at], int(text[at + 1]), part)
        for part, lists in (("train", train), ("test", test))
        for user, text in lists.items()
        for at in range(0, len(text), 2)
    ]
    table = pl.DataFrame(rows, ["user_id", "item_id", "rating", "part"], orient="row")
    unrated = pl.DataFrame([("u1", item, 1, "none") for item in "GH"], table.columns, orient="row")
    whole = Interactions.from_frame(pl.concat([table, unrated]).drop("part"))
    parts = np.array([row[3] for row in rows] + ["none"] * 2)
    return Fold(whole.take(parts == "train"), whole.take(parts == "test"), "global", {})


@dataclasses.dataclass(frozen=True)
class OneRanking:
    order: str | list[int]

    def fit(self, log):
        return FittedRanking(log, self.order)


@dataclasses.dataclass(frozen=True, eq=False)
class FittedRanking(ScoringModel):
    log: Interactions
    order: str | list[int]

    def scores(self, users):
        rank = [self.order.index(item) for item in self.log.item_vocabulary.ids.to_list()]
        return np.tile(-np.array(rank, float), (users.size, 1))


def test_equation_3_and_the_bounds_of_section_5_1_on_the_worked_example():
    ready = ra.experiments.trial({"one": OneRanking("EACDBFGH")}, published_example(), ra.protocols.ranking(4, bins=0))
    table = ra.experiments.formulas(k=1)(ready)[1].table.filter(pl.col("design").str.starts_with("TI"))
    found = {row["what"]: row for row in table.filter(pl.col("what") != "measured").to_dicts()}
    # sigma 8/15, |C| 6, t 3.6; E, which everyone gets first, is liked once: 8/15 * 6 / 3.6 / |U| * 1
    users = ready.runs["one"].standings.users
    assert found["equation 3"]["value"] == pytest.approx(8 / 15 * 6 / 3.6 / users)
    # t 3.6, of AR; |PR| 9; the first m_u are E C, E and E C, liked 3, 1 and 3 times
    assert found["bounds"]["low"] == pytest.approx(6 / 3.6 / 9)
    assert found["bounds"]["high"] == pytest.approx(6 / 3.6 / 9 * 7 / 3)
    measured = dict(table.filter(what="measured").select("design", "value").rows())
    assert measured["TI-1R-AN"] == pytest.approx(0.4)


@pytest.mark.parametrize("base", ["TI", "AI"])
def test_the_bounds_of_section_5_1_are_the_lemma_with_equation_3_for_its_precision(base):
    k, ratings = 3, log(users=40, items=26, events=500, seed=8).frame()
    values = np.random.default_rng(2).integers(1, 6, ratings.height)
    whole = ra.read_interactions(ratings.with_columns(rating=pl.Series(values)))
    fold = ra.split.random(test=0.2, seed=4)(whole)[0]
    order = sorted(whole.item_vocabulary.ids.to_list(), key=lambda item: item * 7 % 26)  # one list for everybody
    ready = ra.experiments.trial({"one": OneRanking(order)}, fold, ra.protocols.ranking(relevant_from=4, bins=0))
    table = ra.experiments.formulas(k=k)(ready)[1].table.filter(what="bounds", design=f"{base}-1R-AN")

    rows, test = whole.frame(), fold.test.frame()
    users = sorted(set(rows["user_id"]))
    candidates = set(test["item_id"] if base == "TI" else rows["item_id"])
    trained, liked = set(fold.train.frame().select("user_id", "item_id").rows()), rows.filter(rows["rating"] >= 4)
    likes = dict(liked.group_by("item_id").len().rows())
    relevant = dict(test.filter(test["rating"] >= 4).group_by("user_id").len().rows())
    inverse, shallow, deep = [], [], []
    for user in users:
        targets = [item for item in order if item in candidates and (user, item) not in trained]
        inverse.append(1 / len(targets))
        shallow.append(sum(likes.get(item, 0) for item in targets[:k]))
        deep.append(sum(likes.get(item, 0) for item in targets[: k + relevant.get(user, 0) - 1]))
    scale = len(candidates) / k * np.mean(inverse) / liked.height  # |C| / (n t |PR|)
    assert len(relevant) < len(users)
    assert table["low"].to_list() == pytest.approx([scale * np.mean(shallow)], rel=1e-12)
    assert table["high"].to_list() == pytest.approx([scale * np.mean(deep)], rel=1e-12)


def test_1r_precision_lies_between_its_bounds_at_every_sparsity_and_they_narrow(trial):
    table = ra.experiments.sparsity(steps=4, n=20)(trial)[2].table
    assert ((table["low"] <= table["mean"]) & (table["mean"] <= table["high"])).all()
    width = table.filter(system="svd").sort("removed").select(pl.col("high") - pl.col("low")).to_series()
    assert width[-1] < width[0] / 2
    assert len(ra.experiments.sparsity(steps=2, n=20, metric="ndcg@10")(trial)) == 2


def test_generated_logs_have_the_rating_values_of_the_data():
    frame = log(users=120, items=40, events=2_000, seed=2).frame()
    scale = frame.with_columns(rating=pl.Series(np.random.default_rng(1).choice([6.0, 8.0, 10.0], frame.height)))
    fold = ra.split.random(test=0.2)(ra.read_interactions(scale))[0]
    trial = ra.experiments.trial(MODELS, fold, ra.protocols.ranking(relevant_from=8, bins=0))
    experiment = ra.experiments.popularity(steps=2, n=10)
    for _, made in experiment.logs(whole_log(fold)):
        assert set(np.unique(made.ratings)) == {6.0, 8.0, 10.0}
        assert len(made) == pytest.approx(frame.height, rel=0.01)
    exhibits = experiment(trial)
    assert exhibits[0].table["mean"].is_not_nan().all()
    curves = exhibits[1].table.filter(pl.col("items") == 1)
    assert curves["ratings"].to_list() == pytest.approx([1] * 3)
    flat = exhibits[1].table.filter(pl.col("log") == "alpha 0")
    assert flat["ratings"].to_list() == pytest.approx(flat["items"].to_list(), abs=0.01)


def test_the_share_of_users_who_like_the_top_item_is_in_table_and_caption(trial):
    rows = [(user, item, 5.0) for user in range(8) for item in range(6) if (user + item) % 3]
    rows += [(user, 6, 5.0 if user < 3 else 2.0) for user in range(8)]  # all have rated it, three like it
    whole = ra.read_interactions(pl.DataFrame(rows, ["user_id", "item_id", "rating"], orient="row"))
    fold = ra.split.random(test=0.3, seed=1)(whole)[0]
    ready = ra.experiments.trial({"popular": ra.models.Popular()}, fold, ra.protocols.ranking(relevant_from=5, bins=0))
    curves = ra.experiments.popularity(steps=2, n=2)(ready)[1]
    likes = max(sum(1 for user, item, rating in rows if item == one and rating == 5) for one in range(7))
    assert curves.table.filter(log="the data, relevant ratings")["top_share"].unique().to_list() == [likes / 8]
    assert f"{likes / 8:.1%} of the users" in curves.caption
