"""Base of the networks: their parameters and training batches, what each network defines, and fitted networks."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import scipy

from recassay.arrays import Float32, Int32, Int64
from recassay.data.interactions import Interactions
from recassay.data.sequences import Histories
from recassay.models.base.capabilities import Training
from recassay.models.base.model import BuiltIn, HistoryModel
from recassay.models.neural import losses
from recassay.models.neural.batches import cut_windows
from recassay.models.neural.compute import Network, Tensor, device_of, enough_memory, map_chunks, torch_module
from recassay.naming.named import AT_LEAST_0, AT_LEAST_2, BELOW_1, COUNT, POSITIVE, UP_TO_1, Departure

Drop = Callable[[Tensor, float], Tensor]  # dropout of a tensor at a rate
# The tokens of sequences (n, t), their lengths (n,), and the targets (p,) to predict at places (p,), which are flat
# indices into the table of tokens: row times width plus column.
Batch = tuple[Int64, Int64, Int64, Int64]  # tokens, lengths, places, targets
HISTORIES_PER_CHUNK = 32  # histories a thread reads at once

Loss = Literal["auto", "softmax", "sampled", "gbce", "binary"]


def whole_histories(paper: str, network: str) -> Departure:
    """Return how a recurrent network differs from its paper, which sets no limit to the length of histories.

    ``paper`` is the reference, and ``network`` the name of the model.
    """
    sentence = (
        "The paper's recurrent networks read a sequence from its first item; recassay reads the last 50 items by "
        "default, because the time of a step grows with them."
    )
    return Departure(paper, sentence, f"{network}(length=None)")


@dataclass(frozen=True, repr=False)
class Neural(BuiltIn):
    """Base of networks that read a history (the items of a user in order) and score the next item.

    The score of an item is the product of the network's state after the history and the item's vector. ``dim`` is the
    length of embeddings. A network reads windows of ``length`` items; ``length=None``, where a network allows it, is a
    window that holds the longest history. Of a longer history it learns from the last window (``windows="last"``) or
    from all (``"all"``). ``batch`` is the number of windows in a gradient step, and ``rate`` the learning rate.
    Training ends after ``epochs``, or after ``patience`` epochs without a better hit rate at 10 on validation.
    ``device="auto"`` uses a GPU if there is one.

    The learning rate grows over the first ``warmup`` steps and is constant then. Validation takes at most 5,000 random
    users, the same ones after every epoch.

    ``loss`` is "softmax" over all items, "sampled" (softmax over ``negatives`` sampled items),
    "gbce" (binary cross-entropy with ``negatives`` uniform items and ``calibration``) or "binary" (one item that the
    user never had); see :mod:`recassay.models.neural.losses`. "auto" is "softmax" up to 5,000 items, then "sampled".
    """

    name = ""
    trains_in_epochs: ClassVar[bool] = True
    passes = 1  # how often an epoch reads each window
    library: ClassVar[str] = "torch"
    draws_small: ClassVar[bool] = False  # whether all weights start near 0, or matrices keep the size of their input

    dim: Annotated[int, COUNT] = 50
    length: Annotated[int | None, AT_LEAST_2] = 50
    windows: Literal["last", "all"] = "all"
    dropout: Annotated[float, BELOW_1] = 0.25
    batch: Annotated[int, COUNT] = 128
    rate: Annotated[float, POSITIVE] = 0.001
    epochs: Annotated[int, COUNT] = 800
    patience: Annotated[int, COUNT] = 20
    seed: int = 0
    device: Literal["auto", "cpu", "cuda"] = "auto"
    loss: Loss = "auto"
    negatives: Annotated[int, COUNT] = 1024
    calibration: Annotated[float, UP_TO_1] = 0.75
    warmup: Annotated[int, AT_LEAST_0] = 0

    def fit(self, log: Interactions, *, training: Training | None = None) -> FittedNeural:
        """Train epoch by epoch and return the last weights, or those of the best epoch on validation events."""
        from recassay.models.neural.training import train  # a circular import at module level

        return train(self, log, training or Training())

    # --- training data; the default predicts every item from the items before it --------------------------------------

    def windows_of(self, histories: Histories) -> Histories:
        """Return windows of histories: consecutive items that the network reads together.

        By default the last item of a window is only predicted, so windows have ``length`` + 1 items.
        """
        length = self.length_for(histories)
        return cut_windows(histories, length + 1, length if self.windows == "all" else None)

    def length_for(self, histories: Histories) -> int:
        """Return how many items of a history the network reads at most: ``length``, or all items of the longest one."""
        return int(histories.lengths.max(initial=1)) if self.length is None else self.length

    def n_targets(self, lengths: Int64, pass_number: Int64) -> Int64:
        """Return how many items of each window the network must predict.

        ``lengths`` are the numbers of items of the windows, and ``pass_number`` says in which pass of the epoch each is
        read.
        """
        return lengths - 1

    def training_batch(
        self, tokens: Int64, lengths: Int64, pass_number: Int64, padding: int, rng: np.random.Generator
    ) -> Batch:
        """Return the input and the targets of a gradient step; by default each item is predicted from those before it.

        ``tokens`` (n, t) are windows of ``lengths`` items, filled up with ``padding``, a token that stands for no item;
        ``pass_number`` says in which pass of the epoch each is read.
        """
        width = tokens.shape[1] - 1
        row, place = np.nonzero(np.arange(width) < lengths[:, None] - 1)
        return tokens[:, :-1], lengths - 1, row * width + place, tokens[row, place + 1]

    def query_tokens(self, histories: Histories, padding: int) -> tuple[Int64, Int64]:
        """Return what the network reads to predict the next item after each history: (tokens, lengths).

        ``tokens`` (n, t) are the last items of each history, filled up with ``padding`` on the right; ``lengths`` (n,)
        are the numbers of items before the padding, at least 1.
        """
        return last_items(histories, self.length_for(histories), padding, least=1)

    # --- the network --------------------------------------------------------------------------------------------------

    @abstractmethod
    def network(self, items: int) -> Network:
        """Return the modules of the network for ``items`` items: a ``torch.nn.ModuleDict``.

        Its "embeddings" are those of items, with a last row for padding.
        """

    @abstractmethod
    def states(self, network: Network, tokens: Tensor, lengths: Tensor, places: Tensor, drop: Drop) -> Tensor:
        """Return the states (p, width) of the network after the items at ``places``.

        ``tokens`` (n, t) are histories of ``lengths`` items, left-aligned; ``places`` (p,) are flat indices into this
        table (row * t + column). ``drop`` is the dropout function.
        """

    def table(self, network: Network) -> Tensor:
        """Return a table whose first rows are the vectors of items; their products with a state are the scores.

        By default it has the embeddings.
        """
        return network["embeddings"].weight

    def loss_for(self, items: int) -> str:
        """Return the loss for a catalogue of ``items`` items; "auto" depends on it."""
        return self.loss if self.loss != "auto" else "softmax" if items <= losses.SOFTMAX_ITEMS else "sampled"


def last_items(histories: Histories, length: int, pad: int, *, least: int) -> tuple[Int64, Int64]:
    """Return the last ``length`` items of each history (n, t), padded on the right with ``pad``, and their lengths.

    Lengths are at least ``least``: a shorter history counts padding as items.

    >>> histories = Histories(np.array([0, 0, 3]), np.array([5, 6, 7], np.int32))
    >>> tokens, lengths = last_items(histories, 2, 9, least=1)
    >>> tokens.tolist(), lengths.tolist()
    ([[9, 9], [6, 7]], [1, 2])
    """
    lengths = np.minimum(histories.lengths, length)
    places = np.arange(max(int(lengths.max(initial=0)), least))
    inside = places < lengths[:, None]
    tokens = np.full(inside.shape, pad, np.int64)
    tokens[inside] = histories.items[((histories.offsets[1:] - lengths)[:, None] + places)[inside]]
    return tokens, np.maximum(lengths, least)


def initial_weights(model: Neural, items: int, rng: np.random.Generator) -> dict[str, Float32]:
    """Return the initial weights of a network for ``items`` items, by name.

    Biases are 0 and gains are 1. Embeddings are normal with standard deviation 0.02, and so is every matrix of a
    network with ``draws_small``. Matrices of other networks are uniform and keep the variance of their inputs (Glorot),
    each gate by itself.
    """
    with torch_module().device("meta"):
        network = model.network(items)
    weights = {}
    for name, weight in network.named_parameters():
        shape = tuple(weight.shape)
        if len(shape) == 1:
            weights[name] = np.full(shape, name.endswith("norm.weight"), np.float32)
        elif model.draws_small or name in ("embeddings.weight", "places.weight"):
            weights[name] = rng.standard_normal(shape, np.float32) * np.float32(0.02)
        else:
            rows = shape[0] // 3 if name.startswith(("gru", "local")) or "mix" in name else shape[0]
            weights[name] = (2 * rng.random(shape, np.float32) - 1) * np.float32(np.sqrt(6 / (rows + shape[1])))
    if network["embeddings"].padding_idx is not None:
        weights["embeddings.weight"][-1] = 0
    return weights


def network_of(model: Neural, weights: Mapping[str, Tensor]) -> Network:
    """Return the network of a model with these weights, which are tensors; it shares their memory."""
    with torch_module().device("meta"):
        network = model.network(weights["embeddings.weight"].shape[0] - 1)
    network.load_state_dict(weights, assign=True)
    return network


def on_device(weights: Mapping[str, Float32], device: str) -> dict[str, Tensor]:
    """Return copies of weights as tensors on a device; PyTorch allocates them, because alignment affects rounding."""
    return {name: torch_module().from_numpy(weight).clone().to(device) for name, weight in weights.items()}


def no_dropout(x: Tensor, _: float) -> Tensor:
    """Return ``x`` unchanged, in place of dropout when the network predicts."""
    return x


@dataclass(frozen=True, eq=False, repr=False)
class FittedNeural(HistoryModel):
    """A fitted network: its unfitted ``model``, its weights, and the log with the histories of users.

    ``epoch_results`` has the mean loss of every epoch and the hit rate at 10 on validation, NaN without validation.
    """

    reads_items_only: ClassVar[bool] = True

    log: Interactions
    model: Neural
    weights: dict[str, Float32]
    epoch_results: tuple[tuple[float, float], ...] = ()

    @functools.cached_property
    def user_factors(self) -> Float32:
        """Return the network's state after each user's history (users, width)."""
        return self._states(self.histories)

    @functools.cached_property
    def item_factors(self) -> Float32:
        """Return a vector per item (items, width), whose product with a state is the item's score."""
        return np.asarray(vectors_of_items(self.model, self._network).cpu())

    def scores(self, users: Int32) -> Float32:
        """Return scores (n, items) for user codes."""
        return self.user_factors[users] @ self.item_factors.T

    def next_scores(self, histories: Histories) -> Float32:
        """Return scores (n, items) of the next item after each history."""
        return self._states(histories) @ self.item_factors.T

    def next_probabilities(self, histories: Histories) -> Float32:
        """Return the probability of each item to come next after each history (n, items): the softmax of the scores."""
        return np.asarray(scipy.special.softmax(self.next_scores(histories), axis=1))

    def _states(self, histories: Histories) -> Float32:
        with enough_memory(self.model):
            return np.asarray(read_states(self.model, self._network, histories).cpu())

    @functools.cached_property
    def _network(self) -> Network:
        return network_of(self.model, on_device(self.weights, device_of(self.model)))

    def __str__(self) -> str:
        return str(self.model)

    __repr__ = __str__


def vectors_of_items(model: Neural, network: Network) -> Tensor:
    """Return the vectors of items (items, width) of a network; their products with a state are scores."""
    return model.table(network).detach()[: network["embeddings"].num_embeddings - 1]


def read_states(model: Neural, network: Network, histories: Histories) -> Tensor:
    """Return the state (n, width) after each history, in the order of ``histories``, on the device of the network.

    Histories of similar length are computed together, so that there is little padding.
    """
    torch, vectors = torch_module(), vectors_of_items(model, network)
    order = np.argsort(-histories.lengths, kind="stable")
    states = vectors.new_empty(len(histories), vectors.shape[1])

    def work(begin: int, end: int) -> None:
        which = order[begin:end]
        tokens, lengths = model.query_tokens(histories.take(which), vectors.shape[0])
        places = np.arange(which.size) * tokens.shape[1] + lengths - 1
        with torch.inference_mode():
            row, some, upto, at = (
                torch.from_numpy(array).to(vectors.device) for array in (which, tokens, lengths, places)
            )
            states[row] = model.states(network, some, upto, at, no_dropout)

    map_chunks(work, len(histories), size=HISTORIES_PER_CHUNK, device=vectors.device.type)
    return states
