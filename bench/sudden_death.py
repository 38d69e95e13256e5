"""Sudden Death of ten systems, beside array expressions and beside a loop over users.

    python bench/sudden_death.py [--quick]

Runs and truth are laid out in memory; times are medians of five, in turn, in processor seconds of all threads. The loop
is what a paper's listing comes to, timed on some users and scaled. Writes its section of bench/RESULTS.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

import recassay as ra
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.threads import available
from tools import is_quick, medians, write_section

SYSTEMS, PLACES, RELEVANT, ITEMS = 10, 10, 5, 20_000
USERS, QUICK = 1_000_000, 50_000
LOOPED = 20_000

Lists = list[NDArray[np.int64]]


def made(users: int) -> tuple[Lists, NDArray[np.int64]]:
    """Lists (users, places) of every system and relevant items (users, some); a list hits with chance 1/2 or so."""
    rng = np.random.default_rng(0)
    base = rng.integers(0, ITEMS, size=(users, 1))
    relevant = (base + np.sort(rng.permuted(np.tile(np.arange(60), (users, 1)), axis=1)[:, :RELEVANT], axis=1)) % ITEMS
    steps = np.arange(PLACES)
    lists = [(base + rng.integers(0, 50, size=(users, 1)) + steps * rng.integers(1, 7, size=(users, 1))) % ITEMS
             for _ in range(SYSTEMS)]  # fmt: skip
    return lists, relevant


def laid_out(lists: Lists, relevant: NDArray[np.int64]) -> tuple[list[Run], Truth]:
    """As recassay holds them."""
    users = np.arange(relevant.shape[0])

    def rows(items: NDArray[np.int64]) -> pl.DataFrame:
        return pl.DataFrame({"user_id": np.repeat(users, items.shape[1]), "item_id": items.ravel()})

    runs = [Run.from_frame(rows(items), f"system {number}") for number, items in enumerate(lists)]
    return runs, Truth.from_frame(rows(relevant))


def by_arrays(lists: Lists, relevant: NDArray[np.int64]) -> list[float]:
    """The same in array expressions, all users at once."""
    first = []
    for items in lists:
        hit = np.zeros(items.shape, np.bool_)
        for column in relevant.T:
            hit |= items == column[:, None]
        first.append(np.where(hit.any(axis=1), hit.argmax(axis=1), PLACES))
    best = np.min(first, axis=0)
    return [float(np.mean((own == best) & (best < PLACES))) for own in first]


def by_loop(lists: Lists, relevant: NDArray[np.int64]) -> list[float]:
    """The listing: for every user go down all lists at once until somebody hits."""
    won = [0] * len(lists)
    sets = [set(row) for row in relevant.tolist()]
    rows = [items.tolist() for items in lists]
    for user, wanted in enumerate(sets):
        for place in range(PLACES):
            hits = [system for system, items in enumerate(rows) if items[user][place] in wanted]
            if hits:
                for system in hits:
                    won[system] += 1
                break
    return [count / len(sets) for count in won]


def main() -> None:
    quick = is_quick(__doc__)
    users = QUICK if quick else USERS
    lists, relevant = made(users)
    runs, truth = laid_out(lists, relevant)

    def scores(**options: object) -> list[float]:
        contest = ra.sudden_death(runs, truth, at=PLACES, **options)  # type: ignore[arg-type]
        return contest.summary()["sudden_death"].to_list()

    wanted = by_arrays(lists, relevant)
    assert np.allclose(scores(interval=None), wanted)
    some = [items[:LOOPED] for items in lists]
    assert np.allclose(by_loop(some, relevant[:LOOPED]), by_arrays(some, relevant[:LOOPED]))
    ways: dict[str, Callable[[], object]] = {
        "recassay: scores, outright and shared wins, 1-call, counts": lambda: scores(interval=None),
        "recassay: the same with intervals": scores,
        "recassay: the same with intervals, on one thread": lambda: scores(threads=1),
        "array expressions (NumPy): scores alone": lambda: by_arrays(lists, relevant),
    }
    seconds = medians(ways)
    begin = time.perf_counter()
    by_loop(some, relevant[:LOOPED])
    seconds["a loop over users (scaled)"] = (time.perf_counter() - begin) * users / LOOPED
    fastest = next(iter(seconds.values()))
    text = "\n".join(
        [
            "## Sudden Death",
            "",
            f"`python bench/sudden_death.py`: {SYSTEMS} systems, {users:,} users, lists of {PLACES}, {RELEVANT} "
            f"relevant items a user, {available()} threads; runs and truth in memory, all cut-offs from 1 to {PLACES} "
            "decided in one pass.",
            "",
            "| | processor s | |",
            "| --- | --- | --- |",
            *(f"| {name} | {took:.2f} | {took / fastest:.1f} x |" for name, took in seconds.items()),
        ]
    )
    print(text)
    if not quick:
        write_section("Sudden Death", text)


if __name__ == "__main__":
    main()
