"""Options that hold several choices: how files are read, lists interpreted, users sampled, and work is done."""

from __future__ import annotations

from recassay.engine.lists.until import Until
from recassay.engine.options import ConventionOptions, Execution, GroupOptions, ReadOptions
from recassay.stats.intervals import Uncertainty

__all__ = ["ConventionOptions", "Execution", "GroupOptions", "ReadOptions", "Uncertainty", "Until"]
__dir__ = __all__.copy  # what `dir` lists
