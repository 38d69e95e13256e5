"""Two recurrent networks: one remembers where a history has led to, the other looks back at what was meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from recassay.models.neural import layers
from recassay.models.neural.base import Neural
from recassay.models.neural.layers import Array, Drop, Tensor, Weights
from recassay.threads import blocks

ASKING = 8  # places that look back together: each needs (n, t, h) numbers


@dataclass(frozen=True, repr=False)
class NARM(Neural):
    """Two GRUs read a history; the second weighs its states by how they go with the last; scores are of embeddings.

    With g_t and h_t the states of two ``GRU`` (dropout is applied to embeddings), a_tj = v . sig(A1 h_t + A2 h_j)
    for j <= t, which is not made to sum to 1, c_t = Dropout([g_t; sum_j a_tj h_j]), and M the embeddings of all items,
    o_t = M B c_t scores what comes after t, learnt at every t by softmax cross-entropy.

    Edges and settings as of ``GRU``, with presets "ml-1m", "ml-20m", "beauty", "games", "steam". An epoch takes time
    with the square of ``length``.

    Reference: Li, Ren, Chen, Ren, Lian and Ma, Neural attentive session-based recommendation, CIKM 2017.
    """

    name: ClassVar[str] = "NARM"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "ml-1m": {"length": 200},
        "ml-20m": {"length": 200},
        "beauty": {},
        "games": {},
        "steam": {},
    }

    batch: int = 512
    hidden: int = 100
    dropout_states: float = 0.5

    def validate(self) -> None:
        """A state has a width."""
        super().validate()
        self.at_least(1, "hidden")
        self.share("dropout_states")

    def initial(self, items: int, rng: np.random.Generator) -> dict[str, Array]:
        """Small embeddings, and matrices that keep signals as large as they come in."""
        return {
            "items": layers.table(rng, items, self.dim),
            **layers.recurrence(rng, "global", self.dim, self.hidden),
            **layers.recurrence(rng, "local", self.dim, self.hidden),
            "asking": layers.glorot(rng, self.hidden, self.hidden),  # A1'
            "asked": layers.glorot(rng, self.hidden, self.hidden),  # A2'
            "weighing": layers.glorot(rng, self.hidden, 1)[:, 0],  # v
            "bridge": layers.glorot(rng, 2 * self.hidden, self.dim),  # B'
        }

    def states(self, weights: Weights, tokens: Tensor, lengths: Tensor, places: Tensor, drop: Drop) -> Tensor:
        """States (p, d) after the items at some places: of both networks, as wide as an embedding."""
        x = drop(layers.embed(weights["items"], tokens), self.dropout)  # (n, t, d)
        led = layers.gru(x, weights, "global").reshape(-1, self.hidden)[places]  # (p, h)
        meant = self.look_back(weights, layers.gru(x, weights, "local"), places)  # (p, h)
        return drop(layers.library().cat([led, meant], dim=1), self.dropout_states) @ weights["bridge"]

    def look_back(self, weights: Weights, states: Tensor, places: Tensor) -> Tensor:
        """The states (n, t, h) up to each place, weighed and added up: (p, h)."""
        torch = layers.library()
        n, t, h = states.shape
        asking, asked, column = states @ weights["asking"], states @ weights["asked"], layers.numbers(states)
        if places.numel() == n:  # one in each row, as where it answers
            asking, upto = asking.reshape(-1, h)[places][:, None], (places % t)[:, None, None]
            return weighed(asking, asked, states, weights["weighing"], column <= upto)[:, 0]
        parts = []
        for begin, end in blocks(t, ASKING):
            seen = column[:end] <= column[begin:end, None]
            some = asking[:, begin:end], asked[:, :end], states[:, :end], weights["weighing"], seen
            # What is inside is as large as the square of a history, so it is made again for its gradient, not kept.
            again = {"use_reentrant": False, "preserve_rng_state": False}
            parts.append(torch.utils.checkpoint.checkpoint(weighed, *some, **again))
        return torch.cat(parts, dim=1).reshape(-1, h)[places]


def weighed(asking: Tensor, asked: Tensor, states: Tensor, weighing: Tensor, seen: Tensor) -> Tensor:
    """Sums (n, q, h) of states (n, t, h), each times v . sig(asking + asked), where ``seen`` (q, t).

    ``asking`` is (n, q, h), ``asked`` (n, t, h) and v, ``weighing``, (h,).
    """
    shares = (asking[:, :, None] + asked[:, None]).sigmoid_() @ weighing  # (n, q, t)
    return (shares * seen) @ states
