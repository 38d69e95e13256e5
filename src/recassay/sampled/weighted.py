"""Exact sampled metrics for draws by popularity without replacement.

Give every candidate an exponential arrival time with its weight as the rate; the first q to arrive are the sample. Let
P(t) be the probability that at time t, x candidates above the item, y tied with it and q - x - y below have arrived.
Every path passes through exactly one state with q arrivals, and leaves it at the rate of the remaining weights:

    P(x above, y tied in the sample) = integral over t of (sum of the remaining weights) P(t).

The arrivals of the three groups are independent. Given y, each position among the sampled ties is equally likely. The
integral is a sum over equal steps of log t. The integrand is analytic and vanishes at both ends, so the error falls
exponentially with the step. The step is halved until the distribution no longer changes.

That needs the weight of every candidate above and below each item. Standings do not have these weights, so the scores
of the systems are computed again, and the work grows with the square of the number of candidates. For more than MOST
candidates :mod:`recassay.sampled.measure` has an approximation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Float, Int64
from recassay.columnar.layout import readonly
from recassay.data.run import Run
from recassay.data.standings import Standings
from recassay.engine.ranks.blocks import BLOCK_ROWS
from recassay.engine.ranks.play import RunSource
from recassay.engine.ranks.standings import block_scorer, score_queries
from recassay.metrics.base import Metric
from recassay.metrics.credit import counts_pairs
from recassay.models.base.capabilities import gives_scores
from recassay.sampled.measure import MeasuredSystem, credit_table
from recassay.threads import each_block, one_library_thread

MOST = 2_000  # candidates
TINY = 1e-18  # a probability or integrand far below the rounding of the sums it would enter
STEP = 0.9  # first step, in standard deviations of the logarithm of the time
SAME = 1e-9  # largest change by halving the step at which to stop: the error is about the square of the change
HALVINGS = 8


def why_not_exact(systems: Mapping[str, Any], base: str) -> str:
    """Return the reason why these systems cannot be measured exactly, as text; empty if they can.

    ``systems`` are runs, or their standings (counts of candidates above each relevant item), by name. ``base`` names
    the set of candidates that are drawn from, such as all items (``AI``).
    """
    for name, system in systems.items():
        standings: Any = system.standings if isinstance(system, Run) else system
        if base in standings.pool and int(standings.pool[base].max(initial=0)) > MOST:
            return f"there are up to {int(standings.pool[base].max()):,} candidates, more than {MOST:,}"
        if not (
            isinstance(system, Run) and isinstance(system.source, RunSource) and gives_scores(system.source.fitted)
        ):
            return f"the scores of '{name}' cannot be computed again"
        if base not in system.source.task.bases:
            return f"there are no standings for the candidates '{base}'"
    return ""


def measure_exactly(
    run: Run, standings: Standings, users: Int64, base: str, sizes: Sequence[int], metrics: Mapping[str, Metric],
    *, threads: int | None = None,
) -> MeasuredSystem:  # fmt: skip
    """Return exact expectations of a system's metrics over samples of each of ``sizes`` candidates.

    Candidates are drawn by popularity without replacement from the set ``base``, such as all items (``AI``).
    ``standings`` give the relevant items of each query and its number of candidates; the scores are computed again by
    the model of ``run``. The result has sums of expected values over the relevant items of each group of users;
    ``users[q]`` is the group of query q.
    """
    source: Any = run.source
    task, scorer = source.task, block_scorer(source.task, source.fitted, run.name)
    largest = min(max(sizes), int(standings.pool[base].max(initial=0)))
    credit, pairs = credit_table(metrics, largest + 1), [counts_pairs(metric) for metric in metrics.values()]
    weights = task.weight[task.item].astype(np.float64)
    inside = task.inside(base) & (weights > 0)
    mean, variance = (np.zeros((len(sizes), standings.pairs, len(metrics))) for _ in range(2))

    def work(begin: int, end: int) -> None:
        table = score_queries(scorer, task, begin, end)
        for query in range(begin, end):
            free, line = task.exclude(inside, query), table[query - begin]
            order = np.argsort(weights[free], kind="stable")
            weight, score = weights[free][order], line[free][order]
            for pair in range(standings.offsets[query], standings.offsets[query + 1]):
                level = line[task.place[standings.item[pair]]]
                parts = [readonly(weight[side]) for side in (score > level, score == level, score < level)]
                for at, size in enumerate(sizes):
                    q = min(size, weight.size)
                    chances = count_probabilities(parts, q, q + 1 if any(pairs) else min(q + 1, credit.shape[1]))
                    values = np.zeros((len(metrics), chances.size))
                    values[:, : credit.shape[1]] = credit[:, : chances.size]
                    values[pairs] = 1 - np.arange(chances.size) / max(q, 1)
                    mean[at, pair], square = values @ chances, values**2 @ chances
                    variance[at, pair] = np.maximum(square - mean[at, pair] ** 2, 0.0)

    with one_library_thread():
        each_block(work, task.users.size, size=BLOCK_ROWS, threads=threads)
    group = np.repeat(users, np.diff(standings.offsets))
    return MeasuredSystem.of(group, zip(mean, variance, strict=True))


def count_probabilities(weights: Sequence[Float], q: int, most: int) -> Float:
    """Return the probabilities of 0 to ``most`` - 1 sampled candidates above an item, of ``q`` drawn by weight.

    ``weights`` are those of the candidates above the item, tied with it and below it. None is drawn twice.
    """
    chances, (above, tied, _), kernel = np.zeros(most), weights, cast(Any, successive_probabilities)
    if q < sum(one.size for one in weights):
        kernel(*weights, q, *central_log_time(np.concatenate(weights), q), chances)
    else:
        chances[above.size : above.size + tied.size + 1] = 1 / (tied.size + 1)
    return chances


@njit(nogil=True, cache=True)
def arrival_probabilities(weights: Float, time: float, last: int, chances: Float, rates: Float) -> tuple[int, int]:
    """Fill ``chances[0, n]`` with the probability that n candidates have arrived by ``time``, for n up to ``last``.

    Every candidate arrives after an exponential time with its entry of ``weights`` as the rate. ``rates[0, n]`` gets
    the same probability times the expected total weight of the candidates that have not arrived, given n. Return the
    first and the last n that are not negligible; only these are written. ``chances[1]`` and ``rates[1]`` are scratch
    space.
    """
    chances[0, 0], rates[0, 0] = 1.0, 0.0
    low, high, stay, come, before, row = 0, 0, 1.0, 0.0, -1.0, 0
    for place in range(weights.size):
        weight = weights[place]
        if weight != before:
            stay, come, before = math.exp(-weight * time), -math.expm1(-weight * time), weight
        old, old_rates, new, new_rates = chances[row], rates[row], chances[1 - row], rates[1 - row]
        new[low] = stay * old[low]
        new_rates[low] = stay * (old_rates[low] + weight * old[low])
        for n in range(low + 1, high + 1):
            new[n] = stay * old[n] + come * old[n - 1]
            new_rates[n] = stay * (old_rates[n] + weight * old[n]) + come * old_rates[n - 1]
        if high < last:
            new[high + 1] = come * old[high]
            new_rates[high + 1] = come * old_rates[high]
            high += 1
        row = 1 - row
        while low < high and new[low] < TINY and new_rates[low] < TINY * weight:
            low += 1
        while high > low and new[high] < TINY and new_rates[high] < TINY * weight:
            high -= 1
    if row:
        chances[0, low : high + 1], rates[0, low : high + 1] = chances[1, low : high + 1], rates[1, low : high + 1]
    return low, high


@njit(nogil=True, cache=True)
def add_leaving_rates(
    above: Float, level: Float, below: Float, q: int, time: float, probs: Float, work: Float, found: Float
) -> None:
    """Add to ``found[p]`` the rate of leaving, at ``time``, the state with q arrivals, p of them above the item.

    The rates are multiplied by ``time``, because the integral is over its logarithm. ``above``, ``level`` and ``below``
    are the weights of the candidates above the item, tied with it and below it; ``q`` is the sample size. Sampled ties
    are put above or below at random. Candidates arrive at random times, at rates equal to their weights, and the sample
    is the first ``q``. Numbers p up to ``probs.size`` - 1 are computed; ``probs`` is not read otherwise. ``work`` is
    scratch space of shape (6, 2, q + 2) or larger.
    """
    first, last = arrival_probabilities(above, time, min(q, probs.size - 1, above.size), work[0], work[1])
    low, high = arrival_probabilities(level, time, min(q, level.size), work[2], work[3])
    least, most = arrival_probabilities(below, time, min(q, below.size), work[4], work[5])
    for x in range(first, last + 1):
        for y in range(max(low, q - x - most), min(high, q - x - least) + 1):
            n = q - x - y
            rate = (
                work[1, 0, x] * work[2, 0, y] * work[4, 0, n]
                + work[0, 0, x] * (work[3, 0, y] * work[4, 0, n] + work[2, 0, y] * work[5, 0, n])
            )  # fmt: skip
            rate /= y + 1
            for place in range(x, min(x + y, probs.size - 1) + 1):
                found[place] += time * rate


def central_log_time(weights: Float, q: int) -> tuple[float, float]:
    """Return the log of the time at which q + 0.5 arrivals are expected, and the standard deviation of that log.

    Every candidate arrives after an exponential time with its entry of ``weights`` as the rate.
    """
    from scipy.optimize import brentq  # late: it takes long to import

    wanted = min(q + 0.5, weights.size - 0.5)
    log = float(brentq(lambda at: -np.expm1(-weights * math.exp(at)).sum() - wanted, -80.0, 80.0, xtol=1e-3))
    rate = weights * math.exp(log)
    stay = np.exp(-rate)
    return log, math.sqrt((stay * (1 - stay)).sum() + 0.1) / max(float((rate * stay).sum()), 1e-3)


@njit(nogil=True, cache=True)
def successive_probabilities(
    above: Float, level: Float, below: Float, q: int, centre: float, deviation: float, probs: Float
) -> None:
    """Write to ``probs[x]`` the probability that x sampled candidates are above an item, for draws without replacement.

    ``above``, ``level`` and ``below`` are the weights of the candidates above the item, tied with it and below it, all
    positive. Equal weights must be adjacent, for speed. The sample size ``q`` is less than the number of candidates.
    ``centre`` and ``deviation`` are those of :func:`central_log_time`.
    """
    pool = np.concatenate((above, level, below))
    step = min(STEP * deviation, 1.0)
    work, whole, finer = np.zeros((8, 2, q + 2)), np.zeros(probs.size), np.zeros(probs.size)
    peak, left, right = 0.0, 0, 0
    for way in (-1, 1):  # outwards from the centre, until the integrand is negligible
        at = 0 if way == 1 else -1
        while True:
            time = math.exp(centre + at * step)
            add_leaving_rates(above, level, below, q, time, probs, work, whole)
            _, last = arrival_probabilities(pool, time, q, work[6], work[7])
            rate = time * work[7, 0, q] if last == q else 0.0
            peak = max(peak, rate)
            if (abs(at) > 3 and rate <= TINY * peak) or abs(at) * step > 120:
                break
            at += way
        if way == 1:
            right = at
        else:
            left = at
    for place in range(probs.size):
        probs[place] = whole[place] * step
    for _ in range(HALVINGS):
        finer[:] = 0
        for at in range(left - 1, right + 1):
            add_leaving_rates(above, level, below, q, math.exp(centre + (at + 0.5) * step), probs, work, finer)
        whole += finer
        step /= 2
        left, right, worst = 2 * left, 2 * right, 0.0
        for place in range(probs.size):
            value = whole[place] * step
            worst = max(worst, abs(value - probs[place]))
            probs[place] = value
        if worst < SAME:
            break
