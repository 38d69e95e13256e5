"""The resampling kernels compared with readable versions that draw units and signs one by one."""

from __future__ import annotations

import numpy as np
import pytest

from recassay.draws import multinomials
from recassay.errors import UsageError
from recassay.rng import derive, derive_seed
from recassay.stats import resampling
from recassay.stats.intervals import Uncertainty
from recassay.stats.resampling import ResamplingOptions, bootstrap_sums, flipped_sums, signed_sums

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def drawn_units(n, resample, seed):
    """Return how often each of n units is drawn in one resample."""
    first = resample // resampling.BOOTSTRAP_BLOCK * resampling.BOOTSTRAP_BLOCK
    starts = range(0, n, resampling.CHUNK)
    sizes = np.array([min(resampling.CHUNK, n - start) for start in starts])
    draws = multinomials(derive(seed, "bootstrap", n, first), n, sizes, resampling.BOOTSTRAP_BLOCK)
    key = derive_seed(seed, "bootstrap", n) & MASK
    counts = np.zeros(n, int)
    for chunk, start in enumerate(starts):
        size = min(resampling.CHUNK, n - start)
        state = mix((mix((key + resample * GOLDEN) & MASK) + chunk * GOLDEN) & MASK)
        for draw in range(draws[resample - first, chunk]):
            if draw % 2 == 0:
                state = (state + GOLDEN) & MASK
            half = mix(state) >> 32 if draw % 2 else mix(state) & 0xFFFFFFFF
            counts[start + (half * size >> 32)] += 1
    return counts


def drawn_signs(n, resample, seed):
    key = derive_seed(seed, "flips", n) & MASK
    base = mix((key + resample * GOLDEN) & MASK)
    words = [mix((base + (w + 1) * GOLDEN) & MASK) for w in range(-(-n // 64))]
    return np.array([1 if words[i // 64] >> (i % 64) & 1 else -1 for i in range(n)])


@pytest.mark.parametrize("n", [1, 2, 7, 300, 1024, 1025, 2500])
def test_bootstrap_sums_equal_those_of_the_readable_version(n):
    columns = np.array([np.arange(n) % 7, (np.arange(n) * 37) % 101], dtype=float)  # whole numbers: sums are exact
    sums = bootstrap_sums(columns, 260, ResamplingOptions(seed=11))
    for resample in (0, 1, 7, 8, 255, 256, 259):
        counts = drawn_units(n, resample, seed=11)
        assert counts.sum() == n
        assert sums[:, resample].tolist() == (columns @ counts).tolist()


@pytest.mark.parametrize("n", [1, 8, 17, 64, 65, 1000])
def test_flipped_sums_equal_those_of_the_readable_version(n):
    columns = np.array([np.arange(n) % 7 - 3, (np.arange(n) * 37) % 101], dtype=float)
    sums = flipped_sums(columns, 2050, ResamplingOptions(seed=11))
    for resample in (0, 1, 2047, 2048, 2049):
        assert sums[:, resample].tolist() == (columns @ drawn_signs(n, resample, seed=11)).tolist()


@pytest.mark.parametrize("draw", [bootstrap_sums, flipped_sums])
def test_same_bits_for_any_number_of_threads(draw):
    columns = np.random.default_rng(2).normal(size=(3, 3000))
    once = draw(columns, 5000, ResamplingOptions(seed=4, threads=1))
    for threads in (2, 4, None):
        assert np.array_equal(once, draw(columns, 5000, ResamplingOptions(seed=4, threads=threads)))
    assert not np.array_equal(once, draw(columns, 5000, ResamplingOptions(seed=5, threads=1)))


@pytest.mark.parametrize("draw", [bootstrap_sums, flipped_sums])
def test_other_columns_and_more_resamples_do_not_change_a_sum(draw):
    columns = np.random.default_rng(2).normal(size=(5, 1100))
    alone = draw(columns[2:3], 300, ResamplingOptions(seed=4))[0]
    assert np.array_equal(alone, draw(columns, 3000, ResamplingOptions(seed=4))[2, :300])


def test_signed_sums_contain_every_sign_pattern_once():
    assert len(set(signed_sums(2.0 ** np.arange(6)[:, None])[0].tolist())) == 64


def test_progress_counts_the_blocks():
    seen = []
    bootstrap_sums(np.ones((1, 3)), 600, ResamplingOptions(progress=lambda done, total: seen.append((done, total))))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("resamples", [0, -1, 2.5, "many", 2**63])
def test_invalid_numbers_of_resamples_are_rejected(resamples):
    with pytest.raises(UsageError, match="U102"):
        ResamplingOptions(resamples=resamples).n_resamples(10)
    if resamples != "many":
        with pytest.raises(UsageError, match="U102"):
            Uncertainty(resamples=resamples)
