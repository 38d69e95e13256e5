"""A table of distances between items that somebody made elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.errors import InputError

ROUNDING = 1e-9


def given_distances(table: Any, n_items: int) -> NDArray[np.float64]:
    """A row and a column for each of so many items of a log, ascending by id; I393 unless every number is a distance.

    >>> given_distances([[0, 0.5], [0.5, 0]], 2).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    found, why = np.asarray(table, np.float64), ""
    if found.shape != (n_items, n_items):
        why = f"their shape is {found.shape}, and the log has {n_items:,} items"
    elif not ((found >= 0) & (found <= 1)).all():  # NaN is not within bounds either
        why = "a distance is not between 0 and 1"
    elif np.abs(found - found.T).max(initial=0) > ROUNDING:
        why = "they are not symmetric: how far two items are must not depend on which comes first"
    if why:
        raise InputError(
            "I393",
            f"the given distances cannot be used: {why}",
            hint="a table with a row and a column for each item of the log, ascending by id",
        )
    return found
