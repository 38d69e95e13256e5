"""What a protocol is: a list of steps, each of which asks some queries and then reveals some events.

    ranking      one step            ask one query per user       reveal nothing

The driver fits a model, and for each step lets it answer and then tells it what is revealed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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


class Protocol(Named):
    """Base of protocols: a frozen description that turns a fold into steps and the sealed truth."""

    def steps(self, fold: Fold) -> Iterator[Step]:
        """What is asked and what is revealed, in order."""
        raise NotImplementedError(f"{type(self).__name__} must say what it asks")

    def truth(self, fold: Fold) -> Truth:
        """The answers that count as right."""
        raise NotImplementedError(f"{type(self).__name__} must say what is right")
