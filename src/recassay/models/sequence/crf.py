"""A conditional random field, trained by CRFsuite: the item that is read, and the item before, say what comes next."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from recassay.data.histories import Histories
from recassay.data.sequences import Sequences
from recassay.errors import UsageError
from recassay.models.sequence.base import Float, SequenceModel
from recassay.optional import need
from recassay.threads import each_block

HISTORIES = 256  # of a block


@dataclass(frozen=True, repr=False)
class CRF(SequenceModel):
    """A linear chain: the items but the last are read, one attribute each, and the items but the first are its labels.

    Weights of every item with every label, and of every two labels in a row, also where training never had them, are
    learnt by L-BFGS in at most ``iterations``, with ``c2`` for the square of the weights. The chance of an item is its
    marginal probability at the last place, given what was said; an item that never followed another in training has
    chance 0. ``mix_uniform=eps`` makes it (1 - eps) p + eps / I.

    There are 2 I^2 weights: more than ``most_items`` items are refused. An iteration takes time in proportion to the
    events of training and to I^2, on one thread; answers come of many histories at once. The order of sequences does
    not matter.

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
            return _read(path, str(self), sequences.n_items, self.mix_uniform)


@dataclass(frozen=True, eq=False, repr=False)
class FittedCRF:
    """What makes one answer of the next, in products of matrices: the forward pass of all histories at once.

    A row of ``read`` says how likely each label is where an item is read and nothing was before; ``follow`` is in
    proportion to how a label goes with the label before it. At the last place nothing comes after, so the forward pass
    alone is the marginal probability.
    """

    name: str
    n_items: int
    mix_uniform: float
    labels: NDArray[np.int64]
    read: Float
    follow: Float

    def next_probabilities(self, histories: Histories) -> Float:
        """Marginal probabilities of all items at the last place of each history."""
        table = np.zeros((len(histories), self.n_items))
        order = np.argsort(histories.lengths, kind="stable")

        def fill(begin: int, end: int) -> None:
            table[order[begin:end, None], self.labels] = self._forward(histories.take(order[begin:end]))

        with threadpool_limits(1, user_api="blas"):  # products round by their threads; blocks have one each
            each_block(fill, order.size, size=HISTORIES)
        return (1 - self.mix_uniform) * table + self.mix_uniform / self.n_items

    def _forward(self, histories: Histories) -> Float:
        """Of one block; products are of whole blocks, because they round by their size."""
        first, lengths = histories.offsets[:-1], histories.lengths
        chances = np.zeros((HISTORIES, self.labels.size))
        chances[: lengths.size] = self.read[histories.items[first]]
        for place in range(1, int(lengths.max(initial=0))):
            going = np.flatnonzero(lengths > place)
            after = (chances @ self.follow)[going] * self.read[histories.items[first[going] + place]]
            chances[going] = after / after.sum(axis=1, keepdims=True)
        return chances[: lengths.size]

    def __str__(self) -> str:
        return self.name


def _read(path: Path, name: str, n_items: int, mix_uniform: float) -> FittedCRF:
    """A trained model out of its own answers: on one item, and on two places where nothing is read."""
    tagger = need("pycrfsuite", for_="CRF").Tagger()
    tagger.open(os.fspath(path))
    labels = tagger.labels()
    read, follow = np.empty((n_items, len(labels))), np.empty((len(labels), len(labels)))
    for item in range(n_items):
        tagger.set([[str(item)]])
        read[item] = [tagger.marginal(label, 0) for label in labels]
    tagger.set([[], []])
    for row, one in enumerate(labels):
        follow[row] = [tagger.probability([one, other]) for other in labels]
    tagger.close()
    codes = np.array([int(label) for label in labels], np.int64)
    return FittedCRF(name, n_items, mix_uniform, codes, read / read.sum(axis=1, keepdims=True), follow / follow.max())
