"""Data that metrics of generated sequences read besides the generated sequences."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.data.features import Features
from recassay.data.sequences import SequenceFold
from recassay.metrics.beyond.base import ordered_by_popularity
from recassay.metrics.sequence.similarity import GivenPairs, Similarity, of_features, of_given, of_training

Source = Literal["training", "features", "given"]


@dataclass(frozen=True, eq=False)
class SequenceContext:
    """Data that metrics of sequences read: the fold, item features and similarities, and obvious items.

    The obvious items (``primitive``) are those of a primitive recommender. Tables are computed on first use and kept;
    metrics request them on one thread, before blocks are judged.
    """

    fold: SequenceFold
    features: Features | None = None
    similarities: Any = None
    primitive: NDArray[np.int32] | None = None
    threads: int | None = None

    @property
    def has(self) -> frozenset[str]:
        """Return the names of the data that were given."""
        given = {"items": self.features, "similarities": self.similarities, "primitive": self.primitive}
        return frozenset(name for name, data in given.items() if data is not None)

    @functools.cached_property
    def popular(self) -> NDArray[np.int64]:
        """Return the items by how often they occur in training, most often first, ties by id."""
        return ordered_by_popularity(self.fold.counts)

    def similarity(self, source: Source) -> Similarity:
        """Return the similarities of items from a source: ``training``, ``features`` or ``given``."""
        if source == "training":
            return self._training
        return self._features if source == "features" else self._given

    def given_pairs(self) -> GivenPairs | None:
        """Return how many pairs of items in lists have a given similarity; None if no metric read given ones."""
        read = vars(self).get("_given")
        return None if read is None else read.given_pairs()

    @functools.cached_property
    def _training(self) -> Similarity:
        return of_training(self.fold, self.threads)

    @functools.cached_property
    def _features(self) -> Similarity:
        assert self.features is not None, "a metric that uses features requires them in ready()"
        return of_features(self.fold, self.features.required())

    @functools.cached_property
    def _given(self) -> Similarity:
        return of_given(self.fold, self.similarities)
