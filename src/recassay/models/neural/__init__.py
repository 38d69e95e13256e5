"""Networks that predict the next item from a history. They need PyTorch, which is imported on the first fit."""

from recassay.models.neural.recurrent import GRU, NARM
from recassay.models.neural.transformers import BERT4Rec, SASRec

__all__ = ["GRU", "NARM", "BERT4Rec", "SASRec"]
