"""Models by name."""

from __future__ import annotations

from typing import Any

from recassay.models.base.files import from_file, is_file_model
from recassay.models.base.model import BuiltIn
from recassay.naming.registry import Registry

REGISTRY: Registry[type[BuiltIn]] = Registry("model", "recassay.models", BuiltIn, group="recassay.models")


def parse(text: str | BuiltIn) -> Any:
    """Return the model that a text names: a built-in one, or ``path/to/file.py:MyModel(factors=3)``.

    >>> parse("PLSA(factors=20)")
    PLSA(factors=20)
    """
    return from_file(text) if isinstance(text, str) and is_file_model(text) else REGISTRY.parse(text)
