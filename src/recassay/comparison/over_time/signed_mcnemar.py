"""McNemar's test over windows of a stream, with the sign of who is better (Gama, Sebastiao and Rodrigues 2009).

It describes the stream and is no test of it: there are as many windows as events, and neighbouring windows overlap
almost fully. The level does not bound how often the curve crosses it by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay.comparison.over_time.windows import PastWindows
from recassay.stats.significance import mcnemar_p, mcnemar_signed

FEWEST = 10  # no claim while fewer events than this tell two systems apart, unless a caller says otherwise

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Signed:
    """McNemar's test in the window of each event, with the sign of the better system.

    ``only_a`` and ``only_b`` count the events of the window where only one of the two systems was right. ``signed`` is
    the statistic, positive where a is better. ``claim`` is 1 for a, -1 for b, and 0 if p >= alpha or if too few
    events distinguish the two. Counts that fade are not whole numbers and have no exact p.
    """

    only_a: Floats
    only_b: Floats
    signed: Floats
    p: Floats
    claim: NDArray[np.int8]


def signed_mcnemar(
    a: Floats,
    b: Floats,
    past: PastWindows,
    *,
    alpha: float = 0.01,
    correction: bool = False,
    exact: bool | None = None,
    fewest: int = FEWEST,
) -> Signed:
    """Return McNemar's test in the window of each paired event; where a and b differ, the larger value counts as right.

    ``past`` has the windows, ``alpha`` is the level of ``claim``. p is exact if fewer than 25 events distinguish the
    two; always with ``exact=True``, never with ``exact=False``. ``correction`` is the continuity correction of the
    statistic. Nothing is claimed of a window in which fewer than ``fewest`` events distinguish the two.

    >>> from recassay.comparison.over_time.windows import windows
    >>> a, b = np.array([1.0, 1, 0, 1, 1, 1]), np.array([0.0, 1, 0, 0, 0, 1])
    >>> past = windows(window=6, scored=6, events=6).over(np.arange(6))
    >>> signed_mcnemar(a, b, past).signed.tolist()
    [1.0, 1.0, 1.0, 2.0, 3.0, 3.0]
    """
    only_a, only_b = (past.sums((one > other).astype(np.float64)) for one, other in ((a, b), (b, a)))
    signed = mcnemar_signed(only_a, only_b, correction=correction)
    p = mcnemar_p(only_a, only_b, correction=correction, exact=exact if past.fading is None else False)
    sure = (p < alpha) & (only_a + only_b >= fewest)
    return Signed(only_a, only_b, signed, p, (sure * np.sign(signed)).astype(np.int8))


def threshold(alpha: float) -> float:
    """Return the absolute value of the statistic above which p is below alpha (chi-square with 1 degree of freedom).

    >>> round(threshold(0.01), 6), round(threshold(0.05), 3)
    (6.634897, 3.841)
    """
    return float(scipy.special.ndtri(alpha / 2)) ** 2
