"""The words that options accept, defined once for the Python functions and for the command line.

This module imports nothing heavy, so that the help of the command line and its completion answer at once.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

Severity = Literal["info", "warning", "error"]  # ascending
Engine = Literal["local", "spark"]

# reading of tables
Nan = Literal["error", "last"]
Negative = Literal["error", "unjudged"]
TimeKind = Literal["clock", "global", "user"]  # strongest first

# conventions of ranked lists
ListOrder = Literal["given", "score", "row"]
TieOrder = Literal["id", "id_descending", "trec", "row", "ranx", "expected", "optimistic", "pessimistic"]
Precision = Literal["double", "single"]
Duplicates = Literal["first", "last", "error", "keep"]
Missing = Literal["zero", "skip", "error"]
NoRelevant = Literal["undefined", "zero"]
Population = Literal["all", "known"]  # users of the truth; those with training events

# statistics
TestName = Literal["permutation", "bootstrap", "t", "wilcoxon", "wilcoxon-pratt", "sign", "mcnemar"]
Correction = Literal["holm", "bonferroni", "bh", "by", "none"]
Effect = Literal["d_z", "hedges", "d_av", "cliff", "a12", "rank_biserial", "relative"]
IntervalMethod = Literal["bootstrap", "bca", "percentile", "abc", "normal"]
Sampling = Literal["uniform", "popularity"]
StreamTest = Literal["auto", TestName]
Family = Literal["metric", "all"]
Axis = Literal["dataset", "split", "protocol", "design", "seed"]

# designs
BaseSet = Literal["AI", "TI", "rated"]
DesignUsers = Literal["all", "with_relevant"]
Short = Literal["error", "all"]
DrawMethod = Literal["exact", "sample"]

# Sudden Death
SuddenDeathTies = Literal["share", "split"]
SuddenDeathUsers = Literal["with_relevant", "all"]
SuddenDeathLoop = Literal["whole", "printed"]

# output
TableFormat = Literal["text", "markdown", "csv", "latex"]
TableFileFormat = Literal["markdown", "latex", "csv"]
FigureFormat = Literal["svg", "png"]


def words(choice: Any) -> tuple[str, ...]:
    """Return the values that a ``Literal`` type of this module accepts.

    >>> words(Nan)
    ('error', 'last')
    """
    return get_args(choice)
