"""Data that a re-ranker can use besides the lists: item features, the training log and item factors."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.recoding import Recoding
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.errors import UsageError

Given = TypeVar("Given")

NEEDS = {
    "items": "item features",
    "train": "the training log",
    "factors": "item vectors",
}
HINTS = {
    "items": "give the features of items: --items FILE",
    "train": "give the log the lists were made from: --train LOG",
    "factors": "wrap a model with factors, such as ALS; a run has no factors",
}


@dataclass(frozen=True, eq=False)
class RerankContext:
    """Data that the re-ranker named ``who`` may read, such as features of items.

    Reading data that was not given raises U201. ``listed`` are the codes of all items in the lists, ``vocabulary`` has
    their ids, and ``where`` says in errors where the lists come from.
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
        """Return the features of items."""
        return self._needed("items", self.items).required()

    @property
    def log(self) -> Interactions:
        """Return the training log."""
        return self._needed("train", self.train)

    @property
    def learned(self) -> NDArray[np.floating]:
        """Return the factors (items, factors) that the wrapped model learned for each item of the log."""
        return self._needed("factors", self.factors)

    def _needed(self, name: str, given: Given | None) -> Given:
        if given is None:
            raise UsageError("U201", f"{self.who} needs {NEEDS[name]}, but none is given", hint=HINTS[name])
        return given

    @functools.cached_property
    def feature_rows(self) -> Recoding:
        """Return the mapping from item codes of the lists to rows of the table of features."""
        ids = self.features.items
        recoding = Recoding.between(self.vocabulary, ids)
        what = "item features"
        return recoding.require_overlap(self.listed, self.vocabulary, ids, code="I407", what=what, where=self.where)

    @functools.cached_property
    def log_items(self) -> Recoding:
        """Return the mapping from item codes of the lists to item codes of the training log."""
        ids = self.log.item_vocabulary.ids
        assert ids is not None, "a log's ids are dense"
        recoding = Recoding.between(self.vocabulary, ids)
        what = "training log"
        return recoding.require_overlap(self.listed, self.vocabulary, ids, code="I406", what=what, where=self.where)

    @functools.cached_property
    def log_feature_rows(self) -> NDArray[np.int32]:
        """Return, for each item of the training log, its row in the table of features, -1 if it has none."""
        codes = np.arange(self.log.n_items, dtype=np.int32)
        return Recoding.between(self.log.item_vocabulary, self.features.items)(codes)
