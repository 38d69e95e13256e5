"""Lists extended by the judged items that they do not hold, as libraries read them that rank judged items only."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from recassay.columnar.layout import row_groups
from recassay.metrics.align import AlignedBlock

UnlistedPolicy = Literal["absent", "tied"]


def with_unlisted(lists: AlignedBlock) -> AlignedBlock:
    """Return a block in which each list is followed by the judged items that it does not hold, all of them tied.

    A block that was cut at a depth left out marks only in lists at least that deep. Whatever is appended to these lists
    is beyond every cut-off.
    """
    rows, offsets = lists.truth_rows, lists.truth_offsets
    missed = lists.truth.gains[rows] >= 0
    missed[lists.judged - rows.start] = False
    added = np.flatnonzero(missed)
    of = row_groups(offsets)[added]
    count = np.bincount(of, minlength=lists.size)
    where = lists.start[of + 1]  # after the marks of its own query
    first = np.insert(lists.first, where, lists.length[of] + 1)
    last = np.insert(lists.last, where, (lists.length + count)[of])
    return dataclasses.replace(
        lists,
        length=lists.length + count,
        start=lists.start + np.append(0, np.cumsum(count)),
        rank=first,
        first=first,
        last=last,
        judged=np.insert(lists.judged, where, added + rows.start),
        listed_rank=None,
        _memo={},
    )
