"""Conversion of target sets to the arrays that the compiled kernels take."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay.columnar.layout import readonly
from recassay.designs import _places
from recassay.designs.classes import Classes
from recassay.designs.sets import TargetSets

Float = NDArray[np.float64]


def kernel_arguments(groups: TargetSets, *, with_replacement: bool) -> tuple[tuple[Any, ...], Float, Float]:
    """Return (arrays, logs, parts): the arguments that the kernels ``joint_moments`` and ``separate_moments`` share.

    ``arrays`` are the values of the kernels' parameters from ``offsets`` to ``mass``, in that order. ``logs[x]`` is
    log(x!) and ``parts[x]`` is 1 / x, for x up to the largest number of candidates or draws.
    """
    # Without masses of the tied candidates the kernels never read them; one class with the total mass fills the arrays.
    classes = Classes.equal(groups.tied > 0, groups.tied) if groups.level is None else groups.level
    largest = int(groups.drawn.max(initial=0))
    if not with_replacement:
        largest = max(largest, int(groups.pool.max(initial=0)))
    largest = max(largest, _places.FEW * int(classes.number.max(initial=0)) + int(groups.ties.max(initial=0)) + 1)
    arrays = (
        groups.offsets, groups.above, groups.tied, groups.ties, groups.pool, groups.drawn, classes.offsets,
        classes.number, classes.mass,
    )  # fmt: skip
    arguments = tuple(readonly(np.ascontiguousarray(array)) for array in arrays)
    return arguments, *logs_and_parts(largest)


def logs_and_parts(largest: int) -> tuple[Float, Float]:
    """Return (logs, parts): log(x!) and 1 / x for x from 0 to ``largest`` and a few more; 1 / 0 counts as 1."""
    numbers = np.arange(largest + 4.0)
    return readonly(scipy.special.gammaln(numbers + 1)), readonly(1 / np.maximum(numbers, 1))
