"""Base of models of sequences: frozen descriptions that learn from sequences and predict the next item.

Any fitted object with ``next_probabilities(histories)`` can be evaluated, including your own. A history is the first
item of a sequence and the items that followed it so far. Models keep no state between two queries. A model that can
answer without a row of all items per history is a :class:`~recassay.models.base.capabilities.SamplesNext`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.layout import row_groups
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.interactions import Interactions
from recassay.data.nouns import require_noun
from recassay.data.sequences import Sequences
from recassay.models.base.capabilities import NextProbabilities, Training, fitted
from recassay.models.base.model import CheckedParameters

Int32 = NDArray[np.int32]
Float = NDArray[np.float64]


class SequenceModel(CheckedParameters):
    """Base of unfitted models that learn from sequences, which have no ratings."""

    reads_ratings: ClassVar[bool] = False
    library: ClassVar[str] = ""  # the optional library that it needs

    def fit(self, sequences: Sequences) -> NextProbabilities:
        """Return the model fitted on sequences."""
        raise NotImplementedError(f"{type(self).__name__} must define fit")


def fitted_on_sequences(model: Any, sequences: Sequences, *, training: Training | None = None) -> Any:
    """Return a model fitted on sequences; return anything without ``fit`` as it is.

    A model that learns from a log gets a log in which every sequence is a user. ``training`` is for models that train
    in epochs.

    >>> from recassay.models.baselines import Markov
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 2, 2, 2], "item_id": [*"ababc"]}))
    >>> fitted_on_sequences(Markov(smoothing=0), made).next_probabilities(made.histories.take(np.array([0]))).tolist()
    [[0.0, 0.0, 1.0]]
    """
    if isinstance(model, SequenceModel):
        return model.fit(sequences)
    require_noun(model, "model", "a fitted model")
    return fitted(model, sequences_as_log(sequences), training=training)


def sequences_as_log(sequences: Sequences) -> Interactions:
    """Return a log in which every sequence is a user, numbered from 0.

    Times are the positions in the sequence, and items keep their codes.
    """
    numbers = row_groups(sequences.offsets)
    users = Vocabulary(pl.Series(np.arange(len(sequences))))
    places = pl.Series(np.arange(numbers.size) - sequences.offsets[numbers])
    items = sequences.item_vocabulary
    origin = sequences.origin
    return Interactions(numbers.astype(np.int32), sequences.items, users, items, places, origin=origin, times="user")
