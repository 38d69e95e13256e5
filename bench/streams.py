"""Events per second of streams, beside hand-written loops, and what an event costs as a stream goes on.

    python bench/streams.py [--quick]

The stream is generated, of the size of MovieLens 1M's five-star events: 226,310 events of 6,014 users and 3,232 items,
no pair twice, users and items with a long tail. Everything runs on one thread, after a first run that compiles. The
hand-written loops do no more than this one experiment needs: arrays are ready, users and items are known beforehand and
numbered, the metric is one number. All sides are timed in turn, several times, and the shortest time of each counts,
since other work on the machine only adds. FluRS is run if this Python has it (pip install flurs). Writes its section of
bench/RESULTS.md. The hand-written loops of BPRMF and user-kNN are in stream_loops.py.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from numba import njit

import recassay as ra
from recassay.models.incremental import BPRMF, ISGD, UKNN
from recassay.models.incremental.base import recode_by_appearance
from stream_loops import loops
from tools import is_quick, write_section

EVENTS, USERS, ITEMS = 226_310, 6_014, 3_232
AT = 10
RATE, PENALTY = 0.05, 0.1
TIMES = 4
LONG, LONG_USERS, PARTS = 10_000_000, 100_000, 10
NUMPY = 20_000  # events that the loop of NumPy is timed on


def stream(events: int, users: int, items: int, *, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Users and items, numbered from 0: no pair twice, both with a long tail."""
    rng = np.random.default_rng(seed)
    busy, popular = np.arange(1.0, users + 1) ** -0.6, np.arange(1.0, items + 1) ** -0.7
    who = rng.choice(users, 2 * events, p=busy / busy.sum())
    what = rng.choice(items, 2 * events, p=popular / popular.sum())
    first = np.sort(np.unique(who * items + what, return_index=True)[1])[:events]
    return who[first].astype(np.int32), what[first].astype(np.int32)


@njit(nogil=True, fastmath=True)
def by_hand(users, items, n_users, n_items, factors, rate, penalty, at, p, q, listed):
    """ISGD written for this: hits at a cut-off; with ``listed`` the list is made, else the rank is counted."""
    had = np.zeros((n_users, n_items), np.bool_)
    known_user, known_item = np.zeros(n_users, np.bool_), np.zeros(n_items, np.bool_)
    scores, hits, asked = np.empty(n_items, np.float32), 0, 0  # factors of all items lie in rows, one after the other
    top, place = np.empty(at, np.float32), np.empty(at, np.int32)
    for event in range(users.size):
        user, item = users[event], items[event]
        mine = p[user]
        if known_user[user]:
            asked += 1
            scores[:] = 0
            for factor in range(factors):
                weight, line = mine[factor], q[factor]
                for one in range(n_items):
                    scores[one] += weight * line[one]
            for one in range(n_items):
                scores[one] = -abs(np.float32(1) - scores[one])
            own = had[user]
            if listed:
                size = 0
                for one in range(n_items):
                    if own[one] or not known_item[one] or (size == at and scores[one] <= top[at - 1]):
                        continue
                    spot = min(size, at - 1)
                    while spot > 0 and top[spot - 1] < scores[one]:
                        top[spot], place[spot] = top[spot - 1], place[spot - 1]
                        spot -= 1
                    top[spot], place[spot] = scores[one], one
                    size = min(size + 1, at)
                for spot in range(size):
                    hits += place[spot] == item
            elif known_item[item]:
                above, level = np.int32(0), scores[item]
                for one in range(n_items):
                    above += np.int32((scores[one] > level) & known_item[one] & ~own[one])
                hits += above < at
        other = q[:, item]
        product = np.float32(0)
        for factor in range(factors):
            product += mine[factor] * other[factor]
        error = np.float32(1) - product
        for factor in range(factors):
            mine[factor] += rate * (error * other[factor] - penalty * mine[factor])
            other[factor] += rate * (error * mine[factor] - penalty * other[factor])
        had[user, item] = known_user[user] = known_item[item] = True
    return hits / asked


