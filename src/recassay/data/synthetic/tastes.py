"""Synthetic logs with a long tail of items, active and inactive users, and tastes that a recommender can learn.

A user draws a topic from their own taste, then an item of that topic by popularity, and never the same item twice.
Popularity follows the Zipf-Mandelbrot law: the r-th item has weight 1 / (r + shift) ** exponent.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.layout import ranges
from recassay.data.interactions import Interactions
from recassay.draws import gammas, multinomials, normals
from recassay.errors import UsageError
from recassay.rng import derive

TOPICS = (
    "action", "animation", "comedy", "crime", "documentary", "drama", "family", "fantasy", "history", "horror",
    "music", "mystery", "romance", "science fiction", "thriller", "western",
)  # fmt: skip
SHIFT = 10.0  # flattens the head of the popularity curve
TASTE = 0.15  # Dirichlet parameter of users' tastes: smaller values give users fewer topics
ACTIVITY_SPREAD = 1.0  # standard deviation of the logarithm of a user's activity
EXPLORATION = 0.1  # share of draws that are uniform over all items
START, SPAN = 1_577_836_800, 2 * 365 * 86_400  # the log begins in 2020 and lasts two years, in seconds

Codes = NDArray[np.int64]


def log(*, users: int, items: int, events: int, exponent: float = 1.0, seed: int = 0) -> Interactions:
    """Return a synthetic log, drawn from tastes of users and popularity of items, in order of time; ids count from 1.

    The larger ``exponent``, the more unequal is the popularity of items. A user has an item at most once, and at most
    half of the items. Every user has events; an item may have none.

    >>> made = log(users=50, items=40, events=600, seed=1)
    >>> len(made), made.n_users, made.fingerprint == log(users=50, items=40, events=600, seed=1).fingerprint
    (600, 50, True)
    """
    check_feasible(users, items, events)
    wanted = events_per_user(users, items, events, seed)
    who = np.repeat(np.arange(users), wanted)
    what = _distinct_items(wanted, items, exponent, seed)
    when = event_times(who, users, seed)
    order = np.argsort(when, kind="stable")
    frame = {"user_id": who[order] + 1, "item_id": what[order] + 1, "timestamp": when[order]}
    return Interactions.from_frame(pl.DataFrame(frame), origin="generated")


def check_feasible(users: int, items: int, events: int) -> None:
    """Raise U102 if ``events`` distinct (user, item) events cannot be drawn."""
    if not 0 < users <= events <= users * (items // 2):
        raise UsageError(
            "U102",
            f"{events:,} events of {users:,} users and {items:,} items are impossible",
            hint="ask for at least one event per user, and at most half of the items per user",
        )


def item_features(*, items: int, seed: int = 0) -> pl.DataFrame:
    """Return a row per item with its topics, joined by |.

    They are the items of :func:`log` with the same ``items`` and ``seed``.

    >>> item_features(items=40, seed=1).columns
    ['item_id', 'genres']
    """
    owner, topic = _topics(items, seed)
    pairs = pl.DataFrame({"item_id": owner + 1, "genres": pl.Series(TOPICS).gather(topic)}).sort("item_id", "genres")
    return pairs.group_by("item_id", maintain_order=True).agg(pl.col("genres").str.join("|"))


def _topics(items: int, seed: int) -> tuple[Codes, Codes]:
    """Return two arrays, the items and the topics of (item, topic) pairs.

    Every item has a topic, and about a third of the items have a second one.
    """
    rng = derive(seed, "synthetic", "topics")
    first = rng.integers(len(TOPICS), size=items)
    second = (first + rng.integers(1, len(TOPICS), size=items)) % len(TOPICS)
    has_second = np.flatnonzero(rng.random(items) < 1 / 3)
    return np.append(np.arange(items), has_second), np.append(first, second[has_second])


def events_per_user(users: int, items: int, events: int, seed: int) -> Codes:
    """Return the number of events of each user: log-normal, at least 1 (5 if possible), at most half of the items."""
    rng = derive(seed, "synthetic", "activity")
    weights = np.exp(ACTIVITY_SPREAD * normals(rng, users))
    most, least = items // 2, min(5, events // users, items // 2)
    wanted = np.full(users, least)
    while (left := events - int(wanted.sum())) > 0:
        share = np.where(wanted < most, weights, 0.0)
        wanted = np.minimum(most, wanted + multinomials(rng, left, share, 1)[0])
    return wanted


def _distinct_items(wanted: Codes, items: int, exponent: float, seed: int) -> Codes:
    """Return ``wanted[u]`` different items for each user u, user by user, in the order drawn.

    Every round draws for the missing events and drops items that a user already has. No user wants more than half of
    the items, and later rounds draw a larger share uniformly from the catalogue, so the loop ends.
    """
    users, draw = wanted.size, ItemSampler(wanted.size, items, exponent, seed)
    pairs = np.empty(0, np.int64)
    missing, rounds = wanted, 0
    while missing.any():
        who = np.repeat(np.arange(users), missing + missing // 4)
        fresh = who * items + draw(who, exploration=min(1.0, EXPLORATION * 2**rounds), rounds=rounds)
        pairs = np.append(pairs, fresh)
        _, first = np.unique(pairs, return_index=True)
        pairs = pairs[np.sort(first)]
        pairs = pairs[np.argsort(pairs // items, kind="stable")]
        have = np.bincount(pairs // items, minlength=users)
        pairs = pairs[ranges(0, have) < np.repeat(wanted, have)]
        missing, rounds = wanted - np.minimum(have, wanted), rounds + 1
    return pairs % items


class ItemSampler:
    """A sampler that draws an item for each of many users: a topic by the user's taste, then a popular item of it."""

    def __init__(self, users: int, items: int, exponent: float, seed: int) -> None:
        self.items, self.seed = items, seed
        rank = derive(seed, "synthetic", "popularity").permutation(items) + 1
        owner, topic = _topics(items, seed)
        order = np.argsort(topic, kind="stable")
        self.owner = owner[order]
        weight = (rank[self.owner] + SHIFT) ** -exponent
        self.reach = np.append(0.0, np.cumsum(weight))  # cumulative weights of all items, topic by topic
        self.ends = np.searchsorted(topic[order], np.arange(len(TOPICS) + 1))
        popular = np.diff(self.reach[self.ends])  # a topic with many or popular items is drawn more often
        taste = gammas(derive(seed, "synthetic", "taste"), TASTE, (users, len(TOPICS))) * popular
        taste += 1e-3 * popular  # avoids rows of zeros
        self.taste = np.cumsum(taste / taste.sum(axis=1, keepdims=True), axis=1)

    def __call__(self, who: Codes, *, exploration: float, rounds: int) -> Codes:
        """Return an item for each user in ``who``; ``rounds`` is the number of the call, which seeds the draws.

        A share ``exploration`` of the items is drawn uniformly from the whole catalogue.
        """
        rng = derive(self.seed, "synthetic", "items", rounds)
        topic = (self.taste[who, :-1] < rng.random(who.size)[:, None]).sum(axis=1)
        low, high = self.reach[self.ends[topic]], self.reach[self.ends[topic + 1]]
        place = np.searchsorted(self.reach, low + rng.random(who.size) * (high - low), side="right") - 1
        item = self.owner[np.minimum(place, self.owner.size - 1)]
        anywhere = rng.integers(self.items, size=who.size)
        return np.where(rng.random(who.size) < exploration, anywhere, item)


def event_times(who: Codes, users: int, seed: int) -> Codes:
    """Return the times of events in seconds: each user is active in one interval of the log, uniformly within it.

    ``who`` is the user of each event.
    """
    rng = derive(seed, "synthetic", "times")
    interval = SPAN * rng.random((users, 3)).min(axis=1)  # Beta(1, 3)
    begin = rng.random(users) * (SPAN - interval)
    seconds: Codes = (begin[who] + rng.random(who.size) * interval[who]).astype(np.int64)
    return START + seconds
