"""Curves of sampled metrics from standings, beside drawing target sets and ranking them.

    python bench/sampled.py [--quick]

Four systems, two samplers, thirty sizes, on generated logs of the size of MovieLens 1M and of Steam; a relevant item a
user. Drawing is measured for one system, one sampler and 100 candidates, on some of the users, and scaled to all users,
20 draws and all settings: larger samples would take it longer. Writes its section of bench/RESULTS.md.
"""

from __future__ import annotations

import statistics
import time
from types import SimpleNamespace

import numpy as np
import polars as pl

import recassay as ra
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.standings import Standings
from recassay.engine.ranks.standings import compute_standings
from recassay.engine.ranks.task import RankingTask
from recassay.threads import available
from tools import is_quick, write_section

RANK, SYSTEMS, DRAWS, CANDIDATES = 64, 4, 20, 100
SHAPES = {"MovieLens 1M": (6_040, 3_416, 163), "Steam": (334_537, 13_046, 11)}
QUICK = {"a tenth of Steam": (33_454, 13_046, 11)}
LOOP_USERS, VECTOR_USERS = 400, 20_000


def made(users: int, items: int, seen: int) -> tuple[RankingTask, list[SimpleNamespace]]:
    """A popularity curve, profiles and one held-out item drawn from it, and four systems that know it more or less."""
    rng = np.random.default_rng(0)
    worth = -0.9 * np.log(np.arange(items) + 10.0)
    reach = np.cumsum(np.exp(worth - worth.max()))
    drawn = np.searchsorted(reach, rng.random((users, seen + 1)) * reach[-1])
    pairs = np.unique(np.repeat(np.arange(users), seen + 1) * items + np.minimum(drawn, items - 1).ravel())
    rng.shuffle(pairs)
    owner, item = (pairs // items).astype(np.int32), (pairs % items).astype(np.int32)
    log = Interactions(owner, item, *(Vocabulary(pl.Series(np.arange(size))) for size in (users, items)))
    held = np.zeros(pairs.size, np.bool_)
    held[np.unique(owner, return_index=True)[1]] = True
    question = RankingTask.of(Fold(log.take(~held), log.take(held), "per user", {}), bins=())
    return question, [_system(users, items, worth, strength, rng) for strength in np.linspace(0.6, 1.2, SYSTEMS)]


def _system(users: int, items: int, worth: np.ndarray, strength: float, rng: np.random.Generator) -> SimpleNamespace:
    user, item = (rng.standard_normal((size, RANK)).astype(np.float32) / RANK**0.25 for size in (users, items))
    user[:, 0], item[:, 0] = 1, strength * worth
    return SimpleNamespace(user_factors=user, item_factors=item)


def sizes(standings: Standings) -> list[int]:
    """Thirty sizes from 1 to nearly all candidates."""
    least = int(standings.pool["AI"].min()) - 1
    grid = np.unique(np.geomspace(1, least, 60).round().astype(int))
    return grid[np.linspace(0, grid.size - 1, 30).round().astype(int)].tolist()


class Drawn:
    """What both ways to draw need: profiles as sorted keys, popularity, factors, the held-out item of each user."""

    def __init__(self, question: RankingTask, system: SimpleNamespace) -> None:
        self.question, self.system = question, system
        self.items = question.train.n_items
        self.offsets, self.profile = question.train.by_user
        self.target = question.item[question.relevant.places]
        owners = np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))
        self.keys = owners * self.items + self.profile
        self.weight = question.train.item_users.astype(float)

    def loop(self, users: int, *, popularity: bool) -> float:
        """Seconds of one draw for some users, a user at a time with NumPy's choice."""
        rng, hits = np.random.default_rng(0), []
        begin = time.perf_counter()
        for row, user in enumerate(self.question.users[:users]):
            free = np.ones(self.items, np.bool_)
            free[self.profile[self.offsets[user] : self.offsets[user + 1]]] = False
            free[self.target[row]] = False
            pool = np.flatnonzero(free)
            chance = self.weight[pool] / self.weight[pool].sum() if popularity else None
            drawn = np.append(self.target[row], rng.choice(pool, CANDIDATES, replace=False, p=chance))
            scores = self.system.item_factors[drawn] @ self.system.user_factors[user]
            hits.append(int((scores[1:] > scores[0]).sum()) < 10)
        assert 0 < np.mean(hits) <= 1
        return time.perf_counter() - begin

    def vector(self, users: int, *, popularity: bool) -> float:
        """Seconds of one draw for some users, all at once, drawing again what a user has had."""
        rng, reach = np.random.default_rng(0), np.cumsum(self.weight)
        begin = time.perf_counter()
        owner = self.question.users[:users].astype(np.int64)[:, None]
        target = self.target[:users, None]
        drawn = self._draw(rng, (users, CANDIDATES), reach, popularity)
        wrong = np.ones(drawn.shape, np.bool_)
        while wrong.any():
            rows, columns = np.nonzero(wrong)
            again = drawn[rows, columns]
            keys = owner[rows, 0] * self.items + again
            place = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
            bad = (self.keys[place] == keys) | (again == target[rows, 0])
            wrong[rows, columns] = bad
            drawn[rows[bad], columns[bad]] = self._draw(rng, int(bad.sum()), reach, popularity)
        user = self.system.user_factors[owner[:, 0]]
        scores = np.einsum("uf,uif->ui", user, self.system.item_factors[drawn])
        level = np.einsum("uf,uf->u", user, self.system.item_factors[target[:, 0]])
        assert ((scores > level[:, None]).sum(axis=1) < 10).any()
        return time.perf_counter() - begin

    def _draw(self, rng: np.random.Generator, size: object, reach: np.ndarray, popularity: bool) -> np.ndarray:
        if not popularity:
            return rng.integers(self.items, size=size)
        return np.minimum(np.searchsorted(reach, rng.random(size) * reach[-1], side="right"), self.items - 1)


