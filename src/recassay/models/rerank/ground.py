"""What a re-ranker may know beside the lists: features of items, what users had, what a model learnt of items."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.recoding import Recoding
from recassay.data.vocabulary import Vocabulary
from recassay.errors import UsageError

Given = TypeVar("Given")

NEEDS = {
    "items": "item features",
    "train": "the training log",
    "factors": "item vectors",
}
HOW = {
    "items": "give the features of items: items=..., or --items FILE",
    "train": "give the log the lists were made from: train=..., or --train LOG",
    "factors": "wrap a model with factors, such as ALS; lists alone know of none",
}


@dataclass(frozen=True, eq=False)
class Ground:
    """``listed`` are codes of items in lists, and ``vocabulary`` has their ids; ``where`` the lists came from.

    What ``who`` needs and was not given is U201.
    """

    who: str
    vocabulary: Vocabulary
    listed: NDArray[np.int32]
    items: Features | None = None
    train: Interactions | None = None
    factors: NDArray[np.floating] | None = None
    where: str = ""

    @property
    def features(self) -> Features:
        """The features of items."""
        return self._needed("items", self.items)

    @property
    def log(self) -> Interactions:
        """The training log."""
        return self._needed("train", self.train)

    @property
    def learned(self) -> NDArray[np.floating]:
        """What a model of factors learnt of each item of the log."""
        return self._needed("factors", self.factors)

    def _needed(self, name: str, given: Given | None) -> Given:
        if given is None:
            raise UsageError("U201", f"{self.who} needs {NEEDS[name]}, and there is none", hint=HOW[name])
        return given

    @functools.cached_property
    def feature_rows(self) -> Recoding:
        """From codes of the lists to items with features."""
        ids = self.features.items
        recoding = Recoding.between(self.vocabulary, ids)
        what = "item features"
        return recoding.of_acquainted(self.listed, self.vocabulary, ids, code="I407", what=what, where=self.where)

    @functools.cached_property
    def log_items(self) -> Recoding:
        """From codes of the lists to codes of the training log."""
        ids = self.log.item_vocabulary.ids
        assert ids is not None, "a log's ids are dense"
        recoding = Recoding.between(self.vocabulary, ids)
        what = "training log"
        return recoding.of_acquainted(self.listed, self.vocabulary, ids, code="I406", what=what, where=self.where)

    @functools.cached_property
    def log_feature_rows(self) -> NDArray[np.int32]:
        """For each item of the training log the item with features, or -1."""
        codes = np.arange(self.log.n_items, dtype=np.int32)
        return Recoding.between(self.log.item_vocabulary, self.features.items)(codes)
