"""Synthetic logs: with tastes that a recommender can learn, with known changes, and with a power law of popularity.

In a log with tastes, a user draws a topic from their own taste, then an item of that topic by popularity, and never the
same item twice. Popularity follows the Zipf-Mandelbrot law: the r-th item has weight 1 / (r + shift) ** exponent. In a
stream that drifts, popularity, topics and tastes are drawn again at known events.

In a log with a power law, who rates which item is random, and the k-th most popular item has c1 + beta (c2 + k)^-alpha
ratings, with beta such that they sum to the wanted number (Bellogin, Castells and Cantador 2017). With alpha = 0 all
items are equally popular.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import polars as pl

from recassay.arrays import Float, Int64
from recassay.columnar.layout import ranges
from recassay.data.interactions import Interactions
from recassay.draws import gammas, multinomials, normals
from recassay.errors import UsageError
from recassay.rng import derive, derive_seed

TOPICS = (
    "action", "animation", "comedy", "crime", "documentary", "drama", "family", "fantasy", "history", "horror",
    "music", "mystery", "romance", "science fiction", "thriller", "western",
)  # fmt: skip
SHIFT = 10.0  # flattens the head of the popularity curve
TASTE = 0.15  # Dirichlet parameter of users' tastes: smaller values give users fewer topics
ACTIVITY_SPREAD = 1.0  # standard deviation of the logarithm of a user's activity
EXPLORATION = 0.1  # share of draws that are uniform over all items
START, SPAN = 1_577_836_800, 2 * 365 * 86_400  # the log begins in 2020 and lasts two years, in seconds


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


def _topics(items: int, seed: int) -> tuple[Int64, Int64]:
    """Return two arrays, the items and the topics of (item, topic) pairs.

    Every item has a topic, and about a third of the items have a second one.
    """
    rng = derive(seed, "synthetic", "topics")
    first = rng.integers(len(TOPICS), size=items)
    second = (first + rng.integers(1, len(TOPICS), size=items)) % len(TOPICS)
    has_second = np.flatnonzero(rng.random(items) < 1 / 3)
    return np.append(np.arange(items), has_second), np.append(first, second[has_second])


def events_per_user(users: int, items: int, events: int, seed: int) -> Int64:
    """Return the number of events of each user: log-normal, at least 1 (5 if possible), at most half of the items."""
    rng = derive(seed, "synthetic", "activity")
    weights = np.exp(ACTIVITY_SPREAD * normals(rng, users))
    most, least = items // 2, min(5, events // users, items // 2)
    wanted = np.full(users, least)
    while (left := events - int(wanted.sum())) > 0:
        share = np.where(wanted < most, weights, 0.0)
        wanted = np.minimum(most, wanted + multinomials(rng, left, share, 1)[0])
    return wanted


def _distinct_items(wanted: Int64, items: int, exponent: float, seed: int) -> Int64:
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

    def __call__(self, who: Int64, *, exploration: float, rounds: int) -> Int64:
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


def event_times(who: Int64, users: int, seed: int) -> Int64:
    """Return the times of events in seconds: each user is active in one interval of the log, uniformly within it.

    ``who`` is the user of each event.
    """
    rng = derive(seed, "synthetic", "times")
    interval = SPAN * rng.random((users, 3)).min(axis=1)  # Beta(1, 3)
    begin = rng.random(users) * (SPAN - interval)
    return np.asarray(START + (begin[who] + rng.random(who.size) * interval[who]).astype(np.int64))


def drifting(
    *, users: int, items: int, events: int, changes: int = 1, exponent: float = 1.0, seed: int = 0
) -> Interactions:
    """Return a log of distinct (user, item) events in order of time, with ``changes`` abrupt changes.

    The larger ``exponent``, the more unequal is the popularity of items. Changes are evenly spaced: the k-th is at
    event k * events / (changes + 1), counted from 0 (:func:`change_points`). Between changes users and items follow the
    distributions of :func:`~recassay.data.synthetic.log`. At a change item popularity, item topics and user
    tastes are drawn again; the activity of users stays the same.

    >>> made = drifting(users=50, items=40, events=600, changes=2, seed=1)
    >>> len(made), made.n_users, change_points(600, 2)
    (600, 50, [200, 400])
    """
    check_feasible(users, items, events)
    if changes < 0:
        raise UsageError("U102", f"changes must be at least 0, got {changes}", hint="changes=1")
    wanted = events_per_user(users, items, events, seed)
    who = np.repeat(np.arange(users), wanted)
    when = event_times(who, users, seed)
    order = np.argsort(when, kind="stable")
    who, when = who[order], when[order]
    what, seen = np.empty(events, np.int64), np.empty(0, np.int64)
    for number, (begin, end) in enumerate(pairwise([0, *change_points(events, changes), events])):
        draw = ItemSampler(
            users, items, exponent, seed if number == 0 else derive_seed(seed, "synthetic", "change", number)
        )
        what[begin:end] = _draw_new_items(draw, who[begin:end], seen)
        seen = np.append(seen, who[begin:end] * items + what[begin:end])
    frame = {"user_id": who + 1, "item_id": what + 1, "timestamp": when}
    return Interactions.from_frame(pl.DataFrame(frame), origin="generated")


def change_points(events: int, changes: int) -> list[int]:
    """Return the events, counted from 0, at which a stream of :func:`drifting` changes.

    >>> change_points(900, 2)
    [300, 600]
    """
    return [events * number // (changes + 1) for number in range(1, changes + 1)]


def _draw_new_items(draw: ItemSampler, who: Int64, seen: Int64) -> Int64:
    """Return for each user in ``who`` an item that the user does not have yet.

    ``draw`` draws the items. ``seen`` holds the existing events, each as user * number of items + item. An item that a
    user has already is drawn again, each round with a larger share of items drawn uniformly from the catalogue.
    """
    what, missing, rounds = np.empty(who.size, np.int64), np.arange(who.size), 0
    while missing.size:
        found = draw(who[missing], exploration=min(1.0, EXPLORATION * 2**rounds), rounds=rounds)
        pairs = who[missing] * draw.items + found
        new = np.zeros(missing.size, np.bool_)
        new[np.unique(pairs, return_index=True)[1]] = True
        new &= ~np.isin(pairs, seen)
        what[missing[new]] = found[new]
        seen, missing, rounds = np.append(seen, pairs[new]), missing[~new], rounds + 1
    return what


# The distribution of ratings in MovieLens 1M, rounded, so that relevance is as rare as in real logs.
VALUES: Mapping[float, float] = {1.0: 0.06, 2.0: 0.11, 3.0: 0.26, 4.0: 0.35, 5.0: 0.22}


def power_law(
    *,
    users: int,
    items: int,
    ratings: int,
    alpha: float = 1.0,
    c1: float = 0.0,
    c2: float = 0.0,
    values: Mapping[float, float] = VALUES,
    seed: int = 0,
) -> Interactions:
    """Return a log of about ``ratings`` ratings, in which item popularity follows a power law and users are random.

    Items have the numbers of ratings of :func:`item_counts`. The users of an item are drawn without replacement; rating
    values are drawn from ``values``, which maps each value to its weight. Logs that differ only in alpha, c1 or c2 draw
    the users of an item in the same order, so an item with more ratings keeps its users and gets more.

    >>> log = power_law(users=50, items=5, ratings=100, alpha=1.4, c1=2, c2=1)
    >>> log.item_events.tolist()
    [39, 23, 16, 12, 10]
    """
    counts = item_counts(users=users, items=items, ratings=ratings, alpha=alpha, c1=c1, c2=c2)
    rng = derive(seed, "power law", users, items, ratings)  # integers only: a fitted c1 may differ in its last bit
    who = np.concatenate([rng.permutation(users)[:count] for count in counts.tolist()])
    what = np.repeat(np.arange(items), counts)
    chance = np.array([*values.values()])
    rating = rng.choice([*values], size=who.size, p=chance / chance.sum())
    return Interactions.from_frame(
        pl.DataFrame({"user_id": who + 1, "item_id": what + 1, "rating": rating}), origin="generated"
    )


def item_counts(*, users: int, items: int, ratings: int, alpha: float, c1: float, c2: float) -> Int64:
    """Return the number of ratings of each item, most popular first, at most one per user.

    The k-th item has ratings in proportion to (c2 + k)^-``alpha``, and ``c1`` more. Fractions are rounded to whole
    numbers by the largest remainder method. Ratings beyond one per user go to the other items in proportion.

    >>> item_counts(users=100, items=5, ratings=100, alpha=2, c1=2, c2=1).tolist()
    [48, 22, 14, 9, 7]
    """
    if items < 1 or not 0 < ratings <= users * items or c1 * items > ratings or c2 <= -1 or c1 < 0:
        raise UsageError(
            "U102",
            f"{ratings:,} ratings of {users:,} users and {items:,} items with c1={c1:g}, c2={c2:g} are impossible",
            hint="at most users x items ratings, c1 x items below them, c2 above -1",
        )
    shape = (c2 + np.arange(1.0, items + 1)) ** -alpha
    wanted = c1 + (ratings - c1 * items) / shape.sum() * shape
    while (over := wanted > users).any():
        excess = float((wanted[over] - users).sum())
        wanted[over] = users
        open_items = wanted < users
        wanted[open_items] *= 1 + excess / wanted[open_items].sum()
        if excess < 1e-9:
            break
    counts = np.floor(wanted + 1e-9).astype(np.int64)
    missing = round(float(wanted.sum())) - int(counts.sum())
    order = np.argsort(-(wanted - counts), kind="stable")
    counts[order[:missing]] += 1
    return np.asarray(counts)


def fit_power_law(log: Interactions, *, steepest: float = 2.0) -> tuple[float, float, float]:
    """Return c1, c2 and alpha of the power law that fits the item counts of a log best.

    The fit is by least squares of the logarithms. The numbers have three digits: more would depend on the machine,
    because the search multiplies matrices.

    alpha is at most ``steepest``. If counts fall faster than any power law, as in many logs, alpha and c2 would grow
    together without bound, and such a c2 makes every smaller alpha flat.

    >>> made = power_law(users=4_000, items=300, ratings=60_000, alpha=1.2, c1=5, c2=10)
    >>> c1, c2, alpha = fit_power_law(made)
    >>> abs(alpha - 1.2) < 0.1
    True
    """
    from scipy.optimize import least_squares  # takes a third of a second to import

    counts = np.sort(log.item_events[log.item_events > 0])[::-1].astype(np.float64)
    rank, total = np.arange(1.0, counts.size + 1), counts.sum()

    def misfit(parameters: Float) -> Float:
        c1, c2, alpha = parameters
        shape = (c2 + rank) ** -alpha
        wanted = c1 + (total - c1 * counts.size) / shape.sum() * shape
        return np.asarray(np.log(np.maximum(wanted, 1e-9)) - np.log(counts))

    most = counts.mean() * 0.999
    found = least_squares(
        misfit, [min(1.0, most / 2), 10.0, steepest / 2], bounds=([0, 0, 0], [most, counts.size * 10.0, steepest])
    )
    c1, c2, alpha = (float(f"{value:.3g}") for value in found.x)
    return c1, c2, alpha
