"""NARM: two recurrent networks, one for the state after a history, one whose states are weighted by attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recassay.models.neural import layers
from recassay.models.neural.base import Neural, whole_histories
from recassay.models.neural.layers import Array, Drop, Tensor, Weights
from recassay.naming.grammar import Value
from recassay.naming.named import Departure
from recassay.threads import blocks

PLACES_PER_CHUNK = 8  # places that attend together: each needs (n, t, h) numbers

AUTHORS: Mapping[str, Value] = {"batch": 512, "loss": "softmax"}


@dataclass(frozen=True, repr=False)
class NARM(Neural):
    """Two GRUs that read a history; the states of the second are weighted by attention; scores use item embeddings.

    With g_t and h_t the states of two ``GRU`` (dropout is applied to embeddings), a_tj = v . sig(A1 h_t + A2 h_j)
    for j <= t (weights do not sum to 1), c_t = Dropout([g_t; sum_j a_tj h_j]), and M the embeddings of all items,
    o_t = M B c_t scores the item after t, trained at every t; the loss is that of ``GRU``.

    Edges and settings as for ``GRU``, with presets "ml-1m", "ml-20m", "beauty", "games", "steam". The time of an epoch
    grows with the square of ``length``. On logs with many rare items it gains from more sampled items than the other
    networks, so the default ``negatives`` is 4,096.

    Reference: Li, Ren, Chen, Ren, Lian and Ma, Neural attentive session-based recommendation, CIKM 2017.
    """

    name: ClassVar[str] = "NARM"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sampled-metrics",
            "The two recurrent networks of the paper are its GRU, with the reset gate before the matrix product; "
            "recassay has PyTorch's, with the gate after it, and no other form, because NARM needs the fast kernel "
            "twice.",
        ),
        Departure(
            "sampled-metrics",
            "The equations of the paper have no dropout; recassay has it on embeddings and on the joined states, as "
            "the authors of NARM do.",
            literal="NARM(dropout=0, dropout_states=0)",
        ),
        Departure(
            "sampled-metrics",
            "The paper's loss is a cross-entropy over all items; above 5,000 items recassay takes a softmax over 4,096 "
            "sampled ones, which takes a fraction of the time.",
            literal="NARM(loss='softmax')",
        ),
        Departure(
            "sampled-metrics",
            "The paper takes the settings of the authors of NARM, in additional material that we do not have; recassay "
            "takes batches of 128 windows, which presets make 512, as the authors' code does.",
            literal="NARM(batch=512, loss='softmax')",
        ),
        whole_histories("sampled-metrics", "NARM"),
    )
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {
        "ml-1m": {"length": 200, **AUTHORS},
        "ml-20m": {"length": 200, **AUTHORS},
        "beauty": {**AUTHORS},
        "games": {**AUTHORS},
        "steam": {**AUTHORS},
    }

    hidden: int = 100
    dropout_states: float = 0.5
    negatives: int = 4096

    def validate(self) -> None:
        """Raise U102 if the width is below 1 or the dropout not below 1."""
        super().validate()
        self.at_least(1, "hidden")
        self.below_one("dropout_states")

    def initial_weights(self, items: int, rng: np.random.Generator) -> dict[str, Array]:
        """Return small embeddings, and matrices that keep the variance of their inputs (Glorot)."""
        return {
            "items": layers.embedding_table(rng, items, self.dim),
            **layers.gru_weights(rng, "global", self.dim, self.hidden),
            **layers.gru_weights(rng, "local", self.dim, self.hidden),
            "attention_query": layers.glorot(rng, self.hidden, self.hidden),  # A1'
            "attention_key": layers.glorot(rng, self.hidden, self.hidden),  # A2'
            "attention_value": layers.glorot(rng, self.hidden, 1)[:, 0],  # v
            "bridge": layers.glorot(rng, 2 * self.hidden, self.dim),  # B'
        }

    def states(self, weights: Weights, tokens: Tensor, lengths: Tensor, places: Tensor, drop: Drop) -> Tensor:
        """Return states (p, d) of both networks, projected, after the items at ``places``.

        ``places`` are flat indices into the table ``tokens`` (n, t).
        """
        x = drop(layers.embed(weights["items"], tokens), self.dropout)  # (n, t, d)
        global_states = layers.gru(x, weights, "global").reshape(-1, self.hidden)[places]  # (p, h)
        local_states = self.attend(weights, layers.gru(x, weights, "local"), places)  # (p, h)
        return (
            drop(layers.torch_module().cat([global_states, local_states], dim=1), self.dropout_states)
            @ weights["bridge"]
        )

    def attend(self, weights: Weights, states: Tensor, places: Tensor) -> Tensor:
        """Return the sums (p, h) of the ``states`` (n, t, h) up to each of ``places``, weighted by attention.

        ``places`` (p,) are flat indices into a table (n, t).
        """
        torch = layers.torch_module()
        n, t, h = states.shape
        query, key, column = (
            states @ weights["attention_query"],
            states @ weights["attention_key"],
            layers.positions(states),
        )
        if places.numel() == n:  # one place per row, as in prediction
            query, upto = query.reshape(-1, h)[places][:, None], (places % t)[:, None, None]
            return weighted_sums(query, key, states, weights["attention_value"], column <= upto)[:, 0]
        sums = []
        for begin, end in blocks(t, PLACES_PER_CHUNK):
            seen = column[:end] <= column[begin:end, None]
            some = query[:, begin:end], key[:, :end], states[:, :end], weights["attention_value"], seen
            # Activations grow with the square of a history, so they are computed again for the gradient, not kept.
            options = {"use_reentrant": False, "preserve_rng_state": False}
            sums.append(torch.utils.checkpoint.checkpoint(weighted_sums, *some, **options))
        return torch.cat(sums, dim=1).reshape(-1, h)[places]


def weighted_sums(query: Tensor, key: Tensor, states: Tensor, value: Tensor, seen: Tensor) -> Tensor:
    """Return sums (n, q, h) of states (n, t, h), weighted by v . sig(query + key).

    ``query`` is (n, q, h), ``key`` (n, t, h) and ``value``, which is v, (h,). Only positions where ``seen`` (q, t) is
    true count.
    """
    attention = (query[:, :, None] + key[:, None]).sigmoid_() @ value  # (n, q, t)
    return (attention * seen) @ states
