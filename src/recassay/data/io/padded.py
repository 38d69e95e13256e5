"""Detection of numbers with leading zeros: ``007`` and ``7`` are the same number, but different ids.

An id column is read as integers only if every field is written as an integer. A sample of the first lines cannot prove
that for the whole file, and a numeric reader turns ``007`` into 7. So all bytes are scanned once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recassay.data.io.head import is_archive, open_unpacked
from recassay.threads import each_block

AT_ONCE = 1 << 22  # bytes scanned at a time, most of them still in the processor's cache


def may_have_padded(source: Path | bytes, separator: str) -> bool:
    """Return whether some field of any column begins with a zero and another digit, with ``+``, or with a blank.

    >>> may_have_padded(b"user,item\\n1,7\\n1,10\\n", ","), may_have_padded(b"user,item\\n1,7\\n1,007\\n", ",")
    (False, True)
    """
    from recassay.columnar._kernels import has_padded  # numba is slow to import, and Parquet files do not need it

    def has_match(data: NDArray[np.uint8]) -> bool:
        return bool(has_padded(data, ord(separator)))

    if isinstance(source, Path) and is_archive(source):
        return any(has_match(data) for data in _unpacked(source))
    size = len(source) if isinstance(source, bytes) else source.stat().st_size

    def scan(begin: int, end: int) -> bool:
        """Scan a block with the byte before it and the byte behind it."""
        begin, end = max(begin - 1, 0), min(end + 1, size)
        if isinstance(source, bytes):
            return has_match(np.frombuffer(source, np.uint8, end - begin, begin))
        data = np.fromfile(source, np.uint8, end - begin, offset=begin)
        data.flags.writeable = False  # as of the other arrays, so that only one kernel is compiled
        return has_match(data)

    return any(each_block(scan, size, size=AT_ONCE))


def _unpacked(path: Path) -> Iterator[NDArray[np.uint8]]:
    """Yield the bytes in an archive in chunks, each of which begins with the last two bytes of the chunk before."""
    before = b""
    with open_unpacked(path) as unpacked:
        while chunk := unpacked.read(AT_ONCE):
            yield np.frombuffer(before + chunk, np.uint8)
            before = (before + chunk)[-2:]
