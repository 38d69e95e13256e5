"""A synthetic stream that changes at known events: item popularity, item topics and user tastes are drawn again."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl

from recassay.data.interactions import Interactions
from recassay.data.synthetic.tastes import EXPLORATION, Codes, ItemSampler, check_feasible, event_times, events_per_user
from recassay.errors import UsageError
from recassay.rng import derive_seed


def drifting(
    *, users: int, items: int, events: int, changes: int = 1, exponent: float = 1.0, seed: int = 0
) -> Interactions:
    """Return a log of distinct (user, item) events in order of time, with ``changes`` abrupt changes.

    The larger ``exponent``, the more unequal is the popularity of items. Changes are evenly spaced: the k-th is at
    event k * events / (changes + 1), counted from 0 (:func:`change_points`). Between changes users and items follow the
    distributions of :func:`~recassay.data.synthetic.tastes.log`. At a change item popularity, item topics and user
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


def _draw_new_items(draw: ItemSampler, who: Codes, seen: Codes) -> Codes:
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
