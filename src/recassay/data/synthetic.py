"""Logs made up on the spot, with a long tail of items, busy and quiet users, and tastes that a recommender can learn.

A user draws a topic from a taste of their own, then an item of that topic by its popularity, and never the same item
twice. Popularity follows the law of Zipf and Mandelbrot: the r-th item weighs 1 / (r + shift) ** exponent.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.errors import UsageError
from recassay.portable import draws
from recassay.portable.elementary import power
from recassay.rng import derive

TOPICS = (
    "action", "animation", "comedy", "crime", "documentary", "drama", "family", "fantasy", "history", "horror",
    "music", "mystery", "romance", "science fiction", "thriller", "western",
)  # fmt: skip
SHIFT = 10.0  # flattens the head of the popularity curve
TASTE = 0.15  # Dirichlet parameter of users' tastes: the smaller, the fewer topics a user cares for
ACTIVITY_SPREAD = 1.0  # standard deviation of the logarithm of a user's activity
WANDERING = 0.1  # share of draws that look at any item of the catalogue alike
START, SPAN = 1_577_836_800, 2 * 365 * 86_400  # the log begins in 2020 and lasts two years, in seconds

Codes = NDArray[np.int64]


def log(*, users: int, items: int, events: int, exponent: float = 1.0, seed: int = 0) -> Interactions:
    """A log of distinct (user, item) events in the order of time; ids count from 1.

    At most half of all pairs can be events. Every user has events, an item may have none.

    >>> made = log(users=50, items=40, events=600, seed=1)
    >>> len(made), made.n_users, made.fingerprint == log(users=50, items=40, events=600, seed=1).fingerprint
    (600, 50, True)
    """
    refuse_crowded(users, items, events)
    wanted = activity(users, items, events, seed)
    who = np.repeat(np.arange(users), wanted)
    what = _distinct_items(wanted, items, exponent, seed)
    when = times_of(who, users, seed)
    order = np.argsort(when, kind="stable")
    frame = {"user_id": who[order] + 1, "item_id": what[order] + 1, "timestamp": when[order]}
    return Interactions.from_frame(pl.DataFrame(frame), origin="generated")


def refuse_crowded(users: int, items: int, events: int) -> None:
    """Raise U102 where so many distinct events cannot be drawn."""
    if not 0 < users <= events <= users * (items // 2):
        raise UsageError(
            "U102",
            f"{events:,} events of {users:,} users and {items:,} items cannot be made",
            hint="ask for at least one event per user, and at most half of the items per user",
        )


def item_features(*, items: int, seed: int = 0) -> pl.DataFrame:
    """The topics of the items of :func:`log` with the same ``items`` and ``seed``: a row per item, genres joined by |.

    >>> item_features(items=40, seed=1).columns
    ['item_id', 'genres']
    """
    owner, topic = _topics(items, seed)
    pairs = pl.DataFrame({"item_id": owner + 1, "genres": pl.Series(TOPICS).gather(topic)}).sort("item_id", "genres")
    return pairs.group_by("item_id", maintain_order=True).agg(pl.col("genres").str.join("|"))


def _topics(items: int, seed: int) -> tuple[Codes, Codes]:
    """Pairs (item, topic): every item has one topic, and about a third of them another."""
    rng = derive(seed, "synthetic", "topics")
    first = rng.integers(len(TOPICS), size=items)
    second = (first + rng.integers(1, len(TOPICS), size=items)) % len(TOPICS)
    has_second = np.flatnonzero(rng.random(items) < 1 / 3)
    return np.append(np.arange(items), has_second), np.append(first, second[has_second])


def activity(users: int, items: int, events: int, seed: int) -> Codes:
    """Events of each user: log-normal, at least 1 (5 where there are enough), at most half of the items."""
    rng = derive(seed, "synthetic", "activity")
    eager = draws.log_normals(rng, ACTIVITY_SPREAD, users)
    most, least = items // 2, min(5, events // users, items // 2)
    wanted = np.full(users, least)
    while (left := events - int(wanted.sum())) > 0:
        share = np.where(wanted < most, eager, 0.0)
        wanted = np.minimum(most, wanted + draws.multinomials(rng, left, share, 1)[0])
    return wanted


def _distinct_items(wanted: Codes, items: int, exponent: float, seed: int) -> Codes:
    """``wanted[u]`` different items for each user, one user after the other, in the order drawn.

    Every round draws for the events still missing and forgets items that a user has already. No user wants more than
    half of the items and later rounds wander more, so the rounds come to an end.
    """
    users, draw = wanted.size, Draw(wanted.size, items, exponent, seed)
    pairs = np.empty(0, np.int64)
    missing, rounds = wanted, 0
    while missing.any():
        who = np.repeat(np.arange(users), missing + missing // 4)
        fresh = who * items + draw(who, wandering=min(1.0, WANDERING * 2**rounds), rounds=rounds)
        pairs = np.append(pairs, fresh)
        _, first = np.unique(pairs, return_index=True)
        pairs = pairs[np.sort(first)]
        pairs = pairs[np.argsort(pairs // items, kind="stable")]
        have = np.bincount(pairs // items, minlength=users)
        place = np.arange(pairs.size) - np.repeat(np.cumsum(have) - have, have)
        pairs = pairs[place < np.repeat(wanted, have)]
        missing, rounds = wanted - np.minimum(have, wanted), rounds + 1
    return pairs % items


class Draw:
    """Draws an item for each of many users: a topic from the user's taste, an item of the topic by popularity."""

    def __init__(self, users: int, items: int, exponent: float, seed: int) -> None:
        self.items, self.seed = items, seed
        rank = derive(seed, "synthetic", "popularity").permutation(items) + 1
        owner, topic = _topics(items, seed)
        order = np.argsort(topic, kind="stable")
        self.owner = owner[order]
        weight = power(rank[self.owner] + SHIFT, -exponent)
        self.reach = np.append(0.0, np.cumsum(weight))  # topics one after the other, items inside them
        self.ends = np.searchsorted(topic[order], np.arange(len(TOPICS) + 1))
        popular = np.diff(self.reach[self.ends])  # a topic of many or popular items is met more often
        taste = draws.gammas(derive(seed, "synthetic", "taste"), TASTE, (users, len(TOPICS))) * popular
        taste += 1e-3 * popular  # a little of everything, so that no row is all zeros
        self.taste = np.cumsum(taste / taste.sum(axis=1, keepdims=True), axis=1)

    def __call__(self, who: Codes, *, wandering: float, rounds: int) -> Codes:
        """An item for each of these users; a share of them wanders over the whole catalogue."""
        rng = derive(self.seed, "synthetic", "items", rounds)
        topic = (self.taste[who, :-1] < rng.random(who.size)[:, None]).sum(axis=1)
        low, high = self.reach[self.ends[topic]], self.reach[self.ends[topic + 1]]
        place = np.searchsorted(self.reach, low + rng.random(who.size) * (high - low), side="right") - 1
        item = self.owner[np.minimum(place, self.owner.size - 1)]
        anywhere = rng.integers(self.items, size=who.size)
        return np.where(rng.random(who.size) < wandering, anywhere, item)


def times_of(who: Codes, users: int, seed: int) -> Codes:
    """Seconds: each user is around for a stretch of the log's time, busy at any moment of it alike."""
    rng = derive(seed, "synthetic", "times")
    stretch = SPAN * rng.random((users, 3)).min(axis=1)  # Beta(1, 3)
    begin = rng.random(users) * (SPAN - stretch)
    seconds: Codes = (begin[who] + rng.random(who.size) * stretch[who]).astype(np.int64)
    return START + seconds
