"""What a model of sequences is: a frozen description that learns from sequences and then says what comes next.

The contract is ``next_probabilities(histories)``: anything that has it can be judged, a user's own model too. A history
is the first item of a sequence and what followed it so far; models keep no state between two questions. What knows a
shorter way than a row of all items for each history says so by being a :class:`Teller`.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.data.layout import stretch_of
from recassay.data.sequences import Sequences
from recassay.data.vocabulary import Vocabulary
from recassay.models.training import Trained, Training
from recassay.named import Named

Int32 = NDArray[np.int32]
Float = NDArray[np.float64]


@runtime_checkable
class Foretells(Protocol):
    """A fitted model that says how likely each item comes next."""

    def next_probabilities(self, histories: Histories) -> NDArray[np.floating]:
        """Probabilities (n, items) of what comes after each history; a row sums to 1."""


@runtime_checkable
class Teller(Foretells, Protocol):
    """A fitted model that draws and answers without a row of all items, from the last items and how many there were.

    ``last`` (n, memory) are the last items of each history, at the right end of rows that begin with -1; ``steps`` is
    how many followed the first item.
    """

    @property
    def memory(self) -> int:
        """How many of the last items it reads."""

    def draw(self, last: Int32, steps: NDArray[np.int64], lots: Float) -> Int32:
        """The item at each lot: the first whose cumulative probability, in the order of codes, is above it."""

    def likeliest(self, last: Int32, steps: NDArray[np.int64]) -> Int32:
        """The item with the highest probability; the lowest code of several."""

    def chance(self, last: Int32, steps: NDArray[np.int64], items: Int32) -> Float:
        """The probability of one item after each history."""


class SequenceModel(Named):
    """Base of the descriptions of models that learn from sequences."""

    def fit(self, sequences: Sequences) -> Any:
        """The model that has seen these sequences."""
        raise NotImplementedError(f"{type(self).__name__} must say what it learns")

    def at_least(self, least: float, *parameters: str) -> None:
        """Refuse parameters below a bound."""
        for parameter in parameters:
            if getattr(self, parameter) < least:
                raise self.refuse(parameter, "it cannot be so small", f"{least:g} or more")


def fit(model: Any, sequences: Sequences, *, training: Training | None = None) -> Any:
    """A model fitted on sequences; one that learns from a log is given a log in which every sequence is a user.

    ``training`` is for models that learn epoch by epoch.

    >>> from recassay.models.markov import Markov
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 2, 2, 2], "item_id": [*"ababc"]}))
    >>> fit(Markov(smoothing=0), made).next_probabilities(made.histories.take(np.array([0]))).tolist()
    [[0.0, 0.0, 1.0]]
    """
    if isinstance(model, SequenceModel):
        return model.fit(sequences)
    log = as_log(sequences)
    return model.fit(log, training=training) if isinstance(model, Trained) else model.fit(log)


def as_log(sequences: Sequences) -> Interactions:
    """A log with a user per sequence, numbered from 0, whose times are places; items keep their codes."""
    numbers = stretch_of(sequences.offsets)
    users = Vocabulary(pl.Series(np.arange(len(sequences))))
    places = pl.Series(np.arange(numbers.size) - sequences.offsets[numbers])
    items = sequences.item_vocabulary
    origin = sequences.origin
    return Interactions(numbers.astype(np.int32), sequences.items, users, items, places, origin=origin, times="user")
