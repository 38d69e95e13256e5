"""Fitted models in files, as ``recassay fit`` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recassay.data.io.archive import load_archive
from recassay.errors import UsageError

SUFFIX = ".npz"  # of files with fitted models


def load_fitted(path: Path) -> tuple[str, Any]:
    """Return the name and parameters of the model in a file, and the fitted model; raise U123 if there is none."""
    try:
        found = load_archive(path)
        return found["model"], found["fitted"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = f"no fitted model can be read: {error}"
        raise UsageError("U123", what, where=str(path), hint="recassay fit MODEL FOLD -o FILE writes one") from None
