"""Protocols: what is asked of a system, in which order, and what it is told in between."""

from __future__ import annotations

from recassay.named import Registry
from recassay.protocols.base import Asking, Protocol, Step, Survey
from recassay.protocols.next_item import NextItem as next_item  # noqa: N813 - a protocol reads like a verb
from recassay.protocols.prequential import Prequential as prequential  # noqa: N813
from recassay.protocols.ranking import Ranking as ranking  # noqa: N813
from recassay.protocols.sequence import Sequence as sequence  # noqa: N813

REGISTRY = Registry("protocol", "recassay.protocols", Asking)
parse = REGISTRY.parse

__all__ = [
    "REGISTRY",
    "Asking",
    "Protocol",
    "Step",
    "Survey",
    "next_item",
    "parse",
    "prequential",
    "ranking",
    "sequence",
]
