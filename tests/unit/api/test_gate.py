"""``ra.gate``: each verdict, its numbers against the plain formula, and what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.special import stdtrit

import recassay as ra
from recassay.comparison.gate import Limit, Margin, headroom_bounds
from recassay.report.folder.results import write_results

USERS = 400
TRUTH = {user: ["x"] for user in range(USERS)}


def lists(places):
    """Return a list per user with the relevant item at the place given; 0 leaves it out."""
    fill = [f"f{number}" for number in range(5)]
    return {user: [*fill[: at - 1], "x", *fill[at - 1 :]] if at else fill for user, at in enumerate(places)}


RANDOM = np.random.default_rng(7)
OLD = RANDOM.choice([0, 1, 2, 3], USERS, p=[0.3, 0.3, 0.2, 0.2])
BETTER = np.where(RANDOM.random(USERS) < 0.3, 1, OLD)
WORSE = np.where(RANDOM.random(USERS) < 0.3, 0, OLD)


def reciprocal(places):
    return np.where(places > 0, 1 / np.maximum(places, 1), 0.0)


def gate(new, old=OLD, metrics="mrr", **options):
    return ra.gate(lists(new), lists(old), TRUTH, metrics, **{"believable": "100%"} | options)


@pytest.mark.parametrize(
    ("new", "options", "verdict"),
    [
        (BETTER, {}, "pass"),
        (OLD, {}, "pass"),
        (WORSE, {}, "fail"),
        (WORSE, {"margin": 0.2}, "pass"),
        (np.roll(OLD, 1), {}, "undecided"),
        (BETTER, {"believable": "5%"}, "suspicious"),
    ],
)
def test_verdicts(new, options, verdict):
    assert gate(new, **options).verdict == verdict


@pytest.mark.parametrize("margin", ["3%", 0.02])
def test_the_numbers_are_those_of_the_formula(margin):
    """The bounds are Student's, with one more user who loses, or gains, the largest value: 1."""
    criterion = gate(BETTER, margin=margin).criteria[0]
    new, old = reciprocal(BETTER), reciprocal(OLD)
    share, absolute = (0.03, 0.0) if margin == "3%" else (0.0, 0.02)
    headroom, allowance = new - (1 - share) * old + absolute, share * old.mean() + absolute
    bounds = []
    for sign in (-1, 1):
        users = np.append(headroom, allowance + sign)
        bounds.append(users.mean() + sign * stdtrit(USERS, 0.95) * users.std(ddof=1) / np.sqrt(users.size) - allowance)
    expected = [new.mean(), old.mean(), new.mean() - old.mean(), *bounds, -allowance]
    names = ("candidate", "against", "difference", "low", "high", "allowed")
    assert [getattr(criterion, name) for name in names] == pytest.approx(expected, abs=1e-12)


def test_a_candidate_with_the_same_values_passes_with_any_margin():
    criterion = gate(OLD, margin=0).criteria[0]
    assert (criterion.verdict, criterion.why) == ("pass", "the same value for every user")


def test_smaller_is_better():
    truth = pl.DataFrame({"user": range(50), "item": "x", "rating": 3.0})
    near, far = (pl.DataFrame({"user": range(50), "item": "x", "score": 3.0 + d}) for d in (0.1, 0.3))
    assert ra.gate(near, far, truth, "mae", believable="100%").verdict == "pass"
    result = ra.gate(far, near, truth, "mae")
    assert result.verdict == "fail"
    assert result.criteria[0].allowed == pytest.approx(0.001)


