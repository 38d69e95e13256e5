"""Tables of finished scores: reading, conclusions, agreement of orders, and the command."""

import itertools

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau

import recassay as ra
from recassay.engine.finished.conclude import _share_first

from ....refusals import refused

RNG = np.random.default_rng(8)
SYSTEMS, DATASETS = ["als", "ease", "knn", "pop"], [f"set {n}" for n in range(7)]
ROWS = [
    {
        "Model": system,
        "Dataset": name,
        "split": split,
        "NDCG@10": RNG.random() + 0.3 * (system == "ease"),
        "RMSE": RNG.random(),
    }
    for system, name, split in itertools.product(SYSTEMS, DATASETS, ["random", "time"])
]
WIDE = pl.DataFrame(ROWS)
LONG = WIDE.unpivot(
    ["NDCG@10", "RMSE"], index=["Model", "Dataset", "split"], variable_name="Measure", value_name="Result"
)


def values(finished):
    return {(r["system"], r["dataset"], r["split"], r["metric"]): r["value"] for r in finished.frame.to_dicts()}


def test_long_and_wide_tables_say_the_same():
    one, two = ra.overall.read_finished(WIDE), ra.overall.read_finished(LONG.sample(fraction=1, shuffle=True, seed=1))
    assert values(one) == values(two)
    assert one.settings == two.settings == ("split",)
    assert one.higher == {"NDCG@10": True, "RMSE": False}


def test_a_column_of_cut_offs_becomes_part_of_the_metric():
    table = pl.DataFrame({"method": ["a", "b"], "metric": ["recall", "recall"], "k": [5, 5], "value": [0.1, 0.2]})
    assert ra.overall.read_finished(table).metrics == ("recall@5",)


def test_seeds_are_averaged():
    table = pl.DataFrame({"system": ["a", "a", "b", "b"], "seed": [1, 2, 1, 2], "mrr": [0.1, 0.3, 0.2, 0.2]})
    frame = ra.overall.read_finished(table).frame
    assert frame["value"].to_list() == [0.2, 0.2]
    assert frame["repeats"].to_list() == [2, 2]


def test_a_value_given_twice_is_refused():
    table = pl.DataFrame({"system": ["a", "a"], "mrr": [0.1, 0.3]})
    with refused("I314", match=r"2 values are given more than once, the first for a, given, mrr"):
        ra.overall.read_finished(table)


def test_settings_of_numbers_are_named():
    table = pl.DataFrame({"system": ["a", "b"] * 2, "quantile": [80, 80, 90, 90], "mrr": [0.1, 0.3, 0.2, 0.4]})
    assert ra.overall.read_finished(table, settings=["quantile"]).settings == ("quantile",)
    with pytest.raises(ra.InputError, match="no column 'quantil'"):
        ra.overall.read_finished(table, settings=["quantil"])


def test_missing_values_are_counted_and_their_systems_left_out():
    holed = WIDE.with_columns(
        pl.when((pl.col("Model") == "knn") & (pl.col("Dataset") == "set 3"))
        .then(None)
        .otherwise("NDCG@10")
        .alias("NDCG@10")
    )
    finished = ra.overall.read_finished(holed)
    assert finished.notes == ("2 of 112 values are missing or not finite and were left out",)
    one = ra.overall.conclude(finished, metrics=["NDCG@10"]).rankings[0]
    assert one.table.left_out == ("knn",)


def test_the_winner_and_its_share_are_those_of_a_plain_resampling():
    one = ra.overall.conclude(ra.overall.read_finished(WIDE), metrics=["NDCG@10"]).rankings[0]
    assert one.setting == {"split": "random"}
    table = one.table.values
    mean = next(rule for rule in one.winners if rule.rule == "mean")
    assert mean.winner == one.table.systems[int(np.argmax(table.mean(axis=0)))]
    draws = np.random.default_rng(1).integers(0, 7, (20_000, 7))
    share = np.mean(np.argmax(table[draws].mean(axis=1), axis=1) == one.table.systems.index(mean.winner))
    assert abs(mean.share - share) < 0.05
    for number, name in enumerate(one.table.datasets):
        first = one.table.systems[int(np.argmax(np.delete(table, number, axis=0).mean(axis=0)))]
        assert mean.dropping.get(name, mean.winner) == first


P, Q = (0.2, 0.2, 0.3, 0.4, 0.4), (0.2, 0.2, 0.4, 0.3, 0.4)  # without d1: 1.2999999999999998 and 1.3000000000000003


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)])
def test_decimals_with_equal_sums_tie(order):
    """Both systems have the same values in another order: they tie, and without a data set on which they tie, too."""
    rows = [(name, f"d{i + 1}", row[i]) for name, row in (("p", P), ("q", Q)) for i in order]
    table = pl.DataFrame(rows, ["system", "dataset", "ndcg@10"], orient="row")
    found = ra.overall.conclude(ra.overall.read_finished(table), resamples=200).rankings[0]
    mean = next(rule for rule in found.winners if rule.rule == "mean")
    assert mean.places() == {"p": 1, "q": 1}
    ahead, other = {"p": ("d4", "q"), "q": ("d3", "p")}[mean.winner]
    assert mean.dropping == {ahead: other}


def test_resamples_with_equal_sums_are_shared():
    swapped = [(0.1, 0.2, 0.3), (0.3, 0.2, 0.1)]  # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last bit
    scores = np.array([[a + b + c] for a, b, c in swapped])  # sum() compensates from Python 3.12 on
    assert scores[0] != scores[1]
    assert _share_first(scores, 0) == _share_first(scores, 1) == 0.5


