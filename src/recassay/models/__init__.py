"""Models to compare with: the baselines every study should have beside its own systems."""

from __future__ import annotations

from recassay.models.base import BuiltIn
from recassay.named import Registry

REGISTRY = Registry("model", "recassay.models", BuiltIn)
parse = REGISTRY.parse
