"""Models by name or from classes in Python files, and fitted models in files, as ``recassay fit`` writes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.data.io.archive import load_archive
from recassay.errors import UsageError
from recassay.models.base.model import BuiltIn, ScoringModel
from recassay.naming.grammar import parse as parse_expression
from recassay.naming.grammar import suggest
from recassay.naming.registry import Registry, load_file

REGISTRY: Registry[type[BuiltIn]] = Registry("model", "recassay.models", BuiltIn, group="recassay.models")
FORM = re.compile(r"^\s*(?P<file>[^()]+\.py):(?P<call>(?P<class>[A-Za-z_]\w*).*)$", re.DOTALL)
SUFFIX = ".npz"  # of files with fitted models


def parse(text: str | BuiltIn) -> Any:
    """Return the model that a text names: a built-in one, or ``path/to/file.py:MyModel(factors=3)``.

    Raise U123 if the file, the class or a parameter cannot be used.

    >>> parse("PLSA(factors=20)")
    PLSA(factors=20)
    """
    if not (isinstance(text, str) and is_file_model(text)):
        return REGISTRY.parse(text)
    path, kind = class_in_file(text)
    expression = parse_expression(FORM.sub(r"\g<call>", text))
    try:
        return kind(**expression.parameters)
    except Exception as error:
        what = f"{path} cannot be used: {type(error).__name__}: {error}"
        raise UsageError("U123", what, where=text, hint="run the file on its own to see where it fails") from error


def is_file_model(text: object) -> bool:
    """Return whether a text names a class in a Python file.

    >>> is_file_model("mine.py:MyModel(factors=3)"), is_file_model("PureSVD(factors=3)")
    (True, False)
    """
    return isinstance(text, str) and FORM.match(text) is not None


def class_in_file(text: str, folder: Path = Path()) -> tuple[Path, Any]:
    """Return the file and the class that a text such as ``mine.py:MyModel(factors=3)`` names; raise U123 without one.

    A relative path begins in ``folder``.
    """
    match = FORM.match(text)
    assert match is not None, "check with is_file_model first"
    path = folder / match["file"].strip()
    module = load_file(path, where=text)
    kind = getattr(module, match["class"], None)
    if not callable(kind):
        known = [name for name, value in vars(module).items() if isinstance(value, type)]
        hint = suggest(match["class"], known) if known else "the file defines no class"
        raise UsageError("U123", f"{path} has no class '{match['class']}'", where=text, hint=hint)
    return path, kind


def load_fitted(path: Path) -> tuple[str, Any]:
    """Return the name and parameters of the model in a file, and the fitted model; raise U123 if there is none.

    The file may be from an untrusted source. It is refused if its arrays contradict each other, or if the model cannot
    recommend an item.
    """
    try:
        found = load_archive(path)
        model, fitted = found["model"], found["fitted"]
        if isinstance(fitted, ScoringModel):
            fitted.recommend(np.arange(min(1, fitted.log.n_users), dtype=np.int32), 1)
        return model, fitted
    except (Exception, pl.exceptions.PanicException) as error:  # of any kind: a library meets what a stranger wrote
        what = f"no fitted model can be read: {error}"
        raise UsageError("U123", what, where=str(path), hint="recassay fit MODEL FOLD -o FILE writes one") from None
