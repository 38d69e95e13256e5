"""Networks that read histories: what comes next. They need PyTorch, which is imported when one of them is fitted."""

from recassay.models.neural.bert4rec import BERT4Rec
from recassay.models.neural.gru import GRU
from recassay.models.neural.narm import NARM
from recassay.models.neural.sasrec import SASRec

__all__ = ["GRU", "NARM", "BERT4Rec", "SASRec"]
