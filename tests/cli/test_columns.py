"""Columns of single runs and of the training log."""

import polars as pl
import pytest

from recassay.cli._runs import columns_by_run

from ..refusals import refused


def test_runs_with_different_columns_in_one_call(recassay, folder):
    same = recassay("score", "truth.csv", "runs", "-m", "ndcg@2", "--interval", "none", "--json")
    second = pl.read_csv("runs/second.csv")
    second.rename({"user_id": "Kunde", "item_id": "Artikel", "score": "Punkte"}).write_csv("runs/second.csv")
    refused = recassay("score", "truth.csv", "runs", "-m", "ndcg@2")
    assert refused.code == 2
    assert "I201" in refused.err
    columns = ("--columns", "second:user=Kunde,item=Artikel,score=Punkte")
    answer = recassay("score", "truth.csv", "runs", "-m", "ndcg@2", "--interval", "none", *columns, "--json")
    assert answer.rows == same.rows
    chunks = recassay(
        "score", "truth.csv", "runs", "-m", "ndcg@2", "--interval", "none", *columns, "--memory", "8GB", "--json"
    )
    assert chunks.rows == same.rows


def test_columns_of_the_training_log(recassay, folder):
    own = ("score", "truth.csv", "runs", "-m", "epc@2", "--interval", "none", "--json", "--train")
    same = recassay(*own, "log.csv")
    pl.read_csv("log.csv").rename({"user_id": "w", "item_id": "x"}).write_csv("other.csv")
    refused = recassay(*own, "other.csv")
    assert "--train-columns user=w,item=x" in refused.err
    assert recassay(*own, "other.csv", "--train-columns", "user=w,item=x").rows == same.rows


@pytest.mark.parametrize(
    ("given", "shared", "own"),
    [
        (["user=u,item=i"], "user=u,item=i", {}),
        (["als:user=u", "user=w"], "user=w", {"als": "user=u"}),
        (["user=user_id:token"], "user=user_id:token", {}),
        (["als(f=6):user=u"], None, {"als(f=6)": "user=u"}),
    ],
)
def test_a_name_in_front_is_that_of_a_run(given, shared, own):
    assert columns_by_run(given, ["als", "als(f=6)"]) == (shared, own)


@pytest.mark.parametrize(
    ("given", "code"),
    [(["asl:user=u"], "U108"), (["user=u", "item=i"], "U102"), (["als:user=u", "als:item=i"], "U102")],
)
def test_unknown_runs_and_columns_given_twice_are_refused(given, code):
    with refused(code):
        columns_by_run(given, ["als"])
