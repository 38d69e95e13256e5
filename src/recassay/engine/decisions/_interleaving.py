"""Compiled team-draft interleaving of two lists, and the chances of each click model; no random numbers.

``tests/unit/engine/decisions/test_interleaving.py`` compares the kernels with an enumeration of drafts and clicks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Int32 = NDArray[np.int32]
Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
NONE = -1  # fills the end of a list, and marks a draft that has ended


@njit(nogil=True, cache=True)
def contest(
    a: Int32, b: Int32, relevant_a: Bool, relevant_b: Bool, coins: NDArray[np.uint64], examined: Float, cascade: bool,
    clicked: Float, out: Float,
) -> None:  # fmt: skip
    """Write to ``out`` (users, 2) the probability that list a gets more clicks than list b, and that b gets more.

    It is the mean over drafts; a draft mixes the two lists, which take turns to add an item. ``a`` and ``b`` (users,
    places) are item codes, -1 behind the end of a list, and ``relevant_a`` and ``relevant_b`` mark relevant items.
    ``coins`` (users, or 1 for all users; drafts) has a bit per round: 1 if a chooses first. ``clicked`` has two
    probabilities of a click on an item that is looked at: if it is not relevant, and if it is. With ``cascade`` the
    reader stops at the first click; else ``examined`` is the probability that the reader looks at each place.
    """
    places = a.shape[1]
    shown, team, click = np.empty(places, np.int32), np.empty(places, np.bool_), np.empty(places)
    for user in range(a.shape[0]):
        words = coins[user if coins.shape[0] > 1 else 0]
        wins_a, wins_b = 0.0, 0.0
        for coin in words:
            size = draft(a[user], b[user], relevant_a[user], relevant_b[user], coin, clicked, shown, team, click)
            if cascade:
                more_a, more_b = first_click(team[:size], click[:size])
            else:
                click[:size] *= examined[:size]
                more_a, more_b = more_clicks(team[:size], click[:size])
            wins_a += more_a
            wins_b += more_b
        out[user, 0], out[user, 1] = wins_a / words.size, wins_b / words.size


@njit(nogil=True, cache=True)
def draft(
    a: Int32, b: Int32, relevant_a: Bool, relevant_b: Bool, coin: np.uint64, clicked: Float,
    shown: Int32, team: Bool, click: Float,
) -> int:  # fmt: skip
    """Write the list that a and b draft for one user: items, teams and chances of a click; return its length.

    The list that has placed fewer items chooses its best item that is not placed yet; if both have placed as many, bit
    n // 2 of ``coin`` decides at place n (1: a). If a list has no item left, the other one chooses. ``shown`` receives
    the items, and ``team`` is True for items that a chose. ``click`` receives ``clicked[1]`` for relevant items and
    ``clicked[0]`` for others.
    """
    next_a, next_b, size_a, size_b = 0, 0, 0, 0
    for place in range(shown.size):
        next_a, next_b = skip_shown(a, next_a, shown[:place]), skip_shown(b, next_b, shown[:place])
        if next_a == NONE and next_b == NONE:
            return place
        of_a = size_a < size_b or (size_a == size_b and (coin >> np.uint64(place // 2)) & np.uint64(1) == 1)
        of_a = next_b == NONE or (of_a and next_a != NONE)
        team[place] = of_a
        if of_a:
            shown[place], click[place] = a[next_a], clicked[int(relevant_a[next_a])]
            size_a += 1
        else:
            shown[place], click[place] = b[next_b], clicked[int(relevant_b[next_b])]
            size_b += 1
    return shown.size


@njit(nogil=True, cache=True)
def skip_shown(items: Int32, begin: int, shown: Int32) -> int:
    """Return the position, from ``begin`` on, of the first item that is not ``shown`` yet; -1 at the end of a list."""
    if begin == NONE:
        return NONE
    for position in range(begin, items.size):
        if items[position] < 0:
            return NONE
        known = False
        for other in shown:
            known = known or other == items[position]
        if not known:
            return position
    return NONE


@njit(nogil=True, cache=True)
def first_click(team: Bool, click: Float) -> tuple[float, float]:
    """Return the probabilities that the first click is on an item that a chose, and on one that b chose.

    ``team`` is True for items of a, and ``click`` has the chance of a click on each item if the reader gets that far.
    """
    left, of_a, of_b = 1.0, 0.0, 0.0
    for place in range(click.size):
        if team[place]:
            of_a += left * click[place]
        else:
            of_b += left * click[place]
        left *= 1 - click[place]
    return of_a, of_b


@njit(nogil=True, cache=True)
def more_clicks(team: Bool, click: Float) -> tuple[float, float]:
    """Return the probabilities that a gets more clicks than b, and that b gets more than a.

    Clicks at different places are independent. ``team`` is True for items of a, and ``click`` has the chance of a click
    on each item.
    """
    middle = click.size
    chance = np.zeros(2 * middle + 1)  # of each difference of clicks, from -middle on
    chance[middle] = 1.0
    for place in range(middle):
        moved = chance * click[place]
        chance -= moved
        if team[place]:
            chance[1:] += moved[:-1]
        else:
            chance[:-1] += moved[1:]
    return chance[middle + 1 :].sum(), chance[:middle].sum()
