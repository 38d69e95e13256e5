"""Parallel work on threads, in blocks of a fixed size.

The blocks do not depend on the number of threads, and results come back in order. So the bits of a result do not depend
on the number of threads either. One pass differs: ids are numbered in as many blocks as suit the threads
(``columnar/numbering.py``), and their codes are the order of the ids, whatever the blocks.
"""

from __future__ import annotations

import contextvars
import functools
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")
QUICK_PASS = 1 << 17  # numbers that a thread passes over in about the time that it takes to start

_NO_ITEM: Any = object()

Progress = Callable[[int], None]  # called with the size of each finished block
StageProgress = Callable[[str, int, int], None]  # called with a stage, its finished steps and all its steps


def available() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worth_starting(n: int) -> int:
    """Return how many threads a quick pass over ``n`` numbers needs: one if it takes no longer than a thread to start.

    >>> worth_starting(1_000)
    1
    """
    return available() if n > QUICK_PASS else 1


def blocks(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds (begin, end) of consecutive blocks of ``size`` that cover ``range(n)``; the last may be smaller.

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
    pool: ThreadPoolExecutor | None = None,
) -> list[Result]:
    """Call ``work(begin, end)`` for every block of ``size`` of the numbers below ``n``; return the results in order.

    ``progress`` is called with the size of each finished block. A ``pool`` provides its threads for several calls;
    without one, threads are started for this call, which takes as long as a small block.

    >>> each_block(lambda begin, end: end - begin, 5, size=2)
    [2, 2, 1]
    """
    bounds = list(blocks(n, size))
    threads = min(threads or available(), len(bounds))

    def reported(result: Result, begin: int, end: int) -> Result:
        if progress is not None:
            progress(end - begin)
        return result

    if threads <= 1:
        return [reported(work(*block), *block) for block in bounds]
    with nullcontext(pool) if pool else ThreadPoolExecutor(threads) as running:
        results = running.map(lambda block: work(*block), bounds)
        return [reported(result, *block) for result, block in zip(results, bounds, strict=True)]


@contextmanager
def first_ahead(items: Iterator[Result]) -> Iterator[Iterator[Result]]:
    """Start to compute the first of ``items`` on another thread; yield an iterator over all of them.

    An error of this computation is raised when the iterator reaches the item.

    >>> with first_ahead(iter("ab")) as letters:
    ...     list(letters)
    ['a', 'b']
    """
    with ThreadPoolExecutor(1) as pool:
        making = [pool.submit(contextvars.copy_context().run, lambda: next(items, _NO_ITEM))]

        def all_items() -> Iterator[Result]:
            found = making.pop().result()
            if found is not _NO_ITEM:
                yield found
                del found  # so that the caller alone decides how long it stays in memory
                yield from items

        yield all_items()


def one_library_thread(kind: str | None = None) -> AbstractContextManager[object]:
    """Return a context in which native libraries use one thread; ``kind`` restricts it to a kind, such as "blas".

    It is for sums whose rounding depends on threads, and for work that is already spread over threads.
    """
    limited: AbstractContextManager[object] = _loaded_libraries(len(sys.modules)).limit(limits=1, user_api=kind)
    return limited


@functools.lru_cache(maxsize=1)  # the search takes longer than evaluating a small fold
def _loaded_libraries(_n_modules: int) -> ThreadpoolController:
    """Return the native libraries of this process; they are searched again after an import, which may load others."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
