"""Conclusions over several data sets, folds, streams or metrics, and from published tables of means."""

from __future__ import annotations

from recassay.comparison.across import Across, across
from recassay.comparison.consistency import Consistency, consistency
from recassay.comparison.over_time.compare import compare_folds, declared
from recassay.comparison.over_time.curves import FoldCurves, over_folds
from recassay.comparison.overall import global_score, pareto
from recassay.comparison.tables import FinishedScores
from recassay.engine.finished.conclude import FinishedConclusions, conclude, order_agreement
from recassay.engine.finished.read import read_finished

__all__ = [
    "Across",
    "Consistency",
    "FinishedConclusions",
    "FinishedScores",
    "FoldCurves",
    "across",
    "compare_folds",
    "conclude",
    "consistency",
    "declared",
    "global_score",
    "order_agreement",
    "over_folds",
    "pareto",
    "read_finished",
]
__dir__ = __all__.copy  # what `dir` lists
