"""Effect sizes: worked values, direct definitions and edge cases."""

from __future__ import annotations

import numpy as np
import pytest

from recassay.errors import UsageError
from recassay.stats.differences import EFFECTS, effect_size

A = np.array([0.50, 0.62, 0.30, 0.81, 0.45, 0.70, 0.55, 0.40])
B = np.array([0.45, 0.60, 0.35, 0.70, 0.40, 0.62, 0.55, 0.33])


def test_cliff_counts_all_pairs():
    random = np.random.default_rng(1)
    a, b = random.integers(0, 6, size=80).astype(float), random.integers(0, 5, size=80).astype(float)
    assert effect_size("cliff")(a, b) == np.sign(a[:, None] - b).mean()


@pytest.mark.parametrize("name", ["d_z", "hedges", "d_av", "cliff", "rank_biserial"])
def test_swapping_the_systems_flips_the_sign(name):
    assert effect_size(name)(A, B) == pytest.approx(-effect_size(name)(B, A))


def test_undefined_effects_are_nan_and_effects_without_variance_are_infinite():
    empty = np.array([])
    assert all(np.isnan(effect(empty, empty)) for effect in EFFECTS.values())
    same = np.full(4, 0.3)
    assert all(np.isnan(effect_size(name)(same, same)) for name in ("d_z", "hedges", "d_av", "rank_biserial"))
    assert effect_size("d_z")(same + 0.1, same) == np.inf
    assert effect_size("d_z")(same, same + 0.1) == -np.inf
    assert effect_size("relative")(same, np.zeros(4)) == np.inf
    assert np.isnan(effect_size("d_z")(A[:1], B[:1]))


def test_unknown_effect_is_rejected():
    with pytest.raises(UsageError, match="U107"):
        effect_size("d")
