"""Bounds that hold at every event: how often they are wrong on streams without a difference, and what they cost.

    python bench/anytime.py [--quick]

False alarms: the share of null streams on which, at any event, the bounds leave out 0; beside it the share on which an
ordinary test that is looked at after every event falls below the same level, and on which any window of 500 events of a
signed McNemar curve claims something. Cost: after how many events the bounds have left out 0, beside how many a test
needs that is done once. Writes its section of bench/RESULTS.md.
"""

from __future__ import annotations

import math
import time

import numpy as np
from scipy.special import ndtr, ndtri

from recassay.comparison.over_time.windows import signed_mcnemar, windows
from recassay.rng import derive
from recassay.stats.anytime import anytime_bounds
from recassay.stats.significance import mcnemar_p
from tools import is_quick, write_section

TITLE = "Bounds that hold at every event"
ALPHA, EVENTS, WINDOW = 0.05, 5_000, 500
STREAMS, LOOKED, RUNS = 10_000, 1_000, 200
POWERS = (0.5, 0.8, 0.9)
PAIRS = [(0.035, 0.025), (0.0325, 0.0275), (0.12, 0.10), (0.11, 0.10), (0.16, 0.06)]  # only a right, only b right
TUNED = (100, 500, 2_000)


def coin(rng, n):
    return rng.choice([-1.0, 0.0, 1.0], n, p=[0.15, 0.7, 0.15])


def rare(rng, n):
    return rng.choice([-1.0, 0.0, 1.0], n, p=[0.01, 0.98, 0.01])


def skewed(rng, n):
    return np.where(rng.random(n) < 0.1, 0.9, -0.1)


def restless(rng, n):
    """Mean 0 given the past, and a spread that hangs on how the last ten fell."""
    signs = rng.choice([-1.0, 1.0], n)
    lately = np.convolve(signs, np.ones(10))[: n - 1] > 0
    return signs * np.append(1.0, np.where(lately, 1.0, 0.1))


NULLS = {
    "0 or 1, 30 % of events tell apart": coin,
    "0 or 1, 2 % of events tell apart": rare,
    "skewed": skewed,
    "spread hangs on the past": restless,
}


def false_alarms(null, streams: int) -> tuple[float, float, float | None]:
    """Shares of null streams with an alarm: of the bounds, of a test at every event, of any window."""
    rng, looked = derive(1, "null", null.__name__), min(streams, LOOKED)
    binary = null in (coin, rare)
    behind = windows(window=WINDOW, scored=EVENTS, events=EVENTS).over(np.arange(EVENTS))
    sure = peeked = windowed = 0
    for stream in range(streams):
        d = null(rng, EVENTS)
        sure += _decided(anytime_bounds(d, alpha=ALPHA)).size > 0
        if stream >= looked:
            continue
        peeked += bool((_ordinary(d, binary) < ALPHA).any())
        if binary:
            windowed += bool(signed_mcnemar(np.maximum(d, 0), np.maximum(-d, 0), behind, alpha=ALPHA).claim.any())
    return sure / streams, peeked / looked, windowed / looked if binary else None


def _decided(bounds):
    """The events at which the bounds exclude 0."""
    return np.flatnonzero((bounds.low > 0) | (bounds.high < 0))


def _ordinary(d, binary):
    """p of the test of all events so far, from the tenth on that tells something."""
    if binary:
        only_a, only_b = np.cumsum(d > 0).astype(float), np.cumsum(d < 0).astype(float)
        return np.where(only_a + only_b >= 10, mcnemar_p(only_a, only_b), 1.0)
    n, sums, squares = np.arange(1, d.size + 1), np.cumsum(d), np.cumsum(d**2)
    z = np.abs(sums) / np.sqrt(np.maximum(squares - sums**2 / n, 1e-12))
    return np.where(n >= 30, 2 - 2 * ndtr(z), 1.0)


def events_needed(only_a: float, only_b: float, tuned_for: float, runs: int) -> tuple[list[float], float]:
    """After how many events a share of streams (see POWERS) is decided, and the share decided for the wrong system."""
    rng = derive(2, "effect", str(only_a), str(only_b))
    most = 6 * once(only_a, only_b, 0.9)
    found, wrong = np.full(runs, np.inf), 0
    for run in range(runs):
        d = rng.choice([-1.0, 0.0, 1.0], most, p=[only_b, 1 - only_a - only_b, only_a])
        bounds = anytime_bounds(d, alpha=ALPHA, tuned_for=tuned_for)
        decided = _decided(bounds)
        if decided.size:
            found[run] = decided[0] + 1
            wrong += bounds.mean[decided[0]] < 0
    found.sort()
    return [found[math.ceil(power * runs) - 1] for power in POWERS], wrong / runs


def once(only_a: float, only_b: float, power: float) -> int:
    """Events that one McNemar test at the end needs (Connor 1987)."""
    apart, difference = only_a + only_b, only_a - only_b
    z = ndtri(1 - ALPHA / 2) * math.sqrt(apart) + ndtri(power) * math.sqrt(apart - difference**2)
    return math.ceil((z / difference) ** 2)


def main(quick: bool) -> None:
    streams, runs = (300, 50) if quick else (STREAMS, RUNS)
    begin = time.perf_counter()
    lines = [
        f"## {TITLE}",
        "",
        f"`python bench/anytime.py`: {streams:,} streams of {EVENTS:,} events without a difference, alpha = {ALPHA}. "
        f"Share of them (for the last two columns of the first {min(streams, LOOKED):,}) with an alarm at any event:",
        "",
        "| differences | anytime-valid bounds | a test at every event | any window of 500 (signed McNemar) |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, null in NULLS.items():
        sure, peeked, windowed = false_alarms(null, streams)
        shown = "" if windowed is None else f"{100 * windowed:.1f} %"
        lines.append(f"| {name} | {100 * sure:.2f} % | {100 * peeked:.1f} % | {shown} |")
        print(lines[-1], flush=True)
    lines += [
        "",
        f"Events until 0 is left out in a share of {runs:,} streams, beside what one McNemar test at the end needs for "
        "that power. Tuned for: so many events where one alone is right.",
        "",
        "| only a right | only b right | tuned for | 50 % | 80 % | 90 % | once, 80 % | ratio | decided wrongly |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for only_a, only_b in PAIRS:
        for tuned_for in TUNED:
            needed, wrong = events_needed(only_a, only_b, tuned_for, runs)
            fixed = once(only_a, only_b, 0.8)
            told = " | ".join(f"{one:,.0f}" for one in needed)
            lines.append(
                f"| {100 * only_a:g} % | {100 * only_b:g} % | {tuned_for:,} | {told} | {fixed:,} | "
                f"{needed[1] / fixed:.2f} | {100 * wrong:.1f} % |"
            )
            print(lines[-1], flush=True)
    d = derive(3, "speed").choice([-1.0, 0.0, 1.0], 1_000_000, p=[0.1, 0.8, 0.1])
    anytime_bounds(d[:1000])
    start = time.perf_counter()
    anytime_bounds(d)
    lines += ["", f"Bounds at each of 1,000,000 events take {time.perf_counter() - start:.2f} s."]
    print(lines[-1], f"{time.perf_counter() - begin:.0f} s in all")
    if not quick:
        write_section(TITLE, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main(is_quick(__doc__))