def test_ranks_and_tests_are_those_of_across():
    one = ra.overall.conclude(ra.overall.read_finished(WIDE), metrics=["RMSE"]).rankings[1]
    assert not one.higher
    assert one.ranking.test is not None
    assert one.ranking.systems[0] == one.leader()


def test_metrics_that_describe_are_not_ranked_unless_named():
    table = pl.DataFrame({"system": ["a", "b"], "ndcg@10": [0.1, 0.2], "coverage": [0.9, 0.1]})
    finished = ra.overall.read_finished(table)
    assert ra.overall.conclude(finished).described == ("coverage",)
    assert ra.overall.conclude(finished, metrics=["coverage"]).rankings[0].leader() == "a"


def test_one_data_set_gives_an_order_and_no_test():
    table = pl.DataFrame({"system": ["a", "b", "c"], "ndcg@10": [0.1, 0.25, 0.2]})
    result = ra.overall.conclude(ra.overall.read_finished(table))
    assert result.rankings[0].sentence() == "ndcg@10: b is ahead of c by 0.05 on the only data set."
    assert result.rankings[0].ranking is None
    assert any("one data set" in line for line in result.cannot)


def test_orders_agree_as_kendalls_tau_says():
    found = (
        ra.overall.order_agreement(ra.overall.read_finished(WIDE), "split")
        .filter(pl.col("metric") == "NDCG@10")
        .row(0, named=True)
    )
    tables = ra.overall.read_finished(WIDE).tables("NDCG@10")
    left, right = (tables[key,].values for key in ("random", "time"))
    taus = [kendalltau(a, b).statistic for a, b in zip(left, right, strict=True)]
    assert found["tau"] == pytest.approx(np.mean(taus))
    assert found["low"] <= found["tau"] <= found["high"]
    assert found["same_winner"] == int((left.argmax(axis=1) == right.argmax(axis=1)).sum())


def test_orders_of_each_data_set_have_an_interval_over_systems():
    table = pl.DataFrame(
        {
            "system": [f"s{n}" for n in range(12)] * 4,
            "dataset": (["x"] * 12 + ["y"] * 12) * 2,
            "split": ["random"] * 24 + ["time"] * 24,
            "mrr": [*range(24), *range(12), *range(12, 18), *range(23, 17, -1)],
        }
    ).with_columns(pl.col("mrr").cast(pl.Float64))
    found = ra.overall.order_agreement(ra.overall.read_finished(table), "split", each_dataset=True)
    assert found["dataset"].to_list() == ["x", "y"]
    assert found["tau"].to_list() == [
        1.0,
        pytest.approx(kendalltau(table["mrr"][12:24], table["mrr"][36:48]).statistic),
    ]
    assert found["same_winner"].to_list() == [True, False]
    assert (found["low"][0], found["high"][0]) == (1.0, 1.0)
    assert found["low"][1] < found["tau"][1] < found["high"][1]


def test_across_takes_a_table_of_means():
    finished = ra.overall.read_finished(WIDE)
    ranked = ra.overall.across(finished, metrics=["RMSE"])
    concluded = ra.overall.conclude(finished, metrics=["RMSE"])
    assert [one.setting for one in ranked.rankings] == [{"split": "random"}, {"split": "time"}]
    assert [one.to_dict() for one in ranked.rankings] == [one.ranking.to_dict() for one in concluded.rankings]
    assert len(ra.overall.across(finished).rankings) == 4
    assert ranked.exhibit().table.height == 8


def test_across_refuses_a_table_of_means_that_cannot_be_ranked():
    one = ra.overall.read_finished(pl.DataFrame({"system": ["a", "b"], "mrr": [0.1, 0.2], "coverage": [0.5, 0.6]}))
    with pytest.raises(ra.UsageError, match="needs two of them with the same systems"):
        ra.overall.across(one)
    with pytest.raises(ra.UsageError, match="not over 'split'"):
        ra.overall.across(ra.overall.read_finished(WIDE), over="split")


def test_compare_concludes_from_a_table_of_means(tmp_path):
    table = pl.DataFrame(
        {"system": [*"ababab"], "dataset": [*"xxyyzz"], "ndcg@10": [0.1, 0.2, 0.3, 0.4, 0.1, 0.2], "split": "random"}
    )
    table.write_csv(tmp_path / "means.csv")
    expected = ra.overall.conclude(ra.overall.read_finished(table), seed=3).to_dict()
    path = tmp_path / "means.csv"
    for source in (table, table.to_pandas(), ra.overall.read_finished(table), path, str(path)):
        assert ra.compare(source, seed=3).to_dict() == expected
    assert "No difference within a data set is tested" in expected["cannot"][0]
    assert ra.compare(table, resamples=50).resamples == 50


@pytest.mark.parametrize("option", [{"baseline": "a"}, {"test": "t"}, {"effect": "cliff"}])
def test_compare_refuses_options_that_need_users_for_a_table_of_means(option):
    table = pl.DataFrame({"system": [*"abab"], "dataset": [*"xxyy"], "ndcg@10": [0.1, 0.2, 0.3, 0.4]})
    with refused("U105", match="needs values per user"):
        ra.compare(table, **option)


def test_compare_refuses_values_of_users_in_a_frame():
    with refused("U124"):
        ra.compare(pl.DataFrame({"user": [1], "system": ["a"], "mrr": [1.0]}))
