"""Neighbours and subprofiles, held to loops that read like their definitions."""

from fractions import Fraction
from math import isclose

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.data.interactions import Interactions
from recassay.data.subprofiles import Miner, nearest

logs = st.lists(
    st.tuples(st.integers(1, 7), st.integers(1, 9), st.integers(1, 5)),
    min_size=1,
    max_size=45,
    unique_by=lambda r: r[:2],
)


def log_of(rows):
    return Interactions.from_frame(pl.DataFrame(rows, schema=["user_id", "item_id", "rating"], orient="row"))


def neighbours(rows, k):
    """The k most similar items of each item, by the cosine of its users."""
    users = {item: {user for user, other, _ in rows if other == item} for _, item, _ in rows}

    def squared(one, other):  # a fraction of whole numbers, so that ties are ties
        return Fraction(len(users[one] & users[other]) ** 2, len(users[one]) * len(users[other]))

    found = {}
    for item in sorted(users):
        similar = [other for other in sorted(users) if other != item and users[item] & users[other]]
        found[item] = sorted(similar, key=lambda other, item=item: (-squared(item, other), other))[:k]
    return found


def subprofiles(rows, user, k1, at_least):
    """Maximal sets of a user's liked items around each of them, largest first."""
    liked = sorted({item for one, item, value in rows if one == user and value >= at_least})
    near = neighbours(rows, k1)
    around = [frozenset({item} | {other for other in liked if item in near[other]}) for item in liked]
    kept = [one for one in dict.fromkeys(around) if not any(one < other for other in around)]
    return sorted(map(sorted, kept), key=lambda one: (-len(one), one))


@given(logs, st.integers(1, 5))
@settings(deadline=None)
def test_nearest_items_are_the_readable_ones(rows, k):
    log = log_of(rows)
    ids = log.item_vocabulary.ids.to_list()
    found = [[ids[code] for code in row if code >= 0] for row in nearest(log, k)]
    assert dict(zip(ids, found, strict=True)) == neighbours(rows, k)


@given(logs, st.integers(1, 4), st.integers(1, 4), st.integers(1, 5), st.data())
@settings(deadline=None)
def test_subprofiles_and_what_is_close_to_them_are_the_readable_ones(rows, k1, k2, at_least, data):
    log = log_of(rows)
    users, items = log.user_vocabulary.ids.to_list(), log.item_vocabulary.ids.to_list()
    users_mined = np.array([*range(len(users)), -1], np.int32)
    mined = Miner.of(log, k1=k1, k2=k2, liked_from=at_least).mine(users_mined)
    close = neighbours(rows, k2)
    shown = [data.draw(st.lists(st.sampled_from([-1, *range(len(items))]), max_size=6)) for _ in users_mined]
    offsets = np.append(0, np.cumsum([len(one) for one in shown]))
    flat = np.array([code for one in shown for code in one], np.int32)
    starts, numbers = mined.aspects(offsets, flat)
    for place, user in enumerate([*users, None]):
        expected = subprofiles(rows, user, k1, at_least)
        assert [[items[code] for code in one] for one in mined.sets(place)] == expected
        weights = mined.weights[mined.offsets[place] : mined.offsets[place + 1]]
        total = sum(map(len, expected))
        assert all(isclose(weight, len(one) / total) for weight, one in zip(weights, expected, strict=True))
        for row in range(offsets[place], offsets[place + 1]):
            item = items[flat[row]] if flat[row] >= 0 else None
            has = [number for number, one in enumerate(expected) if any(item in close[other] for other in one)]
            assert numbers[starts[row] : starts[row + 1]].tolist() == has


def test_equal_similarities_stay_equal_where_square_roots_would_round():
    # Item 2 shares 1 of its 3 users with the 5 of item 1, item 3 shares 3 of 27: 1 / sqrt(15) = 3 / sqrt(135).
    assert 1 / (3 * 5) ** 0.5 < 3 / (27 * 5) ** 0.5
    rows = [(user, 1, 5) for user in range(5)] + [(user, 2, 5) for user in (0, 90, 91)]
    rows += [(user, 3, 5) for user in (1, 2, 3, *range(10, 34))]
    assert nearest(log_of(rows), 2)[0].tolist() == [1, 2]
