"""The standings pass beside the matrix product alone, and the list beside other libraries' top k.

    python bench/standings.py [--quick]

Everything runs in one process, in turn, on generated factors. Times are medians of five (three of the largest size), in
seconds of processor time of all threads, which other work on the machine changes less than wall time; ratios are to the
product. Writes its section of bench/RESULTS.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from recassay.columnar.vocabulary import Vocabulary
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.engine.ranks.standings import BLOCK_ROWS, compute_standings
from recassay.engine.ranks.task import RankingTask
from recassay.threads import available, each_block
from tools import is_quick, medians, write_section

RANK = 64
SIZES = ((6_040, 3_416, 7, 100), (6_040, 3_416, 33, 130), (50_000, 50_000, 8, 20))
QUICK = ((2_000, 3_416, 7, 100), (4_000, 50_000, 8, 20))


def made(users: int, items: int, relevant: int, seen: int) -> tuple[RankingTask, SimpleNamespace]:
    """A fold with so many relevant and seen items a user, and factors."""
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers(0, users * items, int(users * (relevant + seen) * 1.02)))
    rng.shuffle(pairs)
    vocabularies = [Vocabulary(pl.Series(np.arange(size))) for size in (users, items)]
    log = Interactions((pairs // items).astype(np.int32), (pairs % items).astype(np.int32), *vocabularies)
    held = rng.random(pairs.size) < relevant / (relevant + seen)
    factors = SimpleNamespace(
        user_factors=rng.standard_normal((users, RANK)).astype(np.float32),
        item_factors=rng.standard_normal((items, RANK)).astype(np.float32),
    )
    return RankingTask.of(Fold(log.take(~held), log.take(held), "global", {})), factors


def product(question: RankingTask, factors: SimpleNamespace) -> None:
    """Every tile's product, into one table per thread, and nothing else."""
    columns, own = np.ascontiguousarray(factors.item_factors.T), threading.local()

    def work(begin: int, end: int) -> None:
        if not hasattr(own, "table"):
            own.table = np.empty((BLOCK_ROWS, columns.shape[1]), np.float32)
        tile = np.zeros((BLOCK_ROWS, RANK), np.float32)
        tile[: end - begin] = factors.user_factors[question.users[begin:end]]
        np.matmul(tile, columns, out=own.table)

    with threadpool_limits(1):
        each_block(work, question.users.size, size=BLOCK_ROWS)


def passes(sizes: tuple[tuple[int, int, int, int], ...]) -> list[str]:
    lines = ["| users x items, relevant a user | product s | standings | with top 100 |"]
    lines += ["| --- | --- | --- | --- |"]
    for users, items, relevant, seen in sizes:
        question, factors = made(users, items, relevant, seen)
        found = medians(
            {
                "product": lambda q=question, f=factors: product(q, f),
                "standings": lambda q=question, f=factors: compute_standings(q, f, "x"),
                "top": lambda q=question, f=factors: compute_standings(q, f, "x", k=100),
            },
            times=5 if users * items < 10**9 else 3,
        )
        ratios = " | ".join(f"{found[name] / found['product']:.2f} x" for name in ("standings", "top"))
        lines.append(f"| {users:,} x {items:,}, {relevant} | {found['product']:.3f} | {ratios} |")
    return lines


def top_k(users: int, items: int) -> list[str]:
    """A list of 100 for everybody: standings and list of ours, lists alone of the others."""
    import torch
    from implicit.cpu.topk import topk

    question, factors = made(users, items, 7, 100)
    u, i = factors.user_factors, factors.item_factors
    tensors = torch.from_numpy(u), torch.from_numpy(i)
    found = medians(
        {
            "recassay, standings too": lambda: compute_standings(question, factors, "x", k=100),
            "torch mm and topk": lambda: torch.topk(tensors[0] @ tensors[1].T, 100),
            "implicit topk": lambda: topk(i, u, 100, num_threads=available()),
        },
        times=3,
    )
    lines = [f"| top 100 of {users:,} x {items:,} | s | to ours |", "| --- | --- | --- |"]
    ours = found["recassay, standings too"]
    return lines + [f"| {name} | {seconds:.3f} | {seconds / ours:.2f} x |" for name, seconds in found.items()]


def peak(users: int) -> float:
    """Peak memory in MB of a process that stands so many users against 20,000 items."""
    code = f"import resource, standings; made = standings.made({users}, 20_000, 8, 20); "
    code += "standings.compute_standings(*made, 'x', k=100); "
    code += "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
    )
    return float(done.stdout)


def memory(quick: bool) -> list[str]:
    lines = ["| users x 20,000 | peak MB | of a table of all scores |", "| --- | --- | --- |"]
    for users in (10_000, 40_000) if quick else (20_000, 200_000):
        lines.append(f"| {users:,} | {peak(users):,.0f} | {users * 20_000 * 4 / 2**20:,.0f} |")
    return lines


def main() -> None:
    quick = is_quick(__doc__)
    load = os.getloadavg()[0]
    shared = f" Other work shared the machine (load {load:.0f})." if load > available() else ""
    lines = [
        "## Standings",
        "",
        f"`python bench/standings.py`: rank-{RANK} factors, {available()} threads, seen items masked, counts for all "
        "items, test items, ten popularity bins and what was rated low in one pass. Seconds of processor time of all "
        f"threads; standings as multiples of the matrix product alone.{shared}",
        "",
        *passes(QUICK if quick else SIZES),
        "",
        *top_k(2_000 if quick else 6_040, 3_416),
        "",
        "Peak memory; lists, standings and the log grow with users, nothing of size users x items is held.",
        "",
        *memory(quick),
    ]
    text = "\n".join(lines)
    print(text)
    if not quick:
        write_section("Standings", text)


if __name__ == "__main__":
    main()
