"""What a protocol is: a list of steps, each of which asks some queries and then reveals some events.

    ranking      one step            ask one query per user       reveal nothing
    next_item    two steps           ask nobody                   reveal what lies between training and test
                                     ask one query per user       reveal nothing
    prequential  a step an event     ask the user of the event    reveal the event

The driver fits a model, and for each step lets it answer and then tells it what is revealed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.queries import Queries
from recassay.data.truth import Truth
from recassay.named import Named


@dataclass(frozen=True, eq=False)
class Step:
    """Queries that are asked together, and the events that become known once they are answered."""

    ask: Queries
    reveal: Interactions | None = None


class Asking(Named):
    """Base of everything that says what is asked of a system; each kind has a driver."""


class Protocol(Asking):
    """Base of protocols: a frozen description that turns a fold into steps and the sealed truth."""

    def steps(self, fold: Fold) -> Iterator[Step]:
        """What is asked and what is revealed, in order."""
        raise NotImplementedError(f"{type(self).__name__} must say what it asks")

    def truth(self, fold: Fold) -> Truth:
        """The answers that count as right."""
        raise NotImplementedError(f"{type(self).__name__} must say what is right")


class Survey(Protocol):
    """Base of protocols that ask every user once, so that one pass over the scores tells where relevant items stand.

    A test rating is relevant from ``relevant_from`` (None: every one). Lists are ``k`` long, ``bins`` are of popularity
    (0: none), ``keep_seen`` leaves items that a user has had among the candidates, and ``popularity`` says which events
    weigh an item where candidates are sampled by popularity: those of the training part, or all of them.
    """

    relevant_from: float | None
    k: int
    bins: int
    keep_seen: bool
    popularity: Literal["training", "all"]

    def validate(self) -> None:
        """Cut-off and bins are counts."""
        if self.k < 1:
            raise self.refuse("k", "a list holds at least 1 item", "k=100")
        if self.bins < 0 or self.bins == 1:
            raise self.refuse("bins", "it takes 2 bins to differ", "bins=10, or bins=0 for none")

    def asked(self, fold: Fold) -> Fold:
        """The fold whose test part is asked about."""
        return fold

    def revealed(self, fold: Fold) -> Interactions | None:
        """Events that become known after training and before anything is asked."""
        return None

    def steps(self, fold: Fold) -> Iterator[Step]:
        """What is revealed first, if anything, and then one step that asks every user of the test part."""
        users, vocabulary = np.unique(self.asked(fold).test.users), fold.test.user_vocabulary
        if (revealed := self.revealed(fold)) is not None:
            yield Step(Queries(users[:0], vocabulary), revealed)
        yield Step(Queries(users, vocabulary))
