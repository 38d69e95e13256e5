"""Work cut into blocks of a fixed size and spread over threads.

Blocks do not depend on the number of threads and results come back in order, so neither do the bits of a result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")
Progress = Callable[[int], None]


def available() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def blocks(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Half-open blocks that cover 0..n.

    >>> list(blocks(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    for begin in range(0, n, size):
        yield begin, min(begin + size, n)


def each_block(
    work: Callable[[int, int], Result],
    n: int,
    *,
    size: int,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """``work(begin, end)`` for every block, results in order of the blocks; ``progress`` hears of each block's size.

    >>> each_block(lambda begin, end: end - begin, 5, size=2)
    [2, 2, 1]
    """
    cuts = list(blocks(n, size))
    threads = min(threads or available(), len(cuts))

    def told(result: Result, cut: tuple[int, int]) -> Result:
        if progress is not None:
            progress(cut[1] - cut[0])
        return result

    if threads <= 1:
        return [told(work(*cut), cut) for cut in cuts]
    with ThreadPoolExecutor(threads) as pool:
        return [told(result, cut) for result, cut in zip(pool.map(lambda cut: work(*cut), cuts), cuts, strict=True)]
