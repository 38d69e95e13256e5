"""What a metric may know besides lists and truth: the training log and the features of items."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.recoding import Recoding
from recassay.data.vocabulary import Vocabulary
from recassay.errors import InputError
from recassay.threads import blocks

if TYPE_CHECKING:
    from recassay.metrics.align import Meeting
    from recassay.metrics.base import Metric

ROWS_PER_LOOK = 1 << 20


@dataclass(frozen=True, eq=False)
class Context:
    """Data given beside the run and the truth; a metric that needs more than there is says so before work starts."""

    train: Interactions | None = None
    items: Features | None = None

    @property
    def has(self) -> frozenset[str]:
        """Names of what was given, as metrics name their needs."""
        return frozenset(name for name in ("train", "items") if getattr(self, name) is not None)


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
        """The recoding, or an error if it knows no item of the run: the files use different ids."""
        run = self.meeting.run
        for begin, end in blocks(run.items.size, ROWS_PER_LOOK):
            if (recoding(run.items[begin:end]) >= 0).any():
                return recoding
        ours, theirs = run.vocabulary.decode(run.items[:3]).to_list(), ids.head(3).to_list()
        raise InputError(
            code,
            f"no item of the run (such as {', '.join(map(repr, ours))}) is in the {what} "
            f"(such as {', '.join(map(repr, theirs))})",
            where=run.origin,
            hint="check that both files use the same ids, and name the columns with --columns item=...",
        )


def bind(metrics: Iterable[Metric], meeting: Meeting, context: Context) -> None:
    """Let every metric prepare for one run; call it once after :func:`meet`, before blocks are judged."""
    beside = Beside(meeting, context)
    for metric in metrics:
        meeting.bound[metric] = metric.bind(beside)


def known_ids(vocabulary: Vocabulary) -> pl.Series:
    """The ids behind the codes of a log, ascending."""
    assert vocabulary.ids is not None, "a log's ids are dense"
    return vocabulary.ids
