"""What a metric may know besides lists and truth: the training log and the features of items."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.recoding import Recoding
from recassay.data.subprofiles import Miner
from recassay.data.vocabulary import Vocabulary
from recassay.errors import InputError

if TYPE_CHECKING:
    from recassay.metrics.align import Meeting
    from recassay.metrics.base import Metric


@dataclass(frozen=True, eq=False)
class Context:
    """Data given beside the run and the truth; a metric that needs more than there is says so before work starts."""

    train: Interactions | None = None
    items: Features | None = None
    distances: NDArray[np.float64] | None = None  # between items of the training log, ascending by id
    judged_items: pl.Series | None = None  # of the whole truth, ascending, where it is judged in parts
    _miners: dict[tuple[int, int, float | None], Miner] = field(default_factory=dict, repr=False)

    @property
    def has(self) -> frozenset[str]:
        """Names of what was given, as metrics name their needs."""
        return frozenset(name for name in ("train", "items", "distances") if getattr(self, name) is not None)

    def miner(self, k1: int, k2: int, liked_from: float | None) -> Miner:
        """What finds the subprofiles of users of the training log; made once for all runs and metrics."""
        assert self.train is not None, "a metric that uses the training log must name it in `needs`"
        key = (k1, k2, liked_from)
        if key not in self._miners:
            self._miners[key] = Miner.of(self.train, k1=k1, k2=k2, liked_from=liked_from)
        return self._miners[key]


@dataclass(frozen=True, eq=False)
class Beside:
    """One meeting of a run and the truth, seen from the training log and the item features.

    Everything is made when first asked for and kept: :func:`bind` asks on one thread, before blocks are judged.
    """

    meeting: Meeting
    context: Context

    @property
    def train(self) -> Interactions:
        """The training log."""
        assert self.context.train is not None, "a metric that uses the training log must name it in `needs`"
        return self.context.train

    @property
    def features(self) -> Features:
        """The features of items."""
        assert self.context.items is not None, "a metric that uses item features must name them in `needs`"
        return self.context.items

    @property
    def judged_items(self) -> pl.Series:
        """Ids of the items of the truth, ascending."""
        if self.context.judged_items is not None:
            return self.context.judged_items
        return self.meeting.truth.vocabulary.decode(np.unique(self.meeting.truth.items))

    @functools.cached_property
    def train_items(self) -> Recoding:
        """From the run's item codes to items of the training log."""
        ids = known_ids(self.train.item_vocabulary)
        return self._met(Recoding.between(self.meeting.run.vocabulary, ids), "I406", "training log", ids)

    @functools.cached_property
    def feature_rows(self) -> Recoding:
        """From the run's item codes to items that have features."""
        ids = self.features.items
        return self._met(Recoding.between(self.meeting.run.vocabulary, ids), "I407", "item features", ids)

    @functools.cached_property
    def train_users(self) -> NDArray[np.int32]:
        """For each query of the truth its user in the training log, or -1."""
        vocabulary, codes = Vocabulary.encode(self.meeting.truth.queries)
        return Recoding.between(vocabulary, known_ids(self.train.user_vocabulary), "user")(codes)

    @functools.cached_property
    def truth_train_items(self) -> NDArray[np.int32]:
        """For each row of the truth its item in the training log, or -1."""
        truth = self.meeting.truth
        return Recoding.between(truth.vocabulary, known_ids(self.train.item_vocabulary))(truth.items)

    @functools.cached_property
    def truth_feature_rows(self) -> NDArray[np.int32]:
        """For each row of the truth its item among those with features, or -1."""
        truth = self.meeting.truth
        return Recoding.between(truth.vocabulary, self.features.items)(truth.items)

    @functools.cached_property
    def train_feature_rows(self) -> NDArray[np.int32]:
        """For each item of the training log the item with features, or -1."""
        codes = np.arange(self.train.n_items, dtype=np.int32)
        return Recoding.between(self.train.item_vocabulary, self.features.items)(codes)

    def _met(self, recoding: Recoding, code: str, what: str, ids: pl.Series) -> Recoding:
        run, strangers = self.meeting.run, self.meeting.strangers
        try:
            found = recoding.of_acquainted(run.items, run.vocabulary, ids, code=code, what=what, where=run.origin)
        except InputError as error:
            if self.meeting.whole:
                raise
            strangers |= {code: error} if run.items.size else {}
            return recoding
        strangers[code] = None
        return found


def bind(metrics: Iterable[Metric], meeting: Meeting, context: Context) -> None:
    """Let every metric prepare for one run; call it once after :func:`meet`, before blocks are judged."""
    beside = Beside(meeting, context)
    for metric in metrics:
        meeting.bound[metric] = metric.bind(beside)


def known_ids(vocabulary: Vocabulary) -> pl.Series:
    """The ids behind the codes of a log, ascending."""
    assert vocabulary.ids is not None, "a log's ids are dense"
    return vocabulary.ids
