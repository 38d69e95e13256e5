"""Models by name, and fitted models in files, as ``recassay fit`` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.data.io.archive import load_archive
from recassay.errors import UsageError
from recassay.models.base.files import from_file, is_file_model
from recassay.models.base.model import BuiltIn, ScoringModel
from recassay.naming.registry import Registry

REGISTRY: Registry[type[BuiltIn]] = Registry("model", "recassay.models", BuiltIn, group="recassay.models")
SUFFIX = ".npz"  # of files with fitted models


def parse(text: str | BuiltIn) -> Any:
    """Return the model that a text names: a built-in one, or ``path/to/file.py:MyModel(factors=3)``.

    >>> parse("PLSA(factors=20)")
    PLSA(factors=20)
    """
    return from_file(text) if isinstance(text, str) and is_file_model(text) else REGISTRY.parse(text)


def load_fitted(path: Path) -> tuple[str, Any]:
    """Return the name and parameters of the model in a file, and the fitted model; raise U123 if there is none.

    The file may be anybody's: it is refused if its arrays do not belong together, or if it cannot recommend an item.
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
