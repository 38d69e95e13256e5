"""Intent-aware precision: how much of the list is right, whatever the user came for?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recassay.metrics.align import Aligned
from recassay.metrics.base import Values
from recassay.metrics.beyond.aspects import IntentMetric, Worth


@dataclass(frozen=True, repr=False)
class PrecisionIA(IntentMetric):
    """Precision for a user who wants one aspect, averaged over what aspects users want.

    Formula: ``sum over aspects a of p(a | u) (1/k) #{relevant items of the first k places that have a}``. ``intents``
    is where p(a | u) comes from.
    ``aspects``: ``features`` of items; or ``subprofiles`` of the user, mined from the training log as SPAD does
    (neighbours ``k1`` and ``k2``, liked is a rating of ``liked_from`` or more), which needs that log in place of items.

    Edges: no relevant item with an aspect: undefined. An empty list is 0; places that a short list lacks are misses.

    Libraries: ndeval P-IA@k is ``precision_ia@k``, with subtopics as features.

    Reference: Agrawal, Gollapudi, Halverson and Ieong, Diversifying search results, WSDM 2009.
    """

    name = "precision_ia"
    aliases = ("P_IA", "pia")
    cutoff: ClassVar[Literal["required", "optional", "none"]] = "required"

    def judge(self, lists: Aligned) -> Values:
        assert self.k is not None
        relevant = self.is_relevant(lists).astype(np.float64)
        worth = Worth(relevant, np.ones(relevant.size))
        return self.weighted(lists, worth, np.full(self.k, 1.0 / self.k))
