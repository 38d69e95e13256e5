"""Models to compare with: the baselines every study should have beside its own systems."""

from __future__ import annotations

from typing import Any

from recassay.models import incremental, sequence
from recassay.models.adapters import Recommends, Scores, ScoreTable
from recassay.models.base import BuiltIn, Factors, Fitted, Model, Scorer
from recassay.models.files import from_file, is_file_model
from recassay.models.implicit import ALS, BPR, ItemKNN
from recassay.models.last_items import RecentItemKNN
from recassay.models.libraries import Cornac, Implicit, LensKit, RecTools
from recassay.models.markov import Markov
from recassay.models.neural import GRU, NARM, BERT4Rec, SASRec
from recassay.models.plsa import PLSA
from recassay.models.popular import Popular
from recassay.models.pure_svd import PureSVD
from recassay.models.random import Random
from recassay.models.recent_popular import RecentPopular
from recassay.models.rerank import MMR, SPAD, XQuAD
from recassay.models.tables import FactorTable, ScoreBatches
from recassay.models.user_knn import UserKNN
from recassay.named import Registry

REGISTRY = Registry("model", "recassay.models", BuiltIn)


def parse(text: str | BuiltIn) -> Any:
    """A model from its text: a built-in one, or ``path/to/file.py:MyModel(factors=3)``.

    >>> parse("PLSA(factors=20)")
    PLSA(factors=20)
    """
    return from_file(text) if isinstance(text, str) and is_file_model(text) else REGISTRY.parse(text)


__all__ = [
    "ALS",
    "BPR",
    "GRU",
    "MMR",
    "NARM",
    "PLSA",
    "REGISTRY",
    "SPAD",
    "BERT4Rec",
    "BuiltIn",
    "Cornac",
    "FactorTable",
    "Factors",
    "Fitted",
    "Implicit",
    "ItemKNN",
    "LensKit",
    "Markov",
    "Model",
    "Popular",
    "PureSVD",
    "Random",
    "RecTools",
    "RecentItemKNN",
    "RecentPopular",
    "Recommends",
    "SASRec",
    "ScoreBatches",
    "ScoreTable",
    "Scorer",
    "Scores",
    "UserKNN",
    "XQuAD",
    "incremental",
    "parse",
    "sequence",
]
