"""Networks that predict the next item from a history. They need PyTorch, which is imported on the first fit."""

from recassay.models.neural.bert4rec import BERT4Rec
from recassay.models.neural.gru import GRU
from recassay.models.neural.narm import NARM
from recassay.models.neural.sasrec import SASRec

__all__ = ["GRU", "NARM", "BERT4Rec", "SASRec"]
