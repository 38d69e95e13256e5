"""Blocks cover everything once, in order, whatever the number of threads; a failure in one is a failure of all."""

import threading
import time

import pytest

from recassay.threads import available, blocks, each_block


@pytest.mark.parametrize(("n", "size"), [(0, 3), (1, 3), (3, 3), (4, 3), (9, 3), (10, 1)])
def test_blocks_cover_everything_once(n, size):
    cuts = list(blocks(n, size))
    assert [i for begin, end in cuts for i in range(begin, end)] == list(range(n))
    assert all(0 < end - begin <= size for begin, end in cuts)


@pytest.mark.parametrize("threads", [None, 1, 2, 4, 99])
def test_results_come_in_the_order_of_blocks(threads):
    def slow_first(begin, end):
        time.sleep(0.01 if begin == 0 else 0)
        return begin, end

    assert each_block(slow_first, 10, size=3, threads=threads) == [(0, 3), (3, 6), (6, 9), (9, 10)]


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_hears_of_every_block_once_on_the_calling_thread(threads):
    heard, where = [], set()

    def told(size):
        heard.append(size)
        where.add(threading.get_ident())

    each_block(lambda begin, end: None, 10, size=4, threads=threads, progress=told)
    assert heard == [4, 4, 2]
    assert where == {threading.get_ident()}


@pytest.mark.parametrize("threads", [1, 3])
def test_a_failure_is_raised(threads):
    def fails(begin, end):
        raise ValueError(begin)

    with pytest.raises(ValueError, match="0"):
        each_block(fails, 10, size=4, threads=threads)


def test_there_is_a_processor():
    assert available() >= 1