def test_margins_of_metrics_limits_and_groups():
    users = pl.DataFrame({"user": range(USERS), "country": ["de", "fr"] * (USERS // 2)})
    result = gate(
        BETTER, metrics={"mrr": "2%", "RR@2": 0.01}, require=["mrr <= 0.9", "coverage(catalogue='truth')@1 >= 2"],
        by={"country": "20%"}, users=users,
    )  # fmt: skip
    assert [(one.metric, one.group, one.rule, one.verdict) for one in result.criteria] == [
        ("mrr", "", "loses at most 2 %", "pass"),
        ("mrr@2", "", "loses at most 0.01", "pass"),
        ("mrr", "country=de", "loses at most 20 %", "pass"),
        ("mrr@2", "country=de", "loses at most 20 %", "pass"),
        ("mrr", "country=fr", "loses at most 20 %", "pass"),
        ("mrr@2", "country=fr", "loses at most 20 %", "pass"),
        ("mrr", "", "at most 0.9", "pass"),
        ("coverage(catalogue='truth')@1", "", "at least 2", "fail"),
    ]
    german = result.criteria[2]
    assert german.users == USERS // 2
    assert german.candidate == pytest.approx(reciprocal(BETTER)[::2].mean())


def test_users_needed_would_decide():
    """With as many users of the same kind as it asks for, the gate decides in about four of five cases."""
    rng, decided = np.random.default_rng(3), 0
    old = rng.choice([0, 1, 2, 3], USERS)
    new = np.where(rng.random(USERS) < 0.2, rng.choice([0, 1, 2, 3], USERS), old)
    criterion = gate(new, old, margin=abs(float((reciprocal(new) - reciprocal(old)).mean())) + 0.01).criteria[0]
    assert criterion.verdict == "undecided"
    headroom = reciprocal(new) - reciprocal(old) - criterion.allowed
    for _ in range(100):
        drawn, allowance = rng.choice(headroom, criterion.needed), -criterion.allowed
        decided += headroom_bounds(drawn, None, 0.95, (allowance - 1, allowance + 1))[0] >= 0
    assert 65 <= decided <= 93


@pytest.mark.parametrize(
    ("new", "options", "why"),
    [
        ({user: ["x"] for user in range(USERS // 2)}, {}, "200 of 400 users have no list of the candidate"),
        ({user: ["x", "x", "y"] for user in range(USERS)}, {}, "(C003)"),
        (lists(BETTER), {"train": {user: ["f0"] for user in range(USERS)}}, None),
        ({user: ["t", "x"] for user in range(USERS)}, {"train": {user: ["t"] for user in range(USERS)}}, "(L001)"),
        (lists(BETTER), {"train": {user: ["x"] for user in range(USERS)}}, "(L003)"),
    ],
)
def test_what_is_suspicious(new, options, why):
    """A finding that the baseline has too is known; a leak favours who has seen the answers."""
    result = ra.gate(new, lists(OLD), TRUTH, "mrr", believable="500%", **options)
    said = " ".join(result.suspicions)
    assert (why in said) if why else not said
    assert (result.verdict == "suspicious") == bool(why)


def test_infinite_values_and_few_users_decide_nothing():
    result = ra.gate({1: ["x"]}, {1: ["x"]}, {1: ["x"]}, "mrr")
    assert (result.verdict, result.criteria[0].why) == ("undecided", "fewer than two users have a value")


def test_a_stored_baseline_gives_the_same_verdict(tmp_path):
    runs = {"first": lists(OLD), "second": lists(WORSE)}
    write_results(ra.score(runs, TRUTH, "mrr hit@1"), None, tmp_path / "page")
    stored = ra.gate(lists(BETTER), f"{tmp_path / 'page'}:first", TRUTH, "mrr", believable="100%")
    fresh = gate(BETTER)
    assert stored.criteria == fresh.criteria
    assert ra.gate(lists(BETTER), ra.score(lists(OLD), TRUTH, "mrr"), TRUTH, "mrr").criteria == fresh.criteria


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"baseline": "{folder}"}, "U108"),
        ({"baseline": "{folder}:third"}, "U108"),
        ({"truth": {user: ["f0"] for user in range(USERS)}}, "I311"),
        ({"conventions": ra.options.ConventionOptions(ties="trec")}, "U204"),
        ({"metrics": "ndcg@3"}, "U204"),
        ({"metrics": "mrr ndcg@3"}, "U101"),
        ({"metrics": "mrr coverage(catalogue='truth')@3"}, "U101"),
        ({"margin": "little"}, "U102"),
        ({"margin": "-1%"}, "U102"),
        ({"require": "coverage@3 = 0.4"}, "U102"),
        ({"metrics": "mrr rank"}, "U101"),
        ({"level": 0.4}, "U102"),
    ],
)
def test_refusals(tmp_path, options, code):
    write_results(ra.score({"first": lists(OLD), "second": lists(WORSE)}, TRUTH, "mrr"), None, tmp_path / "page")
    baseline = options.pop("baseline", "{folder}:first").format(folder=tmp_path / "page")
    call = {"truth": TRUTH, "metrics": "mrr"} | options
    with pytest.raises(ra.RecassayError) as caught:
        ra.gate(lists(BETTER), baseline, **call)
    assert caught.value.code == code


def test_texts():
    assert str(Margin.of("0.50%")) == "0.5 %"
    assert Limit.of("rmse<=1") == ("rmse", -1, 1.0)
    assert "(1 %)" in repr(gate(BETTER))
    assert gate(BETTER).frame().columns[:3] == ["metric", "group", "rule"]
