"""Five systems under forty-four designs, from standings, beside drawing target sets and ranking them.

    python bench/designs.py [--quick]

At the size of MovieLens 1M, on a generated log. Drawing is measured on a part (some users for the loop that papers
write, some designs for compiled drawing) and scaled to the whole; the tables say by how much. Writes its section of
bench/RESULTS.md.
"""

from __future__ import annotations

import itertools
import os
import time

import numpy as np

import recassay as ra
from recassay.data.synthetic import log
from recassay.designs import Design, expect
from recassay.designs.random_order import RandomOrders
from recassay.engine.ranks.sampling import sample
from recassay.metrics.registry import parse_metrics
from recassay.threads import available
from tools import is_quick, write_section

METRICS = parse_metrics("precision@10 recall@10 ndcg@10 mrr")
SIZE, QUICK = {"users": 6_040, "items": 3_416, "events": 1_000_000}, {"users": 600, "items": 400, "events": 20_000}
DRAWS = 20
LOOP_USERS = 60
DRAWN_DESIGNS = 4


def designs() -> list[Design]:
    """Both base sets, all or one relevant, five sizes, both laws; and those that sample nothing."""
    laws = ("", ", by='popularity'")
    kinds = itertools.product(("AI", "TI"), ("AR", "1R"), (10, 50, 100, 200, 500), laws)
    sampled = [f"{base}-{relevant}-NN({n}{law})" for base, relevant, n, law in kinds]
    return ra.designs.parse_list([*sampled, "AI-AR-AN", "TI-AR-AN", "P1R", "PAR"])


def loop(run: ra.Run, design: Design, users: int) -> float:
    """Seconds of one draw for some users, written with NumPy as in papers: draw, put together, sort, measure."""
    task, fitted = run.source.task, run.source.fitted
    rng = np.random.default_rng(0)
    base = np.zeros(task.item.size, np.bool_)
    for cell in np.flatnonzero(task.member[task.bases.index(design.base)]):
        base[task.item[task.cells[cell] : task.cells[cell + 1]]] = True
    weight = task.train.item_users.astype(float)
    scores = fitted.scores(task.users[:users])  # not counted: every way needs them
    gains = 1 / np.log2(np.arange(2, 12))
    begin = time.perf_counter()
    values = []
    for user in range(users):
        known = task.seen.places[task.seen.offsets[user] : task.seen.offsets[user + 1]]
        relevant = task.item[task.relevant.places[task.relevant.offsets[user] : task.relevant.offsets[user + 1]]]
        free = base.copy()
        free[task.item[known]] = False
        free[relevant] = False
        pool = np.flatnonzero(free)
        chance = weight[pool] / weight[pool].sum() if design.by == "popularity" else None
        drawn = rng.choice(pool, min(design.n or pool.size, pool.size), replace=design.with_replacement, p=chance)
        for alone in [relevant] if design.relevant == "AR" else relevant[:, None]:
            items = np.append(alone, drawn)
            order = np.argsort(-scores[user, items], kind="stable")
            hits = order[:10] < alone.size
            first = int(np.argmax(order < alone.size))
            found = int(hits.sum())
            dcg = float(gains[: hits.size][hits].sum())
            values.append((found / 10, found / alone.size, dcg / gains[: min(10, alone.size)].sum(), 1 / (first + 1)))
    assert np.isfinite(np.mean(values, axis=0)).all()
    return time.perf_counter() - begin


def main() -> None:
    quick = is_quick(__doc__)
    size = QUICK if quick else SIZE
    fold = ra.split.random(test=0.2, seed=7)(log(**size, seed=1))[0]
    models = (ra.models.Popular(), ra.models.Random(), *(ra.models.PureSVD(rank) for rank in (8, 32, 64)))
    runs = [ra.play(model, fold, ra.protocols.ranking()) for model in models]
    wanted = designs()
    sampled = [design for design in wanted if design.n is not None]
    warm = ra.designs.parse_list("TI-AR-NN(2) TI-1R-NN(2, by='popularity')")
    for design in (*warm, *wanted[-4:]):
        expect(runs[0].standings, design, METRICS)  # compiled before the clock starts
    sample(runs[0], warm, METRICS, draws=1)

    exact = {}
    random_orders = {design: RandomOrders() for design in wanted}  # shared by all systems, as in an evaluation
    for variance in (False, True):
        begin = time.perf_counter()
        for design, run in itertools.product(wanted, runs):
            options = {"variance": variance, "random_orders": random_orders[design]}
            expect(run.standings, design, METRICS, short="all", **options)
        exact[variance] = time.perf_counter() - begin

    some = sampled[:: len(sampled) // DRAWN_DESIGNS][:DRAWN_DESIGNS]
    begin = time.perf_counter()
    sample(runs[-1], some, METRICS, draws=DRAWS, short="all")
    drawing = (time.perf_counter() - begin) * len(sampled) / len(some) * len(runs)

    users = runs[0].standings.queries.len()
    part = min(LOOP_USERS, users)
    looped = sum(loop(runs[-1], design, part) for design in sampled) * users / part * DRAWS * len(runs)

    rows = [
        ("exact: means over all draws, and of items in random order", exact[False], "measured"),
        ("exact: means and variances, random order known", exact[True], "measured"),
        (f"`method='sample'`, {DRAWS} draws", drawing,
         f"{len(some)} of {len(sampled)} designs, 1 of {len(runs)} systems, scaled"),
        (f"a loop over users, NumPy, {DRAWS} draws, 1 thread", looped,
         f"{part} of {users:,} users, 1 of {DRAWS} draws, 1 of {len(runs)} systems, scaled"),
    ]  # fmt: skip
    lines = [
        "## Designs", "",
        f"Written by `python bench/designs.py`. {len(runs)} systems under {len(wanted)} designs ({len(sampled)} of "
        f"them sampled; only these are drawn), {len(METRICS)}\nmetrics, {size['users']:,} users x {size['items']:,} "
        f"items, {size['events']:,} events, {runs[0].standings.pairs:,} relevant items, {available()} threads. "
        "Scoring is not counted\nin the exact rows, which start from standings, nor in the loop. Load average at the "
        f"end: {os.getloadavg()[0]:.1f} (where it is above the\nnumber of threads, other work slowed the rows that use "
        "them).",
        "",
        "| way | s | to exact means | how measured |", "| --- | --- | --- | --- |",
        *(f"| {name} | {seconds:,.2f} | {seconds / exact[False]:,.1f} x | {how} |" for name, seconds, how in rows),
    ]  # fmt: skip
    print("\n".join(lines))
    if not quick:
        write_section("Designs", "\n".join(lines))


if __name__ == "__main__":
    main()
