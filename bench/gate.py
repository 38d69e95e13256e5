"""How often the gate passes, fails and is undecided when the truth is known: its level and its power.

    python bench/gate.py [SIMULATIONS]

Each simulation draws users, with values of the baseline and of a candidate that loses, on average, a known part of the
margin: 5 % of the baseline's mean. A loss of exactly the margin may pass in at most 5 % of the simulations. Values are
like hit rates (0 or 1) or like nDCG (many zeros, the rest skewed); ``changed`` is the share of users who get other
lists from the candidate.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
from numpy.typing import NDArray

import recassay as ra
from recassay.comparison.gate import BASELINE, CANDIDATE, Margin, against_baseline
from recassay.results.scores import Summary

Values = NDArray[np.float64]
MARGIN, LEVEL = Margin.of("5%"), 0.95
LOSSES = {"none": 0.0, "half the margin": 0.5, "the margin": 1.0, "twice the margin": 2.0}


def values(kind: str, share: float, users: int, random: np.random.Generator) -> Values:
    """Return values of users that are not 0 with a probability of 40 %, times ``share``."""
    hit = random.random(users) < 0.4 * share
    return hit * (1.0 if kind == "hit" else 1 / np.log2(2 + np.floor(random.pareto(1.2, users).clip(max=8))))


def verdicts(kind: str, users: int, changed: float, loss: float, simulations: int) -> list[float]:
    """Return the share of simulations that pass, are undecided, and fail."""
    words, ids = [], pl.Series(range(users))
    rows = tuple(Summary(system, kind, 0.0, users) for system in (CANDIDATE, BASELINE))
    for number in range(simulations):
        random = np.random.default_rng([users, round(100 * changed), number])
        baseline, other = (values(kind, 1 - part * MARGIN.share / changed, users, random) for part in (0, loss))
        candidate = np.where(random.random(users) < changed, other, baseline)
        columns = {(CANDIDATE, kind): candidate, (BASELINE, kind): baseline}
        scores = ra.Scores(ids, (CANDIDATE, BASELINE), (kind,), columns, rows=rows)
        words.append(against_baseline(scores, kind, MARGIN, LEVEL).verdict)
    return [100 * words.count(word) / simulations for word in ("pass", "undecided", "fail")]


def main() -> None:
    """Print the table."""
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(
        f"{simulations:,} simulations a row; margin {MARGIN} of the baseline's mean, level {LEVEL:.0%}; shares in %\n"
    )
    print(f"{'values':8}{'changed':>8}{'users':>8}  {'true loss':18}{'pass':>8}{'undecided':>11}{'fail':>8}")
    for kind, changed in (("hit", 0.3), ("ndcg", 0.3), ("ndcg", 0.8), ("ndcg", 0.1)):
        for users in (50, 200, 1000, 5000):
            for name, loss in LOSSES.items():
                if loss * MARGIN.share <= changed:
                    passed, undecided, failed = verdicts(kind, users, changed, loss, simulations)
                    print(
                        f"{kind:8}{changed:8.0%}{users:8,}  {name:18}{passed:8.1f}{undecided:11.1f}{failed:8.1f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
