"""Judged items that a list does not hold, for metrics of libraries that rank the judged rows and know no lists."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from recassay.data.layout import stretch_of
from recassay.metrics.align import Aligned

Unlisted = Literal["absent", "tied"]


def followed(lists: Aligned) -> Aligned:
    """The same lists, each followed by its judged items that it does not hold, all of them tied.

    A block that is cut at a depth has lists at least that deep where marks were left out: what follows them stands
    beyond every cut-off, whatever it is.
    """
    rows, offsets = lists.truth_rows, lists.truth_offsets
    missed = lists.truth.gains[rows] >= 0
    missed[lists.judged - rows.start] = False
    added = np.flatnonzero(missed)
    of = stretch_of(offsets)[added]
    count = np.bincount(of, minlength=lists.size)
    where = lists.start[of + 1]  # behind the marks of the own query
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
        standing=None,
        _memo={},
    )
