"""A network that has learnt: it reads histories, and its scores are products of two tables."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.models.neural import layers
from recassay.models.neural.base import Neural
from recassay.models.neural.compute import device_of, each_part, enough_memory
from recassay.models.neural.layers import Array, Tensor, Weights
from recassay.models.sequential import Reading

READ = 32  # histories that a thread reads together


@dataclass(frozen=True, eq=False, repr=False)
class FittedNeural(Reading):
    """A description, the weights it learnt, and the log whose users it answers for.

    ``course`` has the mean loss of every epoch, and the hit rate at 10 on validation (NaN without).
    """

    log: Interactions
    model: Neural
    weights: dict[str, Array]
    course: tuple[tuple[float, float], ...] = ()

    @functools.cached_property
    def user_factors(self) -> Array:
        """The state after each user's history."""
        return self._read(self.histories)

    @functools.cached_property
    def item_factors(self) -> Array:
        """A row per item, whose product with a state is a score."""
        found: Array = self.model.outputs(self._tensors).cpu().numpy()
        return found

    def scores(self, users: NDArray[np.int32]) -> Array:
        """A score of every item for each user."""
        return self.user_factors[users] @ self.item_factors.T

    def next_scores(self, histories: Histories) -> Array:
        """A score of every item after each history."""
        return self._read(histories) @ self.item_factors.T

    def next_probabilities(self, histories: Histories) -> Array:
        """How likely each item comes next: the softmax of the scores."""
        scores = self.next_scores(histories)
        likely: Array = np.exp(scores - scores.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)
        return likely

    def _read(self, histories: Histories) -> Array:
        with enough_memory(self.model):
            found: Array = read(self.model, self._tensors, histories).cpu().numpy()
        return found

    @functools.cached_property
    def _tensors(self) -> Weights:
        return layers.tensors(self.weights, device_of(self.model))

    def __str__(self) -> str:
        return str(self.model)

    __repr__ = __str__


def read(model: Neural, weights: Weights, histories: Histories) -> Tensor:
    """The state (n, width) after each history, where the weights are.

    They are read in order of length, so that little is padding.
    """
    torch, outputs, order = layers.library(), model.outputs(weights), np.argsort(-histories.lengths, kind="stable")
    states, nothing = outputs.new_empty(len(histories), outputs.shape[1]), outputs.shape[0]

    def work(begin: int, end: int) -> None:
        which = order[begin:end]
        tokens, lengths = model.asked(histories.take(which), nothing)
        places = np.arange(which.size) * tokens.shape[1] + lengths - 1
        with torch.inference_mode():
            row, *asked = (torch.from_numpy(one).to(outputs.device) for one in (which, tokens, lengths, places))
            states[row] = model.states(weights, asked[0], asked[1], asked[2], layers.keep)

    each_part(work, len(histories), size=READ, device=outputs.device.type)
    return states
