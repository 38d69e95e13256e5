"""Data that metrics use besides lists and truth: the training log, item features and distances between items."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from recassay.arrays import Float, Int32
from recassay.columnar.vocabulary import Recoding, Vocabulary
from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.errors import InputError

if TYPE_CHECKING:
    from recassay.data.subprofiles import Miner
    from recassay.metrics.align import Alignment
    from recassay.metrics.base import Metric


@dataclass(frozen=True, eq=False)
class Context:
    """Data for metrics besides run and truth: training log, features of items, and distances of items.

    A metric names the data that it needs in ``needs``; if they are not given, an error is raised before any list is
    judged.
    """

    train: Interactions | None = None
    items: Features | None = None
    distances: Float | None = None  # between items of the training log, which ascend by id
    judged_items: pl.Series | None = None  # of the whole truth, ascending, if it is judged in partitions
    _miners: dict[tuple[int, int, float | None], Miner] = field(default_factory=dict, repr=False)

    def miner(self, k1: int, k2: int, liked_from: float | None) -> Miner:
        """Return the object that finds the subprofiles of training users; it is built once for all runs and metrics.

        A subprofile is an item with a rating of ``liked_from`` or more (None: any), with the items that have it among
        their ``k1`` nearest neighbours; an item belongs to it if it is among the ``k2`` nearest neighbours of one of
        these.
        """
        from recassay.data.subprofiles import Miner  # late: with its kernels, which few metrics need

        assert self.train is not None, "a metric that uses the training log must name it in `needs`"
        key = (k1, k2, liked_from)
        if key not in self._miners:
            self._miners[key] = Miner.of(self.train, k1=k1, k2=k2, liked_from=liked_from)
        return self._miners[key]


@dataclass(frozen=True, eq=False)
class ContextLookup:
    """A translation of the users and items of one aligned run to the codes of the training log and of the features.

    Every table is built on first use and kept. :func:`bind` has them built on one thread, before blocks are judged.
    """

    alignment: Alignment
    context: Context

    @property
    def train(self) -> Interactions:
        """Return the training log."""
        assert self.context.train is not None, "a metric that uses the training log must name it in `needs`"
        return self.context.train

    @property
    def features(self) -> Features:
        """Return the features of items."""
        assert self.context.items is not None, "a metric that uses item features must name them in `needs`"
        return self.context.items.required()

    @property
    def judged_items(self) -> pl.Series:
        """Return the distinct ids of the items of the truth, ascending."""
        if self.context.judged_items is not None:
            return self.context.judged_items
        return self.alignment.truth.vocabulary.decode(np.unique(self.alignment.truth.items))

    @functools.cached_property
    def train_items(self) -> Recoding:
        """Return the recoding from the run's items to items of the training log; raise I406 if none matches."""
        ids = self.train.item_vocabulary.stored_ids
        return self._with_matches_checked(
            Recoding.between(self.alignment.run.vocabulary, ids), "I406", "training log", ids
        )

    @functools.cached_property
    def feature_rows(self) -> Recoding:
        """Return the recoding from the run's items to items with features; raise I407 if none matches."""
        ids = self.features.items
        return self._with_matches_checked(
            Recoding.between(self.alignment.run.vocabulary, ids), "I407", "item features", ids
        )

    @functools.cached_property
    def train_users(self) -> Int32:
        """Return for each query of the truth its user in the training log, or -1."""
        vocabulary, codes = Vocabulary.encode(self.alignment.truth.queries)
        return Recoding.between(vocabulary, self.train.user_vocabulary.stored_ids, "user")(codes)

    @functools.cached_property
    def truth_train_items(self) -> Int32:
        """Return, for each row of the truth, the code of its item in the training log; -1 if it has none."""
        truth = self.alignment.truth
        return Recoding.between(truth.vocabulary, self.train.item_vocabulary.stored_ids)(truth.items)

    @functools.cached_property
    def truth_feature_rows(self) -> Int32:
        """Return, for each row of the truth, the row of its item in the table of features; -1 if it has none."""
        truth = self.alignment.truth
        return Recoding.between(truth.vocabulary, self.features.items)(truth.items)

    @functools.cached_property
    def train_feature_rows(self) -> Int32:
        """Return, for each item of the training log, its row in the table of features; -1 if it has none."""
        codes = np.arange(self.train.n_items, dtype=np.int32)
        return Recoding.between(self.train.item_vocabulary, self.features.items)(codes)

    def _with_matches_checked(self, recoding: Recoding, code: str, what: str, ids: pl.Series) -> Recoding:
        """Return the ``recoding`` of items; if it matches no item of the run, raise the error with this ``code``.

        For a run of only some users the error is stored, not raised, since the other users may match. ``what`` names
        the data, and ``ids`` are its ids.
        """
        run, unmatched = self.alignment.run, self.alignment.unmatched
        try:
            checked = recoding.require_overlap(run.items, run.vocabulary, ids, code=code, what=what, where=run.origin)
        except InputError as error:
            if self.alignment.whole:
                raise
            unmatched |= {code: error} if run.items.size else {}
            return recoding
        unmatched[code] = None
        return checked


def bind(metrics: Iterable[Metric], alignment: Alignment, context: Context) -> None:
    """Prepare every metric for one run; call it once after :func:`align`, before blocks are judged."""
    lookup = ContextLookup(alignment, context)
    for metric in metrics:
        alignment.bound[metric] = metric.bind(lookup)
