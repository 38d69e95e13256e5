"""Calibrated re-ranking: lists with features in the proportions that the user's profile has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recassay.columnar._sets import mean_shares
from recassay.columnar.layout import readonly
from recassay.models.rerank import _kernels
from recassay.models.rerank.base import NORMS, Reranker
from recassay.models.rerank.candidates import Candidates, Float, Int32, Int64
from recassay.models.rerank.context import RerankContext


@dataclass(frozen=True, repr=False)
class Calibrated(Reranker):
    """Calibrated re-ranking: diversity is minus the divergence of the list's features from the user's training items'.

    p and q are the means over profile and list, the candidate included, of the features of each item, in shares that
    sum to 1. The divergence is the sum of p ln(p / ((1 - alpha) q + alpha p)), that of the metric ``calibration``;
    ``alpha`` keeps it finite for features that the list lacks. An item without features does not change q. The list of
    a user whose profile has no feature keeps its order.

    Each of the first ``places`` ranks goes to the item among the first ``candidates`` that maximises (1 - weight) x
    score + weight x diversity; ties go to the better rank. ``norm="none"`` is the form of the paper.

    Reference: Steck, Calibrated recommendations, RecSys 2018.
    """

    name: ClassVar[str] = "Calibrated"

    alpha: float = 0.01

    def validate(self) -> None:
        """Raise U102 unless alpha lies between 0 and 1."""
        super().validate()
        if not 0 < self.alpha < 1:
            raise self.refuse("alpha", "it must lie between 0 and 1", "alpha=0.01")

    @property
    def needs_items(self) -> bool:
        """Return whether item features must still be given: the re-ranker has none of its own (parameter ``items``)."""
        return self.items is None

    def prepare(self, context: RerankContext) -> GreedyCalibrated:
        """Return the re-ranker together with users' profiles and item features."""
        _ = context.feature_rows  # cached before threads use it
        return GreedyCalibrated(self, context, context.log_feature_rows[context.log.by_user[1]])


@dataclass(frozen=True, eq=False)
class GreedyCalibrated:
    """The re-ranker ``Calibrated`` with the users' profiles and item features that it needs to reorder lists."""

    method: Calibrated
    context: RerankContext
    profile_rows: Int32  # row of the features of each item of all profiles

    def reorder(self, lists: Candidates, order: Int64, pick_values: Float) -> Mapping[str, int]:
        """Write the new order of a block of lists to ``order`` and the value of each pick to ``pick_values``.

        Return the number of rows without features (``bare``) and of lists whose user has no profile
        (``without_profile``).
        """
        method, features = self.method, self.context.features
        wanted = self._profile_shares(lists)
        rows = self.context.feature_rows(lists.items)
        _kernels.pick_by_calibration(
            lists.offsets, lists.scores, readonly(rows), readonly(features.offsets), readonly(features.codes),
            readonly(wanted), method.alpha, method.weight, method.places, method.candidates, NORMS[method.norm], order,
            pick_values,
        )  # fmt: skip
        sizes = np.append(np.diff(features.offsets), 0)  # row -1, an unknown item, reads the 0 at the end
        return {"bare": int((sizes[rows] == 0).sum()), "without_profile": int(np.isnan(wanted).any(axis=1).sum())}

    def _profile_shares(self, lists: Candidates) -> Float:
        """Return the mean feature shares (lists, features) of each list's user over the user's training items.

        They are NaN for a user whose items have no features.
        """
        features, offsets = self.context.features, self.context.log.by_user[0]
        known = lists.users >= 0
        first, last = (np.where(known, offsets[np.where(known, lists.users + past, 0)], 0) for past in (0, 1))
        wanted = np.empty((lists.users.size, features.names.len()))
        mean_shares(
            readonly(first), readonly(last), readonly(self.profile_rows), readonly(np.empty(0)),
            readonly(features.offsets), readonly(features.codes), wanted,
        )  # fmt: skip
        return wanted
