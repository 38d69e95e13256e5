"""A conditional random field, trained by CRFsuite: the item that is read, and the item before, say what comes next."""

from __future__ import annotations

import functools
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from recassay.data.histories import Histories
from recassay.data.sequences import Sequences
from recassay.errors import UsageError
from recassay.models.sequence.base import Float, SequenceModel
from recassay.optional import need


@dataclass(frozen=True, repr=False)
class CRF(SequenceModel):
    """A linear chain: the items but the last are read, one attribute each, and the items but the first are its labels.

    Weights of every item with every label, and of every two labels in a row, also where training never had them, are
    learnt by L-BFGS in at most ``iterations``, with ``c2`` for the square of the weights. The chance of an item is its
    marginal probability at the last place, given what was said; an item that never followed another in training has
    chance 0. ``mix_uniform=eps`` makes it (1 - eps) p + eps / I.

    There are 2 I^2 weights: more than ``most_items`` items are refused. Each history is answered by itself, on one
    thread. The order of sequences does not matter.

    Reference: Lafferty, McCallum and Pereira, Conditional random fields, ICML 2001; settings of Monti, Palumbo, Rizzo
    and Morisio, Information 2019, and CRFsuite's own for what they do not say.
    """

    name: ClassVar[str] = "CRF"

    iterations: int = 100
    c2: float = 1.0
    mix_uniform: float = 0.0
    most_items: int = 5000

    def validate(self) -> None:
        """Counts are counts, and a mixture is a share."""
        self.at_least(1, "iterations", "most_items")
        self.at_least(0, "c2")
        if not 0 <= self.mix_uniform < 1:
            raise self.refuse("mix_uniform", "it is a share", "from 0 to below 1")

    def fit(self, sequences: Sequences) -> FittedCRF:
        """Trains in a file of its own, which is read back."""
        if sequences.n_items > self.most_items:
            raise UsageError(
                "U171",
                f"{self.name} would learn {2 * sequences.n_items**2:,} weights for {sequences.n_items:,} items, and "
                f"{self.most_items:,} items are the most",
                where=str(self),
                hint=f"leave rare items out with split.filters, or allow it: CRF(most_items={sequences.n_items})",
            )
        trainer = need("pycrfsuite", for_=self.name).Trainer(algorithm="lbfgs", verbose=False)
        trainer.set_params(
            {
                "c2": self.c2,
                "max_iterations": self.iterations,
                "feature.possible_states": True,
                "feature.possible_transitions": True,
            }
        )
        for row in sorted(sequences.histories.rows()):  # sums round by their order
            words = [str(item) for item in row]
            trainer.append([[word] for word in words[:-1]], words[1:])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            trainer.train(os.fspath(path))
            return FittedCRF(str(self), sequences.n_items, self.mix_uniform, path.read_bytes())


@dataclass(frozen=True, eq=False, repr=False)
class FittedCRF:
    """The bytes of a trained model, as CRFsuite writes them."""

    name: str
    n_items: int
    mix_uniform: float
    model: bytes

    def next_probabilities(self, histories: Histories) -> Float:
        """Marginal probabilities of all items at the last place of each history."""
        tagger, labels = self._tagger
        codes = np.array([int(label) for label in labels], np.int64)
        table = np.zeros((len(histories), self.n_items))
        for number, row in enumerate(histories.rows()):
            tagger.set([[str(item)] for item in row])
            table[number, codes] = [tagger.marginal(label, len(row) - 1) for label in labels]
        table /= table.sum(axis=1, keepdims=True)
        return (1 - self.mix_uniform) * table + self.mix_uniform / self.n_items

    @functools.cached_property
    def _tagger(self) -> tuple[Any, list[str]]:
        tagger = need("pycrfsuite", for_="CRF").Tagger()
        tagger.open_inmemory(self.model)
        return tagger, tagger.labels()

    def __str__(self) -> str:
        return self.name

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_tagger"}
