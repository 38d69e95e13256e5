"""Laws of Sudden Death, and the fast path held to the definition."""

import math

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

import recassay as ra

from ..examples import examples

ITEMS = range(1, 7)
USERS = ("ann", "bob", "cem", "dan")
lists = st.dictionaries(st.sampled_from(USERS), st.lists(st.sampled_from(ITEMS), unique=True, min_size=1), min_size=1)
truths = st.dictionaries(
    st.sampled_from(USERS), st.dictionaries(st.sampled_from(ITEMS), st.integers(0, 1), min_size=1), min_size=1
)


@st.composite
def fields(draw):
    """Runs of up to four systems and a truth, which share a user and an item."""
    truth = draw(truths)
    runs = {name: draw(lists) for name in "abcd"[: draw(st.integers(1, 4))]}
    user = next(iter(truth))
    for run in runs.values():
        run.setdefault(user, [next(iter(truth[user]))])
        run[user] = list(dict.fromkeys([*run[user], next(iter(truth[user]))]))
    return runs, truth


def first(run, truth, user, depth):
    """The place of the first relevant item, as the definition says it."""
    for place, item in enumerate(run.get(user, [])[:depth], 1):
        if truth.get(user, {}).get(item, 0) >= 1:
            return place
    return math.inf


def readable(runs, truth, at, *, ties, users, loop):
    """Eq. 6 in a loop over users."""
    depth = at - 1 if loop == "printed" else at
    everyone = set(truth).union(*runs.values())
    chosen = [user for user in sorted(everyone) if users == "all" or any(truth.get(user, {}).values())]
    won = dict.fromkeys(runs, 0.0)
    for user in chosen:
        places = {name: first(run, truth, user, depth) for name, run in runs.items()}
        best = min(places.values())
        winners = [name for name, place in places.items() if place == best < math.inf]
        for name in winners:
            won[name] += 1 / len(winners) if ties == "split" else 1
    return {name: total / len(chosen) if chosen else math.nan for name, total in won.items()}


def contest(runs, truth, at, **options):
    return ra.sudden_death(runs, truth, at, interval=None, **options)


@settings(max_examples=examples(60), deadline=None)
@given(
    fields(), st.integers(1, 6), st.sampled_from(["share", "split"]), st.sampled_from(["with_relevant", "all"]),
    st.sampled_from(["whole", "printed"]),
)  # fmt: skip
def test_the_score_is_what_its_definition_says(field, at, ties, users, loop):
    runs, truth = field
    made = contest(runs, truth, at, ties=ties, users=users, loop=loop)
    for cutoff in range(1, at + 1):
        wanted = readable(runs, truth, cutoff, ties=ties, users=users, loop=loop)
        for name in runs:
            np.testing.assert_allclose(made.share(name, cutoff), wanted[name])
            values = made.values(name, cutoff)
            if wanted[name] == wanted[name]:
                np.testing.assert_allclose(np.nanmean(values), wanted[name])


@settings(max_examples=examples(60), deadline=None)
@given(fields(), st.integers(1, 6), st.sampled_from(["share", "split"]))
def test_another_competitor_never_raises_a_score(field, at, ties):
    runs, truth = field
    whole = contest(runs, truth, at, ties=ties)
    for absent in list(runs)[1:]:
        fewer = contest({name: run for name, run in runs.items() if name != absent}, truth, at, ties=ties)
        for name in fewer.competitors:
            assert not whole.share(name) > fewer.share(name) + 1e-12


@settings(max_examples=examples(40), deadline=None)
@given(fields(), st.integers(1, 6))
def test_alone_it_is_one_call(field, at):
    runs, truth = field
    for name, run in runs.items():
        made = contest({name: run}, truth, at)
        hit = ra.score({name: run}, truth, f"hit@{at}", interval=None).row(name, f"hit@{at}").mean
        np.testing.assert_equal(made.share(name), hit)
        np.testing.assert_equal(made.hit(name), hit)


@settings(max_examples=examples(40), deadline=None)
@given(fields(), st.integers(1, 6))
def test_copies_win_alike_splits_sum_to_the_users_hit_and_order_does_not_matter(field, at):
    runs, truth = field
    made = contest({**runs, "copy": runs["a"]}, truth, at)
    assert made.share("copy") == made.share("a") or math.isnan(made.share("a"))
    split = contest(runs, truth, at, ties="split")
    if split.n:
        total = sum(split.share(name) for name in runs)
        np.testing.assert_allclose(total, 1 - split.nobody() / split.n, atol=1e-12)
    back = contest(dict(reversed(runs.items())), truth, at, threads=1)
    whole = contest(runs, truth, at, threads=3)
    for name in runs:
        np.testing.assert_equal(back.share(name), whole.share(name))


@settings(max_examples=examples(40), deadline=None)
@given(fields(), st.integers(1, 6))
def test_duels_mirror_each_other_and_fill_the_users(field, at):
    runs, truth = field
    made = contest(runs, truth, at)
    if len(runs) < 2 or not made.n:
        return
    table = made.duels()
    rows = {(row["system"], row["against"]): row for row in table.to_dicts()}
    for (one, other), row in rows.items():
        assert row["wins"] == rows[other, one]["losses"]
        np.testing.assert_allclose(row["wins"] + row["losses"] + row["together"] + row["neither"], 1)
    assert table.select(pl.col("neither").min()).item() >= -1e-12
