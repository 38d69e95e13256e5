"""Re-ranking 100 candidates to 20 for 100,000 users with 18 features, beside NumPy a user at a time and a peer.

    python bench/rerank.py [--quick]

Lists, features and a log of forty items a user are generated. Everything is timed: reading features and log into place,
mining subprofiles, picking, and the new run. Plain NumPy and pyversity (MMR of embeddings, if it is installed) are
measured on some of the users and scaled; the picks of all three are compared there. Writes its section of
bench/RESULTS.md.
"""

from __future__ import annotations

import importlib
import os
import statistics
import time
from collections.abc import Callable

import numpy as np
import polars as pl

import recassay as ra
from recassay.data.subprofiles import nearest
from recassay.threads import available
from tools import is_quick, write_section

USERS, QUICK_USERS, ITEMS, CANDIDATES, PLACES, FEATURES, PROFILE, SAMPLE = 100_000, 5_000, 5_000, 100, 20, 18, 40, 200
METHODS = {
    "MMR": "MMR(weight=0.5)",
    "xQuAD": "xQuAD(weight=0.5)",
    "SPAD": "SPAD(weight=0.5)",
}
AS_PEER = ra.models.MMR(weight=0.5, distance="cosine", norm="none")


def made(users: int) -> tuple[ra.Run, ra.Features, ra.Interactions, np.ndarray]:
    """Lists of scores that fall, two features an item on average, and a log with long tails."""
    rng = np.random.default_rng(0)
    items = np.concatenate([rng.permutation(ITEMS)[:CANDIDATES] for _ in range(users)])
    scores = -np.sort(-rng.random((users, CANDIDATES)), axis=1).ravel()
    owner = np.repeat(np.arange(users), CANDIDATES)
    run = ra.read_run(pl.DataFrame({"user_id": owner, "item_id": items, "score": scores}), "baseline")
    has = rng.random((ITEMS, FEATURES)) < 1 / FEATURES
    has[np.arange(ITEMS), rng.integers(0, FEATURES, ITEMS)] = True
    names = [[f"genre {code:02}" for code in np.flatnonzero(row)] for row in has]
    features = ra.read_items(pl.DataFrame({"item_id": np.arange(ITEMS), "genres": names}))
    reach = np.cumsum((np.arange(ITEMS) + 10.0) ** -0.9)
    had = np.searchsorted(reach, rng.random(users * PROFILE) * reach[-1])
    log = pl.DataFrame({"user_id": np.repeat(np.arange(users), PROFILE), "item_id": had}).unique(maintain_order=True)
    return run, features, ra.read_interactions(log), has


def ours(method: str, run: ra.Run, features: ra.Features, log: ra.Interactions) -> tuple[float, float]:
    """Seconds of one pass over everybody, and seconds of processors."""
    fresh = ra.Interactions(log.users, log.items, log.user_vocabulary, log.item_vocabulary)  # nothing is remembered
    begin, busy = time.perf_counter(), time.process_time()
    ra.rerank(run, method, items=features, train=fresh)
    return time.perf_counter() - begin, time.process_time() - busy


def median(method: str, run: ra.Run, features: ra.Features, log: ra.Interactions) -> tuple[float, float]:
    """Of five warm passes."""
    ours(method, run, features, log)
    passes = [ours(method, run, features, log) for _ in range(5)]
    return statistics.median(one for one, _ in passes), statistics.median(busy for _, busy in passes)


def z(values: np.ndarray) -> np.ndarray:
    """Mean 0 and sample standard deviation 1; 0 where all are equal."""
    spread = values.std(ddof=1) if values.size > 1 and np.ptp(values) > 0 else 0.0
    return (values - values.mean()) / spread if spread else np.zeros(values.size)


def greedy(scores: np.ndarray, diversity: Callable[[np.ndarray], np.ndarray], met: Callable[[int], None]) -> list[int]:
    """Places of the picks of one list, in NumPy."""
    left, picks = np.arange(scores.size), []
    while len(picks) < PLACES:
        best = int(np.argmax(0.5 * z(scores[left]) + 0.5 * z(diversity(left))))
        picks.append(int(left[best]))
        met(picks[-1])
        left = np.delete(left, best)
    return picks


def numpy_mmr(has: np.ndarray, scores: np.ndarray) -> list[int]:
    """MMR of one list: all distances at once, then the least of those to what was picked."""
    shared = has @ has.T
    sizes = has.sum(axis=1)
    away = 1 - shared / (sizes[:, None] + sizes - shared)
    near = np.zeros(scores.size)

    def met(pick: int) -> None:
        nonlocal near
        near = away[pick] if not near.any() else np.minimum(near, away[pick])

    return greedy(scores, lambda left: near[left], met)


def numpy_aspects(has: np.ndarray, scores: np.ndarray, prior: np.ndarray) -> list[int]:
    """xQuAD and SPAD of one list, from a table of candidates by aspects."""
    whole = has.T @ scores
    chance = has * scores[:, None] / np.where(whole > 0, whole, 1)
    unserved = prior.copy()

    def met(pick: int) -> None:
        nonlocal unserved
        unserved = unserved * (1 - chance[pick])

    return greedy(scores, lambda left: chance[left] @ unserved, met)


