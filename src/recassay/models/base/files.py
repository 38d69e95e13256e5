"""Models from classes in Python files: ``my_models.py:MyModel(factors=3)``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from recassay.errors import UsageError
from recassay.naming.grammar import parse, suggest
from recassay.naming.registry import load_file

FORM = re.compile(r"^\s*(?P<file>[^()]+\.py):(?P<call>[A-Za-z_].*)$", re.DOTALL)


def is_file_model(text: object) -> bool:
    """Return whether a text names a class in a Python file.

    >>> is_file_model("mine.py:MyModel(factors=3)"), is_file_model("PureSVD(factors=3)")
    (True, False)
    """
    return isinstance(text, str) and FORM.match(text) is not None


def from_file(text: str) -> Any:
    """Return the model that a text names; raise U123 if the file, the class or a parameter cannot be used."""
    match = FORM.match(text)
    assert match is not None, "check with is_file_model first"
    path, expression = Path(match["file"].strip()), parse(match["call"])
    module = load_file(path, where=text)
    kind = getattr(module, expression.name, None)
    if kind is None:
        known = [name for name, value in vars(module).items() if isinstance(value, type)]
        hint = suggest(expression.name, known) if known else "the file defines no class"
        raise UsageError("U123", f"{path} has no '{expression.name}'", where=text, hint=hint)
    try:
        return kind(**expression.parameters)
    except Exception as error:
        what = f"{path} cannot be used: {type(error).__name__}: {error}"
        raise UsageError("U123", what, where=text, hint="run the file on its own to see where it fails") from error
