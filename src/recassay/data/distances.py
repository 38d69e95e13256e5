"""Validation of a table of item distances that the user supplies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.errors import InputError

ROUNDING = 1e-9  # largest asymmetry that counts as rounding error


def validated_distances(table: Any, n_items: int) -> NDArray[np.float64]:
    """Return the given distances as an array (items, items), for the items of a log ascending by id.

    Raise I362 if invalid.

    >>> validated_distances([[0, 0.5], [0.5, 0]], 2).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    found, problem = np.asarray(table, np.float64), ""
    if found.shape != (n_items, n_items):
        problem = f"their shape is {found.shape}, and the log has {n_items:,} items"
    elif not ((found >= 0) & (found <= 1)).all():  # NaN fails this test too
        problem = "a distance is not between 0 and 1"
    elif np.abs(found - found.T).max(initial=0) > ROUNDING:
        problem = "they are not symmetric"
    if problem:
        raise InputError(
            "I362",
            f"the given distances cannot be used: {problem}",
            hint="give a symmetric table with a row and a column for each item of the log, ascending by id",
        )
    return found
