"""Team-draft interleaving: worked examples, and equality with an enumeration of all drafts and clicks."""

import itertools

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.errors import InputError, RecassayError

from ....refusals import refused

RUNS = {"a": {"ann": ["x", "y", "z"]}, "b": {"ann": ["y", "w", "x"]}}


def chances(runs, truth, **how):
    row = ra.interleave(runs, truth, interval=None, **how).summary().row(0, named=True)
    return pytest.approx((row["wins_a"], row["wins_b"], row["ties"]), abs=1e-12)


def plain_draft(a, b, places, coins):
    """The list and its teams: Radlinski, Kurup and Joachims, algorithm 2, up to so many places."""
    shown, teams, coins = [], [], list(coins)
    while len(shown) < places:
        left = {"a": [item for item in a if item not in shown], "b": [item for item in b if item not in shown]}
        if not left["a"] and not left["b"]:
            break
        coin = coins[len(shown) // 2]
        sizes = {team: teams.count(team) for team in "ab"}
        team = "a" if sizes["a"] < sizes["b"] or (sizes["a"] == sizes["b"] and coin) else "b"
        team = team if left[team] else "ab".replace(team, "")
        shown.append(left[team][0])
        teams.append(team)
    return shown, teams


def plain(a, b, relevant_items, places, click, relevant, other, persistence):
    """The chances that a wins and that b wins: all coins, and all patterns of clicks with their chance."""
    wins = {"a": 0.0, "b": 0.0}
    rounds = (places + 1) // 2
    for coins in itertools.product([0, 1], repeat=rounds):
        shown, teams = plain_draft(a, b, places, coins)
        for clicks in itertools.product([0, 1], repeat=len(shown)):
            chance, stopped = 1.0, False
            for place, (item, clicked) in enumerate(zip(shown, clicks, strict=True)):
                p = relevant if item in relevant_items else other
                p = 0.0 if stopped else p * (persistence**place if click == "position" else 1.0)
                chance *= p if clicked else 1 - p
                stopped = stopped or (click == "cascade" and bool(clicked))
            gained = {team: sum(c for c, own in zip(clicks, teams, strict=True) if own == team) for team in "ab"}
            if gained["a"] != gained["b"]:
                wins[max(gained, key=gained.get)] += chance / 2**rounds
    return wins["a"], wins["b"]


@pytest.mark.parametrize("click", ["cascade", "position"])
def test_the_expectation_equals_an_enumeration(click):
    rng = np.random.default_rng(3)
    for places in (1, 2, 3, 4, 5):
        lists = {name: {} for name in "ab"}
        truth = {}
        for user in range(12):
            for name in "ab":
                lists[name][user] = rng.permutation(8)[: rng.integers(1, 7)].tolist()
            truth[user] = rng.permutation(8)[: rng.integers(1, 4)].tolist()
        how = {"click": click, "relevant": 0.9, "other": 0.15, "persistence": 0.7}
        found = ra.interleave(lists, truth, places, interval=None, **how)
        expected = [plain(lists["a"][u], lists["b"][u], truth[u], places, *how.values()) for u in range(12)]
        assert found.users.to_list() == list(range(12))
        assert found.chances["a", "b"] == pytest.approx(np.array(expected), abs=1e-12)


def made(users=40, items=30, seed=1):
    rng = np.random.default_rng(seed)
    lists = {name: {user: rng.permutation(items)[:12].tolist() for user in range(users)} for name in "abc"}
    return lists, {user: rng.permutation(items)[:4].tolist() for user in range(users)}


def test_swapping_two_systems_turns_the_preference_round():
    runs, truth = made()
    one = ra.interleave({"a": runs["a"], "b": runs["b"]}, truth, interval=None).summary()
    other = ra.interleave({"b": runs["b"], "a": runs["a"]}, truth, interval=None).summary()
    assert one["delta"].to_list() == pytest.approx((-other["delta"]).to_list(), abs=1e-12)


def test_drawn_drafts_depend_on_the_user_alone_and_approach_the_expectation():
    runs, truth = made()
    exact = ra.interleave(runs, truth, interval=None)
    drawn = ra.interleave(runs, truth, draws=400, seed=2, interval=None)
    some = {name: {user: lists[user] for user in range(0, 40, 3)} for name, lists in runs.items()}
    fewer = ra.interleave(some, {user: truth[user] for user in range(0, 40, 3)}, draws=400, seed=2, interval=None)
    for pair, values in drawn.chances.items():
        assert values == pytest.approx(exact.chances[pair], abs=0.15)
        assert fewer.chances[pair].tolist() == values[::3].tolist()


def test_users_without_a_relevant_item_are_left_out_and_missing_lists_are_empty():
    runs = {"a": {"ann": ["x"], "cid": ["y"]}, "b": {"bob": ["x"], "cid": ["y"]}}
    truth = pl.DataFrame({"user_id": ["ann", "bob", "cid"], "item_id": ["x", "x", "y"], "gain": [1, 1, 0]})
    found = ra.interleave(runs, truth)
    assert found.users.to_list() == ["ann", "bob"]
    assert (found.chances["a", "b"].tolist(), found.missing) == ([[1, 0], [0, 1]], {"a": 1, "b": 1})
    row = found.summary().row(0, named=True)
    assert (row["delta"], row["low"] < 0 < row["high"], row["n"]) == (0, True, 2)


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("U103", {"at": 0}),
        ("U103", {"at": 129}),
        ("U102", {"at": 21}),
        ("U102", {"draws": 0}),
        ("U102", {"other": 2.0}),
        ("U107", {"click": "browse"}),
    ],
)
def test_what_makes_no_sense_is_an_error(code, how):
    with refused(code):
        ra.interleave(RUNS, {"ann": ["x"]}, **how)


def test_one_system_or_an_item_twice_is_an_error():
    with pytest.raises(RecassayError, match="U205"):
        ra.interleave({"a": RUNS["a"]}, {"ann": ["x"]})
    with pytest.raises(InputError):
        ra.interleave({**RUNS, "b": {"ann": ["x", "x"]}}, {"ann": ["x"]})
