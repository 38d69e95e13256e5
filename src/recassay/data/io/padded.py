"""Detection of numbers with leading zeros: ``007`` and ``7`` are the same number, but different ids.

An id column is read as integers only if every field is written as an integer. A sample of the first lines cannot prove
that for the whole file, and a numeric reader turns ``007`` into 7. So all bytes are scanned once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recassay.data.io.head import GZIP_MAGIC, open_unpacked
from recassay.threads import each_block

AT_ONCE = 1 << 23  # bytes scanned at a time


def may_have_padded(source: Path | bytes, separator: str) -> bool:
    """Return whether some field of any column begins with a zero and another digit, with ``+``, or with a blank.

    >>> may_have_padded(b"user,item\\n1,7\\n1,10\\n", ","), may_have_padded(b"user,item\\n1,7\\n1,007\\n", ",")
    (False, True)
    """
    from recassay.columnar._kernels import has_padded  # numba is slow to import, and Parquet files do not need it

    def has_match(data: NDArray[np.uint8]) -> bool:
        def scan(begin: int, end: int) -> bool:
            return bool(has_padded(data, ord(separator), begin, end))

        return any(each_block(scan, data.size, size=AT_ONCE))

    return any(has_match(data) for data in _byte_arrays(source))


def _byte_arrays(source: Path | bytes) -> Iterator[NDArray[np.uint8]]:
    """Yield all bytes of a source as arrays: a plain file is memory-mapped, an archive is unpacked in chunks.

    Each chunk of an archive begins with the last two bytes of the chunk before.
    """
    if isinstance(source, bytes):
        yield np.frombuffer(source, np.uint8)
        return
    with source.open("rb") as file:
        packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    if not packed:
        yield np.memmap(source, np.uint8, "r")
        return
    before = b""
    with open_unpacked(source) as unpacked:
        while chunk := unpacked.read(AT_ONCE):
            yield np.frombuffer(before + chunk, np.uint8)
            before = (before + chunk)[-2:]
