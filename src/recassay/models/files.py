"""A model of one's own in a Python file: ``my_models.py:MyModel(factors=3)``."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

from recassay.errors import UsageError
from recassay.spec import parse, suggest

FORM = re.compile(r"^\s*(?P<file>[^()]+\.py):(?P<call>[A-Za-z_].*)$", re.DOTALL)


def is_file_model(text: object) -> bool:
    """Whether a text names a class in a file.

    >>> is_file_model("mine.py:MyModel(factors=3)"), is_file_model("PureSVD(factors=3)")
    (True, False)
    """
    return isinstance(text, str) and FORM.match(text) is not None


def from_file(text: str) -> Any:
    """The model that a class in a Python file makes of the parameters."""
    match = FORM.match(text)
    assert match is not None, "ask is_file_model first"
    path, expression = Path(match["file"].strip()), parse(match["call"])
    if not path.is_file():
        raise UsageError("U123", f"there is no file '{path}'", where=text, hint="write the path from where you are")
    name = "_recassay_file_" + hashlib.blake2b(str(path.resolve()).encode(), digest_size=8).hexdigest()
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, "a path that ends in .py has a loader"
    assert spec.loader is not None, "a path that ends in .py has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickling looks its classes up there
    try:
        spec.loader.exec_module(module)
        kind = getattr(module, expression.name)
        return kind(**expression.parameters)
    except AttributeError as error:
        if hasattr(module, expression.name):
            raise
        known = [one for one, value in vars(module).items() if isinstance(value, type)]
        hint = suggest(expression.name, known) if known else "the file defines no class"
        raise UsageError("U123", f"{path} has no '{expression.name}'", where=text, hint=hint) from error
    except Exception as error:
        what = f"{path} cannot be used: {type(error).__name__}: {error}"
        raise UsageError("U123", what, where=text, hint="run the file by itself to see where") from error
