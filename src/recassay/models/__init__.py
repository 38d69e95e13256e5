"""Models to compare with: the baselines every study should have beside its own systems."""

from __future__ import annotations

from recassay.models.base import BuiltIn, Factors, Fitted, Model, Scorer
from recassay.models.implicit import ALS, BPR, ItemKNN
from recassay.models.plsa import PLSA
from recassay.models.popular import Popular
from recassay.models.pure_svd import PureSVD
from recassay.models.random import Random
from recassay.models.user_knn import UserKNN
from recassay.named import Registry

REGISTRY = Registry("model", "recassay.models", BuiltIn)
parse = REGISTRY.parse

__all__ = [
    "ALS",
    "BPR",
    "PLSA",
    "REGISTRY",
    "BuiltIn",
    "Factors",
    "Fitted",
    "ItemKNN",
    "Model",
    "Popular",
    "PureSVD",
    "Random",
    "Scorer",
    "UserKNN",
    "parse",
]