def mined(profile: np.ndarray, near: list[set[int]]) -> list[list[int]]:
    """Subprofiles of one user, with sets of Python."""
    around = {frozenset({item} | {other for other in profile if item in near[other]}) for item in profile}
    kept = [one for one in around if not any(one < other for other in around)]
    return sorted(map(sorted, kept), key=lambda one: (-len(one), one))


def by_numpy(name: str, run: ra.Run, log: ra.Interactions, has: np.ndarray) -> tuple[float, list[list[int]]]:
    """Seconds a user without what is done once, and the items that were picked."""
    offsets, profile = log.by_user
    near = [set(row[row >= 0].tolist()) for row in nearest(log, 10)] if name == "SPAD" else []
    table, picked, begin = has.astype(float), [], time.perf_counter()
    for user in range(SAMPLE):
        items, scores = (one[user * CANDIDATES : (user + 1) * CANDIDATES] for one in (run.items, run.scores))
        mine = profile[offsets[user] : offsets[user + 1]]
        if name == "MMR":
            picks = numpy_mmr(table[items], scores)
        elif name == "xQuAD":
            counts = table[log.item_vocabulary.ids.to_numpy()[mine]].sum(axis=0)
            picks = numpy_aspects(table[items], scores, counts / counts.sum())
        else:
            picks = subprofile_picks(mine.tolist(), near, log, items, scores)
        picked.append(items[picks].tolist())
    return (time.perf_counter() - begin) / SAMPLE, picked


def subprofile_picks(
    mine: list[int], near: list[set[int]], log: ra.Interactions, items: np.ndarray, scores: np.ndarray
) -> list[int]:
    """SPAD of one list, mining included."""
    ids = log.item_vocabulary.ids.to_numpy()
    sets = mined(mine, near)
    close = [np.isin(items, ids[sorted(set().union(*(near[item] for item in one)))]) for one in sets]
    sizes = np.array([len(one) for one in sets], float)
    return numpy_aspects(np.array(close, float).T, scores, sizes / sizes.sum())


def by_peer(run: ra.Run, has: np.ndarray) -> tuple[float, list[list[int]], str] | None:
    """The same of pyversity, if it is there."""
    try:
        peer = importlib.import_module("pyversity")
    except ModuleNotFoundError:
        return None
    table, picked, begin = has.astype(np.float32), [], time.perf_counter()
    for user in range(SAMPLE):
        items, scores = (one[user * CANDIDATES : (user + 1) * CANDIDATES] for one in (run.items, run.scores))
        found = peer.diversify(table[items], scores, PLACES, strategy=peer.Strategy.MMR, diversity=0.5)
        picked.append(items[found.indices].tolist())
    return (time.perf_counter() - begin) / SAMPLE, picked, importlib.import_module("pyversity.version").__version__


def alike(found: ra.Run, picked: list[list[int]]) -> str:
    """In how many of the lists the picks are the same."""
    mine = found.items.reshape(-1, CANDIDATES)[: len(picked), :PLACES].tolist()
    return f"{sum(one == other for one, other in zip(mine, picked, strict=True))} of {len(picked)}"


def main(users: int) -> None:
    """Measure and write."""
    run, features, log, has = made(users)
    lines = [
        f"Written by `python bench/rerank.py`. {users:,} users, {CANDIDATES} candidates re-ranked to {PLACES} places, "
        f"{ITEMS:,} items with {FEATURES} features, {len(log):,} events. Medians of 5 warm passes of everything; "
        f"{available()} threads. NumPy goes a user at a time, measured on {SAMPLE} users; what is done once for all "
        "users (neighbours) is left out for it.",
        "",
        "| method | seconds | users a second | seconds of processors | plain NumPy | times | same picks |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, method in METHODS.items():
        seconds, busy = median(method, run, features, log)
        each, picked = by_numpy(name, run, log, has)
        same = alike(ra.rerank(run, method, items=features, train=log).run, picked)
        beside = f"{1 / each:,.0f} a second | {each * users / seconds:,.0f} | {same}"
        lines.append(f"| {name} | {seconds:.2f} | {users / seconds:,.0f} | {busy:.2f} | {beside} |")
    if peer := by_peer(run, has):
        each, picked, version = peer
        seconds, _ = median(AS_PEER, run, features, log)
        same = alike(ra.rerank(run, AS_PEER, items=features).run, picked)
        lines += [
            "",
            f"pyversity {version} has MMR of embeddings by cosine: {1 / each:,.0f} users a second; recassay with "
            f"`{AS_PEER}` {users / seconds:,.0f} ({each * users / seconds:,.0f} times), "
            f"the same picks in {same} lists.",
        ]
    lines += ["", f"Load of the machine at the end: {os.getloadavg()[0]:.1f} on {available()} processors."]
    text = "\n".join(lines)
    print(text)
    if users == USERS:
        write_section("Re-ranking", f"## Re-ranking\n\n{text}\n")


if __name__ == "__main__":
    main(QUICK_USERS if is_quick(__doc__) else USERS)