def plain_numpy(users: np.ndarray, items: np.ndarray, p: np.ndarray, q: np.ndarray, events: int) -> float:
    """The same with NumPy, one event at a time, on the first events."""
    had, known_user, known_item = np.zeros((len(p), len(q)), bool), np.zeros(len(p), bool), np.zeros(len(q), bool)
    rate, penalty, hits, asked = np.float32(RATE), np.float32(PENALTY), 0, 0
    for user, item in zip(users[:events].tolist(), items[:events].tolist(), strict=True):
        mine, other = p[user], q[item]
        if known_user[user]:
            asked += 1
            scores = -np.abs(1 - q @ mine)
            scores[had[user] | ~known_item] = -np.inf
            best = np.argpartition(-scores, AT)[:AT]
            hits += bool((best == item).any() and scores[item] > -np.inf)
        error = 1 - mine @ other
        mine += rate * (error * other - penalty * mine)
        other += rate * (error * mine - penalty * other)
        had[user, item] = known_user[user] = known_item[item] = True
    return hits / asked


def factors_of(n: int, factors: int, seed: int) -> np.ndarray:
    return (0.1 * np.random.default_rng(seed).standard_normal((n, factors))).astype(np.float32)


def log_of(users: np.ndarray, items: np.ndarray) -> ra.Interactions:
    return ra.Interactions.from_frame(pl.DataFrame({"user_id": users, "item_id": items}))


def recassay(log: object, model: object, *, lists: bool = False) -> object:
    return ra.play(model, log, ra.protocols.prequential(at=AT, order="row"), metrics=f"recall@{AT}", lists=lists)


def shortest(works: dict[str, Callable[[], object]], times: int) -> dict[str, float]:
    """Seconds of each, the shortest of several rounds in which each has its turn."""
    for work in works.values():
        work()
    seconds = dict.fromkeys(works, np.inf)
    for _ in range(times):
        for name, work in works.items():
            begin = time.perf_counter()
            work()
            seconds[name] = min(seconds[name], time.perf_counter() - begin)
    return seconds


def isgd(factors: int, events: int, times: int) -> dict[str, float]:
    users, items = stream(events, USERS, ITEMS)
    log, n = log_of(users, items), int(users.max()) + 1
    model = ISGD(factors=factors, iterations=1, rate=RATE, reg_user=PENALTY, reg_item=PENALTY)

    def handmade(*, listed: bool) -> Callable[[], object]:
        p, q = factors_of(n, factors, 1), factors_of(ITEMS, factors, 2).T.copy()
        rate, penalty = np.float32(RATE), np.float32(PENALTY)
        return lambda: by_hand(users, items, n, ITEMS, factors, rate, penalty, AT, p.copy(), q.copy(), listed)

    return shortest(
        {
            "by hand, ranks": handmade(listed=False),
            "recassay, ranks": lambda: recassay(log, model),
            "by hand, lists": handmade(listed=True),
            "recassay, lists": lambda: recassay(log, model, lists=True),
        },
        times,
    )


def others_by_ranks(events: int, times: int) -> dict[str, dict[str, float]]:
    """BPRMF of 10 factors and 30 steps an event, and user-kNN of 100 neighbours: seconds by hand and of recassay."""
    users, items = stream(events, USERS, ITEMS)
    log, models = log_of(users, items), {"BPRMF": BPRMF(), "UKNN": UKNN(neighbours=100)}
    by_code = recode_by_appearance(users, USERS)[0], recode_by_appearance(items, ITEMS)[0]
    works = loops(*by_code, *models.values())
    return {
        name: shortest(
            {"by hand, ranks": works[name], "recassay, ranks": lambda model=model: recassay(log, model)}, times
        )
        for name, model in models.items()
    }


def on_first_events(users: np.ndarray, items: np.ndarray) -> dict[str, float]:
    """Events per second of loops in Python, which are too slow for the whole stream."""
    p, q = factors_of(USERS, 10, 1), factors_of(ITEMS, 10, 2)
    begin = time.perf_counter()
    plain_numpy(users, items, p, q, NUMPY)
    found = {"NumPy, one event at a time": NUMPY / (time.perf_counter() - begin)}
    if importlib.util.find_spec("flurs") is not None:
        found["FluRS, matrix factorisation"] = with_flurs(users, items)
    return found


