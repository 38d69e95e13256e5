"""Sums that do not depend on the order of their terms, so that items with the same terms get the same score.

Floating-point sums depend on the order of addition. Sums of multiples of one power of two are exact, in any order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def step_for(largest: float, count: int) -> float:
    """Return a power of two such that sums of ``count`` multiples of it, each at most ``largest`` in size, are exact.

    It is 2^-53 times ``largest`` times ``count``, where both are rounded up to powers of two (``largest`` to one above
    it). It is 1 if one of them is 0.

    >>> step_for(1.0, 4) == 2.0**-50
    True
    """
    if not largest or not count:
        return 1.0
    return 2.0 ** (math.frexp(largest)[1] + (count - 1).bit_length() - 53)


def rounded(terms: Floats, step: float) -> Floats:
    """Return each term rounded to the nearest multiple of ``step``, a power of two.

    >>> a, b, c = rounded(np.array([0.1, 0.2, 0.3]), step_for(0.3, 3))
    >>> bool((a + b) + c == (c + b) + a), bool((0.1 + 0.2) + 0.3 == (0.3 + 0.2) + 0.1)
    (True, False)
    """
    nearest: Floats = np.rint(terms / step) * step
    return nearest
