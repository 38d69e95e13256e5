"""Corrections of sampled ranks: inputs, results, and that estimates are closer to the full ranking."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import recassay as ra
from recassay.errors import InputError, UsageError
from recassay.sampled.corrections import check_prior, correct, stretch_prior

from ...refusals import refused

QUICK = {"resamples": 200}


def drawn(above, pool, sample, seed=0):
    """Return sampled ranks of items with the given numbers of candidates of the pool above them."""
    return 1 + np.random.default_rng(seed).hypergeometric(above, pool - np.asarray(above), sample)


def skewed(cases, pool, power, seed=0):
    """Return numbers of candidates above, with most items near the top."""
    return np.floor(np.random.default_rng(seed).random(cases) ** power * (pool + 1)).astype(int)


def test_a_case_by_hand():
    """Six ranks, three draws with replacement: the estimates of hit@2 are 1.068908, 0.327863, -0.272817, 0.005506."""
    found = correct([1, 2, 2, 4], pool=5, sample=3, metrics="hit@2", replace=True, interval=None)
    row = found.means.row(0, named=True)
    assert row["mean"] == pytest.approx((1.068908 + 2 * 0.327863 + 0.005506) / 4, abs=1e-6)
    assert row["sampled"] == 0.75  # of the ranks 1, 2, 2, 4 among four
    assert (row["metric"], row["estimator"], row["system"], row["n"], row["left_out"]) == (
        "hit@2", "bias_variance", "run", 4, 0,
    )  # fmt: skip
    assert np.isnan(row["low"])
    assert found.estimators == ("bias_variance", "bias_variance(gamma=0.01)")
    assert found.fhat("hit@2", "bias_variance").rows() == [
        (5, rank, pytest.approx(value, abs=1e-6))
        for rank, value in enumerate((1.068908, 0.327863, -0.272817, 0.005506), start=1)
    ]


def test_a_result_prints_its_means_and_not_its_estimates():
    found = correct([1, 2, 2, 4], pool=5, sample=3, metrics="hit@2", replace=True, interval=None)
    assert "bias_variance" in repr(found)
    assert "array" not in repr(found)


def test_estimates_are_clipped_only_on_request():
    options = {"pool": 5, "sample": 3, "metrics": "hit@2", "replace": True, "interval": None}
    assert correct([3, 3], **options).means["mean"][0] == pytest.approx(-0.272817, abs=1e-6)
    assert correct([1, 1], **options).means["mean"][0] == pytest.approx(1.068908, abs=1e-6)
    assert correct([3, 3], **options, clip=True).means["mean"][0] == 0
    assert correct([1, 1], **options, clip=True).means["mean"][0] == 1


def test_users_with_different_pools_get_the_estimates_of_their_pool():
    pools = np.array([200, 300, 200, 300])
    ranks = np.array([1, 2, 3, 1])
    found = correct(ranks, pool=pools, sample=20, metrics="ndcg@10 auc", interval=None)
    for metric in ("ndcg@10", "auc"):
        for estimator in found.estimators:
            values = found.scores(estimator).values("run", metric)
            for rank, pool, value in zip(ranks, pools, values, strict=True):
                alone = correct([rank], pool=int(pool), sample=20, metrics=metric, interval=None)
                assert value == pytest.approx(alone.scores(estimator).values("run", metric)[0], abs=1e-14)
    assert found.fhat("auc", "bias_variance")["pool"].unique().sort().to_list() == [200, 300]


def test_a_prior_is_rescaled_to_another_pool():
    prior = np.array([0.5, 0.3, 0.2])
    assert stretch_prior(prior, 3) is prior
    assert stretch_prior(prior, 6) == pytest.approx([0.25, 0.25, 0.15, 0.15, 0.1, 0.1])
    assert stretch_prior(prior, 2) == pytest.approx([0.65, 0.35])


@pytest.mark.parametrize("prior", ["level", [1.0], [0.5, -0.5], [0.5, float("nan")], [0.0, 0.0], [float("inf"), 1]])
def test_invalid_priors_are_rejected(prior):
    with refused("U152"):
        check_prior(prior)


def test_a_rank_that_the_prior_rules_out_is_rejected():
    with refused("U152") as caught:
        correct([1, 3], pool=2, sample=2, prior=[1, 0, 0], interval=None)
    assert "1 of 2 sampled ranks" in str(caught.value)


RANKS, USERS = [3, 1, 7, 2], ["b", "a", "c", "b"]
TABLES = {
    "a Polars frame": lambda: pl.DataFrame({"user_id": USERS, "rank": RANKS}),
    "a pandas frame": lambda: pd.DataFrame({"user": USERS, "rank": RANKS}),
    "a dict of columns": lambda: {"user_id": USERS, "rank": RANKS},
    "rows": lambda: list(zip(USERS, RANKS, strict=True)),
    "another order": lambda: pl.DataFrame({"user_id": USERS[::-1], "rank": RANKS[::-1]}),
    "float ranks": lambda: pl.DataFrame({"user_id": USERS, "rank": [float(rank) for rank in RANKS]}),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_have_a_mean_per_user_weighted_by_cases(name):
    found = correct(TABLES[name](), pool=40, sample=9, metrics="mrr", **QUICK)
    plain = correct(RANKS, pool=40, sample=9, metrics="mrr", **QUICK)
    scores, cases = found.scores("bias_variance"), plain.scores("bias_variance").values("run", "mrr")
    assert scores.units.to_list() == ["a", "b", "c"]
    assert scores.weights("run", "mrr").tolist() == [1, 2, 1]
    assert scores.values("run", "mrr") == pytest.approx([cases[1], (cases[0] + cases[3]) / 2, cases[2]])
    assert found.means["mean"][0] == pytest.approx(plain.means["mean"][0])
    assert (found.means["n"][0], plain.means["n"][0]) == (3, 4)
    assert found.means["low"][0] <= found.means["mean"][0] <= found.means["high"][0]


@pytest.mark.parametrize("ranks", [np.array(RANKS), RANKS, tuple(RANKS), pl.Series(RANKS), pd.Series(RANKS), np.array(RANKS, float)])  # fmt: skip  # noqa: E501
def test_arrays_of_any_type_are_accepted(ranks):
    assert correct(ranks, pool=40, sample=9, metrics="mrr", interval=None).means["n"][0] == 4


def test_files_give_the_names_of_systems_and_may_have_a_pool_column(tmp_path):
    (tmp_path / "one.csv").write_text("user_id,rank,pool\n1,3,40\n2,1,50\n")
    (tmp_path / "two.csv").write_text("2,2,50\n1,5,40\n")
    found = correct([tmp_path / "one.csv", str(tmp_path / "two.csv")], sample=9, metrics="mrr", **QUICK)
    assert found.systems == ("one", "two")
    expected = correct([5, 2], pool=[40, 50], sample=9, metrics="mrr", interval=None)
    assert found.scores("bias_variance").values("two", "mrr") == pytest.approx(
        expected.scores("bias_variance").values("run", "mrr")
    )
    assert correct(str(tmp_path), sample=9, metrics="mrr", **QUICK).systems == ("one", "two")
    level = correct(tmp_path / "one.csv", pool=40, sample=9, metrics="mrr", interval=None)
    assert level.estimates.pools.tolist() == [40]


def test_values_can_be_compared():
    above = skewed(300, 400, 2.0)
    found = correct({"a": drawn(above, 400, 40), "b": drawn(above // 2, 400, 40)}, pool=400, sample=40, **QUICK)
    compared = ra.compare(found.scores("bias_variance"), resamples=500)
    assert compared.rows[0].difference == pytest.approx(
        float(np.subtract(*found.means.filter(metric="hit@10", estimator="bias_variance")["mean"]))
    )
    assert found.to_dict()["rows"][0]["system"] == "a"
    assert found.to_dict()["settings"]["sample"] == 40


def error_of(*arguments, **options):
    with pytest.raises((InputError, UsageError)) as caught:
        correct(*arguments, **{"pool": 40, "sample": 9, "interval": None, **options})
    return caught.value


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ([1, 2.5, 3], ["1 of 3 ranks", "2.5 in row 2", "one random order"]),
        ([0, 1, 9], ["0 in row 1", "add 1"]),
        ([1, 11], ["11 in row 2", "1, 2, .., 10"]),
        ([1, float("nan")], ["nan in row 2"]),
        (pl.DataFrame({"user_id": [1, 2], "rank": [1.0, 4.5]}), ["4.5 in row 2", "one random order"]),
        (pl.DataFrame({"user_id": [1, 2], "rank": [1, None]}), ["nan in row 2"]),
    ],
)
def test_impossible_ranks_are_rejected(ranks, words):
    error = error_of(ranks)
    assert error.code == "I331"
    assert all(word in str(error) for word in words), str(error)


@pytest.mark.parametrize(
    ("ranks", "options", "words"),
    [
        ([1, 2], {"pool": None}, ["the number of candidates to sample from is missing"]),
        ([1, 2], {"pool": 8}, ["too small for 9 draws", "first 8 in row 1"]),
        ([1, 2], {"pool": [40, 41, 42]}, ["3 pools for 2 cases"]),
        ([1, 2], {"pool": [40, 40.5]}, ["40.5", "row 2"]),
        ([1, 2], {"pool": 0, "replace": True}, ["first 0 in row"]),
        (pl.DataFrame({"user_id": [1, 2], "rank": [1, 4], "pool": [40, None]}), {"pool": None}, ["first 0 in row"]),
    ],
)
def test_invalid_pools_are_rejected(ranks, options, words):
    error = error_of(ranks, **options)
    assert error.code == "I332"
    assert all(word in str(error) for word in words), str(error)


def test_other_invalid_arguments_are_rejected():
    assert error_of([1], by="popularity").code == "U151"
    assert error_of([1], by="luck").code == "U107"
    assert error_of([1], sample=0).code == "U102"
    assert error_of([]).code == error_of({}).code == "I102"
    assert error_of([1], metrics="err").code == "U110"
    assert error_of([1], estimators="bias").code == "U115"
    assert error_of({"a": [1, 2], "b": [1]}).code == "I311"
    assert error_of(pl.DataFrame({"rank": [1]})).code == "I201"
    found = correct([1], pool=40, sample=9, interval=None)
    for call, code in (
        (lambda: found.scores("rank"), "U115"),
        (lambda: found.fhat("mrr", "bias_variance"), "U101"),
        (lambda: found.fhat("hit@10", "rank"), "U115"),
    ):
        with refused(code):
            call()


def test_a_sample_with_replacement_may_exceed_the_pool():
    found = correct([1, 5, 30], pool=12, sample=29, replace=True, metrics="hit@2", interval=None)
    assert np.isfinite(found.means["mean"].to_numpy()).all()
