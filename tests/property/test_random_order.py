"""Values of a random order, for draws with replacement from candidates of two masses: fast sums beside slow ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from recassay.designs import random_order
from recassay.designs.classes import Classes
from recassay.designs.sets import TargetSets
from recassay.metrics.credit import Credit

LOGS = np.append(0, np.cumsum(np.log(np.arange(1, 10_000, dtype=np.longdouble)))).astype(float)


def two_masses(number, mass, relevant, drawn):
    """Return target sets with the same candidates, of which ``drawn`` are drawn, and ``relevant`` relevant items."""
    sets, offsets = len(relevant), np.append(0, np.cumsum(relevant))
    number, mass = np.array(number), np.array(mass, float)
    return TargetSets(
        owner=np.arange(sets),
        order=np.arange(offsets[-1]),
        offsets=offsets,
        above=np.zeros(offsets[-1]),
        tied=np.zeros(offsets[-1]),
        ties=np.zeros(offsets[-1], np.int32),
        pool=np.full(sets, number @ mass),
        drawn=np.array(drawn),
        short=0,
        weight=np.ones(sets),
        bin=np.zeros(sets, np.int64),
        whole=Classes(2 * np.arange(sets + 1), np.tile(number, sets), np.tile(mass, sets)),
    )


def every_position(number, mass, m, q, part, credit):
    """Return the expected sum of credits as a mean over the numbers of candidates of each mass above each item."""
    light, heavy = np.arange(number[0] + 1), np.arange(number[1] + 1)[:, None]
    k, n = light + heavy, sum(number)
    gap = np.clip((light * mass[0] + heavy * mass[1]) / (number[0] * mass[0] + number[1] * mass[1]), 0, 1)
    ways = LOGS[number[0]] - LOGS[light] - LOGS[number[0] - light]
    ways = ways + LOGS[number[1]] - LOGS[heavy] - LOGS[number[1] - heavy] - LOGS[n + m]
    total = 0.0
    for i in range(1, min(1 if part == "first" else m, len(credit)) + 1):
        chances = np.exp(ways + LOGS[m] - LOGS[i - 1] - LOGS[m - i] + LOGS[k + i - 1] + LOGS[n - k + m - i])
        for y in range(min(q, len(credit) - i) + 1):
            chance = (chances * stats.binom.pmf(y, q, gap)).sum()
            total += chance * credit[i + y - 1] * (i if part == "place" else 1)
    return total


def sums_of(groups, parts, credit, limit=10**6):
    """Return what the fast function gives, and the one that places item by item: (sets, credits) each."""
    assert random_order._have_two_large_classes(groups.whole, groups.drawn).all()
    credits = [Credit(part, None, lambda rank: rank, "none") for part in parts]
    table, rows = np.tile(credit, (len(parts), 1)), np.arange(groups.drawn.size)
    arguments = (groups, rows, groups.relevant, credits, table, np.full(rows.size, limit), 1)
    return random_order._over_two_classes(*arguments), random_order._item_by_item(*arguments)


@given(
    number=st.tuples(st.integers(700, 1_500), st.integers(2, 30)),
    heavier=st.floats(1.01, 300),
    m=st.sampled_from([1, 2, 5, 33, 300]),
    q=st.sampled_from([1, 3, 10, 100, 300]),
    top=st.integers(1, 20),
    swapped=st.booleans(),
    parts=st.sampled_from([("each", "place"), ("first",)]),
)
def test_two_masses_of_any_size(number, heavier, m, q, top, swapped, parts):
    number, credit = number[::-1] if swapped else number, 1 / np.log2(np.arange(1, top + 1) + 1)
    fast, slow = sums_of(two_masses(number, (1.0, heavier), [m], [q]), parts, credit)
    assert fast == pytest.approx(slow, rel=1e-11, abs=1e-13)
    exact = [every_position(number, (1.0, heavier), m, q, part, credit) for part in parts]
    assert fast[0] == pytest.approx(exact, rel=1e-7, abs=1e-7)


def test_sets_do_not_influence_each_other():
    """Sets with other numbers of draws and relevant items, in any order, have the sums they have alone."""
    relevant, drawn, credit = [4, 1, 90, 4, 2], [100, 7, 30, 100, 1], 1 / np.arange(1, 21)
    together, _ = sums_of(two_masses((900, 40), (1.0, 15.0), relevant, drawn), ["each", "place"], credit)
    for row, (m, q) in enumerate(zip(relevant, drawn, strict=True)):
        alone, _ = sums_of(two_masses((900, 40), (1.0, 15.0), [m], [q]), ["each", "place"], credit)
        assert together[row].tolist() == alone[0].tolist()


def test_no_credit_beyond_the_limit():
    groups, credit = two_masses((900, 40), (1.0, 15.0), [4], [100]), np.ones(50)
    limited, slow = sums_of(groups, ["each"], credit, limit=6)
    shorter, _ = sums_of(groups, ["each"], credit[:6])
    assert limited == pytest.approx(slow, rel=1e-11)
    assert limited == pytest.approx(shorter, rel=1e-13)


def test_what_is_not_two_large_classes_is_computed_item_by_item():
    """One mass, few positions, three masses, no draws."""
    whole = Classes(
        np.array([0, 1, 3, 6, 8]), np.array([5_000, 3, 4, 900, 2, 40, 900, 40]), np.array([1.0, 1, 2, 1, 2, 3, 1, 2])
    )
    assert not random_order._have_two_large_classes(whole, np.array([9, 9, 9, 0])).any()
