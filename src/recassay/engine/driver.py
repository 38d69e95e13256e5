"""The driver: the only loop that sends queries to a system, and events to learn from.

Ranking and prediction of the next item are one step with a query for each user; a stream is a step for each event, and
a sequence a step for each position. Compiled code (:class:`~recassay.models.incremental.base.WalksStream`) answers many
steps at once; tests compare it with this loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from recassay.protocols.base import Step


def drive(system: Any, steps: Iterable[Step]) -> Iterator[Any]:
    """Yield the answers of a system to the queries of each step; after a step it learns what the step reveals.

    ``system.answer(ask)`` gets the queries of a step and returns the answer; ``system.learn(reveal)`` gets the events
    that the step reveals. A step may lack either.
    """
    for step in steps:
        if step.ask is not None:
            yield system.answer(step.ask)
        if step.reveal is not None:
            system.learn(step.reveal)
