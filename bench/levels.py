"""How often tests of few users find a difference that is not there: ``python bench/levels.py``.

The numbers are cited in ``docs/explanation/uncertainty.md``. A test at 5 % must find one in at most 5 % of studies.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from recassay.stats.group_means import GroupMean, difference
from recassay.stats.intervals import intervals
from recassay.stats.resampling import ResamplingOptions
from recassay.stats.significance import run_test

Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]
ALPHA = 0.05
OTHERS = 1_000  # users outside the group


def hits(rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[np.float64]:
    """Return values as of a ranking metric: nine of ten users have 0, the others up to 1."""
    return np.where(rng.random(size) < 0.9, 0.0, rng.random(size))


SHAPES: dict[str, Draw] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "exponential": lambda rng, size: rng.exponential(size=size),
    "metric": hits,
}


def paired(draw: Draw, n: int, studies: int, rng: np.random.Generator, test: str) -> float:
    """Return the share of studies of n users in which a paired test finds a difference between two equal systems."""
    differences = draw(rng, (n, studies)) - draw(rng, (n, studies))
    options = ResamplingOptions(seed=1, resamples=2_000)
    return float(np.mean(run_test(test, differences, options).p <= ALPHA))


def covered(draw: Draw, n: int, studies: int, rng: np.random.Generator) -> float:
    """Return the share of studies of n users whose interval contains the mean."""
    truth = float(draw(np.random.default_rng(0), (10_000_000,)).mean())
    low, high = intervals(draw(rng, (n, studies)), method="bca", resamples=2_000)
    return float(np.mean((low <= truth) & (truth <= high)))


def group(draw: Draw, n: int, studies: int, rng: np.random.Generator) -> float:
    """Return the share of studies in which a group of n users differs from all users, though it was drawn from them."""
    found = 0
    for _ in range(studies):
        values = draw(rng, (n + OTHERS,))
        everybody = GroupMean.of(np.arange(values.size), values)
        found += difference(GroupMean.of(np.arange(n), values[:n]), everybody).p <= ALPHA
    return found / studies


def gap(draw: Draw, n: int, studies: int, rng: np.random.Generator) -> float:
    """Return the share of studies in which a group of n users differs from one of ``OTHERS`` users."""
    found = 0
    for _ in range(studies):
        values = draw(rng, (n + OTHERS,))
        parts = np.arange(n), np.arange(n, values.size)
        few, many = (GroupMean.of(at, values[at]) for at in parts)
        found += difference(few, many, disjoint=True).p <= ALPHA
    return found / studies


def main() -> None:
    """Print a line per number of users and shape of the values."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=4_000)
    studies = parser.parse_args().studies
    print(f"{'users':>6} {'values':12} {'bootstrap':>10} {'permutation':>12} {'covered':>8} {'group':>6} {'gap':>6}")
    for n in (8, 10, 20, 30, 50, 100, 200):
        for name, draw in SHAPES.items():
            rng = np.random.default_rng(n)
            shares = (paired(draw, n, studies, rng, test) for test in ("bootstrap", "permutation"))
            rest = covered(draw, n, studies, rng), group(draw, n, studies, rng), gap(draw, n, studies, rng)
            columns = (*shares, *rest)
            print(f"{n:6,} {name:12} " + " ".join(f"{100 * one:7.1f} %" for one in columns), flush=True)


if __name__ == "__main__":
    main()
