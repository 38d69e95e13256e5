"""A recurrent network: a state that every item moves on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from recassay.models.neural import layers
from recassay.models.neural.base import Neural
from recassay.models.neural.layers import Array, Drop, Tensor, Weights


@dataclass(frozen=True, repr=False)
class GRU(Neural):
    """Gated recurrent units read a history item by item; a score is the last state times a row of the output.

    With e_t the embedding of item t (dropout is applied to it) and h_0 = 0, r_t = sig(W_R e_t + R_R h_{t-1}),
    z_t = sig(W_Z e_t + R_Z h_{t-1}) and h_t = z_t h_{t-1} + (1 - z_t) tanh(W_H e_t + r_t (R_H h_{t-1})). Then
    o_t = W_S h_t scores what comes after t, learnt at every t by softmax cross-entropy. It is the form that PyTorch
    has: elsewhere z is called 1 - z, and r stands inside of the product with R_H. With a ``depth`` of more than 1
    further units read the states of those before them, dropout applied to these too.

    Edges: an empty history is read as one item whose embedding is 0, which scores all items 0. ``windows="all"`` starts
    anew from h_0 every ``length`` items. Published for sessions, so settings for long histories (presets "ml-1m" and
    "ml-20m", and "beauty", "games", "steam") are those common to the models compared with it. "sequeval" is the network
    that generates sequences in Monti et al.; they do not say which units, batches and optimiser are theirs.

    Reference: Tan, Xu and Liu, Improved recurrent neural networks for session-based recommendations, DLRS 2016. Monti,
    Palumbo, Rizzo and Morisio, Sequeval: an offline evaluation framework for sequence-based recommender systems,
    Information 2019.
    """

    name: ClassVar[str] = "GRU"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "ml-1m": {"length": 200},
        "ml-20m": {"length": 200},
        "beauty": {},
        "games": {},
        "steam": {},
        "sequeval": {
            "depth": 3,
            "dim": 64,
            "hidden": 64,
            "windows": "last",
            "dropout": 0.2,
            "rate": 0.0001,
            "batch": 64,
            "epochs": 10,
        },
    }

    batch: int = 512
    hidden: int = 100
    depth: int = 1

    def validate(self) -> None:
        """A state has a width, and there is one."""
        super().validate()
        self.at_least(1, "hidden", "depth")

    @property
    def units(self) -> list[str]:
        """The name of the weights of each layer."""
        return ["gru", *(f"gru{number}" for number in range(2, self.depth + 1))]

    def initial(self, items: int, rng: np.random.Generator) -> dict[str, Array]:
        """Small embeddings, and matrices that keep signals as large as they come in."""
        found = {"items": layers.table(rng, items, self.dim)}
        for number, name in enumerate(self.units):
            found |= layers.recurrence(rng, name, self.hidden if number else self.dim, self.hidden)
        return {**found, "outputs": layers.glorot(rng, items, self.hidden)}

    def states(self, weights: Weights, tokens: Tensor, lengths: Tensor, places: Tensor, drop: Drop) -> Tensor:
        """States (p, h) after the items at some places."""
        x = layers.embed(weights["items"], tokens)  # (n, t, d)
        for name in self.units:
            x = layers.gru(drop(x, self.dropout), weights, name)  # (n, t, h)
        return x.reshape(-1, self.hidden)[places]

    def outputs(self, weights: Weights) -> Tensor:
        """Rows (items, h) of their own."""
        return weights["outputs"]
