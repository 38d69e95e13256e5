"""Models of sequences that know more than the last items: the user, the position, or the labels of a random field."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np

from recassay.arrays import Float, Int32, Int64
from recassay.columnar.layout import row_groups
from recassay.data.sequences import Histories, Sequences
from recassay.errors import UsageError
from recassay.models.sequence.base import FittedCounts, NGram, SequenceModel, counts_of_rows
from recassay.naming.named import AT_LEAST_0, AT_LEAST_2, BELOW_1, COUNT, POSITIVE
from recassay.optional import need
from recassay.threads import each_block, one_library_thread

HISTORIES_PER_BLOCK = 256


@dataclass(frozen=True, repr=False)
class UserNGram(SequenceModel):
    """The n-gram of a user, with the n-gram of all users as its prior.

    With c_u(h, y) the number of times that y followed the items h in training sequences of user u, c_u(h) the sum of
    these over y, P(y | h) the probability of ``NGram`` with this ``order`` and ``smoothing``, and b the ``prior``, the
    probability of y is (c_u(h, y) + b P(y | h)) / (c_u(h) + b). The context h is that of ``NGram``: the longest suffix
    of the history, of at most ``order`` - 1 items, that something followed in training.

    Edges: a history without a user, or with a user or context of the user that training does not have, gets P(y | h).

    >>> import polars as pl
    >>> rows = {"sequence_id": [1, 1, 2, 2], "user_id": ["ann", "ann", "bob", "bob"], "item_id": [*"abac"]}
    >>> made = Sequences.from_frame(pl.DataFrame(rows))
    >>> both = Histories(np.array([0, 1, 2]), np.array([0, 0], np.int32), users=np.array([0, 1], np.int32))
    >>> UserNGram(prior=1).fit(made).next_probabilities(both).round(3).tolist()
    [[0.1, 0.7, 0.2], [0.1, 0.2, 0.7]]
    """

    order: Annotated[int, AT_LEAST_2] = 2
    smoothing: Annotated[float, AT_LEAST_0] = 1.0
    prior: Annotated[float, POSITIVE] = 10.0

    def fit(self, sequences: Sequences) -> FittedUserNGram:
        """Count what followed each context, for all users together and for each user."""
        shared = NGram(self.order, self.smoothing)
        fitted = shared.fit(sequences)
        contexts, next_items, at, _ = shared.transitions(sequences)
        users = sequences.users[row_groups(sequences.offsets)][at].astype(np.int64)
        rows = users * fitted.totals.size + contexts
        pairs, counts = np.unique(rows * sequences.n_items + next_items, return_counts=True)
        return FittedUserNGram(fitted, pairs, counts, float(self.prior))


@dataclass(frozen=True, eq=False, repr=False)
class FittedUserNGram:
    """A fitted user n-gram: ``shared`` counts of all users, and ``counts`` per user.

    ``pairs[i]`` encodes (user, row of ``shared``, item) of ``counts[i]`` as one number; pairs ascend.
    """

    shared: FittedCounts
    pairs: Int64
    counts: Int64
    prior: float

    def next_probabilities(self, histories: Histories) -> Float:
        """Return the probabilities (n, items) of all items after each history.

        They are those of all users, changed by the counts of the history's user, if the user is known.
        """
        table: Float = self.shared.next_probabilities(histories)
        if histories.users is None:
            return table
        rows = self.shared.rows(histories.last(self.shared.memory, pad=-1))
        of_users = np.where(histories.users >= 0, histories.users.astype(np.int64) * self.shared.totals.size + rows, -1)
        number, items, counts = counts_of_rows(self.pairs, self.counts, of_users, self.shared.n_items)
        table *= self.prior
        table[number, items] += counts
        return table / (np.bincount(number, counts, minlength=rows.size) + self.prior)[:, None]


@dataclass(frozen=True, repr=False)
class MostPopular(SequenceModel):
    """A fixed list: the j-th item after the first is always the j-th most frequent item of training.

    Equal counts are ordered by id. The perplexity is infinite unless every test sequence follows the list; a test
    sequence longer than the list has items of probability 0. Generating more items than the list has raises U172.

    >>> import polars as pl
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"abbcb"]}))
    >>> histories = Histories(np.array([0, 1, 3]), np.array([2, 2, 1], np.int32))
    >>> MostPopular().fit(made).next_probabilities(histories).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """

    def fit(self, sequences: Sequences) -> FittedMostPopular:
        """Count how often each item occurs, and return the fitted model."""
        counts = np.bincount(sequences.items, minlength=sequences.n_items)
        return FittedMostPopular(np.argsort(-counts, kind="stable").astype(np.int32))


@dataclass(frozen=True, eq=False, repr=False)
class FittedMostPopular:
    """The list of all items, most frequent first: item j of the list always comes j steps after the first item."""

    order: Int32
    memory: ClassVar[int] = 0
    reads_items_only: ClassVar[bool] = True

    def likeliest(self, last: Int32, steps: Int64) -> Int32:
        """Return the item at position ``steps`` of the list for each history; raise U172 past its end.

        ``steps`` is the number of items after the first one; ``last`` is ignored.
        """
        if steps.size and (reached := int(steps.max())) >= self.order.size:
            raise UsageError(
                "U172",
                f"{MostPopular.name} cannot predict item {reached + 1:,} of a list of {self.order.size:,} items",
                hint="generate shorter sequences, or remove test sequences longer than the catalogue",
            )
        return self.order[steps]

    def draw(self, last: Int32, steps: Int64, uniforms: Float) -> Int32:
        """Return the item at position ``steps`` of the list for each history.

        ``steps`` is the number of items after the first one. Nothing is random: ``last`` and ``uniforms`` are ignored.
        """
        return self.likeliest(last, steps)

    def probability(self, last: Int32, steps: Int64, items: Int32) -> Float:
        """Return 1 where ``items`` is the item at position ``steps`` of the list, else 0; beyond its end always 0.

        ``steps`` is the number of items after the first one; ``last`` is ignored.
        """
        on_list = steps < self.order.size
        return np.asarray(on_list & (self.order[np.where(on_list, steps, 0)] == items), np.float64)

    def next_probabilities(self, histories: Histories) -> Float:
        """Return 1 for the item that the list has at the position of the next one, and 0 for all others (n, items).

        Raise U172 past the end of the list.
        """
        table = np.zeros((len(histories), self.order.size))
        steps = np.maximum(histories.lengths - 1, 0)
        table[np.arange(steps.size), self.likeliest(np.empty((steps.size, 0), np.int32), steps)] = 1
        return table


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

    library: ClassVar[str] = "pycrfsuite"

    iterations: Annotated[int, COUNT] = 100
    c2: Annotated[float, AT_LEAST_0] = 1.0
    mix_uniform: Annotated[float, BELOW_1] = 0.0
    most_items: Annotated[int, COUNT] = 5000

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
    labels: Int64
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
