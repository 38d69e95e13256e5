"""Trade-offs by hand: quadrants, fronts, areas."""

import polars as pl
import pytest

import recassay as ra
from recassay.results.scores import Scores, Summary

from ...refusals import refused

ROWS = [
    ("mf", None, 0.30, 0.50, 2.0),
    ("mmr", 0.2, 0.31, 0.60, 1.9),
    ("mmr", 0.9, 0.20, 0.90, 1.0),
    ("spad", 0.5, 0.35, 0.40, 2.5),
    ("bad", 0.5, 0.10, 0.40, 3.0),
]
POINTS = pl.DataFrame(ROWS, ["system", "weight", "precision@10", "ild@10", "calibration@10"], orient="row")


def made(points=POINTS, accuracy="precision@10", diversity=None, **options):
    return ra.trade_off(points, accuracy, diversity, **{"baseline": "mf", "smaller": ["calibration@10"]} | options)


def of(frame, metric):
    return frame.filter(pl.col("diversity") == metric)


def test_quadrants_and_fronts_by_hand():
    table = of(made().table, "ild@10")
    assert table["quadrant"].to_list() == ["as before", "gains both", "pays accuracy", "pays diversity", "loses both"]
    assert table["front"].to_list() == [2, 1, 1, 1, 3]
    assert made().front().filter(pl.col("diversity") == "ild@10")["system"].to_list() == ["mmr", "mmr", "spad"]


def test_where_less_is_better_a_fall_is_a_gain():
    table = of(made().table, "calibration@10")
    assert table["quadrant"].to_list() == ["as before", "gains both", "pays accuracy", "pays diversity", "loses both"]
    assert table["x"].to_list() == [2.0, 1.9, 1.0, 2.5, 3.0]


def test_the_share_of_weights_in_each_quadrant():
    shares = of(made().share_of_weights(), "ild@10").filter(pl.col("system") == "mmr")
    assert shares.select("gains both", "pays accuracy", "loses both").row(0) == (0.5, 0.5, 0.0)


def test_the_area_that_a_system_and_the_baseline_dominate():
    """Axes from 0.4 to 0.9 and 0.1 to 0.35; the baseline is at (0.1, 0.2) of it, mmr at (0.2, 0.21) and (0.5, 0.1)."""
    area = dict(of(made().hypervolume(), "ild@10").select("system", "hypervolume").rows())
    assert area["mf"] == pytest.approx(0.1 * 0.2 / (0.5 * 0.25))
    assert area["mmr"] == pytest.approx((0.5 * 0.1 + 0.2 * 0.11) / (0.5 * 0.25))
    assert area["spad"] == area["bad"] == pytest.approx(area["mf"])  # they lie on an edge of the box


def test_a_reference_may_be_given_for_either_axis():
    area = made(diversity="ild@10").hypervolume({"ild@10": 0.0, "precision@10": 0.0})
    by_system = dict(area.select("system", "hypervolume").rows())
    assert by_system["mf"] == pytest.approx(0.5 * 0.3 / (0.9 * 0.35))
    assert by_system["spad"] == pytest.approx((0.4 * 0.35 + 0.1 * 0.3) / (0.9 * 0.35))
    turned = made(diversity="calibration@10").hypervolume({"calibration@10": 3.0, "precision@10": 0.1})
    assert dict(turned.select("system", "hypervolume").rows())["mf"] == pytest.approx(1.0 * 0.2 / (2.0 * 0.25))


def scores(*runs):
    rows = [
        Summary(name, metric, mean, 10, 0, 0, 0, 0, higher_is_better=metric != "calibration@10")
        for name, means in runs
        for metric, mean in means.items()
    ]
    return Scores(pl.Series([1]), tuple(name for name, _ in runs), tuple(runs[0][1]), {}, rows=tuple(rows))


def test_runs_are_placed_by_their_names_or_as_told():
    means = {"mrr": 0.3, "ild@10": 0.5, "calibration@10": 1.0}
    names = ("ALS(factors=8)", "MMR(of='ALS(factors=8)', weight=0.3)", "MMR(of='ALS(factors=8)', weight=1)")
    scored = scores(*((name, means) for name in names))
    table = of(ra.trade_off(scored, "mrr", baseline="ALS(factors=8)").table, "ild@10")
    assert table.select("system", "weight").rows() == [
        ("ALS(factors=8)", None), ("MMR(of='ALS(factors=8)')", 0.3), ("MMR(of='ALS(factors=8)')", 1.0)
    ]  # fmt: skip
    scored = scores(("mf", means), ("a", means))
    table = ra.trade_off(scored, "mrr", baseline="mf", weights={"a": ("mmr", 0.5)}).table
    assert table.filter(pl.col("diversity") == "calibration@10").select("system", "weight").rows() == [
        ("mf", None), ("mmr", 0.5)
    ]  # fmt: skip


def test_the_picture_has_a_point_for_each_weight_and_a_panel_for_each_metric():
    exhibit = made().exhibit()
    assert (exhibit.kind, exhibit.x, exhibit.y, exhibit.facet) == ("point", "diversity", "precision@10", "metric")
    assert exhibit.table.height == 2 * len(ROWS)
    assert exhibit.table.filter(pl.col("mark").is_not_null())["system"].unique().to_list() == ["mf"]
    alone = made().exhibit("ild@10")
    assert (alone.x, alone.y, alone.facet, alone.table.height) == ("ild@10", "precision@10", None, len(ROWS))
    with pytest.raises(ra.UsageError, match="U206"):
        made().exhibit("idl@10")


@pytest.mark.parametrize(
    "ask",
    [
        lambda: made(baseline="als"),
        lambda: made(baseline="mmr"),
        lambda: made(accuracy="mrr"),
        lambda: made(diversity=["ndcg"]),
        lambda: made(POINTS.drop("weight")),
        lambda: made(POINTS.with_columns(pl.lit(float("nan")).alias("ild@10"))),
    ],
)
def test_points_that_cannot_be_used(ask):
    with refused("U206"):
        ask()
