"""Base of protocols: a sequence of steps, each of which has queries and then reveals events.

    ranking      one step            one query per user           reveals nothing
    next_item    two steps           no query                     reveals the validation part
                                     one query per user           reveals nothing
    prequential  one step per event  query the user of the event  reveals the event
    sequence     one step per item   query what follows           reveals nothing

The driver (``engine/driver.py``) puts the queries of each step to a fitted model, and then gives it the events.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from recassay.data.fold import Fold, Queries
from recassay.data.interactions import Interactions
from recassay.data.truth import Truth
from recassay.naming.named import COUNT, Named


@dataclass(frozen=True, eq=False)
class Step:
    """A step of a protocol: the queries to put to the system, and the events to give it afterwards.

    ``ask`` has the queries, and ``reveal`` the events; None where there are none. On folds they are :class:`Queries`
    and a log; on streams, positions of events in a block. For generated sequences, ``ask`` is the position of the item
    to generate next.
    """

    ask: Any = None
    reveal: Any = None


class BaseProtocol(Named):
    """Base of all protocols: frozen descriptions of which queries a system is evaluated on."""


class UserProtocol(BaseProtocol):
    """Base of protocols on folds, with one query per user; a protocol returns the steps and the truth of a fold.

    One pass over a system's scores then gives the ranks of all relevant items. A test rating of ``relevant_from`` or
    more is relevant (None: every test rating). Lists have ``k`` items. ``bins`` is the number of popularity bins (0:
    none). ``keep_seen`` keeps the items of a user's history among the candidates; with "unsampled" they are candidates
    but are never sampled. Where a design samples candidates by popularity, ``popularity`` says which events are
    counted: those of the training part, or all. With ``equal_mass`` the bins have about equal numbers of ratings, else
    of items; ``bins_from`` says in which parts of the fold (all, or training) the users of an item are counted for its
    bin.
    """

    relevant_from: float | None
    k: Annotated[int, COUNT]
    bins: int
    keep_seen: bool | Literal["unsampled"]
    popularity: Literal["training", "all"]
    equal_mass: bool
    bins_from: Literal["all", "training"]

    def validate(self) -> None:
        """Raise an error if ``bins`` is negative or 1."""
        if self.bins < 0 or self.bins == 1:
            raise self.refuse("bins", "it must be 0 or at least 2", "bins=10, or bins=0 for none")

    def target_fold(self, fold: Fold) -> Fold:
        """Return the fold whose test part holds the items that the queries must predict."""
        return fold

    def revealed(self, fold: Fold) -> Interactions | None:
        """Return the events that systems see after training and before the queries; None if there are none."""
        return None

    def truth(self, fold: Fold) -> Truth:
        """Return the relevant items of each query on a fold."""
        raise NotImplementedError(f"{type(self).__name__} must define the truth")

    def steps(self, fold: Fold) -> Iterator[Step]:
        """Yield a step that reveals events, if there are any, and a step with a query for every test user."""
        users, vocabulary = np.unique(self.target_fold(fold).test.users), fold.test.user_vocabulary
        if (revealed := self.revealed(fold)) is not None:
            yield Step(reveal=revealed)
        yield Step(Queries(users, vocabulary))
