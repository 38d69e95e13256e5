"""Given-N and All-but-N on a stream: the events of each user that are given to the model and not scored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.order import positions_in_groups
from recassay.models.incremental.base import grown
from recassay.protocols.prequential import Prequential

Int32 = NDArray[np.int32]


class GivenEvents:
    """The first N events of each user (``given``), or all but the last N (``all_but``); no event with neither option.

    Reference: Breese, Heckerman and Kadie, Empirical analysis of predictive algorithms for collaborative filtering,
    UAI 1998.

    >>> users = np.array([0, 1, 0, 0, 1], np.int32)
    >>> GivenEvents(Prequential(given=2))(users).tolist()
    [True, True, True, False, True]
    >>> GivenEvents(Prequential(all_but=1))(users).tolist()
    [True, True, True, False, False]
    """

    def __init__(self, protocol: Prequential) -> None:
        self.given, self.all_but = protocol.given, protocol.all_but
        self.n_before = np.zeros(0, np.int64)  # events of each user in earlier calls

    @property
    def wanted(self) -> bool:
        """Return whether some events may be given."""
        return self.given > 0 or self.all_but is not None

    def __call__(self, users: Int32) -> NDArray[np.bool_]:
        """Return a mask of the next events, by their ``users``: true for events that are given.

        With ``all_but``, ``users`` must have all events that are still to come.
        """
        if not self.wanted:
            return np.zeros(users.size, np.bool_)
        position, size = positions_in_groups(users), np.bincount(users)
        self.n_before = grown(self.n_before, size.size)
        found = self.n_before[users] + position < self.given
        if self.all_but is not None:
            found = size[users] - position > self.all_but
        self.n_before[: size.size] += size
        return np.asarray(found)
