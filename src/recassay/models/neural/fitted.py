"""Fitted networks: scores are products of the network's state after a history and a vector per item."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.models.base.sequential import HistoryModel
from recassay.models.neural import layers
from recassay.models.neural.base import Neural
from recassay.models.neural.compute import device_of, enough_memory, map_chunks
from recassay.models.neural.layers import Array, Tensor, Weights

HISTORIES_PER_CHUNK = 32  # histories a thread reads at once


@dataclass(frozen=True, eq=False, repr=False)
class FittedNeural(HistoryModel):
    """A fitted network: its unfitted ``model``, its weights, and the log with the histories of users.

    ``epoch_results`` has the mean loss of every epoch and the hit rate at 10 on validation, NaN without validation.
    """

    reads_items_only: ClassVar[bool] = True

    log: Interactions
    model: Neural
    weights: dict[str, Array]
    epoch_results: tuple[tuple[float, float], ...] = ()

    @functools.cached_property
    def user_factors(self) -> Array:
        """Return the network's state after each user's history (users, width)."""
        return self._states(self.histories)

    @functools.cached_property
    def item_factors(self) -> Array:
        """Return a vector per item (items, width), whose product with a state is the item's score."""
        found: Array = self.model.outputs(self._tensors).cpu().numpy()
        return found

    def scores(self, users: NDArray[np.int32]) -> Array:
        """Return scores (n, items) for user codes."""
        return self.user_factors[users] @ self.item_factors.T

    def next_scores(self, histories: Histories) -> Array:
        """Return scores (n, items) of the next item after each history."""
        return self._states(histories) @ self.item_factors.T

    def next_probabilities(self, histories: Histories) -> Array:
        """Return the probability of each item to come next after each history (n, items): the softmax of the scores."""
        scores = self.next_scores(histories)
        probabilities: Array = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        return probabilities

    def _states(self, histories: Histories) -> Array:
        """Return the network's state after each history (n, width)."""
        with enough_memory(self.model):
            found: Array = read_states(self.model, self._tensors, histories).cpu().numpy()
        return found

    @functools.cached_property
    def _tensors(self) -> Weights:
        """Return the weights as tensors on the device of the model."""
        return layers.tensors(self.weights, device_of(self.model))

    def __str__(self) -> str:
        return str(self.model)

    __repr__ = __str__


def read_states(model: Neural, weights: Weights, histories: Histories) -> Tensor:
    """Return the state (n, width) after each history, in the order of ``histories``, on the device of the weights.

    Histories of similar length are computed together, so that there is little padding.
    """
    torch, outputs, order = layers.torch_module(), model.outputs(weights), np.argsort(-histories.lengths, kind="stable")
    states, padding = outputs.new_empty(len(histories), outputs.shape[1]), outputs.shape[0]

    def work(begin: int, end: int) -> None:
        which = order[begin:end]
        tokens, lengths = model.query_tokens(histories.take(which), padding)
        places = np.arange(which.size) * tokens.shape[1] + lengths - 1
        with torch.inference_mode():
            row, *inputs = (torch.from_numpy(array).to(outputs.device) for array in (which, tokens, lengths, places))
            states[row] = model.states(weights, inputs[0], inputs[1], inputs[2], layers.no_dropout)

    map_chunks(work, len(histories), size=HISTORIES_PER_CHUNK, device=outputs.device.type)
    return states
