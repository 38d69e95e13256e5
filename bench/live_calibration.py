"""Calibration of a live evaluation: how often its bounds are wrong for an analyst who looks at every commit.

    python bench/live_calibration.py ROWS.csv [SECONDS]

An experiment is a simulated log of two arms with known truth, read by the watcher in commits of an hour of event time.
At every commit the analyst looks at the bounds, at a z-test of two means, and at the shares of users in the arms. Each
experiment adds a line to ROWS.csv; experiments that are there are not repeated, so an interrupted run resumes. After
SECONDS of processor time (600) no other one begins. The section of bench/RESULTS.md says how many there were.
"""

from __future__ import annotations

import csv
import math
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import scipy

from recassay.live.clock import HOUR
from recassay.live.events import read_table
from recassay.live.settings import WatchSettings
from recassay.live.simulate import EXAMINED, Simulation
from recassay.live.watcher import Watcher
from tools import help_if_asked, write_section

TITLE = "Bounds of a live evaluation"
EXPERIMENTS, METRIC, ALPHA = 1_000, "hit@10", 0.05
SIMULATION = Simulation(days=1.15, per_day=4_000, users=6_000, items=60, effect=0.0, duplicates=0.005, late=0.0)
EFFECTS = (0.0, 0.0, 0.0, 0.0, 0.3)  # one experiment in five has arms that differ
SETTINGS = WatchSettings(metrics=(METRIC,), every=HOUR, user_window=3 * HOUR, alpha=ALPHA)
FIELDS = (
    "experiment", "effect", "looks", "units", "difference", "old", "new", "assignment", "z at a look", "z at the end",
    "chi-square at a look", "chi-square at the end", "decided",
)  # fmt: skip


LINES = {
    "difference": "truth outside the bounds of the difference, at any look",
    "old": "truth outside the bounds of `old`, at any look",
    "new": "truth outside the bounds of `new`, at any look",
    "decided": "the bounds exclude 0, at any look",
    "z at a look": "a z-test of two means is significant, at any look",
    "z at the end": "a z-test of two means is significant, at the last look",
    "assignment": "sample ratio mismatch found, at any look",
    "chi-square at a look": "a chi-square test of the shares is significant, at any look",
    "chi-square at the end": "a chi-square test of the shares is significant, at the last look",
}


def expected(simulation: Simulation) -> np.ndarray:
    """Return the probability of a click on a list of each user (rows: old, new)."""
    levels = simulation.levels()
    both = [simulation.attraction(levels, np.full(levels.size, new), drifted=False) for new in (False, True)]
    return np.stack([1 - np.prod(1 - one[:, None] * EXAMINED, axis=1) for one in both])


def z_test(watcher: Watcher) -> bool:
    """Return whether a two-sided z-test of two means, meant for one look, finds a difference now."""
    moments = []
    for arm in ("old", "new"):
        sums = watcher.tally.unit_sums.select(arm=arm)
        n = int(sums.counts[0, 0])
        if n < 2:
            return False
        mean = float(sums.total(0, 0)) / n
        moments.append((mean, (float(sums.squares(0, 0)) / n - mean * mean) / (n - 1)))
    (a, va), (b, vb) = moments
    return va + vb > 0 and (a - b) ** 2 / (va + vb) > 1.959964**2


def chi_square(counts: dict[str, int]) -> bool:
    """Return whether the chi-square test of equal shares, meant for one look, finds a mismatch now."""
    old, new = (counts.get(arm, 0) for arm in ("old", "new"))
    return old + new > 0 and float(scipy.special.chdtrc(1, (old - new) ** 2 / (old + new))) < ALPHA


