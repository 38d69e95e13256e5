"""Attention that looks back: what of a history matters now, wherever it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from recassay.models.neural import layers
from recassay.models.neural.base import Neural
from recassay.models.neural.layers import Array, Drop, Tensor, Weights
from recassay.models.neural.lessons import Excerpts, Lesson, Strangers


@dataclass(frozen=True, repr=False)
class SASRec(Neural):
    """Self-attention reads a history from each of its places back to the begin; a score is a state times an embedding.

    With embeddings M and P of items and of places (the last item always stands in the last place), x = M[item] +
    P[place] goes through ``blocks`` of x + Dropout(z(LayerNorm(x))), where z is first softmax(Q K' / sqrt(dim / heads))
    V with ``heads`` heads, no place looking ahead, and then ReLU(x W1 + b1) W2 + b2. After a last LayerNorm the state
    of the last place scores item i with M[i].

    Every place learns what came next. ``loss="binary"`` is -log sig(o) - log(1 - sig(o')), o' being the score of an
    item drawn uniformly from those the user never had; ``loss="softmax"`` is cross-entropy over all items.

    Edges: an empty history is read as one item whose embedding is 0. Defaults are those of the authors' code, but for
    ``epochs``; it also drops attention weights. Presets "ml-1m" (and "ml-20m" like it), "beauty", "games", "steam".

    Reference: Kang and McAuley, Self-attentive sequential recommendation, ICDM 2018.
    """

    name: ClassVar[str] = "SASRec"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "ml-1m": {"length": 200, "dropout": 0.2},
        "ml-20m": {"length": 200, "dropout": 0.2},
        "beauty": {},
        "games": {},
        "steam": {},
    }

    windows: Literal["last", "all"] = "last"
    dropout: float = 0.5
    blocks: int = 2
    heads: int = 1
    loss: Literal["binary", "softmax"] = "binary"

    def validate(self) -> None:
        """Heads share the width evenly."""
        super().validate()
        self.at_least(1, "blocks", "heads")
        if self.dim % self.heads:
            raise self.refuse("heads", f"they cannot share {self.dim} dimensions evenly")

    def initial(self, items: int, rng: np.random.Generator) -> dict[str, Array]:
        """Small embeddings, and blocks that keep signals as large as they come in."""
        weights = {"items": layers.table(rng, items, self.dim), "places": layers.normal(rng, self.length, self.dim)}
        for number in range(self.blocks):
            weights |= layers.block(rng, f"block{number}", self.dim, self.dim, layers.glorot)
        return weights | {"norm": layers.unit(self.dim)}

    def states(self, weights: Weights, tokens: Tensor, lengths: Tensor, places: Tensor, drop: Drop) -> Tensor:
        """States (p, d) of places: what each has seen up to itself."""
        x = layers.embed(weights["items"], tokens) + layers.placed(weights["places"], tokens, lengths)  # (n, t, d)
        x = drop(x, self.dropout)
        for number in range(self.blocks):
            x = layers.transform(
                x, weights, f"block{number}", heads=self.heads, activation="relu", drop=drop, rate=self.dropout
            )
        return layers.norm(x.reshape(-1, self.dim)[places], weights["norm"])

    def lesson(self, read: Excerpts, strangers: Strangers, rng: np.random.Generator) -> Lesson:
        """Beside what came next, an item that the user never had."""
        lesson = super().lesson(read, strangers, rng)
        users = read.users[lesson.places // lesson.tokens.shape[1]]
        return replace(lesson, others=strangers.draw(users, rng)) if self.loss == "binary" else lesson

    def wrong(self, weights: Weights, states: Tensor, targets: Tensor, others: Tensor) -> Tensor:
        """Pairs of what came next and what did not, or all items."""
        if self.loss == "softmax":
            return super().wrong(weights, states, targets, others)
        return layers.binary_loss(states, weights["items"], targets, others)
