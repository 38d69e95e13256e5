"""Effect sizes: worked values, direct definitions and edge cases."""

from __future__ import annotations

import numpy as np
import pytest

from recassay.stats.differences import EFFECTS

A = np.array([0.50, 0.62, 0.30, 0.81, 0.45, 0.70, 0.55, 0.40])
B = np.array([0.45, 0.60, 0.35, 0.70, 0.40, 0.62, 0.55, 0.33])


def test_cliff_counts_all_pairs():
    random = np.random.default_rng(1)
    a, b = random.integers(0, 6, size=80).astype(float), random.integers(0, 5, size=80).astype(float)
    assert EFFECTS["cliff"](a, b) == np.sign(a[:, None] - b).mean()


@pytest.mark.parametrize("name", ["d_z", "hedges", "d_av", "cliff", "rank_biserial"])
def test_swapping_the_systems_flips_the_sign(name):
    assert EFFECTS[name](A, B) == pytest.approx(-EFFECTS[name](B, A))


def test_undefined_effects_are_nan_and_effects_without_variance_are_infinite():
    empty = np.array([])
    assert all(np.isnan(effect(empty, empty)) for effect in EFFECTS.values())
    same = np.full(4, 0.3)
    assert all(np.isnan(EFFECTS[name](same, same)) for name in ("d_z", "hedges", "d_av", "rank_biserial"))
    assert EFFECTS["d_z"](same + 0.1, same) == np.inf
    assert EFFECTS["d_z"](same, same + 0.1) == -np.inf
    assert EFFECTS["relative"](same, np.zeros(4)) == np.inf
    assert np.isnan(EFFECTS["d_z"](A[:1], B[:1]))
