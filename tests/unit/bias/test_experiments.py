"""Bias experiments on small generated logs: what should fall falls, what should stay stays."""

import polars as pl
import pytest

import recassay as ra
from recassay.bias.base import Line, fits
from recassay.data.synthetic import log
from recassay.errors import UsageError

FOLD = ra.split.random(test=0.25, seed=3)(log(users=400, items=150, events=14_000, seed=5))[0]
MODELS = {"popular": ra.models.Popular(), "svd": ra.models.PureSVD(10), "random": ra.models.Random()}


@pytest.fixture(scope="module")
def trial():
    return ra.bias.trial(MODELS, FOLD, ra.protocols.ranking(bins=5))


def test_precision_of_all_relevant_items_falls_in_proportion_to_what_is_left(trial):
    exhibit, lines = ra.bias.sparsity(steps=5, n=20)(trial)
    assert exhibit.table["removed"].unique().sort().to_list() == [0.0, 0.2, 0.4, 0.6, 0.8]
    together = lines.table.filter(design="TI-AR-AN")
    assert (together["r2"] > 0.98).all()
    table = exhibit.table.filter(design="TI-AR-AN", system="svd").sort("removed")
    assert table["mean"][-1] / table["mean"][0] == pytest.approx(0.2, abs=0.05)
    alone = exhibit.table.filter(design="TI-1R-NN(20)", system="svd").sort("removed")
    assert alone["mean"][-1] / alone["mean"][0] == pytest.approx(1, abs=0.1)


def test_frozen_candidates_are_all_items(trial):
    exhibit, _ = ra.bias.sparsity(steps=2, n=20, freeze=True)(trial)
    assert set(exhibit.table["design"]) == {"AI-AR-AN", "AI-1R-NN(20)"}


def test_larger_sets_make_smaller_numbers_between_narrower_bounds(trial):
    exhibit, lines = ra.bias.target_size(smallest=20, largest=80, sizes=4)(trial)
    table = exhibit.table.filter(system="svd").sort("t")
    assert table["t"].to_list() == [20, 40, 60, 80]
    assert (table["mean"].diff().drop_nulls() < 0).all()
    assert ((table["low"] <= table["mean"]) & (table["mean"] <= table["high"])).all()
    assert ((table["high"] - table["low"]).diff().drop_nulls() < 0).all()
    assert (lines.table["r2"] > 0.95).all()


def test_popularity_is_close_to_chance_within_bins(trial):
    table = ra.bias.percentiles(bins=5, metric="precision@5", n=9)(trial)[0].table
    popular, svd = (table.filter(system=name)["mean"].mean() for name in ("popular", "svd"))
    assert popular < 1.5 * 0.1
    assert svd > popular
    assert table["1/t"].to_list() == pytest.approx([0.1] * 15, rel=0.2)


def test_formulas_are_near_the_exact_values(trial):
    table = ra.bias.formulas()(trial)[0].table
    wide = table.pivot("what", index="design", values="value")
    assert (wide["formula"] / wide["exact"]).to_list() == pytest.approx([1] * 4, rel=0.2)
    assert (wide["random"] / wide["exact"]).to_list() == pytest.approx([1] * 4, rel=0.25)


def test_where_everything_is_equally_popular_nobody_beats_chance_and_popularity_loses(trial):
    experiment = ra.bias.popularity(steps=2, users=300, items=80, ratings=6_000, n=20, k=5)
    table = experiment(trial)[0].table
    flat = {row["system"]: row["mean"] for row in table.filter(alpha=0.0).to_dicts()}
    steep = {row["system"]: row["mean"] for row in table.filter(alpha=2.0).to_dicts()}
    assert flat["popular"] < 1 / 21
    assert steep["popular"] > 1.5 / 21
    assert flat["random"] == pytest.approx(1 / 21, rel=0.2)


def test_experiments_are_named_values():
    assert str(ra.bias.parse("sparsity(steps=5)")) == "sparsity(steps=5)"
    assert [one.name for one in ra.bias.parse_list("formulas, percentiles(bins=4)")] == ["formulas", "percentiles"]
    for text in (
        "sparsity(steps=1)",
        "target_size(smallest=50, largest=20)",
        "sparsity(n=0)",
        "popularity(steps=1)",
        "popularity(steepest=0)",
        "sparsty",
    ):
        with pytest.raises(UsageError):
            ra.bias.parse(text)


def test_a_line_through_a_constant_explains_nothing():
    table = pl.DataFrame({"x": [1.0, 2.0], "y": [3.0, 3.0], "who": ["a", "a"]})
    assert fits(table, "x", "y", ["who"])["slope"].to_list() == [0.0]
    assert str(Line.through(table["x"].to_numpy(), table["y"].to_numpy()).r2) == "nan"
