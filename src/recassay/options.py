"""Options that several verbs share, as objects: how files are read, lists interpreted, and work is done."""

from __future__ import annotations

from recassay.comparison.compare import SignificanceOptions
from recassay.engine.options import ConventionOptions, DesignOptions, Execution, GroupOptions, ReadOptions
from recassay.stats.intervals import Uncertainty

__all__ = [
    "ConventionOptions",
    "DesignOptions",
    "Execution",
    "GroupOptions",
    "ReadOptions",
    "SignificanceOptions",
    "Uncertainty",
]
__dir__ = __all__.copy  # what `dir` lists
