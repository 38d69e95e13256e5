"""The k best scores of a row against sorting all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.columnar._top import FEW_TO_RANK, top_k

from ..examples import examples

KINDS = {
    "all different": lambda rng, n: rng.standard_normal(n),
    "many ties": lambda rng, n: np.round(2 * rng.standard_normal(n)),
    "almost all zero": lambda rng, n: np.where(rng.random(n) < 0.01, rng.random(n), 0.0),
    "all equal": lambda rng, n: np.ones(n),
    "ascending": lambda rng, n: np.arange(n),
    "of many sizes": lambda rng, n: np.exp(20 * rng.standard_normal(n)) * rng.choice([-1, 1], n),
}
SPECIAL = [np.nan, -np.inf, np.inf, 0.0, -0.0]


@given(
    st.sampled_from([*KINDS]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, 1, 5, 63, 64, 65, 300, 5_000]),
    st.sampled_from([1, 3, 33, 100, 400]),
    st.sampled_from([0.0, 0.1, 0.99]),
    st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=examples(200), deadline=None)
def test_the_best_k_are_the_first_of_all_sorted(kind, seed, n, k, special, dtype):
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        line = KINDS[kind](rng, n).astype(dtype)
    some = rng.random(n) < special
    line[some] = rng.choice(SPECIAL[: rng.integers(1, len(SPECIAL) + 1)], int(some.sum()))
    assert_best(line, rng.permutation(n).astype(np.int32), k)


@pytest.mark.parametrize("kind", KINDS)
def test_lists_too_long_to_rank_are_sorted(kind):
    rng = np.random.default_rng(3)
    assert_best(KINDS[kind](rng, 4_000).astype(np.float64), rng.permutation(4_000).astype(np.int32), FEW_TO_RANK + 1)


def assert_best(line, ids, k):
    """Check list and scores against a sort by score, then id."""
    places, scores = np.empty(k, np.int32), np.empty(k, line.dtype)
    top_k(line, ids, places, scores)
    wanted = sorted(np.flatnonzero(line > -np.inf).tolist(), key=lambda place: (-line[place], ids[place]))[:k]
    assert places.tolist() == wanted + [-1] * (k - len(wanted))
    assert scores.tolist() == line[wanted].tolist() + [-np.inf] * (k - len(wanted))
