"""Input made to be awkward: items that come again, ties in long lists, ranks in no order, users that one side lacks.

This module uses the standard library alone, because every peer's own environment imports it.
"""

from __future__ import annotations

import random
from typing import Any

CUTOFFS = (1, 5, 20, 100)
ITEMS = [f"d{number:02d}" for number in range(70)] + [f"D{number:02d}" for number in range(35)]
GAINS = (-1, 0, 0, 0, 1, 1, 2, 3)
Row = tuple[str, str, int, float]  # user, item, rank, score


def adversarial(seed: int, users: int = 300) -> dict[str, Any]:
    """A truth ``{user: {item: gain}}``, and rows (user, item, rank, score) in the order of a file."""
    rng = random.Random(f"adversarial {seed}")
    truth: dict[str, dict[str, int]] = {}
    lists: list[list[Row]] = []
    for number in range(users):
        user = f"u{number:03d}"
        if number % 10 != 3:  # others have a list and no truth
            judged = rng.sample(ITEMS, rng.randint(1, 25))
            truth[user] = {item: rng.choice(GAINS if number % 10 else (0, -1)) for item in judged}
        if number % 10 != 7:  # others have a truth and no list
            lists.append(_list(rng, user))
    rows = [row for ranked in lists for row in ranked]
    if seed % 2:  # users stand anywhere in the file, their rows in order
        turns = [number for number, ranked in enumerate(lists) for _ in ranked]
        rng.shuffle(turns)
        each = [iter(ranked) for ranked in lists]
        rows = [next(each[turn]) for turn in turns]
    return {"truth": truth, "rows": rows}


def _list(rng: random.Random, user: str) -> list[Row]:
    """Up to 100 items, of which some come again, each with a rank that says nothing and a score of a few there are."""
    items = rng.sample(ITEMS, rng.choice((1, 2, 10, 15, 16, 17, 40, 100)))
    items += [rng.choice(items) for _ in range(rng.choice((0, 0, 1, len(items) // 3)))]
    rng.shuffle(items)
    levels = rng.choice((1, 2, 5, 20, 10**6))
    scores = [(rng.randrange(levels) - levels // 4) / 8 for _ in items]
    if rng.random() < 0.3:  # ties that only single precision sees
        scores = [score + rng.randrange(3) * 1e-12 for score in scores]
    ranks = rng.sample(range(1, len(items) + 1), len(items))
    return [(user, item, rank, score) for item, rank, score in zip(items, ranks, scores, strict=True)]


def as_dicts(rows: list[Row]) -> dict[str, dict[str, float]]:
    """``{user: {item: score}}`` as a loop over the lines of a file fills it."""
    filled: dict[str, dict[str, float]] = {}
    for user, item, _, score in rows:
        filled.setdefault(user, {})[item] = score
    return filled
