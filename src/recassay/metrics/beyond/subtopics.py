"""Subtopic recall: the share of features that the items of a list have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import readonly
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Values
from recassay.metrics.beyond import _kernels
from recassay.metrics.beyond.base import ListMetric, item_codes, ratio, relevant_places

if TYPE_CHECKING:
    from recassay.data.features import Features
    from recassay.metrics.context import ContextLookup


@dataclass(frozen=True, repr=False)
class SubtopicRecall(ListMetric):
    """Share of the features that some item of the list has.

    Formula: ``|union of the features of the items in the first k places| / |features|``. ``relevant_only``: only
    relevant items add their features. ``denominator``: ``all`` features of the table of items, or those of the user's
    ``relevant`` items.

    Edges: an item that is not in the table of items has no features. If relevance counts, a query without a relevant
    item is undefined; so is one whose relevant items have no feature, under ``denominator="relevant"``.
    An empty list is undefined.

    Libraries: RankSys SRecall, Elliot SRecall.

    Reference: Zhai, Cohen and Lafferty, Beyond independent relevance, SIGIR 2003.
    """

    name = "subtopic_recall"
    aliases = ("srecall", "SRecall", "s_recall")
    needs: ClassVar[frozenset[str]] = frozenset({"items"})

    relevant_only: bool = True
    denominator: Literal["all", "relevant"] = "all"
    relevant_from: float = 1.0

    def validate(self) -> None:
        if self.denominator == "relevant" and not self.relevant_only:
            raise self.refuse("denominator", "features of other items could exceed it, so use relevant_only=True")

    def bind(self, lookup: ContextLookup) -> ContextLookup:
        _ = lookup.feature_rows, lookup.truth_feature_rows
        return lookup

    def judge(self, lists: AlignedBlock) -> Values:
        lookup: ContextLookup = lists.bound(self)
        features = lookup.features
        offsets, _ = lists.places(self.k)
        rows = item_codes(lists, self.k, lookup.feature_rows)
        counted = np.ones(rows.size, np.bool_)
        if self.relevant_only:
            counted = relevant_places(lists, self.k, self.relevant_from)
        n_found = _distinct(features, offsets, rows, counted)
        n_all = np.full(lists.size, float(features.names.len()))
        if self.denominator == "relevant":
            relevant = lists.truth.gains[lists.truth_rows] >= self.relevant_from
            n_all = _distinct(features, lists.truth_offsets, lookup.truth_feature_rows[lists.truth_rows], relevant)
        if self.relevant_only:
            n_all[lists.relevant(self.relevant_from) == 0] = 0.0
        return ratio(n_found, n_all)


def _distinct(
    features: Features, offsets: NDArray[np.int64], rows: NDArray[np.int32], counted: NDArray[np.bool_]
) -> Values:
    """Return the number of different features among the counted items of each list.

    The rows of list q are ``rows[offsets[q]:offsets[q + 1]]``.
    """
    out = np.empty(offsets.size - 1)
    _kernels.distinct_features(
        readonly(offsets), readonly(rows), readonly(counted), readonly(features.offsets), readonly(features.codes),
        features.names.len(), out,
    )  # fmt: skip
    return out
