"""A split: the second half of each user's events, in the order of time, is the test part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recassay import Interactions
from recassay.columnar.times import TimeKind
from recassay.data.fold import Leakage
from recassay.split.base import RowAssignment, Split


@dataclass(frozen=True, repr=False)
class SecondHalf(Split):
    """Test on the second half of each user's events; users with a single event keep it for training.

    Leakage: other users' training events may be later than a user's test events.
    """

    name: ClassVar[str] = "second_half"
    times: ClassVar[TimeKind | None] = "user"
    leakage: ClassVar[Leakage] = "global"

    def cuts(self, log: Interactions, facts: None) -> Iterator[RowAssignment]:
        """Yield the one assignment of rows."""
        assert log.timestamps is not None  # `times` refuses a log without times
        order = np.lexsort((log.items, log.timestamps.to_numpy(), log.users))
        first = np.searchsorted(log.users[order], np.arange(log.n_users + 1))
        place = np.empty(len(log), np.int64)
        place[order] = np.arange(len(log)) - first[log.users[order]]
        size = np.diff(first)[log.users]
        yield RowAssignment(place >= (size + 1) // 2)