def truth(watcher: Watcher, known: np.ndarray) -> tuple[float, dict[str, float]]:
    """Return the expected difference, new minus old, of the users counted so far, and the expected mean of each arm."""
    users, at = watcher.tally.users, watcher.tally.evidence_at
    ids = pl.concat(users.ids).str.strip_prefix("user").cast(pl.Int64).to_numpy()
    done = users.first[: users.size] + users.span < at
    own, arms = ids[done], users.arm[: users.size][done]
    means = {}
    for row, name in enumerate(("old", "new")):
        mine = own[arms == watcher.tally.arms.index(name)] if name in watcher.tally.arms else own[:0]
        means[name] = float(known[row, mine].mean()) if mine.size else math.nan
    return float((known[1, own] - known[0, own]).mean()), means


def experiment(number: int) -> dict[str, object]:
    """Run one experiment and return its row; the entries of ``FIELDS`` from difference on are 0 or 1."""
    simulation = replace(SIMULATION, seed=number, effect=EFFECTS[number % len(EFFECTS)])
    known, watcher = expected(simulation), Watcher(SETTINGS)
    row = dict.fromkeys(FIELDS, 0) | {"experiment": number, "effect": simulation.effect}
    for batch in simulation.batches():
        now = round(batch["time"].max() * 1e6)
        watcher.take("simulation", read_table(batch), now)
        watcher.step(now)
        watcher.commit()
        evidence = watcher.tally.evidence
        found = evidence.difference("new", "old", METRIC)
        if not found.n:
            continue
        difference, means = truth(watcher, known)
        row["looks"], row["units"] = row["looks"] + 1, found.n
        row["difference"] |= not found.low <= difference <= found.high
        row["decided"] |= not found.low <= 0 <= found.high
        for arm, mean in means.items():
            bounds = evidence.mean(arm, METRIC)
            row[arm] |= bounds.n > 0 and not bounds.low <= mean <= bounds.high
        row["assignment"] |= evidence.mismatch_p < ALPHA
        row["z at the end"], row["chi-square at the end"] = z_test(watcher), chi_square(evidence.assigned)
        row["z at a look"] |= row["z at the end"]
        row["chi-square at a look"] |= row["chi-square at the end"]
    watcher.close()
    return {name: int(value) if isinstance(value, bool) else value for name, value in row.items()}


def run(path: Path, seconds: float) -> list[dict[str, str]]:
    """Run the experiments that the file lacks, as long as there is time; return all its rows."""
    done = {int(row["experiment"]) for row in csv.DictReader(path.open())} if path.exists() else set()
    with path.open("a", newline="") as handle:
        writer = csv.DictWriter(handle, FIELDS)
        if not done:
            writer.writeheader()
        for number in range(EXPERIMENTS):
            if number in done:
                continue
            if time.process_time() > seconds:
                break
            writer.writerow(experiment(number))
            handle.flush()
    return list(csv.DictReader(path.open()))


def table(rows: list[dict[str, str]]) -> str:
    """Return the section of bench/RESULTS.md."""
    null = [row for row in rows if float(row["effect"]) == 0]
    real = [row for row in rows if float(row["effect"]) > 0]

    def share(some: list[dict[str, str]], name: str) -> str:
        wrong = sum(int(row[name]) for row in some)
        return f"{100 * wrong / len(some):.1f} % ({wrong} of {len(some):,})" if some else "-"

    looks, units = (np.mean([int(row[name]) for row in rows]) for name in ("looks", "units"))
    body = "\n".join(f"| {what} | {share(null, name)} | {share(real, name)} |" for name, what in LINES.items())
    return f"""## {TITLE}

{len(rows):,} simulated experiments of two arms ({METRIC}, {units:,.0f} users on average), read by the watcher in
commits of an hour. An analyst looks at every commit, {looks:.0f} times on average. The level is {ALPHA}. Users are
assigned correctly in all experiments. The arms are equal in {len(null):,} experiments. In {len(real):,} the lists of
`new` attract 30 % more clicks.

| share of experiments | arms are equal | arms differ |
| --- | ---: | ---: |
{body}

Made by `python bench/live_calibration.py ROWS.csv`.
"""


if __name__ == "__main__":
    help_if_asked(__doc__)
    made = run(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 600.0)
    print(table(made))
    write_section(TITLE, table(made))
