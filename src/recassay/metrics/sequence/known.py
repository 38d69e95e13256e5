"""What metrics of generated sequences know before anything is generated."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.features import Features
from recassay.data.recoding import Recoding
from recassay.data.sequences import SequenceFold
from recassay.data.vocabulary import Vocabulary
from recassay.errors import InputError
from recassay.metrics.beyond.base import ordered_by_popularity
from recassay.metrics.sequence.similarity import Similarity, of_features, of_matrix, of_training

Source = Literal["training", "features", "given"]


@dataclass(frozen=True, eq=False)
class Known:
    """The fold, and what was given beside it: features of items, similarities of items, ids of a primitive list.

    What is made of them is made when first asked for and kept; metrics ask on one thread, before blocks are judged.
    """

    fold: SequenceFold
    features: Features | None = None
    similarities: Any = None
    primitive: Sequence[Any] | None = None
    threads: int | None = None

    @property
    def has(self) -> frozenset[str]:
        """Names of what was given."""
        given = {"items": self.features, "similarities": self.similarities, "primitive": self.primitive}
        return frozenset(name for name, one in given.items() if one is not None)

    @functools.cached_property
    def popular(self) -> NDArray[np.int64]:
        """Items by how often they occur in training, most often first, ties by id."""
        return ordered_by_popularity(self.fold.counts)

    @functools.cached_property
    def primitive_items(self) -> NDArray[np.int32]:
        """The given primitive list, -1 for items that no sequence has: nobody can recommend them."""
        assert self.primitive is not None, "a metric that uses the list asks whether it is there"
        vocabulary = self.fold.train.item_vocabulary
        assert vocabulary.ids is not None, "ids of sequences are dense"
        given, codes = Vocabulary.dense(pl.Series(list(self.primitive)))
        items = Recoding.between(given, vocabulary.ids)(codes)
        if not (items >= 0).any():
            ours, theirs = list(self.primitive)[:3], vocabulary.ids.head(3).to_list()
            raise InputError(
                "I363",
                f"no item of the primitive list (such as {', '.join(map(repr, ours))}) is in the sequences "
                f"(such as {', '.join(map(repr, theirs))})",
                hint="give ids as they stand in the log",
            )
        return items

    def similarity(self, source: Source) -> Similarity:
        """How alike items are, from one of the sources."""
        if source == "training":
            return self._training
        return self._features if source == "features" else self._given

    @functools.cached_property
    def _training(self) -> Similarity:
        return of_training(self.fold, self.threads)

    @functools.cached_property
    def _features(self) -> Similarity:
        assert self.features is not None, "a metric that uses features asks whether they are there"
        return of_features(self.fold, self.features)

    @functools.cached_property
    def _given(self) -> Similarity:
        return of_matrix(self.fold, self.similarities)
