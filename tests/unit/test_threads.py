"""Blocks cover everything once, in order, whatever the number of threads; a failure in one is a failure of all."""

import sys
import threading
import time
import types
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
import scipy.linalg  # noqa: F401  # brings a library that uses threads
import threadpoolctl

from recassay.threads import available, blocks, each_block, first_ahead, one_library_thread


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

    def report(size):
        heard.append(size)
        where.add(threading.get_ident())

    each_block(lambda begin, end: None, 10, size=4, threads=threads, progress=report)
    assert heard == [4, 4, 2]
    assert where == {threading.get_ident()}


@pytest.mark.parametrize("threads", [1, 3])
def test_a_failure_is_raised(threads):
    def fails(begin, end):
        raise ValueError(begin)

    with pytest.raises(ValueError, match="0"):
        each_block(fails, 10, size=4, threads=threads)


def test_blocks_run_on_the_threads_of_a_given_pool_which_stays_open():
    with ThreadPoolExecutor(2, thread_name_prefix="given") as pool:
        for _ in range(2):
            names = each_block(lambda begin, end: threading.current_thread().name, 10, size=3, threads=2, pool=pool)
            assert all(name.startswith("given") for name in names)


def test_there_is_a_processor():
    assert available() >= 1


class TestFirstAhead:
    def test_the_first_is_made_on_another_thread_and_the_others_where_they_are_asked_for(self):
        def makers():
            for _ in range(3):
                yield threading.get_ident()

        with first_ahead(makers()) as found:
            first, *others = found
        assert first != threading.get_ident()
        assert others == [threading.get_ident()] * 2

    def test_it_is_begun_before_it_is_asked_for(self):
        begun = threading.Event()

        def items():
            begun.set()
            yield 1

        with first_ahead(items()) as found:
            assert begun.wait(10)
            assert list(found) == [1]

    def test_nothing_ahead_of_nothing(self):
        with first_ahead(iter(())) as found:
            assert list(found) == []

    def test_an_error_waits_until_the_first_is_asked_for(self):
        def items():
            raise ValueError("made ahead")
            yield

        with first_ahead(items()) as found, pytest.raises(ValueError, match="made ahead"):
            next(found)
        with pytest.raises(KeyError, match="of the caller"), first_ahead(items()):
            raise KeyError("of the caller")

    def test_the_first_is_released_with_the_caller_s_own_name_for_it(self):
        class Large:
            pass

        with first_ahead(Large() for _ in range(2)) as found:
            first = next(found)
            seen = weakref.ref(first)
            first = next(found)
            assert seen() is None
            assert first is not None


def library_threads():
    return {one["filepath"]: one["num_threads"] for one in threadpoolctl.threadpool_info()}


def test_libraries_use_one_thread_and_then_as_many_as_before():
    with threadpoolctl.threadpool_limits(2):
        before = library_threads()
        with one_library_thread():
            assert set(library_threads().values()) == {1}
        assert library_threads() == before


def test_libraries_are_searched_once_and_again_after_an_import(monkeypatch):
    searches = []
    find = threadpoolctl.ThreadpoolController.__init__
    monkeypatch.setattr(threadpoolctl.ThreadpoolController, "__init__", lambda one: (searches.append(1), find(one))[1])
    monkeypatch.setitem(sys.modules, "imported_first", types.ModuleType("imported_first"))
    for _ in range(3):
        with one_library_thread("blas"):
            pass
    assert len(searches) == 1
    monkeypatch.setitem(sys.modules, "imported_later", types.ModuleType("imported_later"))
    with one_library_thread("blas"):
        pass
    assert len(searches) == 2