def median(work: object, times: int = 3) -> float:
    """Seconds, the middle of some runs after one to warm up."""
    found = []
    for _ in range(times + 1):
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return statistics.median(found[1:])


def rows(name: str, users: int, items: int, seen: int) -> list[str]:
    question, systems = made(users, items, seen)
    found = [compute_standings(question, system, f"system {place}")[0] for place, system in enumerate(systems)]
    asked = sizes(found[0])
    settings = SYSTEMS * 2 * len(asked)

    def curve() -> None:
        ra.sampling_curve(found, asked, ["uniform", "popularity"], "hit@10")

    def passes() -> None:
        for place, system in enumerate(systems):
            compute_standings(question, system, f"system {place}")

    ours, scoring = median(curve), median(passes, 1)
    drawn, n = Drawn(question, systems[0]), question.users.size
    some, most = min(LOOP_USERS, n), min(VECTOR_USERS, n)
    part = f"{n / some:,.0f} and {n / most:,.0f} times"
    loop, vector = (
        statistics.mean([one(share, popularity=by) for by in (False, True)]) * n / share * DRAWS * settings
        for one, share in ((drawn.loop, some), (drawn.vector, most))
    )
    lines = [
        f"### {name}: {users:,} users, {items:,} items, {settings} settings",
        "",
        "| | seconds | times the curve | times curve and scoring |",
        "| --- | --- | --- | --- |",
        f"| curve from standings, with intervals and orders | {ours:.2f} | 1 | |",
        f"| scoring passes of {SYSTEMS} systems | {scoring:.2f} | {scoring / ours:.1f} | |",
        f"| drawing, all users at once | {vector:,.0f} | {vector / ours:,.0f} | {vector / (ours + scoring):,.0f} |",
        f"| drawing, a loop over users | {loop:,.0f} | {loop / ours:,.0f} | {loop / (ours + scoring):,.0f} |",
        "",
        f"Drawing is scaled from some users ({part}), one system and {DRAWS} draws' worth of one.",
        "",
    ]
    print("\n".join(lines), flush=True)
    return lines


def main() -> None:
    quick = is_quick(__doc__)
    lines = [
        "## Sampled metrics",
        "",
        f"`python bench/sampled.py`: HR@10 of {SYSTEMS} systems, uniform and by popularity, 30 sizes of the sample, "
        f"{available()} threads; drawing takes {CANDIDATES} candidates {DRAWS} times for every setting.",
        "",
    ]
    for name, shape in (QUICK if quick else SHAPES).items():
        lines += rows(name, *shape)
    if not quick:
        write_section("Sampled metrics", "\n".join(lines))


if __name__ == "__main__":
    main()
