"""Compiled kernels: a private folder where nothing else can be written to; one compilation for all processes."""

import os
import pickle
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import pytest
from numba.core.caching import CacheImpl

from recassay._kernel_cache import njit
from recassay.metrics._kernels import find_marks

KERNEL = """
from recassay._kernel_cache import njit

@njit(nogil=True, cache=True)
def inner(n):
    total = 0.0
    for i in range(n):
        total += i**0.5
    return total

@njit(nogil=True, cache=True)
def outer(n):
    return inner(n) + 1.0

if __name__ == "__main__":
    import sys
    print("ready", flush=True)
    sys.stdin.readline()
    outer(3)
    print(sum(sum(kernel.stats.cache_misses.values()) for kernel in (inner, outer)))
"""


def test_processes_that_start_together_compile_each_kernel_once(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    several = [
        subprocess.Popen(
            [sys.executable, tmp_path / "kernel.py"], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for _ in range(3)
    ]  # fmt: skip
    assert all(process.stdout.readline() == "ready\n" for process in several)
    for process in several:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert sum(int(process.communicate()[0]) for process in several) == 2  # of six


def test_a_stored_kernel_is_loaded_without_what_compiles_it(tmp_path):
    (tmp_path / "kernel.py").write_text(
        "import numpy as np, sys\n"
        "from recassay._kernel_cache import njit\n"
        "@njit(nogil=True, cache=True)\n"
        "def total(values):\n"
        "    found = 0.0\n"
        "    for value in values:\n"
        "        found += value\n"
        "    return found\n"
        "@njit(nogil=True, cache=True)\n"
        "def doubled(values):\n"
        "    return 2 * values\n"
        "print(total(np.arange(3.0)), 'scipy.linalg' in sys.modules, doubled(np.arange(3.0)))\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, tmp_path / "kernel.py"]
    printed = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout for _ in range(2)
    ]
    assert printed == ["3.0 True [0. 2. 4.]\n", "3.0 False [0. 2. 4.]\n"]


def test_a_kernel_that_cannot_be_compiled_leaves_no_lock_behind(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    @njit(cache=True)
    def wrong(n):
        return n.no_such_attribute

    with pytest.raises(numba.TypingError, match="no_such_attribute"):
        wrong(1)
    (lock,) = tmp_path.rglob("*.lock")
    with lock.open() as handle:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_kernel_is_compiled_when_it_is_first_called():
    @njit(nogil=True, inline="always")
    def doubled(n):
        return 2 * n

    @njit(nogil=True)
    def above(n):
        return doubled(n) + 1

    assert (above.__name__, "_dispatcher" in vars(above)) == ("above", False)
    assert above(3) == 7
    assert len(above.signatures) == 1


def test_a_note_comes_before_a_compilation_and_not_before_a_kernel_that_is_stored(tmp_path):
    code = f"{KERNEL.partition('if __name__')[0]}\nfrom recassay import _kernel_cache\n"
    code += "_kernel_cache.announce = lambda: print('note')\nprint(outer(3) > 1)\n"
    (tmp_path / "kernel.py").write_text(code)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, tmp_path / "kernel.py"]
    printed = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout for _ in range(2)
    ]
    assert printed == ["note\nnote\nTrue\n", "True\n"]


def test_a_kernel_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(find_marks)) is find_marks


def test_threads_that_call_a_new_kernel_together_share_one_dispatcher():
    for _ in range(20):
        fresh = njit()(lambda n: n)
        with ThreadPoolExecutor(4) as pool:
            assert (
                len({id(found) for found in pool.map(lambda _, one=fresh: one.py_func and one._dispatcher, range(8))})
                == 1
            )


@pytest.fixture
def read_only(tmp_path, monkeypatch):
    """Let neither the installation nor the home folder be writable, and name another temporary folder."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")  # put back at the end
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(CacheImpl, "_locator_classes", CacheImpl._locator_classes[:1])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def cached_in():
    return Path(njit(cache=True)(lambda n: n)._cache.cache_path).parent


def test_a_read_only_installation_uses_a_private_temporary_folder(read_only):
    folder = cached_in()
    assert folder.parent == read_only
    assert folder.stat().st_mode & 0o077 == 0
    numba.config.CACHE_DIR = ""
    assert cached_in() == folder  # the same again: kernels are compiled once


def test_a_folder_that_others_can_write_to_is_not_used(read_only):
    planted = read_only / f"recassay-kernels-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    folder = cached_in()
    assert folder.parent == read_only
    assert folder != planted
    assert folder.stat().st_mode & 0o077 == 0


def test_kernels_run_without_compilation_where_numba_is_told_not_to_compile(tmp_path):
    code = (
        "import recassay as ra\n"
        "run = {user: {item: 1 / (1 + item) for item in range(user, user + 4)} for user in range(6)}\n"
        "truth = {user: [2, 5] for user in range(6)}\n"
        "scores = ra.score(run, truth, ['ndcg@3', 'map'], interval=ra.options.Uncertainty(resamples=50))\n"
        "print(scores.summary().to_dicts())\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", code], env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
            capture_output=True, text=True, check=True,
        ).stdout
        for disabled in "01"
    ]  # fmt: skip
    assert printed[0] == printed[1]
    assert "ndcg@3" in printed[0]
