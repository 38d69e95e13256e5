"""Compiled loops of the live evaluation against dicts and sums of fractions."""

from fractions import Fraction

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from recassay.live._kernels import ABSENT, add_rows
from recassay.live.keys import KeyMap
from recassay.stats.exact_sums import GroupSums


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 5)), max_size=60), st.integers(0, 9))
def test_a_key_map_is_a_dict_with_stamps(steps, span):
    stamps = np.cumsum([step for _, step in steps]).astype(np.int64)
    texts = pl.Series([text for text, _ in steps], dtype=pl.String)
    known, wanted = {}, []
    for text, stamp in zip(texts, stamps.tolist(), strict=True):
        fresh = text not in known or stamp - known[text] > span
        wanted.append(ABSENT if fresh else known[text])
        if fresh:
            known[text] = stamp
    assert KeyMap().add(texts, stamps, span=span).tolist() == wanted


def test_a_key_map_grows_and_forgets():
    keys, n = KeyMap(), 5000
    texts = pl.Series([str(at) for at in range(n)])
    keys.add(texts, np.arange(n), span=n)
    found = keys.add(texts, np.full(n, 2 * n), span=3 * n)
    assert found.tolist() == list(range(n))
    keys.add(pl.Series([f"x{at}" for at in range(4 * n)]), np.full(4 * n, 2 * n), span=0, floor=n)
    assert keys.count <= 5 * n


@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-12)), max_size=40)
)
def test_sums_of_groups_are_sums_of_fractions(rows):
    groups = np.array([group for group, _ in rows], np.int64)
    values = np.array([value for _, value in rows]).reshape(-1, 1)
    sums = GroupSums.of(groups, values, 4)
    for group in range(4):
        own = [value for at, value in rows if at == group]
        unit = Fraction(2) ** -96

        def exact(numbers, unit=unit):
            return float(sum((round(Fraction(one) / unit) * unit for one in numbers), Fraction(0)))

        assert float(sums.total(group, 0)) == exact(own)
        assert float(sums.squares(group, 0)) == exact(one * one for one in own)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-1e9, 1e9) | st.just(float("nan"))), max_size=40))
def test_rows_are_added_one_after_another(rows):
    groups = np.array([group for group, _ in rows], np.int64)
    values = np.array([[value, 1.0] for _, value in rows]).reshape(-1, 2)
    sums, counts = np.zeros((4, 2)), np.zeros((4, 2), np.int64)
    add_rows(sums, counts, groups, values)
    wanted = np.zeros((4, 2))
    np.add.at(wanted, groups, np.where(np.isnan(values), 0.0, values))
    assert sums.tolist() == wanted.tolist()
    assert counts[:, 1].tolist() == np.bincount(groups, minlength=4).tolist()
    assert counts[:, 0].tolist() == np.bincount(groups[~np.isnan(values[:, 0])], minlength=4).tolist()


def test_numbers_that_are_not_added():
    sums = GroupSums.of(np.zeros(4, np.int64), np.array([[np.nan], [np.inf], [1e300], [0.5]]), 1)
    assert sums.counts.tolist() == [[1]]
    assert sums.mean(0, 0) == 0.5
    again = GroupSums.from_bytes(sums.to_bytes(), 1)
    assert np.array_equal(again.limbs, sums.limbs)
