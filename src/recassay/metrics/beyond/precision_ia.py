"""Intent-aware precision: precision for users who want one aspect each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Values
from recassay.metrics.beyond.aspects import AspectGains, IntentMetric


@dataclass(frozen=True, repr=False)
class PrecisionIA(IntentMetric):
    """Precision for a user who wants one aspect, averaged over aspects.

    Formula: ``sum over aspects a of p(a | u) (1/k) #{relevant items of the first k places that have a}``. ``intents``
    names the source of p(a | u). An aspect is one of the ``features`` of items, or, as ``aspects`` says, one of the
    ``subprofiles`` (tastes) of the user, mined from the training log as SPAD does (neighbours ``k1`` and ``k2``, liked
    is a rating of ``liked_from`` or more), which needs that log in place of items.

    Edges: no relevant item with an aspect: undefined. An empty list is 0; missing places of a short list are misses.

    Libraries: ndeval P-IA@k is ``precision_ia@k``, with subtopics as features.

    Reference: Agrawal, Gollapudi, Halverson and Ieong, Diversifying search results, WSDM 2009.
    """

    name = "precision_ia"
    aliases = ("P_IA", "pia")
    cutoff: ClassVar[Literal["required", "optional", "none"]] = "required"

    def judge(self, lists: AlignedBlock) -> Values:
        assert self.k is not None
        relevant = self.is_relevant(lists).astype(np.float64)
        gains = AspectGains(relevant, np.ones(relevant.size))
        return self.weighted(lists, gains, np.full(self.k, 1.0 / self.k))
