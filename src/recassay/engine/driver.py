"""The driver: the only loop that puts queries to a system, and gives it events to learn.

Ranking and next item are one step with a query for each user, a stream is a step for each event, and a sequence a step
for each place. A compiled walk (:class:`~recassay.models.incremental.base.WalksStream`) answers many steps at once;
tests compare it with this loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from recassay.protocols.base import Step


def drive(system: Any, steps: Iterable[Step]) -> Iterator[Any]:
    """Yield the answers of a system to the queries of each step; after a step it learns what the step reveals.

    ``system.answer(ask)`` returns the answer to the queries of a step, and ``system.learn(reveal)`` learns events.
    """
    for step in steps:
        if step.ask is not None:
            yield system.answer(step.ask)
        if step.reveal is not None:
            system.learn(step.reveal)
