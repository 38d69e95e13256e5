"""Metrics that are functions of one list."""

import math

import polars as pl
import pytest

import recassay as ra

from ...scoring import score

LISTS = {"ann": ["x", "q", "y"], "bob": ["x"]}
TRUTH = {"ann": {"y": 2.0, "q": 0.0}, "bob": {"x": 1.0}, "cy": {"x": 1.0}}
PRICES = pl.DataFrame({"item": ["y", "x", "x"], "price": [5, 3, 3], "genre": ["a", "b", "c"], "day": [1, 1, 2]})


def means(metrics, **options):
    scores = score({"a": LISTS}, TRUTH, metrics, interval=None, **options)
    return [row.mean for row in scores.rows]


def test_a_function_gets_items_in_order_and_gains_of_relevant_items():
    calls = []

    @ra.metric
    def seen(items, truth):
        calls.append((tuple(items), truth))
        return 0.5

    assert means(["seen@2", "seen@2"]) == [0.5]
    assert calls == [(("x", "q"), {"y": 2.0}), (("x",), {"x": 1.0}), ((), {"x": 1.0})]
    assert seen([], {}) == 0.5, "the function stays a function"


def test_columns_of_items_and_parameters():
    @ra.metric(bounds=(0, math.inf))
    def revenue(items, truth, price, share=1.0):
        return share * sum(price[item] for item in items if item in truth)

    assert means(["revenue@3", "revenue(share=0.5)@3", "revenue@1"], items=PRICES) == [8 / 3, 4 / 3, 1.0]
    assert means("revenue(missing='skip')@3", items=PRICES) == [4.0]


def test_it_equals_a_built_in_metric():
    @ra.metric(name="my_recall")
    def share(items, truth):
        return len(truth.keys() & set(items)) / len(truth)

    mine, theirs = means(["my_recall@2", "recall@2"])
    assert mine == theirs


@pytest.mark.parametrize(
    ("metric", "items", "error"),
    [
        ("revenue@3", None, "U105.*needs the table of items"),
        ("revenue@3", PRICES.drop("price"), "I201.*no numeric column 'price'"),
        ("revenue@3", PRICES.with_columns(price=pl.Series([1, 2, 3])), "I201.*item 'x' has several numbers in 'price'"),
        ("revenue@3", PRICES.head(1), "U243.*fails for user 'bob': KeyError: 'x'"),
        ("ild@3", PRICES.select("item", "price"), "I201.*no column of the items looks like features"),
    ],
)
def test_what_is_missing_is_said(metric, items, error):
    @ra.metric(bounds=(0, math.inf))
    def revenue(items, truth, price):
        return sum(price[item] for item in items if item in truth)

    with pytest.raises(ra.RecassayError, match=f"(?s){error}"):
        means(metric, items=items)


def test_a_function_without_items_and_truth_is_refused():
    with pytest.raises(ra.UsageError, match=r"U243.*begin with the parameters items and truth"):
        ra.metric(lambda ranks: 0.0)


def test_tied_rows_have_no_expected_value():
    @ra.metric
    def first(items, truth):
        return float(items[0] in truth)

    tied = pl.DataFrame({"user": ["ann"] * 2, "item": ["x", "y"], "score": [1.0, 1.0]})
    with pytest.raises(ra.UsageError, match="U110"):
        ra.score({"a": tied}, TRUTH, "first@2", conventions=ra.options.ConventionOptions(ties="expected"))


def test_a_function_of_executed_text_is_known_too():
    exec("@ra.metric\ndef from_text(items, truth):\n    return 1.0\n", {"ra": ra})
    assert means("from_text@1") == [1.0]
