"""Classes of what the verbs return, for annotations and ``isinstance``."""

from __future__ import annotations

from recassay.api.evaluate import Evaluation
from recassay.api.weight import Weights
from recassay.columnar.vocabulary import Vocabulary
from recassay.comparison.compare import Comparison
from recassay.comparison.gate import Criterion, Gate
from recassay.comparison.over_time.compare import OverTime
from recassay.comparison.over_time.curves import Curve
from recassay.comparison.power import Power
from recassay.data.standings import Standings
from recassay.engine.decisions.contest import SuddenDeath
from recassay.engine.decisions.decide import Decision
from recassay.engine.decisions.interleaving import Interleaving
from recassay.errors import InternalError
from recassay.models.rerank.runs import Reranked
from recassay.results.design_scores import DesignScores
from recassay.results.finding import Finding
from recassay.results.group_scores import GroupScores
from recassay.results.score_set import ScoreSet

__all__ = [
    "Comparison",
    "Criterion",
    "Curve",
    "Decision",
    "DesignScores",
    "Evaluation",
    "Finding",
    "Gate",
    "GroupScores",
    "Interleaving",
    "InternalError",
    "OverTime",
    "Power",
    "Reranked",
    "ScoreSet",
    "Standings",
    "SuddenDeath",
    "Vocabulary",
    "Weights",
]
__dir__ = __all__.copy  # what `dir` lists
