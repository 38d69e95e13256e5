"""Incremental models against readable twins: what they score, and what a walk shows of every event."""

import math
import pickle
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.columnar import _hashes
from recassay.models.incremental._walk import StreamEvents, StreamQueries, WalkOutput
from recassay.models.incremental.base import initial_factors
from recassay.models.incremental.bprmf import BPRMF
from recassay.models.incremental.item_knn import StreamItemKNN
from recassay.models.incremental.uknn import UKNN
from recassay.rng import derive_seed

from ..examples import examples

ITEMS = 14
streams = st.lists(st.tuples(st.integers(0, 7), st.integers(0, ITEMS - 1)), min_size=1, max_size=60)


class PlainUKNN:
    def __init__(self, model):
        self.k, self.stale, self.had, self.near = model.neighbours, model.stale, {}, {}

    def learn(self, user, item):
        had = self.had.setdefault(user, [])
        if item not in had:
            had.append(item)
        if self.stale:
            self.near[user] = self.nearest(user)

    def nearest(self, user):
        mine = set(self.had.get(user, ()))
        closeness = {v: len(mine & set(items)) ** 2 / len(items) for v, items in self.had.items() if v != user}
        return sorted((v for v in closeness if closeness[v]), key=lambda v: (-closeness[v], v))[: self.k]

    def scores(self, user, known):
        near = sorted(self.near.get(user, ()) if self.stale else self.nearest(user))
        mine = set(self.had.get(user, ()))
        closeness = {v: len(mine & set(self.had[v])) ** 2 / len(self.had[v]) for v in near}
        weight = {v: round(2**38 * math.sqrt(close)) for v, close in closeness.items()}
        scores = [sum(weight[v] for v in near if item in self.had[v]) for item in range(known)]
        return [score / max(1, sum(weight.values())) for score in scores]


