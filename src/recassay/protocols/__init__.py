"""Protocols: which queries a system is evaluated on, in which order, and which events it learns in between."""

from __future__ import annotations

from recassay.naming.registry import Registry
from recassay.protocols.base import BaseProtocol, Step, UserProtocol
from recassay.protocols.prequential import Prequential as prequential  # noqa: N813
from recassay.protocols.ranking import NextItem as next_item  # noqa: N813 - a protocol reads like a verb
from recassay.protocols.ranking import Ranking as ranking  # noqa: N813
from recassay.protocols.ranking import Sequence as sequence  # noqa: N813

REGISTRY: Registry[type[BaseProtocol]] = Registry(
    "protocol", "recassay.protocols", BaseProtocol, group="recassay.protocols"
)
parse = REGISTRY.parse

__all__ = [
    "BaseProtocol",
    "Step",
    "UserProtocol",
    "next_item",
    "parse",
    "prequential",
    "ranking",
    "sequence",
]
__dir__ = __all__.copy  # what `dir` lists
