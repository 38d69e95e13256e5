"""Base of the networks: their common parameters, their training batches, and the methods each network defines."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.data.nouns import require_log
from recassay.models.base.model import BuiltIn
from recassay.models.base.training import Training
from recassay.models.neural import losses
from recassay.models.neural.batches import Codes, HistoryWindows, PaddedWindows, TrainingBatch
from recassay.models.neural.candidates import Proposal
from recassay.models.neural.layers import Array, Drop, Tensor, Weights
from recassay.naming.named import Departure

if TYPE_CHECKING:
    from recassay.models.neural.fitted import FittedNeural

Loss = Literal["auto", "softmax", "sampled", "gbce", "binary"]
FROM_THE_END = Departure(
    "sampled-metrics",
    "The paper adds the embedding P_t of the step t, counted from the first item; recassay counts from the last item, "
    "so that the newest item has the same embedding in short and long histories.",
)


def whole_histories(paper: str, network: str) -> Departure:
    """Return the departure of a recurrent network from a paper that sets no limit to what the network reads."""
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

    The learning rate grows over the first ``warmup`` steps; with ``schedule="cosine"`` it then falls to 0 at the end of
    ``epochs``. Gradients longer than ``clip`` are shortened to it (0: never). Validation takes ``validation_users``
    random users, the same ones after every epoch.

    ``loss`` is "softmax" over all items, "sampled" (softmax over ``negatives`` sampled items, drawn by ``proposal``),
    "gbce" (binary cross-entropy with ``negatives`` uniform items and ``calibration``) or "binary" (one item that the
    user never had); see :mod:`recassay.models.neural.losses`. "auto" is "softmax" up to 5,000 items, then "sampled".
    """

    trains_in_epochs: ClassVar[bool] = True
    library: ClassVar[str] = "torch"
    item_tables: ClassVar[tuple[str, ...]] = ("items",)  # names of weights with a row per item

    dim: int = 50
    length: int | None = 50
    windows: Literal["last", "all"] = "all"
    dropout: float = 0.25
    batch: int = 128
    rate: float = 0.001
    epochs: int = 800
    patience: int = 20
    seed: int = 0
    device: Literal["auto", "cpu", "cuda"] = "auto"
    loss: Loss = "auto"
    negatives: int = 1024
    proposal: Proposal = "popularity"
    calibration: float = 0.75
    warmup: int = 0
    schedule: Literal["constant", "cosine"] = "constant"
    clip: float = 0.0
    validation_users: int = 5_000

    def validate(self) -> None:
        """Raise U102 if a parameter is out of its range."""
        self.at_least(1, "dim", "batch", "epochs", "patience", "negatives", "validation_users")
        if self.length is not None:
            self.at_least(2, "length")
        self.at_least(0, "warmup", "clip", "calibration")
        if self.calibration > 1:
            raise self.refuse("calibration", "it must be at most 1", "calibration=0.75")
        self.below_one("dropout")
        if self.rate <= 0:
            raise self.refuse("rate", "it must be above 0", "rate=0.001")

    def fit(self, log: Interactions, *, training: Training | None = None) -> FittedNeural:
        """Train epoch by epoch and return the last weights, or those of the best epoch on validation events."""
        require_log(log)
        from recassay.models.neural.trainer import train  # a circular import at module level

        return train(self, log, training or Training())

    # --- training data; the default predicts every item from the items before it --------------------------------------

    def windows_of(self, histories: Histories) -> HistoryWindows:
        """Return windows of histories: stretches of items that the network reads together.

        By default the last item of a window is only predicted, so windows have ``length`` + 1 items.
        """
        length = self.length_for(histories)
        return HistoryWindows.cut(histories, length + 1, length if self.windows == "all" else None)

    def length_for(self, histories: Histories) -> int:
        """Return how many items of a history the network reads at most: ``length``, or all items of the longest one."""
        return int(histories.lengths.max(initial=1)) if self.length is None else self.length

    @property
    def passes(self) -> int:
        """Return how often an epoch reads each window: once by default."""
        return 1

    def n_targets(self, lengths: Codes, pass_number: Codes) -> Codes:
        """Return how many items of each window the network must predict.

        ``lengths`` are the numbers of items of the windows, and ``pass_number`` says in which pass of the epoch each is
        read.
        """
        return lengths - 1

    def training_batch(self, windows: PaddedWindows, padding: int, rng: np.random.Generator) -> TrainingBatch:
        """Return the input and the targets of a gradient step; by default each item is predicted from those before it.

        ``padding`` is the token that fills up short windows; it stands for no item.
        """
        width = windows.tokens.shape[1] - 1
        row, place = np.nonzero(np.arange(width) < windows.lengths[:, None] - 1)
        return TrainingBatch(
            windows.tokens[:, :-1], windows.lengths - 1, row * width + place, windows.tokens[row, place + 1]
        )

    def query_tokens(self, histories: Histories, padding: int) -> tuple[Codes, Codes]:
        """Return what the network reads to predict the next item after each history: (tokens, lengths).

        ``tokens`` (n, t) are the last items of each history, filled up with ``padding`` on the right; ``lengths`` (n,)
        are the numbers of items before the padding, at least 1.
        """
        return last_items(histories, self.length_for(histories), padding, least=1)

    def learning_rate(self, step: int, steps: int) -> float:
        """Return the learning rate of a gradient step; ``step`` counts from 1 over all ``steps`` of all epochs."""
        rate = self.rate * min(1.0, step / max(self.warmup, 1))
        if self.schedule == "constant" or step <= self.warmup:
            return rate
        return rate * (1 + math.cos(math.pi * (step - self.warmup) / max(steps - self.warmup, 1))) / 2

    # --- the network --------------------------------------------------------------------------------------------------

    @abstractmethod
    def initial_weights(self, items: int, rng: np.random.Generator) -> dict[str, Array]:
        """Return the initial weights of the network by name, for ``items`` items; ``rng`` draws the random ones.

        The weights named "items" (items + 1, dim) are the embeddings of items, with a last row for padding.
        """

    @abstractmethod
    def states(self, weights: Weights, tokens: Tensor, lengths: Tensor, places: Tensor, drop: Drop) -> Tensor:
        """Return the states (p, width) of the network after the items at ``places``.

        ``tokens`` (n, t) are histories of ``lengths`` items, left-aligned; ``places`` (p,) are flat indices into this
        table (row * t + column). ``drop`` is the dropout function.
        """

    def outputs(self, weights: Weights) -> Tensor:
        """Return the vectors of items (items, width), whose products with a state are the scores.

        By default they are the embeddings.
        """
        return weights["items"][:-1]

    def loss_for(self, items: int) -> str:
        """Return the loss for a catalogue of ``items`` items; "auto" depends on it."""
        return losses.default_loss(items) if self.loss == "auto" else self.loss


def last_items(histories: Histories, length: int, pad: int, *, least: int) -> tuple[Codes, Codes]:
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
