"""Is ``--within`` honest? A thousand runs on known populations: is the truth inside, and how many users did it take?

    python bench/until.py [--quick]

Users are drawn until every mean should be known give or take a width. Beside them: an ordinary 95 % interval that is
looked at as often, and the users that an interval for a number fixed beforehand would take. Writes its section of
bench/RESULTS.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from recassay.engine.lists.until import SampleBounds, proportional_shares
from recassay.rng import derive
from tools import is_quick, write_section

USERS, FIRST, GROWTH, ALPHA, NORMAL = 100_000, 1_000, 1.25, 0.05, 1.959964
WIDTHS = (0.02, 0.01, 0.005, 0.002)

Parts = list[np.ndarray]


def populations() -> dict[str, Parts]:
    """Values of everyone, by stratum."""
    rng = derive(1, "until")
    rare = (rng.random(USERS) < 0.1).astype(float)
    skewed = rng.beta(0.3, 2.0, USERS)
    groups = [rng.beta(0.5, 9.0, USERS // 2), rng.beta(5.0, 5.0, USERS // 2)]
    return {
        "hits, mean 0.1": [rare],
        "skewed values": [skewed],
        "two groups": [np.concatenate(groups)],
        "the same, two strata": groups,
    }


def ordinary(seen: np.ndarray, everyone: int) -> tuple[float, float]:
    """The textbook interval of a sample without replacement."""
    error = NORMAL * math.sqrt(seen.var() / seen.size * (1 - seen.size / everyone))
    return float(seen.mean()) - error, float(seen.mean()) + error


def one(parts: Parts, width: float, seed: int) -> tuple[bool, bool, int]:
    """Whether the truth was ever outside of our bounds, or of ordinary ones at the same looks; and users drawn."""
    rng = derive(seed, "order")
    parts = [rng.permutation(part) for part in parts]
    sizes = np.array([part.size for part in parts])
    truth = float(np.concatenate(parts).mean())
    bounds, drawn, missed, fooled = SampleBounds(sizes, width, ALPHA), 0, False, False
    while drawn < USERS and (bounds.high - bounds.low) / 2 > width:
        begins, drawn = proportional_shares(sizes, drawn), min(USERS, max(FIRST, math.ceil(GROWTH * drawn)))
        ends = proportional_shares(sizes, drawn)
        bounds.add([part[begin:end] for part, begin, end in zip(parts, begins, ends, strict=True)])
        missed |= not bounds.low <= truth <= bounds.high
        low, high = ordinary(np.concatenate([part[:end] for part, end in zip(parts, ends, strict=True)]), USERS)
        fooled |= not low <= truth <= high
    return missed and drawn < USERS, fooled, drawn


def fixed(parts: Parts, width: float) -> float:
    """Users of an ordinary interval of this width, had the variance been known: plain random ones."""
    whole = NORMAL**2 * np.concatenate(parts).var() / width**2
    return whole / (1 + whole / USERS)


def table(runs: int, said: Callable[[str], None]) -> list[str]:
    lines = ["| values | width | users drawn | fixed beforehand | ever outside | ordinary interval ever outside |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, parts in populations().items():
        for width in WIDTHS:
            found = [one(parts, width, seed) for seed in range(runs)]
            missed, fooled = (sum(each[place] for each in found) / runs for place in (0, 1))
            drawn = np.mean([each[2] for each in found])
            lines.append(
                f"| {name} | {width} | {drawn:,.0f} | {fixed(parts, width):,.0f} | {missed:.1%} | {fooled:.1%} |"
            )
            said(lines[-1])
    return lines


def main() -> None:
    quick = is_quick(__doc__)
    runs = 100 if quick else 1_000
    lines = table(runs, print)
    text = f"""## Until the means are known

`python bench/until.py`: {USERS:,} users, {runs:,} runs a row, a first look at {FIRST:,} users and others after each
quarter more. The bounds may be outside at any look in 5 % of the runs.

""" + "\n".join(lines)
    if not quick:
        write_section("Until the means are known", text)


if __name__ == "__main__":
    main()
