"""Small deterministic inputs on which recommender libraries are known to disagree.

A case holds a cut-off, the truth ``{user: {item: gain}}`` and a run ``{user: [[item, score], ...]}`` in list order.
This module uses the standard library alone, because every peer's own environment imports it.
"""

from __future__ import annotations

import random
from typing import Any

Case = dict[str, Any]
Truth = dict[str, dict[str, int]]
Run = dict[str, list[list[Any]]]

CATALOGUE = [f"i{n:03d}" for n in range(60)]


def cases() -> list[Case]:
    """Every case, in a fixed order."""
    return [
        toy(),
        random_binary(5),
        random_binary(10),
        random_graded(),
        short_lists(),
        ties(),
        duplicates_in_run(),
        missing_users(),
        users_without_relevant(),
    ]


def toy() -> Case:
    """Four users: a full list, one perfect hit, more relevant items than the list is long, and no list at all."""
    return {
        "name": "toy",
        "k": 5,
        "truth": {
            "u1": {"a": 1, "c": 1, "z": 1},
            "u2": {"b": 1},
            "u3": {"a": 1, "c": 1, "q": 1, "r": 1, "s": 1, "t": 1, "v": 1},
            "u4": {"a": 1, "b": 1},
        },
        "run": {
            "u1": _scored(["b", "a", "d", "c", "e"]),
            "u2": _scored(["b", "a", "c", "d", "e"]),
            "u3": _scored(["a", "c", "b"]),
        },
    }


def random_binary(k: int) -> Case:
    """Forty users, lists of ten, one to twelve relevant items each, no ties."""
    rng = random.Random(11)
    truth, run = _random_lists(rng, n_users=40, gains=(1,))
    return {"name": f"random_binary_{k}", "k": k, "truth": truth, "run": run}


def random_graded() -> Case:
    """Gains from 0 (judged, not relevant) to 3; every user keeps at least one relevant item."""
    rng = random.Random(12)
    truth, run = _random_lists(rng, n_users=30, gains=(0, 0, 1, 2, 3))
    for judged in truth.values():
        judged[next(iter(judged))] = 2
    return {"name": "random_graded", "k": 10, "truth": truth, "run": run}


def short_lists() -> Case:
    """Lists of one to seven items judged at ten."""
    rng = random.Random(13)
    truth, run = _random_lists(rng, n_users=20, gains=(1,))
    return {"name": "short_lists", "k": 10, "truth": truth, "run": {u: r[: rng.randint(1, 7)] for u, r in run.items()}}


def ties() -> Case:
    """Scores take three values, so most places in a list are tied; list order is neither ascending nor descending."""
    rng = random.Random(14)
    truth, run = _random_lists(rng, n_users=20, gains=(1,))
    for ranked in run.values():
        levels = sorted((rng.choice([3.0, 2.0, 1.0]) for _ in ranked), reverse=True)
        for row, level in zip(ranked, levels, strict=True):
            row[1] = level
    return {"name": "ties", "k": 5, "truth": truth, "run": run}


def duplicates_in_run() -> Case:
    """Half of the lists repeat an item of theirs further down, with the lower score of that place."""
    rng = random.Random(15)
    truth, run = _random_lists(rng, n_users=20, gains=(1,))
    for place, (user, ranked) in enumerate(run.items()):
        if place % 2 == 0:
            first, second = sorted(rng.sample(range(10), 2))
            relevant = rng.choice(sorted(truth[user]))
            ranked[first][0] = ranked[second][0] = relevant if place % 4 == 0 else ranked[first][0]
    return {"name": "duplicates_in_run", "k": 10, "truth": truth, "run": run}


def missing_users() -> Case:
    """Five users with truth have no list; three users with a list have no truth."""
    rng = random.Random(16)
    truth, run = _random_lists(rng, n_users=20, gains=(1,))
    users = sorted(truth)
    for user in users[:5]:
        del run[user]
    for user in users[-3:]:
        del truth[user]
    return {"name": "missing_users", "k": 5, "truth": truth, "run": run}


def users_without_relevant() -> Case:
    """Four of twenty users have judgements, and not one of them is relevant."""
    rng = random.Random(17)
    truth, run = _random_lists(rng, n_users=20, gains=(1,))
    for user in sorted(truth)[::5]:
        truth[user] = dict.fromkeys(truth[user], 0)
    return {"name": "users_without_relevant", "k": 5, "truth": truth, "run": run}


def _random_lists(rng: random.Random, *, n_users: int, gains: tuple[int, ...]) -> tuple[Truth, Run]:
    """Truths of 1 to 12 items and lists of 10, from a catalogue where a hit is neither rare nor certain."""
    truth: Truth = {}
    run: Run = {}
    for number in range(n_users):
        user = f"u{number:02d}"
        judged = rng.sample(CATALOGUE, rng.randint(1, 12))
        truth[user] = {item: rng.choice(gains) for item in judged}
        liked = [item for item in judged if rng.random() < 0.6]
        others = [item for item in rng.sample(CATALOGUE, 20) if item not in judged]
        ranked = (liked + others)[:10]
        rng.shuffle(ranked)
        run[user] = _scored(ranked)
    return truth, run


def _scored(ranked: list[str]) -> list[list[Any]]:
    """Distinct falling scores, all positive, so that no library takes an item for one that was not retrieved."""
    return [[item, float(len(ranked) - place)] for place, item in enumerate(ranked)]
