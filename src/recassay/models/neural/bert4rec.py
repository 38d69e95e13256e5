"""Attention that looks both ways: learnt by guessing items that were taken out of a history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from recassay.data.histories import Histories
from recassay.models.neural import layers
from recassay.models.neural.base import Neural, tail
from recassay.models.neural.layers import Array, Drop, Tensor, Weights
from recassay.models.neural.lessons import NONE, Codes, Excerpts, Lesson, Strangers, Windows


@dataclass(frozen=True, repr=False)
class BERT4Rec(Neural):
    """Self-attention reads a history from all of its places; the next item is guessed like any that was taken out.

    As ``SASRec``, but places look both ways, ReLU is GELU, and the width between is ``inner``. Of a window of n
    items, max(1, mask n) at random, and at most ``predictions``, are replaced by a mask, and the state in each place
    scores all items (softmax cross-entropy against the one taken out). An epoch masks a window ``copies`` times, and
    once more only its last item; windows overlap by half. To answer, a mask is appended to the last ``length`` - 1
    items.

    The rate grows over the first ``warmup`` steps. Edges: an empty history is a mask alone. Defaults are the authors'
    for MovieLens 1M; presets "ml-1m", "ml-20m", "beauty" (and "games" like it), "steam". Not taken over: a layer and a
    bias in front of the softmax, and LayerNorm behind, where here it stands in front of, each layer.

    Reference: Sun et al., BERT4Rec: sequential recommendation with bidirectional encoder representations from
    transformer, CIKM 2019.
    """

    name: ClassVar[str] = "BERT4Rec"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "ml-1m": {},
        "ml-20m": {"dropout": 0.1, "dropout_attention": 0.1, "predictions": 20},
        "beauty": {"length": 50, "dropout": 0.5, "mask": 0.6, "predictions": 30},
        "games": {"length": 50, "dropout": 0.5, "mask": 0.6, "predictions": 30},
        "steam": {"length": 50, "dropout": 0.1, "dropout_attention": 0.1, "mask": 0.4, "predictions": 20},
    }

    dim: int = 64
    length: int = 200
    dropout: float = 0.2
    batch: int = 256
    rate: float = 0.0001
    blocks: int = 2
    heads: int = 2
    inner: int = 256
    dropout_attention: float = 0.2
    mask: float = 0.2
    predictions: int = 40
    copies: int = 10
    warmup: int = 100

    def validate(self) -> None:
        """Heads share the width evenly; a mask is put somewhere, and not everywhere."""
        super().validate()
        self.at_least(1, "blocks", "heads", "inner", "predictions", "copies")
        self.at_least(0, "warmup")
        self.share("dropout_attention", "mask")
        if self.dim % self.heads:
            raise self.refuse("heads", f"they cannot share {self.dim} dimensions evenly")

    def cut(self, histories: Histories) -> Windows:
        """Windows as long as what is read at once."""
        return Windows.cut(histories, self.length, self.length // 2 if self.windows == "all" else None)

    @property
    def readings(self) -> int:
        """With masks at random, and once with the last item masked."""
        return self.copies + 1

    def questions(self, lengths: Codes, reading: Codes) -> Codes:
        """How many items are masked."""
        some = np.maximum(1, np.minimum(np.round(self.mask * lengths), self.predictions)).astype(np.int64)
        return np.where(reading < self.copies, some, 1)

    def lesson(self, read: Excerpts, strangers: Strangers, rng: np.random.Generator) -> Lesson:
        """Sequences with items masked, and the question what stood there."""
        n, t = read.tokens.shape
        places = np.arange(t)
        lots = np.where(places < read.lengths[:, None], rng.random((n, t)), np.inf)  # the smallest are masked
        lots[np.arange(n), read.lengths - 1] -= read.reading == self.copies
        most = np.sort(lots, axis=1)[np.arange(n), self.questions(read.lengths, read.reading) - 1]
        masked = lots <= most[:, None]
        tokens = np.where(masked, strangers.items, read.tokens)
        return Lesson(tokens, read.lengths, np.flatnonzero(masked), read.tokens[masked], NONE)

    def asked(self, histories: Histories, nothing: int) -> tuple[Codes, Codes]:
        """The last items, and a mask behind them."""
        tokens, lengths = tail(histories, self.length - 1, nothing, least=0)
        return np.pad(tokens, ((0, 0), (0, 1)), constant_values=nothing), lengths + 1

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 1."""
        return self.rate * min(1.0, step / max(self.warmup, 1))

    def initial(self, items: int, rng: np.random.Generator) -> dict[str, Array]:
        """All small; the row of no item is the mask."""
        weights = {
            "items": layers.normal(rng, items + 1, self.dim),
            "places": layers.normal(rng, self.length, self.dim),
        }
        for number in range(self.blocks):
            weights |= layers.block(rng, f"block{number}", self.dim, self.inner, layers.normal)
        return weights | {"norm": layers.unit(self.dim)}

    def states(self, weights: Weights, tokens: Tensor, lengths: Tensor, places: Tensor, drop: Drop) -> Tensor:
        """States (p, d) of places: what each makes of the whole sequence."""
        x = layers.embed(weights["items"], tokens) + layers.placed(weights["places"], tokens, lengths)  # (n, t, d)
        x = drop(x, self.dropout)
        seen = (layers.numbers(tokens) < lengths[:, None])[:, None, None]  # (n, 1, 1, t)
        for number in range(self.blocks):
            x = layers.transform(
                x, weights, f"block{number}", heads=self.heads, activation="gelu", drop=drop, rate=self.dropout,
                within=self.dropout_attention, seen=seen,
            )  # fmt: skip
        return layers.norm(x.reshape(-1, self.dim)[places], weights["norm"])
