"""The fast sort gives the order of a plain stable sort."""

import numpy as np
import pytest

from recassay.columnar.order import ordered_keys, positions_in_groups


@pytest.mark.parametrize("seed", range(30))
def test_positions_equal_those_of_a_stable_sort(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 300))
    groups = rng.integers(0, rng.integers(1, 40), n).astype(np.int32)
    keys = [
        rng.integers(0, 2**63, n, dtype=np.uint64) & ~np.uint64(rng.integers(0, 64)),
        rng.integers(-3, 3, n),
        rng.choice([0.5, -0.0, 0.0, -7.25, 1e300, np.inf], n),
        (rng.integers(0, 3, n).astype(np.uint64) << np.uint64(62)) | rng.integers(0, 2, n, dtype=np.uint64),
    ]
    keys = [keys[at] for at in rng.permutation(4)[: rng.integers(1, 5)]]
    wanted = np.empty(n, int)
    order = np.lexsort((*keys, groups))
    for group in range(groups.max() + 1):
        rows = [row for row in order if groups[row] == group]
        wanted[rows] = np.arange(len(rows))
    assert positions_in_groups(groups, *keys).tolist() == wanted.tolist()


def test_no_rows_give_no_positions():
    assert positions_in_groups(np.empty(0, np.int32), np.empty(0)).tolist() == []


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint64, np.float32, np.float64])
def test_keys_keep_order_and_equality(kind):
    values = np.array([3, 1, 2, 1, 0, 100], kind)
    assert np.argsort(ordered_keys(values), kind="stable").tolist() == np.argsort(values, kind="stable").tolist()
