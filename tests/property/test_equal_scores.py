"""Items whose scores are sums of the same terms have the same score, to the bit: rounding breaks no tie."""

from collections import defaultdict
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recassay as ra
from recassay.data.sequences import Histories
from recassay.models import ItemKNN, RecentItemKNN, UserKNN
from recassay.models.base.model import rounded, step_for
from recassay.models.incremental.item_knn import StreamItemKNN
from recassay.models.incremental.uknn import UKNN

from ..examples import examples

logs = st.sets(st.tuples(st.integers(0, 9), st.integers(0, 7)), min_size=8, max_size=60)


def sets_of(pairs):
    """Items of each user and users of each item."""
    users, items = defaultdict(set), defaultdict(set)
    for user, item in sorted(pairs):
        users[user].add(item)
        items[item].add(user)
    return users, items


def log_of(pairs):
    return ra.read_interactions(pl.DataFrame(sorted(pairs), schema=["user_id", "item_id"], orient="row"))


def same_terms_same_score(terms, scores):
    """``terms`` by item; items with the same terms in any order are scored alike."""
    alike = defaultdict(set)
    for item, own in terms.items():
        alike[tuple(sorted(own))].add(float(scores[item]))
    assert all(len(found) == 1 for found in alike.values()), alike


@given(logs, st.sampled_from(["cosine", "jaccard"]))
@settings(deadline=None)
def test_user_knn(pairs, similarity):
    users, items = sets_of(pairs)
    codes = {item: code for code, item in enumerate(sorted(items))}
    found = UserKNN(20, similarity).fit(log_of(pairs)).scores(np.arange(len(users), dtype=np.int32))
    for row, (user, mine) in zip(found, sorted(users.items()), strict=True):
        terms = defaultdict(list)
        for other, theirs in users.items():
            c, sizes = len(mine & theirs), (len(mine), len(theirs))
            similar = Fraction(c * c, sizes[0] * sizes[1]) if similarity == "cosine" else Fraction(c, sum(sizes) - c)
            for item in theirs if c and other != user else ():
                terms[codes[item]].append(similar)
        same_terms_same_score(terms, row)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 7)), min_size=8, max_size=60))
@settings(deadline=None)
def test_incremental_user_knn_on_any_stream(order):
    codes = [list(dict.fromkeys(column)) for column in zip(*order, strict=True)]
    pairs = [(codes[0].index(user), codes[1].index(item)) for user, item in order]
    users, _ = sets_of(pairs)
    learner = UKNN().start()
    learner.learn(*(np.array(column, np.int32) for column in zip(*pairs, strict=True)), np.ones(len(pairs)))
    for user, mine in users.items():
        terms = defaultdict(list)
        for other, theirs in users.items():
            common = len(mine & theirs)
            for item in theirs if common and other != user else ():
                terms[item].append(Fraction(common**2, len(theirs)))
        same_terms_same_score(terms, learner.scores(user))


@given(logs)
@settings(deadline=None)
def test_incremental_item_knn(pairs):
    users, items = sets_of(pairs)
    appeared = list(dict.fromkeys(item for _, item in sorted(pairs)))
    people = sorted(users)
    coded = [(people.index(user), appeared.index(item)) for user, item in sorted(pairs)]
    learner = StreamItemKNN().start()
    learner.learn(*(np.array(column, np.int32) for column in zip(*coded, strict=True)), np.ones(len(coded)))
    for user, mine in users.items():
        terms = {}
        for code, item in enumerate(appeared):
            own = [Fraction(len(items[item] & items[one]) ** 2, len(items[one])) for one in mine if one != item]
            terms[code] = [*own, 1000 * len(items[item])]  # what the sum is divided by, as one more term
        same_terms_same_score(terms, learner.scores(people.index(user)))


@given(logs)
@settings(deadline=None)
def test_recent_items(pairs):
    check_recent_items(pairs)


def test_recent_items_that_share_terms_in_another_order():
    """Items 7 and 8 are as similar to items 0, 1, 2 .. as to them in the opposite order."""
    shared = [1, 2, 3, 5, 6, 7]
    pairs, user = set(), 0
    for one in range(6):
        for many, other in ((shared[one], 7), (shared[5 - one], 8)):
            pairs |= {(user + place, item) for place in range(many) for item in (one, other)}
            user += many
    check_recent_items(pairs)


def check_recent_items(pairs):
    _users, items = sets_of(pairs)
    fitted = RecentItemKNN(last=9, decay=1.0).fit(log_of(pairs))
    history = np.arange(len(items), dtype=np.int32)[:9]
    found = fitted.next_scores(Histories(np.array([0, history.size]), history))[0]
    ordered = sorted(items)
    terms = {}
    for code, item in enumerate(ordered):
        own = (items[item] & items[ordered[one]] for one in history.tolist() if one != code)
        sizes = (len(items[ordered[one]]) * len(items[item]) for one in history.tolist() if one != code)
        terms[code] = [Fraction(len(both) ** 2, size) for both, size in zip(own, sizes, strict=True) if both]
    same_terms_same_score(terms, found)


@given(logs)
@settings(deadline=None, max_examples=examples(40))
def test_item_knn(pairs):
    users, _ = sets_of(pairs)
    log = log_of(pairs)
    fitted = ItemKNN(neighbours=20).fit(log)
    similar = fitted.right.toarray()
    found = fitted.scores(np.arange(len(users), dtype=np.int32))
    for user, row in enumerate(found):
        mine = log.by_user[1][log.by_user[0][user] : log.by_user[0][user + 1]]
        same_terms_same_score({item: similar[mine, item].tolist() for item in range(log.n_items)}, row)


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=30), st.randoms())
def test_sums_of_rounded_terms_are_exact(terms, random):
    step = step_for(1e3, len(terms))
    settled = rounded(np.array(terms), step)
    assert np.abs(settled - terms).max() <= step / 2
    exact = sum(map(Fraction, settled.tolist()))
    shuffled = settled.tolist()
    random.shuffle(shuffled)
    total = 0.0
    for term in shuffled:
        total += term
    assert Fraction(total) == exact


@pytest.mark.parametrize("model", ["UserKNN", "ItemKNN", "RecentItemKNN"])
def test_lists_do_not_depend_on_the_order_of_rows(model):
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"user_id": rng.integers(0, 60, 900), "item_id": rng.integers(0, 40, 900)}).unique()
    frame = frame.sort("user_id", "item_id").with_columns(timestamp=pl.int_range(pl.len()))
    users = np.arange(frame["user_id"].n_unique(), dtype=np.int32)
    first, second = (
        ra.models.parse(model).fit(ra.read_interactions(rows)).recommend(users, 10)
        for rows in (frame, frame.sample(fraction=1.0, shuffle=True, seed=2))
    )
    assert (first[0] == second[0]).all()
    assert first[1].tobytes() == second[1].tobytes()
