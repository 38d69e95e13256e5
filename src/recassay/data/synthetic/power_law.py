"""Logs whose item popularity follows a shifted power law; who rates which item is random.

The k-th most popular item has c1 + beta (c2 + k)^-alpha ratings, with beta such that they sum to the wanted number
(Bellogin, Castells and Cantador 2017). With alpha = 0 all items are equally popular.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.errors import UsageError
from recassay.rng import derive

Counts = NDArray[np.int64]

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


def item_counts(*, users: int, items: int, ratings: int, alpha: float, c1: float, c2: float) -> Counts:
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
    whole: Counts = counts
    return whole


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

    def misfit(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        c1, c2, alpha = parameters
        shape = (c2 + rank) ** -alpha
        wanted = c1 + (total - c1 * counts.size) / shape.sum() * shape
        gap: NDArray[np.float64] = np.log(np.maximum(wanted, 1e-9)) - np.log(counts)
        return gap

    most = counts.mean() * 0.999
    found = least_squares(
        misfit, [min(1.0, most / 2), 10.0, steepest / 2], bounds=([0, 0, 0], [most, counts.size * 10.0, steepest])
    )
    c1, c2, alpha = (float(f"{value:.3g}") for value in found.x)
    return c1, c2, alpha
