"""Re-rankers: they reorder the lists of another model, or of a run, to make them more diverse."""

from recassay.models.rerank.base import FittedReranker, Reranker
from recassay.models.rerank.calibrated import Calibrated
from recassay.models.rerank.dpp import DPP
from recassay.models.rerank.long_tail import LongTail
from recassay.models.rerank.mmr import MMR
from recassay.models.rerank.runs import Reranked, rerank
from recassay.models.rerank.shuffled import Shuffled
from recassay.models.rerank.spad import SPAD
from recassay.models.rerank.xquad import XQuAD

__all__ = [
    "DPP", "MMR", "SPAD", "Calibrated", "FittedReranker", "LongTail", "Reranked", "Reranker", "Shuffled", "XQuAD",
    "rerank",
]  # fmt: skip
