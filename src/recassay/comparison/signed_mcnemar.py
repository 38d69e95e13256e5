"""McNemar's test over windows of a stream, with the sign of who is better (Gama, Sebastiao and Rodrigues 2009).

It is a description of the stream, not a test of it: there are as many windows as events, and each is nearly the one
before. How often a curve crosses its level by chance is not bounded by that level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.comparison.significance import mcnemar_p, mcnemar_signed
from recassay.comparison.windows import Behind
from recassay.portable.distributions import normal_quantile

FEWEST = 10  # no claim while fewer events than this tell two systems apart

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Signed:
    """For each window the events where only a was right and where only b was, the statistic, its p and what it claims.

    ``signed`` is positive where a is better; ``claim`` is 1 for a, -1 for b, and 0 where p >= alpha or fewer than 10
    events tell the two apart. Counts that fade are no whole numbers, and have no exact p.
    """

    only_a: Floats
    only_b: Floats
    signed: Floats
    p: Floats
    claim: NDArray[np.int8]


def signed_mcnemar(
    a: Floats, b: Floats, behind: Behind, *, alpha: float = 0.01, correction: bool = False, exact: bool | None = None
) -> Signed:
    """The test on what stands behind each of the paired events; the larger of a and b is right where they differ.

    p is exact where fewer than 25 events tell the two apart, everywhere (``exact=True``) or nowhere.

    >>> from recassay.comparison.windows import windows
    >>> a, b = np.array([1.0, 1, 0, 1, 1, 1]), np.array([0.0, 1, 0, 0, 0, 1])
    >>> behind = windows(window=6, scored=6, events=6).over(np.arange(6))
    >>> signed_mcnemar(a, b, behind).signed.tolist()
    [1.0, 1.0, 1.0, 2.0, 3.0, 3.0]
    """
    only_a, only_b = (behind.sums((one > other).astype(np.float64)) for one, other in ((a, b), (b, a)))
    signed = mcnemar_signed(only_a, only_b, correction=correction)
    p = mcnemar_p(only_a, only_b, correction=correction, exact=exact if behind.fading is None else False)
    sure = (p < alpha) & (only_a + only_b >= FEWEST)
    return Signed(only_a, only_b, signed, p, (sure * np.sign(signed)).astype(np.int8))


def threshold(alpha: float) -> float:
    """What the statistic must exceed to be significant at alpha, by chi-square.

    >>> round(threshold(0.01), 6), round(threshold(0.05), 3)
    (6.634897, 3.841)
    """
    return float(normal_quantile(alpha / 2)) ** 2
