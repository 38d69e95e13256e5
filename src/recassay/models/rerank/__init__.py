"""Models that put the lists of another model, or of a run file, into a more diverse order."""

from recassay.models.rerank.base import FittedReranker, Reranker
from recassay.models.rerank.mmr import MMR
from recassay.models.rerank.runs import Reranked, rerank
from recassay.models.rerank.spad import SPAD
from recassay.models.rerank.xquad import XQuAD

__all__ = ["MMR", "SPAD", "FittedReranker", "Reranked", "Reranker", "XQuAD", "rerank"]
