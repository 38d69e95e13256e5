"""Freed memory is kept for the next arrays."""

import ctypes
import gzip
import platform
import subprocess
import sys

import pytest

import recassay as ra
from recassay.data.io import memory
from recassay.errors import InputError

# The C library counts the blocks that it took from the system one by one, and will give back as soon as they are freed.
COUNT = """
import ctypes, sys
import numpy as np
from recassay.data.io.memory import keep_freed_memory

class Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd a b c d e".split()]

count = ctypes.CDLL(None).mallinfo2
count.restype = Counts
if sys.argv[1] == "kept":
    keep_freed_memory()
before = count().hblks
held = np.empty(16 << 20, np.uint8)
print(count().hblks - before)
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="needs glibc 2.33 or later"
)
@pytest.mark.parametrize(("how", "blocks"), [("kept", 0), ("not kept", 1)])
def test_a_large_array_is_not_a_block_of_its_own_once_freed_memory_is_kept(how, blocks):
    found = subprocess.run([sys.executable, "-c", COUNT, how], capture_output=True, text=True, check=True)
    assert int(found.stdout) == blocks


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_an_archive_that_grows_beyond_what_a_table_would_is_refused_with_its_size(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(memory, "HARMLESS", 1 << 20)
    path = tmp_path / f"run.{suffix}.gz"
    path.write_bytes(gzip.compress(b"user_id,item_id,score\n" + b"1,2,0.5\n" * (1 << 18)))
    with pytest.raises(InputError, match=r"I117. run.*gzip archive of 0 MB that unpacks to [12] MB or more"):
        ra.read_run(path)
    varied = "user_id,item_id,score\n" + "".join(f"{row},{row * row % 997},{row % 89 / 89}\n" for row in range(1 << 16))
    path.with_name("other.csv.gz").write_bytes(gzip.compress(varied.encode()))
    assert ra.read_run(path.with_name("other.csv.gz")).items.size == 1 << 16
