"""All pairs of ten systems on 100,000 units, 10,000 sign flips and 10,000 bootstrap resamples, beside plain ways.

    python bench/compare.py [--quick]

The others are measured on one pair and few resamples, and scaled to 45 pairs and 10,000 resamples: each resample of
each pair costs them the same. Kernels are compiled before anything is timed; a time is the shortest of several, since
other work on a machine only ever adds to it. Writes its section of bench/RESULTS.md.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.stats

from recassay.stats.differences import Differences
from recassay.stats.resampling import ResamplingOptions
from recassay.stats.significance import run_test
from recassay.threads import available
from tools import is_quick, write_section

SYSTEMS, UNITS, RESAMPLES = 10, 100_000, 10_000
QUICK_UNITS = 10_000
PAIRS = np.array(list(itertools.combinations(range(SYSTEMS), 2)))


class Time(NamedTuple):
    """The shortest of several times of a test, done in one way, and the processor's own in it."""

    test: str
    way: str
    seconds: float
    processor: float


def main() -> None:
    units = QUICK_UNITS if is_quick(__doc__) else UNITS
    values = _values(units)
    times = []
    for test, others in OTHERS.items():
        run_test(test, Differences(values[:100], PAIRS), ResamplingOptions(resamples=10))
        counts = sorted({1, 2, available()})
        for threads in counts:
            way = f"recassay, {threads} thread{'s' if threads > 1 else ''}"
            times.append(Time(test, way, *_timed(partial(_tested, values, test, threads))))
        bits = {_tested(values, test, threads).tobytes() for threads in counts}
        assert len(bits) == 1, "bits depend on threads"
        for name, work, resamples in others:
            once = _timed(partial(work, values[:, 0], values[:, 1], resamples), repeats=3)
            times.append(Time(test, name, *(part * len(PAIRS) * RESAMPLES / resamples for part in once)))
    _write(units, times)


def _values(units: int) -> np.ndarray:
    """Metrics of users: many zeros, the rest between 0 and 1, systems a little apart."""
    rng = np.random.default_rng(0)
    ability = rng.beta(0.4, 2.0, units)
    noise = rng.normal(0.0, 0.1, (units, SYSTEMS)) + np.linspace(0.0, 0.01, SYSTEMS)
    return np.clip(ability[:, None] + noise, 0.0, 1.0)


def _tested(values: np.ndarray, test: str, threads: int) -> np.ndarray:
    return run_test(test, Differences(values, PAIRS), ResamplingOptions(1, RESAMPLES, threads)).p


def _timed(work: Callable[[], object], repeats: int = 5) -> tuple[float, float]:
    times = []
    for _ in range(repeats):
        begin, spent = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - begin, time.process_time() - spent))
    return min(wall for wall, _ in times), min(processor for _, processor in times)


def _flips(a: np.ndarray, b: np.ndarray, resamples: int) -> float:
    """A loop in NumPy over sign flips."""
    rng, d = np.random.default_rng(1), a - b
    observed = abs(d.mean())
    return sum(abs((d * rng.choice((-1.0, 1.0), d.size)).mean()) >= observed for _ in range(resamples)) / resamples


def _draws(a: np.ndarray, b: np.ndarray, resamples: int) -> float:
    """A loop in NumPy over bootstrap resamples."""
    rng, d = np.random.default_rng(1), a - b
    observed, centred = abs(d.mean()), d - d.mean()
    return sum(abs(centred[rng.integers(0, d.size, d.size)].mean()) >= observed for _ in range(resamples)) / resamples


def _scipy_flips(a: np.ndarray, b: np.ndarray, resamples: int) -> float:
    how = {"permutation_type": "samples", "n_resamples": resamples, "batch": 10}
    return scipy.stats.permutation_test((a - b,), np.mean, **how).pvalue


def _scipy_draws(a: np.ndarray, b: np.ndarray, resamples: int) -> float:
    found = scipy.stats.bootstrap((a - b,), np.mean, n_resamples=resamples, batch=10, method="percentile")
    return found.standard_error


def _ranx(a: np.ndarray, b: np.ndarray, resamples: int) -> float:
    from ranx.statistical_tests import fisher_randomization_test

    return fisher_randomization_test(a, b, n_permutations=resamples)[0]


OTHERS: dict[str, list[tuple[str, Callable[[np.ndarray, np.ndarray, int], float], int]]] = {
    "permutation": [("NumPy, a loop", _flips, 100), ("SciPy", _scipy_flips, 50), ("ranx, all threads", _ranx, 1_000)],
    "bootstrap": [("NumPy, a loop", _draws, 100), ("SciPy", _scipy_draws, 100)],
}


def _write(units: int, times: list[Time]) -> None:
    best = {time.test: time.seconds for time in times if time.way.startswith("recassay")}
    lines = [
        "## Comparing systems",
        "",
        f"`python bench/compare.py`: {SYSTEMS} systems x {units:,} units, all {len(PAIRS)} pairs, {RESAMPLES:,} "
        f"resamples, on {available()} cores. p-values have the same bits for any number of threads. The others are "
        "scaled from one pair and few resamples. Processor seconds are those of all threads together: what is left of "
        "the seconds where a machine does other work beside.",
        "",
        "| test | way | seconds | processor seconds | times recassay |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {one.test} | {one.way} | {one.seconds:,.2f} | {one.processor:,.2f} | {one.seconds / best[one.test]:,.1f} |"
        for one in times
    ]
    print("\n".join(lines))
    if units == UNITS:
        write_section("Comparing systems", "\n".join(lines))


if __name__ == "__main__":
    import ranx.statistical_tests

    ranx.statistical_tests.fisher_randomization_test(np.ones(10), np.zeros(10), n_permutations=10)
    main()