class PlainBPRMF:
    """Row by row: factors with the bias at their end; hashes are those of the kernel, what they choose is not."""

    def __init__(self, model):
        self.model, self.had, self.pairs, self.events = model, defaultdict(list), [], 0
        self.met, self.people, self.asked_before = 0, 0, model.learns == "event"
        self.salt = derive_seed(model.seed, "BPRMF") % 2**64
        self.rates = [F(getattr(model, one)) for one in ("rate", "reg_user", "reg_item", "reg_negative", "reg_bias")]
        start = lambda what: initial_factors(model.seed, f"BPRMF {what}", 0, 2048, model.factors, model.deviation)  # noqa: E731
        self.users, self.items = start("user"), np.append(start("item"), np.zeros((2048, 1), F), axis=1)

    def learn(self, user, item):
        self.events += 1
        if item not in self.had[user]:
            self.had[user].append(item)
            self.pairs.append(item)
        self.met, self.people = max(self.met, item + 1), max(self.people, user + 1)
        if not self.asked_before:
            return
        key, had = mixed(self.salt + mixed(self.events)), self.had[user]
        if len(had) == self.met and self.model.learns == "event":
            return
        if self.model.learns == "event":
            for step in range(self.model.iterations):
                self.move(user, item, self.against(key + step, had), "uij")
            return
        self.users[user] = [
            self.model.deviation * _hashes.normal(np.uint64(mixed(key + 2**40 + f))) for f in self.factors
        ]
        for step in range(len(had) if len(had) < self.met else 0):
            liked = had[len(had) * (mixed(key + 2**40 + len(self.factors) + step) >> 32) >> 32]
            self.move(user, liked, self.against(key + step, had), "u")
        if self.model.learns == "user and item":
            self.relearn(item, key + 2**41)

    @property
    def factors(self):
        return range(self.model.factors)

    def train(self):
        """What comes before the first question."""
        self.asked_before, key = True, mixed(self.salt + 2**42)
        for step in range(self.model.iterations * len(self.pairs)):
            lot = mixed(key + step)
            had = self.had[self.people * (lot >> 32) >> 32]
            if had and len(had) < self.met:
                liked = had[len(had) * (mixed(lot + 2**40) >> 32) >> 32]
                self.move(self.people * (lot >> 32) >> 32, liked, self.against(lot, had), "uij")

    def relearn(self, item, key):
        start = [self.model.deviation * _hashes.normal(np.uint64(mixed(key + 2**40 + f))) for f in self.factors]
        self.items[item, :-1] = start
        for step in range(len(self.pairs) // self.met):
            lot = mixed(key + step)
            user = self.people * (lot >> 32) >> 32
            had = self.had[user]
            if item in had and len(had) < self.met:
                self.move(user, item, self.against(lot, had), "i")
            elif item not in had and had:
                self.move(user, had[len(had) * (mixed(lot + 2**40) >> 32) >> 32], item, "j")

    def against(self, key, had):
        """The first draw that is no item of the user's; after 64 of them one from those that are left."""
        pool = self.pairs if self.model.sampling == "frequency" else range(self.met)
        for _ in range(64):
            key = mixed(key)
            item = pool[len(pool) * (key >> 32) >> 32]
            if item not in had:
                return item
        key, left = mixed(key), [item for item in pool if item not in had]
        return left[len(left) * (key >> 32) >> 32]

    def move(self, user, i, j, moved):
        rate, reg_user, reg_item, reg_negative, reg_bias = self.rates
        p, up, down = self.users[user].copy(), self.items[i].copy(), self.items[j].copy()
        margin = up[-1] - down[-1]
        for f in self.factors:
            margin += p[f] * (up[f] - down[f])
        g = F(1 / (1 + math.exp(margin)))
        if "u" in moved:
            self.users[user] = p + rate * (g * (up[:-1] - down[:-1]) - reg_user * p)
        if "i" in moved:
            self.items[i, :-1] = up[:-1] + rate * (g * p - reg_item * up[:-1])
            self.items[i, -1] = up[-1] + rate * (g - reg_bias * up[-1])
        if "j" in moved:
            self.items[j, :-1] = down[:-1] + rate * (-g * p - reg_negative * down[:-1])
            self.items[j, -1] = down[-1] + rate * (-g - reg_bias * down[-1])

    def scores(self, user, known):
        if not self.asked_before:
            self.train()
        scores = self.items[:known, 0] * self.users[user, 0]
        for f in self.factors[1:]:
            scores = scores + self.items[:known, f] * self.users[user, f]
        return (scores + self.items[:known, -1]).tolist()


class PlainItemKNN:
    def __init__(self, model):
        self.recent, self.had, self.owners = model.recent or 10**9, defaultdict(list), defaultdict(set)

    def learn(self, user, item):
        if item not in self.had[user]:
            self.had[user].append(item)
            self.owners[item].add(user)

    def scores(self, user, known):
        scores = [0] * known  # in units of 2^-32
        for mine in self.had[user][-self.recent :]:
            weight = round(2**32 / math.sqrt(len(self.owners[mine])))
            for item in range(known):
                scores[item] += weight * len(self.owners[mine] & self.owners[item]) if item != mine else 0
        sizes = [len(self.owners[item]) or math.inf for item in range(known)]
        return [score / (2**32 * math.sqrt(size)) for score, size in zip(scores, sizes, strict=True)]


def mixed(key):
    return int(_hashes.mix(np.uint64(key % 2**64)))


F = np.float32
TWINS = {UKNN: PlainUKNN, BPRMF: PlainBPRMF, StreamItemKNN: PlainItemKNN}
MODELS = [
    UKNN(neighbours=1),
    UKNN(neighbours=3),
    UKNN(),
    UKNN(neighbours=3, stale=True),
    BPRMF(factors=1, iterations=1, reg_bias=0.1),
    BPRMF(factors=6, iterations=3, rate=0.4, seed=4),
    BPRMF(factors=3, iterations=4, sampling="frequency"),
    BPRMF(factors=3, learns="user"),
    BPRMF(factors=3, learns="user and item", rate=0.5, sampling="frequency"),
    StreamItemKNN(),
    StreamItemKNN(recent=2),
]


def twin(model):
    return TWINS[type(model)](model)


def by_appearance(codes):
    first = {code: number for number, code in enumerate(dict.fromkeys(codes))}
    return np.array([first[code] for code in codes], np.int32)


def stream_of(events):
    users, items = zip(*events, strict=True)
    return by_appearance(users), by_appearance(items)


def stands(scores, item, consumed, known, universe, order):
    """The position of an item among the candidates; items that nobody has met come last."""
    if item >= universe or item in consumed:
        return 0
    line = [*scores[:known], *[-3.0e38] * (universe - known)]
    place = [code for code in range(universe) if code not in consumed]
    return sorted(place, key=lambda code: (-line[code], order[code])).index(item) + 1


@settings(deadline=None, max_examples=examples(60))
@given(st.sampled_from(MODELS), streams, st.integers(1, 20), st.integers(0, 5), st.booleans())
def test_a_walk_shows_what_asking_and_telling_show(model, events, block, late, everything):
    """In blocks of any size, with any delay, with or without items that nobody has met."""
    users, items = stream_of(events)
    order = np.argsort(np.random.default_rng(len(events)).permutation(ITEMS)).astype(np.int32)
    learner, plain, learnt, history = model.start(), twin(model), 0, defaultdict(list)
    for begin in range(0, users.size, block):
        end, expected, rows, pool = min(begin + block, users.size), [], [], []
        for event in range(begin, end):
            until = max(begin, event - late)
            while learnt < until:
                plain.learn(int(users[learnt]), int(items[learnt]))
                learnt += 1
            known = int(items[:until].max(initial=-1)) + 1
            universe = ITEMS if everything else known
            user, item = users[event], items[event]
            expected.append(stands(plain.scores(user, known), item, history[user], known, universe, order))
            rows.append((user, item, until - begin, known, universe, len(pool), len(pool) + len(history[user])))
            pool += history[user]
            history[user].append(item)
        while learnt < end:
            plain.learn(int(users[learnt]), int(items[learnt]))
            learnt += 1
        columns = np.array(rows).T.copy()
        narrow = [column.astype(np.int32) for column in columns[:2]]
        queries = StreamQueries(*narrow, *columns[2:], np.array(pool, np.int32), order)
        shown = WalkOutput.empty(end - begin, end - begin, 0)
        learner.walk(StreamEvents(users[begin:end], items[begin:end], np.ones(end - begin)), queries, shown)
        assert shown.position.tolist() == expected
    for user in range(users.max() + 2):
        assert learner.scores(user).tolist() == plain.scores(user, items.max() + 1)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_many_users_and_many_items(model):
    """Beyond the first room of every array, with more users than a learner keeps at hand, and through checkpoints."""
    draw = np.random.default_rng(5)
    users = by_appearance(draw.integers(0, 1_300, 3_000).tolist())
    items = by_appearance((1_200 * draw.random(3_000) ** 3).astype(int).tolist())
    learner, plain = model.start(), twin(model)
    for begin in range(0, 3_000, 700):
        part = slice(begin, min(begin + 700, 3_000))
        learner = pickle.loads(pickle.dumps(learner))
        learner.learn(users[part], items[part], np.ones(part.stop - begin))
        for user, item in zip(users[part].tolist(), items[part].tolist(), strict=True):
            plain.learn(user, item)
        for user in draw.integers(0, users[: part.stop].max(), 40).tolist():
            assert learner.scores(user).tolist() == plain.scores(user, items[: part.stop].max() + 1)
