"""Models of sequences that know more than the last items: the user, or the position in the sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import ranges, readonly, row_groups
from recassay.data.sequences import Histories, Sequences
from recassay.errors import UsageError
from recassay.models.sequence.base import Float, Int32, SequenceModel
from recassay.models.sequence.counts import FittedCounts, NGram
from recassay.naming.named import AT_LEAST_0, AT_LEAST_2, POSITIVE, Ranges

Int64 = NDArray[np.int64]


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

    name: ClassVar[str] = "UserNGram"

    order: int = 2
    smoothing: float = 1.0
    prior: float = 10.0

    ranges: ClassVar[Ranges] = {AT_LEAST_0: ("smoothing",), AT_LEAST_2: ("order",), POSITIVE: ("prior",)}

    def fit(self, sequences: Sequences) -> FittedUserNGram:
        """Count what followed each context, for all users together and for each user."""
        shared = NGram(self.order, self.smoothing)
        fitted = shared.fit(sequences)
        contexts, next_items, at, _, n_rows = shared.transitions(sequences)
        users = sequences.users[row_groups(sequences.offsets)][at].astype(np.int64)
        n_rows += 1  # FittedCounts has an empty row at the end
        keys, counts = np.unique((users * n_rows + contexts) * sequences.n_items + next_items, return_counts=True)
        return FittedUserNGram(fitted, readonly(keys), readonly(counts), n_rows, float(self.prior))


@dataclass(frozen=True, eq=False, repr=False)
class FittedUserNGram:
    """A fitted user n-gram: ``shared`` counts of all users, and ``counts`` per user.

    ``keys[i]`` encodes (user, context row, item) of ``counts[i]`` as one number; keys ascend. ``n_rows`` is the number
    of context rows.
    """

    shared: FittedCounts
    keys: Int64
    counts: Int64
    n_rows: int
    prior: float

    def next_probabilities(self, histories: Histories) -> Float:
        """Return the probabilities (n, items) of all items after each history.

        They are those of all users, changed by the counts of the history's user, if the user is known.
        """
        table: Float = self.shared.next_probabilities(histories)
        if histories.users is None:
            return table
        n_items = self.shared.n_items
        rows = self.shared.rows(histories.last(self.shared.memory, pad=-1))
        base = (histories.users.astype(np.int64) * self.n_rows + rows) * n_items
        known = (histories.users >= 0) & (rows < self.n_rows - 1)
        first = np.where(known, np.searchsorted(self.keys, base), 0)
        size = np.where(known, np.searchsorted(self.keys, base + n_items), 0) - first
        table *= self.prior
        at = ranges(first, size)
        owner = np.repeat(np.arange(size.size), size)
        table[owner, self.keys[at] - base[owner]] += self.counts[at]
        totals = np.bincount(owner, self.counts[at], minlength=size.size).astype(np.float64) + self.prior
        shares: Float = table / totals[:, None]
        return shares


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

    name: ClassVar[str] = "MostPopular"

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

    def likeliest(self, last: Int32, steps: NDArray[np.int64]) -> Int32:
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

    def draw(self, last: Int32, steps: NDArray[np.int64], uniforms: Float) -> Int32:
        """Return the item at position ``steps`` of the list for each history.

        ``steps`` is the number of items after the first one. Nothing is random: ``last`` and ``uniforms`` are ignored.
        """
        return self.likeliest(last, steps)

    def probability(self, last: Int32, steps: NDArray[np.int64], items: Int32) -> Float:
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
