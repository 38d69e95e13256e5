"""The driver: the only loop that puts queries to a system, and gives it events to learn.

Ranking and next item are one step with a query for each user, a stream is a step for each event, and a sequence a step
for each place. A compiled walk (:class:`~recassay.models.incremental.base.WalksStream`) answers many steps at once;
tests compare it with this loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from recassay.protocols.base import Step


class Driven(Protocol):
    """A system as the driver sees it: it answers queries, and learns the events that are revealed."""

    def answer(self, ask: Any) -> Any:
        """Return the answer to the queries of a step."""

    def learn(self, reveal: Any) -> None:
        """Learn the events that a step reveals."""


def drive(system: Driven, steps: Iterable[Step]) -> Iterator[Any]:
    """Yield the answers of a system to the queries of each step; after a step it learns what the step reveals."""
    for step in steps:
        if step.ask is not None:
            yield system.answer(step.ask)
        if step.reveal is not None:
            system.learn(step.reveal)
