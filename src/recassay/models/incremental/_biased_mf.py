"""Compiled loops of biased factors that learn rating by rating, in double precision.

The step is that of :mod:`recassay.models.base._biased_step`. ``tests/unit/models/incremental/test_biased_mf.py``
compares the loops with a plain one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.models.base._biased_step import predicted, step
from recassay.models.incremental._walk import StreamEvents, StreamQueries, WalkOutput, clock, learned_before, rank_item

Float = NDArray[np.float64]

SUM, COUNT, USERS, ITEMS = range(4)  # positions in BiasedState.totals


class BiasedState(NamedTuple):
    """Parameters learned so far: biases and factors (rows, factors) of users and items.

    ``totals`` are the sum of the ratings, their number, and the numbers of users and items that have been learned.
    """

    totals: Float
    user_bias: Float
    item_bias: Float
    user_factors: Float
    item_factors: Float


@njit(cache=True, nogil=True)
def walk(
    state: BiasedState, rate: float, reg: float, iterations: int,
    events: StreamEvents, queries: StreamQueries, output: WalkOutput,
) -> None:  # fmt: skip
    """Answer every query after learning the events before it, and write the results to ``output``, a row per query.

    The remaining events are learned at the end. ``rate`` is the learning rate, ``reg`` the penalty, and an event makes
    ``iterations`` steps.
    """
    row, learned = np.empty(state.item_bias.size), 0
    for query, until in enumerate(learned_before(events, queries)):
        for event in range(learned, until):
            started = clock(output.clock_buffer)
            learn(events.users[event], events.items[event], events.values[event], state, rate, reg, iterations)
            output.learn_ns[event] = clock(output.clock_buffer) - started
        learned = until
        if query == queries.users.size:
            break
        started = clock(output.clock_buffer)
        for item in range(queries.known[query]):
            row[item] = predict(queries.users[query], item, state)
        rank_item(row, queries, query, output)
        output.answer_ns[query] = clock(output.clock_buffer) - started


@njit(cache=True, nogil=True)
def learn(user: int, item: int, rating: float, state: BiasedState, rate: float, reg: float, iterations: int) -> None:
    """Learn one rating: it enters the mean, and then moves biases and factors ``iterations`` times.

    ``rate`` is the learning rate and ``reg`` the penalty.
    """
    totals = state.totals
    totals[SUM] += rating
    totals[COUNT] += 1
    totals[USERS], totals[ITEMS] = max(totals[USERS], user + 1), max(totals[ITEMS], item + 1)
    mean = totals[SUM] / totals[COUNT]
    for _ in range(iterations):
        step(
            user, item, rating, mean, rate, reg,
            state.user_bias, state.item_bias, state.user_factors, state.item_factors,
        )  # fmt: skip


@njit(cache=True, nogil=True)
def predict(user: int, item: int, state: BiasedState) -> Any:
    """Return the predicted rating; what is not known of a new user or item is left out, NaN if nothing is known."""
    totals = state.totals
    if totals[COUNT] == 0:
        return np.nan
    mean = totals[SUM] / totals[COUNT]
    if user >= totals[USERS]:
        return mean if item >= totals[ITEMS] else mean + state.item_bias[item]
    if item >= totals[ITEMS]:
        return mean + state.user_bias[user]
    return predicted(user, item, mean, state.user_bias, state.item_bias, state.user_factors, state.item_factors)
