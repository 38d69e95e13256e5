"""Models that learn event by event, for streams and all other protocols."""

from __future__ import annotations

from recassay.models.base.capabilities import Learner
from recassay.models.incremental.adapters import PartialFit, RiverLike
from recassay.models.incremental.base import Incremental
from recassay.models.incremental.biased_mf import StreamBiasedMF
from recassay.models.incremental.bprmf import BPRMF
from recassay.models.incremental.composed import Ensemble, Refitted
from recassay.models.incremental.controls import Recent, StreamPopular, StreamRandom
from recassay.models.incremental.isgd import ISGD
from recassay.models.incremental.item_knn import StreamItemKNN
from recassay.models.incremental.uknn import UKNN

__all__ = [
    "BPRMF",
    "ISGD",
    "UKNN",
    "Ensemble",
    "Incremental",
    "Learner",
    "PartialFit",
    "Recent",
    "Refitted",
    "RiverLike",
    "StreamBiasedMF",
    "StreamItemKNN",
    "StreamPopular",
    "StreamRandom",
]
__dir__ = __all__.copy  # what `dir` lists
