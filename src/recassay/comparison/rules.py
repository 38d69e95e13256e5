"""The rules of Sudden Death, and the Sudden Death options of a folder of results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recassay.naming import choices
from recassay.naming.named import Named

Ties = choices.SuddenDeathTies
Users = choices.SuddenDeathUsers
Loop = choices.SuddenDeathLoop

NAME = "sudden_death"
NEVER = np.iinfo(np.int32).max  # the place of a first hit that there is not


@dataclass(frozen=True, repr=False)
class Rules(Named):
    """The rules of Sudden Death: the system that shows a user a relevant item at the best rank wins that user.

    ties:   ``share``: every system with the earliest hit wins the user; ``split``: each wins an equal part
    users:  only those ``with_relevant`` items, or ``all`` users of the truth and of the runs; nobody wins a user
            without relevant items
    loop:   the ``whole`` list down to the cut-off; ``printed`` stops one rank earlier, as the published listing does
    """

    name: ClassVar[str] = NAME

    ties: Ties = "share"
    users: Users = "with_relevant"
    loop: Loop = "whole"
    relevant_from: float = 1.0

    def heading(self, at: int) -> str:
        """Return the name of Sudden Death at the cut-off ``at`` as a metric, with the rules that are not the default.

        >>> Rules(ties="split").heading(10)
        "sudden_death(ties='split')@10"
        """
        return f"{self}@{at}"

    def depth(self, at: int) -> int:
        """Return the last rank that counts at the cut-off ``at``: the cut-off, or one less with ``loop="printed"``."""
        return at - 1 if self.loop == "printed" else at


PLAIN = Rules()


@dataclass(frozen=True)
class SuddenDeathOptions:
    """The Sudden Death results that a folder of results gets: the cut-offs, the rules, and the competing systems.

    All systems compete by default.
    """

    at: tuple[int, ...]
    ties: Ties = "share"
    users: Users = "with_relevant"
    loop: Loop = "whole"
    competitors: tuple[str, ...] = ()
