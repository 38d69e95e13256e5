"""Numbers that are written in two ways: ``007`` and ``7`` are one number, and two ids.

A column of ids is read as integers if all of its fields are written as integers are. A sample of the first lines cannot
tell that of the whole file, and a reader of numbers takes ``007`` for 7. So all bytes are looked at, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recassay.data.io.head import GZIP_MAGIC, opened
from recassay.threads import each_block

AT_ONCE = 1 << 23  # bytes


def may_have_padded(source: Path | bytes, separator: str) -> bool:
    """Return whether a field of any column begins with a zero and another digit, with ``+``, or with a blank.

    >>> may_have_padded(b"user,item\\n1,7\\n1,10\\n", ","), may_have_padded(b"user,item\\n1,7\\n1,007\\n", ",")
    (False, True)
    """
    from recassay.data._kernels import has_padded  # numba is imported only where there are bytes to look at

    def found(data: NDArray[np.uint8]) -> bool:
        def look(begin: int, end: int) -> bool:
            return bool(has_padded(data, ord(separator), begin, end))

        return any(each_block(look, data.size, size=AT_ONCE))

    return any(found(data) for data in _bytes(source))


def _bytes(source: Path | bytes) -> Iterator[NDArray[np.uint8]]:
    """All bytes, mapped where they are; of an archive some at a time, each beginning with the last two before."""
    if isinstance(source, bytes):
        yield np.frombuffer(source, np.uint8)
        return
    with source.open("rb") as file:
        packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    if not packed:
        yield np.memmap(source, np.uint8, "r")
        return
    before = b""
    with opened(source) as unpacked:
        while some := unpacked.read(AT_ONCE):
            yield np.frombuffer(before + some, np.uint8)
            before = (before + some)[-2:]
