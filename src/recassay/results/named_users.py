"""The users whom findings name, as one number per user: a bit for each finding.

A verdict is computed again without these users, which shows whether a finding can change it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Marks = NDArray[np.uint8]  # one per user
CODES = ("C010", "C001", "C002", "L001", "L003")
OF_SOME_SYSTEMS = ("C002",)  # a list that is as short in every system favours none


def bit(code: str) -> int:
    """Return the bit of a finding in the marks of users.

    >>> bit("C010"), bit("C001")
    (1, 2)
    """
    return 1 << CODES.index(code)


def users_without(code: str, marks: Iterable[Marks]) -> NDArray[np.bool_] | None:
    """Return a mask of the users whom a finding does not name, given the marks of every system; None if it names none.

    Users with a short list (C002) in all systems are left in.

    >>> short = np.array([4, 4, 0], np.uint8), np.array([4, 0, 0], np.uint8)
    >>> users_without("C002", short).tolist(), users_without("C001", short)
    ([True, False, True], None)
    """
    named = np.array([(one & bit(code)) > 0 for one in marks])
    if not named.any():
        return None
    none, every = ~np.asarray(named.any(axis=0)), np.asarray(named.all(axis=0))
    return none | every if code in OF_SOME_SYSTEMS else none
