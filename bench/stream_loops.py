"""Loops written by hand for one experiment on a stream: BPRMF and user-kNN, recall at a cut-off by ranks.

They do no more than that experiment needs: users and items are known beforehand and numbered, and nothing is checked.
Counts of items in common are a table of users by users, which is what a first implementation has. ``bench/streams.py``
times them beside recassay.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, fastmath=True)
def bprmf_by_hand(users, items, steps, rate, penalties, at, p, q, bias):
    """Pairwise ranking: hits at a cut-off. Negatives come from a generator that is good enough for this."""
    n_items, state = q.shape[0], np.uint64(88172645463325252)
    had = np.zeros((p.shape[0], n_items), np.bool_)
    known_user = np.zeros(p.shape[0], np.bool_)
    scores, hits, asked, met = np.empty(n_items, np.float32), 0, 0, 0
    for event in range(users.size):
        user, item = users[event], items[event]
        mine, own = p[user], had[user]
        if known_user[user]:
            asked += 1
            if item < met:
                for one in range(met):
                    score = bias[one]
                    for factor in range(mine.size):
                        score += mine[factor] * q[one, factor]
                    scores[one] = score
                above = 0
                for one in range(met):
                    above += scores[one] > scores[item] and not own[one]
                hits += above < at
        known_user[user] = own[item] = True
        met = max(met, item + 1)
        up = q[item]
        for _ in range(steps if met > 1 else 0):
            for _ in range(1000):
                state ^= state << np.uint64(13)
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                against = state % np.uint64(met)
                if not own[against]:
                    break
            down = q[against]
            margin = bias[item] - bias[against]
            for factor in range(mine.size):
                margin += mine[factor] * (up[factor] - down[factor])
            pull = np.float32(1) / (np.float32(1) + np.exp(margin))
            bias[item] += rate * pull
            bias[against] -= rate * pull
            for factor in range(mine.size):
                a, b, c = mine[factor], up[factor], down[factor]
                mine[factor] = a + rate * (pull * (b - c) - penalties[0] * a)
                up[factor] = b + rate * (pull * a - penalties[1] * b)
                down[factor] = c + rate * (-pull * a - penalties[2] * c)
    return hits / asked


@njit(nogil=True)
def uknn_by_hand(users, items, n_users, n_items, k, at):
    """User-kNN: hits at a cut-off. Items in common are kept in a table of users by users."""
    common = np.zeros((n_users, n_users), np.int16)
    had = np.zeros((n_users, n_items), np.bool_)
    of_user, n_of = np.empty((n_users, n_items), np.int16), np.zeros(n_users, np.int32)
    of_item, n_owners = np.empty((n_items, n_users), np.int16), np.zeros(n_items, np.int32)
    scores, near = np.empty(n_items), np.empty(n_users)
    hits, asked, met = 0, 0, 0
    for event in range(users.size):
        user, item = users[event], items[event]
        if n_of[user]:
            asked += 1
            if item < met:
                for other in range(n_users):
                    near[other] = common[user, other] / np.sqrt(max(n_of[other], 1))
                near[user] = 0
                bar = np.partition(near, n_users - k)[n_users - k] if k < n_users else 0.0
                scores[:met] = 0
                for other in range(n_users):
                    if near[other] >= bar and near[other] > 0:
                        for place in range(n_of[other]):
                            scores[of_user[other, place]] += near[other]
                above = 0
                for one in range(met):
                    above += scores[one] > scores[item] and not had[user, one]
                hits += above < at
        for place in range(n_owners[item]):
            other = of_item[item, place]
            common[user, other] += 1
            common[other, user] += 1
        of_user[user, n_of[user]], of_item[item, n_owners[item]] = item, user
        n_of[user] += 1
        n_owners[item] += 1
        had[user, item] = True
        met = max(met, item + 1)
    return hits / asked


def loops(users, items, bprmf, uknn):  # type: ignore[no-untyped-def]
    """Both loops on a stream of users and items numbered by first appearance, by name."""
    n_users, n_items = int(users.max()) + 1, int(items.max()) + 1
    penalties = np.array([bprmf.reg_user, bprmf.reg_item, bprmf.reg_negative], np.float32)

    def factors(n: int, seed: int) -> np.ndarray:
        return (0.1 * np.random.default_rng(seed).standard_normal((n, bprmf.factors))).astype(np.float32)

    return {
        "BPRMF": lambda: bprmf_by_hand(
            users, items, bprmf.iterations, np.float32(bprmf.rate), penalties, 10,
            factors(n_users, 1), factors(n_items, 2), np.zeros(n_items, np.float32),
        ),
        "UKNN": lambda: uknn_by_hand(users, items, n_users, n_items, uknn.neighbours, 10),
    }  # fmt: skip
