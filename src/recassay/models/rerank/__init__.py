"""Re-rankers: they reorder the lists of another model, or of a run, to make them more diverse."""

from recassay.models.rerank.aspects import SPAD, Calibrated, LongTail, Shuffled, XQuAD
from recassay.models.rerank.base import FittedReranker, Reranker
from recassay.models.rerank.distances import DPP, MMR
from recassay.models.rerank.runs import Reranked, rerank

__all__ = [
    "DPP", "MMR", "SPAD", "Calibrated", "FittedReranker", "LongTail", "Reranked", "Reranker", "Shuffled", "XQuAD",
    "rerank",
]  # fmt: skip
