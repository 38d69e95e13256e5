"""Prior probabilities of the full ranks, given by the caller."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recassay.errors import UsageError

Float = NDArray[np.float64]
Prior = Literal["uniform"] | ArrayLike


def check_prior(prior: Prior) -> Float | None:
    """Return the prior probabilities of the full ranks, which sum to 1; None if every rank is equally likely.

    ``prior`` has probabilities or counts, or is "uniform". Raise U152 for anything else.

    >>> check_prior([3, 1, 0, 0]).tolist()
    [0.75, 0.25, 0.0, 0.0]
    """
    if isinstance(prior, str):
        if prior == "uniform":
            return None
        raise _prior_error(f"there is no prior '{prior}'")
    try:
        found = np.asarray(prior, np.float64).ravel()
    except (TypeError, ValueError, OverflowError) as error:
        raise _prior_error(f"the prior is not numbers: {error}") from None
    if found.size < 2:
        raise _prior_error(f"a prior needs at least 2 ranks, got {found.size}")
    wrong = ~((found >= 0) & np.isfinite(found))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise _prior_error(
            f"probabilities must be finite and not negative, got {found[first]:g} for rank {first + 1:,}"
        )
    if not found.any():
        raise _prior_error("the probabilities of the prior sum to 0")
    chances: Float = found / found.sum()
    return chances


def stretch_prior(prior: Float, ranks: int) -> Float:
    """Return a prior of full ranks (the probability of each rank r), rescaled to n = ``ranks`` ranks.

    The distribution of (r - 1/2) / n stays the same: within each old rank, the probability is spread evenly.

    >>> stretch_prior(np.array([0.5, 0.5, 0.0]), 6).round(6).tolist()
    [0.25, 0.25, 0.25, 0.25, 0.0, 0.0]
    """
    if ranks == prior.size:
        return prior
    whole = np.append(0.0, np.cumsum(prior))
    cut = np.interp(np.linspace(0, prior.size, ranks + 1), np.arange(prior.size + 1), whole)
    found: Float = np.maximum(np.diff(cut), 0.0)
    found /= found.sum()
    return found


def _prior_error(what: str) -> UsageError:
    hint = "'uniform', or the probability (or count) of every full rank 1, 2, .., pool + 1"
    return UsageError("U152", what, where="prior", hint=hint)
