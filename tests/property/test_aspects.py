"""Metrics of aspects and of distances, held to loops that read like their definitions."""

import math
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recassay as ra
from recassay.data.features import Features

from ..examples import examples
from ..refusals import refused
from ..scoring import score

ITEMS = list(range(1, 8))
USERS = ["ann", "bob", "cem"]
ASPECTS = "uvwx"
ITEMS_TABLE = pl.DataFrame({"item_id": ITEMS, "aspect": [["u"], ["v"]] * 3 + [["w"]]})

tables = st.dictionaries(st.sampled_from(ITEMS), st.sets(st.sampled_from(ASPECTS), max_size=3), min_size=7)
lists = st.dictionaries(st.sampled_from(USERS), st.lists(st.sampled_from(ITEMS), unique=True, min_size=1), min_size=1)
truths = st.dictionaries(
    st.sampled_from(USERS), st.dictionaries(st.sampled_from(ITEMS), st.integers(0, 2), min_size=1), min_size=1
)
logs = st.lists(st.tuples(st.sampled_from(USERS), st.sampled_from(ITEMS)), min_size=1, max_size=20, unique=True)


@st.composite
def worlds(draw):
    """Features, lists, a truth and a log that share a user and an item."""
    table, shown, truth, log = draw(tables), draw(lists), draw(truths), draw(logs)
    table = {item: table.get(item, set()) for item in ITEMS}
    table[1] = table[1] | {"u"}
    user = next(iter(shown))
    truth.setdefault(user, {})[shown[user][0]] = 1
    log += [(user, item) for item in ITEMS if (user, item) not in log][:1]
    return table, shown, truth, sorted({*log, *((USERS[0], item) for item in ITEMS)})


def judged(world, metric, **more):
    """Values by user."""
    table, shown, truth, log = world
    frame = pl.DataFrame({"item_id": ITEMS, "aspect": [sorted(table[item]) for item in ITEMS]})
    items = Features.from_frame(frame.cast({"aspect": pl.List(pl.String)}))
    scores = score({"x": shown}, truth, metric, items=items, train=log, interval=None, **more)
    return dict(zip(scores.units.to_list(), scores.values("x", scores.metrics[0]).tolist(), strict=True))


def gain(picks, table, worth, keep, discount, weight=None):
    """What a list of items gains."""
    left, total = dict.fromkeys(ASPECTS, 1.0), 0.0
    for place, item in enumerate(picks):
        if item in worth:
            weights = {a: 1 if weight is None else weight[a] for a in table[item]}
            total += discount(place + 1) * worth[item] * sum(weights[a] * left[a] for a in table[item])
            for a in table[item]:
                left[a] *= keep[item]
    return total


def greedily(table, worth, keep, picks):
    """The relevant item that adds most, again and again; ties to the lower id."""
    left, chosen = dict.fromkeys(ASPECTS, 1.0), []
    while len(chosen) < picks and set(worth) - set(chosen):
        rest = [item for item in sorted(worth) if item not in chosen]
        best = max(rest, key=lambda item: round(worth[item] * sum(left[a] for a in table[item]), 12))
        chosen.append(best)
        for a in table[best]:
            left[a] *= keep[best]
    return chosen


def log2(place):
    return 1 / math.log2(place + 1)


def relevant(world, user):
    return {item: grade for item, grade in world[2][user].items() if grade >= 1}


def same(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12, equal_nan=True)


@settings(max_examples=examples(80), deadline=None)
@given(
    worlds(), st.integers(1, 5), st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.sampled_from(["greedy", "exact", "ranksys"])
)
def test_alpha_ndcg(world, k, alpha, ideal):
    table, shown, truth, _ = world
    values = judged(world, f"alpha_ndcg(alpha={alpha!r}, ideal={ideal!r})@{k}")
    for user in truth:
        good = relevant(world, user)
        worth, keep = dict.fromkeys(good, 1.0), dict.fromkeys(good, 1 - alpha)
        if ideal == "exact":
            best = max(
                (gain(picks, table, worth, keep, log2) for picks in permutations(good, min(k, len(good)))), default=0
            )
        else:
            best = gain(greedily(table, worth, keep, k + (ideal == "ranksys")), table, worth, keep, log2)
        own = gain(shown.get(user, [])[:k], table, worth, keep, log2)
        same(values[user], own / best if best else math.nan)


@settings(max_examples=examples(60), deadline=None)
@given(worlds(), st.integers(1, 5))
def test_no_list_beats_the_exact_ideal_and_clip_only_cuts(world, k):
    exact, greedy = (judged(world, f"alpha_ndcg(ideal={how!r})@{k}") for how in ("exact", "greedy"))
    clipped = judged(world, f"alpha_ndcg(clip=True)@{k}")
    for user in world[2]:
        assert math.isnan(exact[user]) or exact[user] <= greedy[user] + 1e-12
        assert math.isnan(exact[user]) or exact[user] <= 1 + 1e-12
        same(clipped[user], min(greedy[user], 1.0) if greedy[user] == greedy[user] else math.nan)


@settings(max_examples=examples(60), deadline=None)
@given(worlds(), st.integers(1, 5), st.sampled_from(["relevant", "profile"]))
def test_err_and_precision_for_what_users_want(world, k, intents):
    table, shown, truth, log = world
    scale = max(1, *(grade for judged in truth.values() for grade in judged.values()))
    err = judged(world, f"err_ia(intents={intents!r})@{k}")
    precision = judged(world, f"precision_ia(intents={intents!r})@{k}")
    for user in truth:
        good = relevant(world, user)
        wanted = {a for item in good for a in table[item]}
        weight = {a: (a in wanted) / max(len(wanted), 1) for a in ASPECTS}
        if intents == "profile":
            had = [a for owner, item in log if owner == user for a in table[item]]
            every = sorted({a for aspects in table.values() for a in aspects})
            weight = {a: had.count(a) / len(had) if had else (a in every) / len(every) for a in ASPECTS}
        worth = {item: (2**grade - 1) / 2**scale for item, grade in good.items()}
        keep = {item: 1 - chance for item, chance in worth.items()}
        list_ = shown.get(user, [])[:k]
        same(err[user], gain(list_, table, worth, keep, lambda p: 1 / p, weight) if wanted else math.nan)
        counted = sum(weight[a] for item in list_ if item in good for a in table[item]) / k
        same(precision[user], counted if wanted else math.nan)


