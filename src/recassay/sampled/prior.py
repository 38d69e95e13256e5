"""Chances of the full ranks, as the caller knows them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recassay.errors import UsageError

Float = NDArray[np.float64]
Prior = Literal["uniform"] | ArrayLike


def checked_prior(prior: Prior) -> Float | None:
    """Chances that sum to 1, from chances or counts; None where every rank is equally likely. Others are U152.

    >>> checked_prior([3, 1, 0, 0]).tolist()
    [0.75, 0.25, 0.0, 0.0]
    """
    if isinstance(prior, str):
        if prior == "uniform":
            return None
        raise _refused(f"prior='{prior}' is not known")
    found = np.asarray(prior, np.float64).ravel()
    if found.size < 2:
        raise _refused(f"a prior of {found.size} ranks leaves nothing open")
    wrong = ~((found >= 0) & np.isfinite(found))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise _refused(f"the prior has {found[first]:g} as the chance of rank {first + 1:,}")
    if not found.any():
        raise _refused("the prior gives no rank a chance")
    chances: Float = found / found.sum()
    return chances


def stretched(prior: Float, ranks: int) -> Float:
    """The same distribution of (r - 1/2) / n over another number of ranks, level within the old ones.

    >>> stretched(np.array([0.5, 0.5, 0.0]), 6).round(6).tolist()
    [0.25, 0.25, 0.25, 0.25, 0.0, 0.0]
    """
    if ranks == prior.size:
        return prior
    whole = np.append(0.0, np.cumsum(prior))
    cut = np.interp(np.linspace(0, prior.size, ranks + 1), np.arange(prior.size + 1), whole)
    found: Float = np.maximum(np.diff(cut), 0.0)
    found /= found.sum()
    return found


def _refused(what: str) -> UsageError:
    hint = "'uniform', or the chance (or count) of every full rank 1, 2, .., pool + 1"
    return UsageError("U152", what, where="prior", hint=hint)
