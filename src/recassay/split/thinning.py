"""Fewer test ratings of the same fold: what a metric says when less is known.

fold            test Ann c e, Bob b d
thin(0.25)      test Ann c e, Bob b
thin(0.5)       test Ann c,   Bob b          what a smaller fraction removes, a larger one removes too
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recassay.data.fold import Fold
from recassay.errors import UsageError
from recassay.split.in_parts import not_here
from recassay.split.lots import floor, places_by_lot, row_lots


def thin(fold: Fold, fraction: float, *, seed: int = 0) -> Fold:
    """The fold without floor(fraction * n) of its n test rows: the first ones of a permutation drawn from the seed.

    Training is as it was, and so is what a system makes of it. A fraction of 0 removes nothing; all cannot be removed.

    >>> import polars as pl
    >>> from recassay.data.interactions import Interactions
    >>> from recassay import split
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1] * 8, "item_id": [*range(8)]}))
    >>> fold = split.random(test=0.5, by="user")(log)[0]
    >>> len(fold.test), len(thin(fold, 0.5).test), dict(thin(fold, 0.5).removed)
    (4, 2, {'thinned': 2})
    """
    if not 0 <= fraction < 1:
        what = f"a fraction of {fraction} of the test rows cannot be removed"
        raise UsageError("U102", what, where="thin", hint="a number from 0 to below 1, such as 0.5")
    if not isinstance(fold, Fold):
        raise not_here("a permutation of all test rows is drawn", "fold.here()", "thin")
    n = len(fold.test)
    gone = int(floor(np.array(fraction * n)))
    everything = np.zeros(n, np.int32)
    kept = places_by_lot(fold.test, everything, row_lots(fold.test, seed, "thin")) >= gone
    return replace(
        fold,
        test=fold.test.take(kept),
        removed={**fold.removed, "thinned": fold.removed.get("thinned", 0) + gone},
        how={**fold.how, "thinned": fraction, "thinning_seed": seed},
    )
