"""A conditional random field, trained by CRFsuite: it predicts the next item from the current item and label."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.data.sequences import Histories, Sequences
from recassay.errors import UsageError
from recassay.models.sequence.base import Float, SequenceModel
from recassay.naming.named import AT_LEAST_0, BELOW_1, COUNT, Ranges
from recassay.optional import need
from recassay.threads import each_block, one_library_thread

HISTORIES_PER_BLOCK = 256


@dataclass(frozen=True, repr=False)
class CRF(SequenceModel):
    """A linear-chain CRF: all items but the last are observations, one attribute each; all but the first are labels.

    The weights of every pair of an item and a label, and of every two successive labels, are learned by L-BFGS in at
    most ``iterations`` with the L2 penalty ``c2``, including pairs that never occur in training. The probability of an
    item is its marginal probability at the last position of the history. An item that followed no other in training
    has probability 0. ``mix_uniform=eps`` makes it (1 - eps) p + eps / I.

    There are 2 I^2 weights, so more than ``most_items`` items raise U171. An iteration takes time in proportion to the
    training events and to I^2, on one thread. Histories are answered in batches. The order of sequences does not
    matter.

    Reference: Lafferty, McCallum and Pereira, Conditional random fields, ICML 2001; settings of Monti, Palumbo, Rizzo
    and Morisio, Information 2019, and CRFsuite's own for what they do not say.
    """

    name: ClassVar[str] = "CRF"
    library: ClassVar[str] = "pycrfsuite"

    iterations: int = 100
    c2: float = 1.0
    mix_uniform: float = 0.0
    most_items: int = 5000

    ranges: ClassVar[Ranges] = {
        COUNT: ("iterations", "most_items"),
        AT_LEAST_0: ("c2",),
        BELOW_1: ("mix_uniform",),
    }

    def fit(self, sequences: Sequences) -> FittedCRF:
        """Train the model in a temporary file and read it back; raise U171 for more than ``most_items`` items."""
        if sequences.n_items > self.most_items:
            raise UsageError(
                "U171",
                f"{self.name} would learn {2 * sequences.n_items**2:,} weights for {sequences.n_items:,} items, but "
                f"at most {self.most_items:,} items are allowed",
                where=str(self),
                hint=f"remove rare items with split.filters, or allow it: CRF(most_items={sequences.n_items})",
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
        for row in sorted(sequences.histories.rows()):  # sorted: the rounding of sums depends on their order
            words = [str(item) for item in row]
            trainer.append([[word] for word in words[:-1]], words[1:])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            trainer.train(os.fspath(path))
            return _read(path, sequences.n_items, self.mix_uniform)


@dataclass(frozen=True, eq=False, repr=False)
class FittedCRF:
    """A fitted conditional random field, which computes the probabilities of many histories at once by matrix products.

    A row of ``emission`` has the probability of each label for an item without predecessor. ``transition[i, j]`` is
    proportional to the weight of label j after label i, and ``labels`` are the item codes of the labels. The last
    position has no successor, so the forward pass alone gives the marginal probability there.
    """

    reads_items_only: ClassVar[bool] = True

    n_items: int
    mix_uniform: float
    labels: NDArray[np.int64]
    emission: Float
    transition: Float

    def next_probabilities(self, histories: Histories) -> Float:
        """Return the probabilities (n, items) of the item that follows each history, mixed with a uniform distribution.

        They are the marginal probabilities of the label at the last position of the history: a label is the next item.
        """
        table = np.zeros((len(histories), self.n_items))
        order = np.argsort(histories.lengths, kind="stable")

        def fill(begin: int, end: int) -> None:
            table[order[begin:end, None], self.labels] = self._forward(histories.take(order[begin:end]))

        with one_library_thread("blas"):  # rounding depends on threads; each block uses one
            each_block(fill, order.size, size=HISTORIES_PER_BLOCK)
        return (1 - self.mix_uniform) * table + self.mix_uniform / self.n_items

    def _forward(self, histories: Histories) -> Float:
        """Return the label probabilities (n, labels) after the histories of one block.

        Products use whole blocks, because rounding depends on size.
        """
        first, lengths = histories.offsets[:-1], histories.lengths
        forward = np.zeros((HISTORIES_PER_BLOCK, self.labels.size))
        forward[: lengths.size] = self.emission[histories.items[first]]
        for place in range(1, int(lengths.max(initial=0))):
            longer = np.flatnonzero(lengths > place)
            after = (forward @ self.transition)[longer] * self.emission[histories.items[first[longer] + place]]
            forward[longer] = after / after.sum(axis=1, keepdims=True)
        return forward[: lengths.size]


def _read(path: Path, n_items: int, mix_uniform: float) -> FittedCRF:
    """Return the model that CRFsuite wrote to the file ``path``, as emission and transition matrices.

    They are computed from the probabilities of labels in sequences of a single item, and of pairs of labels in a
    sequence of two positions without an item. ``mix_uniform`` is the share of the uniform distribution in the
    predictions.
    """
    tagger = need("pycrfsuite", for_="CRF").Tagger()
    tagger.open(os.fspath(path))
    labels = tagger.labels()
    emission, transition = np.empty((n_items, len(labels))), np.empty((len(labels), len(labels)))
    for item in range(n_items):
        tagger.set([[str(item)]])
        emission[item] = [tagger.marginal(label, 0) for label in labels]
    tagger.set([[], []])
    for row, label in enumerate(labels):
        transition[row] = [tagger.probability([label, other]) for other in labels]
    tagger.close()
    codes = np.array([int(label) for label in labels], np.int64)
    emission /= emission.sum(axis=1, keepdims=True)
    transition /= transition.max()
    return FittedCRF(n_items, mix_uniform, codes, emission, transition)
