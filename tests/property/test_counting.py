"""The counts and masses of long score rows against NumPy: many and few relevant items, ties, infinite scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.columnar.layout import readonly
from recassay.engine.ranks._kernels import NEAR, find_zones, read_block

from ..examples import examples

MEMBER = np.array([[True] * 7, [True] * 5 + [False] * 2])
BINS = np.array([[0, 0, 1, 1, 2, -1, -1], [0, 1, 2, 3, 4, -1, -1]], np.int32)


def wanted(line, relevant, seen, rated, cells, weight):
    """Counts and masses of all candidates, for each relevant item."""
    n, cell = line.size, np.repeat(np.arange(cells.size - 1), np.diff(cells))
    free = np.ones(n, bool)
    free[seen] = free[relevant] = False
    sets = [free & inside[cell] for inside in MEMBER]
    of_bin = [[free & (bins[cell] == bins[cell[item]]) for bins in BINS] for item in relevant]
    low = np.zeros(n, bool)
    low[rated] = True
    rows = [[*sets, *bins, low] for bins in of_bin]
    scores = [line[item] for item in relevant]
    above, tied = (
        [[int(compare(line[some], score).sum()) for some in row] for score, row in zip(scores, rows, strict=True)]
        for compare in (np.greater, np.equal)
    )
    masses = [
        [[int(weight[some][compare(line[some], score)].sum()) for some in sets] for score in scores]
        for compare in (np.greater, np.equal)
    ]
    return above, tied, *masses


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([7, 64, 129, 1_000, 2 * NEAR + 77]),
    st.sampled_from([1, 2, 3, 4, 5, 9, 40]),
    st.sampled_from([None, 0.5, 0.0]),
    st.sampled_from([np.float32, np.float64]),
    st.booleans(),
)
@settings(max_examples=examples(120), deadline=None)
def test_counts_and_masses_of_long_rows(seed, n, n_relevant, grid, dtype, heavy):
    check(np.random.default_rng(seed), n, n_relevant, grid, dtype, heavy)


@pytest.mark.parametrize("grid", [None, 0.5])
def test_counts_of_many_relevant_items(grid):
    check(np.random.default_rng(5), 5_000, 259, grid, np.float32, True)


def test_masses_that_exceed_32_bits():
    check(np.random.default_rng(6), 2 * NEAR, 5, None, np.float32, True, heaviest=2**24)


def check(rng, n, n_relevant, grid, dtype, heavy, heaviest=1_000):
    """Compare one row; a ``grid`` makes scores tie, and some scores are infinite."""
    line = rng.standard_normal(n)
    if grid is not None:
        line = np.round(line * grid)
    line[rng.random(n) < 0.02] = rng.choice([-np.inf, np.inf])
    line = line.astype(dtype)
    order = rng.permutation(n).astype(np.int32)
    split = np.sort(rng.integers(0, n + 1, 2))
    relevant, rest = order[: min(n_relevant, n)], order[min(n_relevant, n) :]
    seen, rated = np.sort(rest[: split[0] // 4]), rest[split[0] // 4 : split[0] // 4 + 5].copy()
    cells = np.concatenate([[0], np.sort(rng.integers(0, n + 1, 6)), [n]]).astype(np.int64)
    weight = rng.integers(0, heaviest, n if heavy else 0).astype(np.int32)
    sizes = [np.array([0, some.size]) for some in (seen, relevant, rated)]
    above, tied = (np.zeros((5, relevant.size), np.int64) for _ in range(2))
    mass_above, mass_tied = (np.zeros((2, relevant.size if heavy else 0), np.int64) for _ in range(2))
    tie_relevant, bottom = np.zeros(relevant.size, np.int32), np.zeros(relevant.size, bool)
    ranked = relevant.copy()
    rows, codes = np.zeros(1, np.int32), np.arange(n, dtype=np.int32)
    read = map(readonly, (rows, sizes[0], seen, sizes[1]))
    also_read = map(readonly, (codes, cells, MEMBER, BINS, sizes[2], rated, weight))
    table = line[None].copy()
    read_block(
        table, table.view(f"u{table.itemsize}"), *read, ranked, *also_read, above, tied, mass_above, mass_tied,
        np.zeros((2, relevant.size if heavy else 0, 8)), tie_relevant, bottom, np.empty((1, 0), np.int32),
        np.empty((1, 0)),
    )  # fmt: skip
    assert ranked.tolist() == sorted(relevant.tolist(), key=lambda item: (-line[item], item))
    weights = weight if heavy else np.zeros(n, np.int64)
    found = wanted(line, ranked, seen, rated, cells, weights)
    assert (above.T.tolist(), tied.T.tolist()) == found[:2]
    if heavy:
        assert (mass_above.T.tolist(), mass_tied.T.tolist()) == found[2:]
    assert tie_relevant.tolist() == [int((line[ranked] == line[item]).sum()) - 1 for item in ranked]
    assert bottom.tolist() == (line[ranked] == -np.inf).tolist()


def test_zones_are_ranges_of_cells_in_the_same_base_sets():
    assert find_zones(readonly(MEMBER)).tolist() == [0, 5, 7]
    assert find_zones(readonly(np.ones((2, 3), bool))).tolist() == [0, 3]
    assert find_zones(readonly(np.ones((2, 0), bool))).tolist() == [0]