@settings(max_examples=examples(60), deadline=None)
@given(worlds(), st.integers(1, 7), st.booleans(), st.sampled_from(["none", "log"]), st.booleans())
def test_expected_intra_list_distance(world, k, aware, discount, skip):
    table, shown, truth, _ = world
    bare = "skip" if skip else "distant"
    name = f"eild(relevance_aware={aware}, rank_discount={discount!r}, bare={bare!r})@{k}"
    values = judged(world, name)
    disc = (lambda p: 1.0) if discount == "none" else log2

    def apart(one, other):
        if not table[one] or not table[other]:
            return 1.0
        return 1 - len(table[one] & table[other]) / len(table[one] | table[other])

    for user in truth:
        good = relevant(world, user)
        places = [(p, i) for p, i in enumerate(shown.get(user, [])[:k], 1) if table[i] or not skip]
        if len(places) < 2 or (aware and not good):
            same(values[user], math.nan)
            continue
        gains = {i: float(not aware or i in good) for _, i in places}
        total = 0.0
        for p, i in places:
            weights = {j: disc(max(1, q - p)) * gains[j] for q, j in places if j != i}
            if sum(weights.values()):
                expected = sum(w * apart(i, j) for j, w in weights.items()) / sum(weights.values())
                total += disc(p) * gains[i] * expected
        same(values[user], total / sum(disc(p) for p, _ in places))


@settings(max_examples=examples(40), deadline=None)
@given(worlds(), st.sampled_from(["ild", "epd", "eild(relevance_aware=False)"]))
def test_a_given_table_of_the_same_distances_gives_the_same_values(world, name):
    """Features turned into a table by hand: items without any are far from all others, and at 0 from themselves."""
    table = world[0]
    every = np.array([
        [
            0 if one == other else 1 - len(table[one] & table[other]) / (len(table[one] | table[other]) or 1)
            for other in ITEMS
        ]
        for one in ITEMS
    ])  # fmt: skip
    bracket = "(" if "(" not in name else ", "
    given_name = f"{name.rstrip(')')}{bracket}distance='given')"
    by_features, by_table = judged(world, name), judged(world, given_name, distances=every)
    for user in world[2]:
        same(by_features[user], by_table[user])


@settings(max_examples=examples(40), deadline=None)
@given(worlds())
def test_printed_ild_is_twice_ild(world):
    once, twice = judged(world, "ild@4"), judged(world, "ild(printed=True)@4")
    for user in world[2]:
        same(twice[user], 2 * once[user])


@pytest.mark.parametrize("users", [["ann", "eve"], ["eve"]])
@pytest.mark.parametrize("metric", ["calibration", "alpha_ndcg", "err_ia(intents='profile'", "precision_ia"])
def test_a_user_without_a_taste_has_no_value_whoever_else_is_there(metric, users):
    log = [(user, item) for user in ("ann", "bob") for item in (1, 2, 3)]
    lists, truth = {user: [1, 2] for user in users}, {user: {1: 1} for user in users}
    bracket = ", " if "(" in metric else "("
    name = f"{metric}{bracket}aspects='subprofiles')@2"
    scores = ra.score({"x": lists}, truth, name, train=log, items=ITEMS_TABLE, interval=None)
    values = dict(zip(scores.units, scores.values("x", scores.metrics[0]), strict=True))
    assert np.isnan(values["eve"])
    assert "ann" not in values or values["ann"] >= 0


class TestRefusals:
    WORLD = ({item: {"u"} for item in ITEMS}, {"ann": [1, 2]}, {"ann": {1: 1}}, [("ann", item) for item in ITEMS])

    @pytest.mark.parametrize(
        "name",
        [
            "alpha_ndcg(alpha=1.5)@5",
            "alpha_ndcg(ideal='exact')@9",
            "alpha_ndcg(ideal='exact')",
            "alpha_ndcg(aspects='subprofiles', k1=0)@5",
            "err_ia(normalise='ideal', intents='profile')@5",
            "err_ia(scale=0.5)@5",
        ],
    )
    def test_parameters_that_make_no_sense(self, name):
        with refused("U102"):
            judged(self.WORLD, name)

    @pytest.mark.parametrize(
        ("name", "missing"),
        [
            ("alpha_ndcg@5", "table of items"),
            ("alpha_ndcg(aspects='subprofiles')@5", "training log"),
            ("precision_ia(intents='profile')@5", "table of items and the training log"),
            ("ild(distance='training')@5", "training log"),
            ("ild(distance='given')@5", "table of distances and the training log"),
        ],
    )
    def test_what_a_choice_needs(self, name, missing):
        with refused("U105", match=f"needs the {missing}"):
            ra.score({"x": {"ann": [1, 2]}}, {"ann": {1: 1}}, name)

    @pytest.mark.parametrize("table", [np.zeros((2, 2)), np.full((7, 7), 2.0), np.triu(np.ones((7, 7)), 1)])
    def test_tables_that_hold_no_distances(self, table):
        with refused("I362"):
            judged(self.WORLD, "ild(distance='given')@5", distances=table)
