"""Protocols: what is asked of a system, in which order, and what it is told in between."""

from __future__ import annotations

from recassay.named import Registry
from recassay.protocols.base import Protocol, Step
from recassay.protocols.ranking import Ranking as ranking  # noqa: N813 - a protocol reads like a verb

REGISTRY = Registry("protocol", "recassay.protocols", Protocol)
parse = REGISTRY.parse

__all__ = ["REGISTRY", "Protocol", "Step", "parse", "ranking"]
