"""GRU: a recurrent network, whose state is updated by each item of a history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recassay.models.neural import layers
from recassay.models.neural.base import Neural, whole_histories
from recassay.models.neural.layers import Array, Drop, Tensor, Weights
from recassay.naming.grammar import Value
from recassay.naming.named import Departure

AUTHORS: Mapping[str, Value] = {"batch": 512, "loss": "softmax"}


@dataclass(frozen=True, repr=False)
class GRU(Neural):
    """Gated recurrent units that read a history item by item; a score is the last state times an output row.

    With e_t the embedding of item t (dropout is applied to it) and h_0 = 0, r_t = sig(W_R e_t + R_R h_{t-1}),
    z_t = sig(W_Z e_t + R_Z h_{t-1}) and h_t = z_t h_{t-1} + (1 - z_t) tanh(W_H e_t + r_t (R_H h_{t-1})). Then
    o_t = W_S h_t scores the item after t, trained at every t. This is PyTorch's form; with ``reset="before"`` the
    product is R_H (r_t h_{t-1}), which is slower. Swapping z and 1 - z only changes the sign of W_Z and R_Z. With a
    ``depth`` above 1, further layers read the states of the layer before, also with dropout.

    Edges: an empty history is read as one item whose embedding is 0, so all scores are 0. ``windows="all"`` restarts
    from h_0 every ``length`` items. The paper is about sessions, so settings for long histories (presets "ml-1m",
    "ml-20m", "beauty", "games", "steam") are those of the models it is usually compared with. "sequeval" is the network
    that generates sequences in Monti et al., which reads whole sequences (``length=None``); its units, batch size and
    optimiser are not published.

    The paper's loss is ``loss="softmax"``, cross-entropy over all items. All presets use it, with batches of 512. The
    default ``"auto"`` is the same up to 5,000 items, and above it "sampled", a softmax over ``negatives`` sampled
    items. The default batch is smaller: an epoch takes as long and has four times as many steps.

    Reference: Tan, Xu and Liu, Improved recurrent neural networks for session-based recommendations, DLRS 2016. Monti,
    Palumbo, Rizzo and Morisio, Sequeval: an offline evaluation framework for sequence-based recommender systems,
    Information 2019.
    """

    name: ClassVar[str] = "GRU"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sampled-metrics",
            "The paper multiplies the state by the reset gate before the matrix product; recassay takes PyTorch's "
            "form, with the gate after the product, which has a fast kernel.",
            literal="GRU(reset='before')",
        ),
        Departure(
            "sampled-metrics",
            "In the paper z is the share of the new state and in recassay that of the old state, which is the same "
            "network with the other sign of W_Z and R_Z.",
        ),
        Departure(
            "sampled-metrics",
            "The paper's loss is a cross-entropy over all items; above 5,000 items recassay takes a softmax over 1,024 "
            "sampled ones, which takes a fraction of the time.",
            literal="GRU(loss='softmax')",
        ),
        Departure(
            "sampled-metrics",
            "The paper takes the settings of Tan, Xu and Liu, in additional material that we do not have, and prints "
            "no dropout; recassay drops a quarter of the inputs and takes batches of 128 windows, which presets make "
            "512.",
            literal="GRU(batch=512, loss='softmax')",
        ),
        whole_histories("sampled-metrics", "GRU"),
        whole_histories("sequeval", "GRU"),
        Departure(
            "sequeval",
            "The paper does not name the cell, the batch size or the optimiser of its recurrent network; the preset "
            "sequeval takes gated recurrent units, batches of 64 and Adam.",
        ),
    )
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {
        "ml-1m": {"length": 200, **AUTHORS},
        "ml-20m": {"length": 200, **AUTHORS},
        "beauty": {**AUTHORS},
        "games": {**AUTHORS},
        "steam": {**AUTHORS},
        "sequeval": {
            "depth": 3,
            "length": None,
            "dim": 64,
            "hidden": 64,
            "windows": "last",
            "dropout": 0.2,
            "rate": 0.0001,
            "batch": 64,
            "epochs": 10,
            "loss": "softmax",
        },
    }

    item_tables: ClassVar[tuple[str, ...]] = ("items", "outputs")

    hidden: int = 100
    depth: int = 1
    reset: Literal["after", "before"] = "after"

    def validate(self) -> None:
        """Raise U102 if the width or the depth is below 1."""
        super().validate()
        self.at_least(1, "hidden", "depth")

    @property
    def layer_names(self) -> list[str]:
        """Return the name of the weights of each layer."""
        return ["gru", *(f"gru{number}" for number in range(2, self.depth + 1))]

    def initial_weights(self, items: int, rng: np.random.Generator) -> dict[str, Array]:
        """Return small embeddings, and matrices that keep the variance of their inputs (Glorot)."""
        found = {"items": layers.embedding_table(rng, items, self.dim)}
        for number, name in enumerate(self.layer_names):
            found |= layers.gru_weights(rng, name, self.hidden if number else self.dim, self.hidden)
        return {**found, "outputs": layers.glorot(rng, items, self.hidden)}

    def states(self, weights: Weights, tokens: Tensor, lengths: Tensor, places: Tensor, drop: Drop) -> Tensor:
        """Return states (p, h) after the items at ``places``, flat indices into the table of tokens (n, t)."""
        x = layers.embed(weights["items"], tokens)  # (n, t, d)
        for name in self.layer_names:
            x = layers.gru(drop(x, self.dropout), weights, name, reset_before=self.reset == "before")  # (n, t, h)
        return layers.embed(x.reshape(-1, self.hidden), places)

    def outputs(self, weights: Weights) -> Tensor:
        """Return the vectors of items (items, h), whose products with a state are the scores.

        They are not the embeddings.
        """
        return weights["outputs"]
