"""Folds with fewer test ratings: how a metric changes when less is known.

fold            test Ann c e, Bob b d
subsample(0.25)      test Ann c e, Bob b
subsample(0.5)       test Ann c,   Bob b          a larger fraction also removes what a smaller one removes
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recassay.data.fold import Fold
from recassay.errors import UsageError
from recassay.split.draws import draw_ranks, round_down, row_draws
from recassay.split.partitions import needs_memory_error


def subsample(fold: Fold, fraction: float, *, seed: int = 0) -> Fold:
    """Return the fold with floor(fraction * n) of its n test rows removed, chosen by a seeded permutation.

    Training stays the same, and so do fitted systems. A fraction of 0 removes nothing; a fraction of 1 is an error.

    >>> import polars as pl
    >>> from recassay.data.interactions import Interactions
    >>> from recassay import split
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1] * 8, "item_id": [*range(8)]}))
    >>> fold = split.random(test=0.5, by="user")(log)[0]
    >>> len(fold.test), len(subsample(fold, 0.5).test), dict(subsample(fold, 0.5).removed)
    (4, 2, {'thinned': 2})
    """
    if not 0 <= fraction < 1:
        what = f"fraction must be at least 0 and below 1, got {fraction}"
        raise UsageError("U102", what, where="subsample", hint="0.5 removes half of the test rows")
    if not isinstance(fold, Fold):
        raise needs_memory_error("subsample permutes all test rows", "fold.here()", "subsample")
    n = len(fold.test)
    n_removed = int(round_down(np.array(fraction * n)))
    one_group = np.zeros(n, np.int32)
    draws = row_draws(fold.test, seed, "thin")  # the name is part of the seed: another one would change results
    kept = draw_ranks(fold.test, one_group, draws) >= n_removed
    return replace(
        fold,
        test=fold.test.take(kept),
        removed={**fold.removed, "thinned": fold.removed.get("thinned", 0) + n_removed},
        how={**fold.how, "thinned": fraction, "thinning_seed": seed},
    )
