"""A stream made up on the spot whose world changes at known events: what is popular, and what users like."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl

from recassay.data.interactions import Interactions
from recassay.data.synthetic import WANDERING, Codes, Draw, activity, refuse_crowded, times_of
from recassay.errors import UsageError
from recassay.rng import derive_seed


def drifting(
    *, users: int, items: int, events: int, changes: int = 1, exponent: float = 1.0, seed: int = 0
) -> Interactions:
    """Distinct (user, item) events in the order of time; at so many ``changes`` everything is drawn anew.

    Changes are spread evenly: the k-th is at event k * events / (changes + 1), counted from 0 (:func:`changes_of`).
    Between them users and items follow the laws of :func:`~recassay.data.synthetic.log`; at a change items get another
    popularity and other topics, and users other tastes, while who is busy when stays.

    >>> made = drifting(users=50, items=40, events=600, changes=2, seed=1)
    >>> len(made), made.n_users, changes_of(600, 2)
    (600, 50, [200, 400])
    """
    refuse_crowded(users, items, events)
    if changes < 0:
        raise UsageError("U102", f"a stream cannot change {changes} times", hint="changes=1")
    wanted = activity(users, items, events, seed)
    who = np.repeat(np.arange(users), wanted)
    when = times_of(who, users, seed)
    order = np.argsort(when, kind="stable")
    who, when = who[order], when[order]
    what, met = np.empty(events, np.int64), np.empty(0, np.int64)
    for number, (begin, end) in enumerate(pairwise([0, *changes_of(events, changes), events])):
        draw = Draw(users, items, exponent, seed if number == 0 else derive_seed(seed, "synthetic", "change", number))
        what[begin:end] = _new_to_their_users(draw, who[begin:end], met)
        met = np.append(met, who[begin:end] * items + what[begin:end])
    frame = {"user_id": who + 1, "item_id": what + 1, "timestamp": when}
    return Interactions.from_frame(pl.DataFrame(frame), origin="generated")


def changes_of(events: int, changes: int) -> list[int]:
    """The events, counted from 0, at which such a stream changes.

    >>> changes_of(900, 2)
    [300, 600]
    """
    return [events * number // (changes + 1) for number in range(1, changes + 1)]


def _new_to_their_users(draw: Draw, who: Codes, met: Codes) -> Codes:
    """An item for each event, none that its user has met: what was met is drawn again, from ever more items."""
    what, missing, rounds = np.empty(who.size, np.int64), np.arange(who.size), 0
    while missing.size:
        found = draw(who[missing], wandering=min(1.0, WANDERING * 2**rounds), rounds=rounds)
        pairs = who[missing] * draw.items + found
        new = np.zeros(missing.size, np.bool_)
        new[np.unique(pairs, return_index=True)[1]] = True
        new &= ~np.isin(pairs, met)
        what[missing[new]] = found[new]
        met, missing, rounds = np.append(met, pairs[new]), missing[~new], rounds + 1
    return what
