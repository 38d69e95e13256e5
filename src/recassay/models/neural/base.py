"""What the networks share: their parameters, how they are trained, and what each of them has to say."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.errors import UsageError
from recassay.models.base import BuiltIn
from recassay.models.neural import layers
from recassay.models.neural.layers import Array, Drop, Tensor, Weights
from recassay.models.neural.lessons import NONE, Codes, Excerpts, Lesson, Strangers, Windows
from recassay.models.training import Training
from recassay.spec import suggest

if TYPE_CHECKING:
    from recassay.models.neural.fitted import FittedNeural


@dataclass(frozen=True, repr=False)
class Neural(BuiltIn):
    """Base of networks that read a history and score what comes next: a state, times a row per item.

    ``length`` items are read at once. Of a longer history the ``last`` are learnt from, or ``all``, stretch by stretch.
    Training ends after ``epochs``, or where ``patience`` epochs have brought no better hit rate at 10 on validation.
    ``device="auto"`` is a GPU where there is one.
    """

    trained: ClassVar[bool] = True
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    dim: int = 50
    length: int = 50
    windows: Literal["last", "all"] = "all"
    dropout: float = 0.25
    batch: int = 128
    rate: float = 0.001
    epochs: int = 800
    patience: int = 20
    seed: int = 0
    device: Literal["auto", "cpu", "cuda"] = "auto"

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """The model with the parameters published for a data set, and changes to them."""
        if name not in cls.presets:
            hint = suggest(name, cls.presets)
            raise UsageError("U107", f"{cls.name} has no preset '{name}'", where=cls.name, hint=hint)
        return cls(**{**cls.presets[name], **changes})

    def validate(self) -> None:
        """Counts are at least 1, shares below 1."""
        self.at_least(1, "dim", "batch", "epochs", "patience")
        self.at_least(2, "length")
        self.share("dropout")
        if self.rate <= 0:
            raise self.refuse("rate", "nothing would be learnt", "a small number, such as rate=0.001")

    def share(self, *parameters: str) -> None:
        """Refuse parameters that are no share of a whole, or all of it."""
        for parameter in parameters:
            if not 0 <= getattr(self, parameter) < 1:
                raise self.refuse(parameter, "it is a share", "from 0 to below 1")

    def fit(self, log: Interactions, *, training: Training | None = None) -> FittedNeural:
        """Learns epoch by epoch; with events to validate by, the weights of the best epoch are kept."""
        from recassay.models.neural.trainer import train  # which has to know what a network is

        return train(self, log, training or Training())

    # --- what is learnt from, unless a network says otherwise: every item, after those before it ----------------------

    def cut(self, histories: Histories) -> Windows:
        """Windows of histories: what is read at once, and the item after it."""
        return Windows.cut(histories, self.length + 1, self.length if self.windows == "all" else None)

    @property
    def readings(self) -> int:
        """How often an epoch reads a window."""
        return 1

    def questions(self, lengths: Codes, reading: Codes) -> Codes:
        """In how many places each window is asked about."""
        return lengths - 1

    def lesson(self, read: Excerpts, strangers: Strangers, rng: np.random.Generator) -> Lesson:
        """Sequences without their last item, and after every place the question what comes next."""
        width = read.tokens.shape[1] - 1
        row, place = np.nonzero(np.arange(width) < read.lengths[:, None] - 1)
        return Lesson(read.tokens[:, :-1], read.lengths - 1, row * width + place, read.tokens[row, place + 1], NONE)

    def asked(self, histories: Histories, nothing: int) -> tuple[Codes, Codes]:
        """Tokens (n, t) and lengths of what is read to answer: the last items, ``nothing`` where there are none."""
        return tail(histories, self.length, nothing, least=1)

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 1."""
        return self.rate

    # --- the network --------------------------------------------------------------------------------------------------

    @abstractmethod
    def initial(self, items: int, rng: np.random.Generator) -> dict[str, Array]:
        """Weights to begin with, by name; ``items`` (items + 1, dim) among them, 0 in the row of no item."""

    @abstractmethod
    def states(self, weights: Weights, tokens: Tensor, lengths: Tensor, places: Tensor, drop: Drop) -> Tensor:
        """States (p, width) at some places of a table of tokens (n, t) laid out flat."""

    def outputs(self, weights: Weights) -> Tensor:
        """A row per item (items, width), whose product with a state is a score: the embeddings."""
        return weights["items"][:-1]

    def wrong(self, weights: Weights, states: Tensor, targets: Tensor, others: Tensor) -> Tensor:
        """How wrong states (p, width) are, in sum: cross-entropy of the softmax over all items."""
        return layers.softmax_loss(states, self.outputs(weights), targets)


def tail(histories: Histories, length: int, pad: int, *, least: int) -> tuple[Codes, Codes]:
    """The last items of each history (n, t), from the left and then ``pad``, and how many: at least so many.

    >>> histories = Histories(np.array([0, 0, 3]), np.array([5, 6, 7], np.int32))
    >>> tokens, lengths = tail(histories, 2, 9, least=1)
    >>> tokens.tolist(), lengths.tolist()
    ([[9, 9], [6, 7]], [1, 2])
    """
    lengths = np.minimum(histories.lengths, length)
    places = np.arange(max(int(lengths.max(initial=0)), least))
    inside = places < lengths[:, None]
    tokens = np.full(inside.shape, pad, np.int64)
    tokens[inside] = histories.items[((histories.offsets[1:] - lengths)[:, None] + places)[inside]]
    return tokens, np.maximum(lengths, least)