def with_flurs(users: np.ndarray, items: np.ndarray) -> float:
    """FluRS' own loop of test, then learn, on 2,000 events behind 20,000 that it has learnt."""
    from flurs.data.entity import Event, Item, User
    from flurs.recommender import MFRecommender

    model = MFRecommender(k=10)
    model.initialize()
    for user in range(USERS):
        model.register(User(user))
    for item in range(ITEMS):
        model.register(Item(item))
    events = [Event(User(u), Item(i), 1) for u, i in zip(users[:22_000].tolist(), items[:22_000].tolist(), strict=True)]
    for event in events[:20_000]:
        model.update(event)
    candidates = np.arange(ITEMS)
    begin = time.perf_counter()
    for event in events[20_000:]:
        model.recommend(event.user, candidates)
        model.update(event)
    return 2_000 / (time.perf_counter() - begin)


def long_stream(events: int) -> tuple[list[float], list[float]]:
    """Events per second of processor time, and memory in MB, of each tenth of a stream that comes in parts."""
    users, items = stream(events, LONG_USERS, ITEMS, seed=2)
    size = events // PARTS
    marks, memory = [time.process_time()], []

    def parts() -> Iterator[ra.Interactions]:
        for part in range(PARTS):
            yield log_of(users[part * size : (part + 1) * size], items[part * size : (part + 1) * size])
            marks.append(time.process_time())
            memory.append(int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20)

    recassay(parts(), ISGD(iterations=1, rate=RATE, reg_user=PENALTY, reg_item=PENALTY))
    return [size / (b - a) for a, b in pairwise(marks)], memory


def table(found: dict[str, dict[str, float]], events: int, others: dict[str, float]) -> list[str]:
    def row(name: str, of: Callable[[dict[str, float]], str]) -> str:
        return f"| {name} | {' | '.join(of(seconds) for seconds in found.values())} |"

    lines = [f"| events per second | {' | '.join(found)} |", "| --- " + "| ---: " * len(found) + "|"]
    for kind in ("ranks", "lists"):
        hand, ours = f"by hand, {kind}", f"recassay, {kind}"
        for name in (hand, ours):
            lines.append(row(name, lambda one, name=name: f"{events / one[name]:,.0f}" if name in one else ""))
        share = f"recassay of by hand, {kind}"
        lines.append(row(share, lambda one, a=hand, b=ours: f"{one[a] / one[b]:.0%}" if a in one else ""))
    return [*lines, *(f"| {name} | {speed:,.0f} |{'  |' * (len(found) - 1)}" for name, speed in others.items())]


def main() -> None:
    quick = is_quick(__doc__)
    events, long = (40_000, 500_000) if quick else (EVENTS, LONG)
    times = 2 if quick else TIMES
    found = {f"ISGD, {factors} factors": isgd(factors, events, times) for factors in (10, 50)}
    found |= others_by_ranks(events, times)
    others = on_first_events(*stream(EVENTS, USERS, ITEMS))
    speeds, memory = long_stream(long)
    text = [
        "## Streams",
        "",
        f"`python bench/streams.py`: test, then learn, on {events:,} generated events of {USERS:,} users and {ITEMS:,} "
        f"items, recall@{AT}, one thread. Ranks: where the item stands; lists: the {AT} best are made, and by recassay "
        "kept. recassay is timed whole: codes of users and items, protocol, model, clock of every call, metric. BPRMF: "
        "10 factors, 30 steps an event; UKNN: 100 neighbours.",
        "",
        *table(found, events, others),
        "",
        f"A stream of {long:,} events of {LONG_USERS:,} users, {ITEMS:,} items and 10 factors, in {PARTS} parts:",
        "",
        "| part | events per second of processor time | resident MB, the stream itself among them |",
        "| ---: | ---: | ---: |",
        *(f"| {n} | {speed:,.0f} | {mb:,.0f} |" for n, (speed, mb) in enumerate(zip(speeds, memory, strict=True), 1)),
    ]
    print("\n".join(text))
    if not quick:
        write_section("Streams", "\n".join(text))


if __name__ == "__main__":
    main()
