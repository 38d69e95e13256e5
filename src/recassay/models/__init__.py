"""Models to compare your systems with: baselines, neighbours, factors, networks, online models and adapters."""

from __future__ import annotations

from recassay.models import incremental, sequence
from recassay.models.adapters.functions import (
    Cornac,
    Implicit,
    LensKit,
    RecommendFunction,
    RecTools,
    ScoreFunction,
    ScoreTable,
)
from recassay.models.adapters.tables import FactorTable, ScoreBatches
from recassay.models.base.capabilities import CanFit, Fitted, HasFactors, ScoresItems
from recassay.models.base.model import BuiltIn, ScoringModel
from recassay.models.base.registry import REGISTRY as REGISTRY
from recassay.models.base.registry import parse
from recassay.models.baselines import Markov, Popular, Random, RecentPopular
from recassay.models.factors import ALS, BPR, EASE, PLSA, BiasedMF, PureSVD
from recassay.models.neighbours import ItemKNN, RatingKNN, RecentItemKNN, UserKNN
from recassay.models.neural import GRU, NARM, BERT4Rec, SASRec
from recassay.models.rerank import DPP, MMR, SPAD, Calibrated, LongTail, Shuffled, XQuAD

__all__ = [
    "ALS",
    "BPR",
    "DPP",
    "EASE",
    "GRU",
    "MMR",
    "NARM",
    "PLSA",
    "SPAD",
    "BERT4Rec",
    "BiasedMF",
    "BuiltIn",
    "Calibrated",
    "CanFit",
    "Cornac",
    "FactorTable",
    "Fitted",
    "HasFactors",
    "Implicit",
    "ItemKNN",
    "LensKit",
    "LongTail",
    "Markov",
    "Popular",
    "PureSVD",
    "Random",
    "RatingKNN",
    "RecTools",
    "RecentItemKNN",
    "RecentPopular",
    "RecommendFunction",
    "SASRec",
    "ScoreBatches",
    "ScoreFunction",
    "ScoreTable",
    "ScoresItems",
    "ScoringModel",
    "Shuffled",
    "UserKNN",
    "XQuAD",
    "incremental",
    "parse",
    "sequence",
]
__dir__ = __all__.copy  # what `dir` lists
