"""Intent-aware expected reciprocal rank: the reader wants one aspect and stops when satisfied."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Values
from recassay.metrics.beyond.aspects import AspectGains, IntentMetric
from recassay.metrics.beyond.base import ratio
from recassay.metrics.ranking.satisfaction import Satisfying


@dataclass(frozen=True, repr=False)
class ERRIA(Satisfying, IntentMetric):
    """Expected reciprocal rank for a reader who wants one aspect, averaged over aspects.

    Formula: ``sum over aspects a of p(a | u) sum_{p<=k} (1/p) r_p prod_{q<p, q has a} (1 - r_q)`` over relevant items
    that have a, with ``r = (2^grade - 1) / 2^scale``. ``intents`` names the source of p(a | u). ``normalise`` divides
    by nothing (``none``); by the ``most`` that any list could have, one whose items all have the highest grade and
    every aspect; or by the ``ideal`` list of relevant items, picked greedily. An aspect is one of the ``features`` of
    items, or, as ``aspects`` says, one of the ``subprofiles`` (tastes) of the user, mined from the training log as SPAD
    does (neighbours ``k1`` and ``k2``, liked is a rating of ``liked_from`` or more), which needs that log in place of
    items.

    Edges: ``scale`` is the largest grade of the scale; if it is not given, the largest in the whole truth. No relevant
    item with an aspect: undefined. ``ideal`` weights all aspects of relevant items equally. Without a cut-off ``most``
    is the limit of an endless list.

    Libraries: ndeval ERR-IA@k is ``err_ia(normalise='most')@k`` and nERR-IA@k ``err_ia(normalise='ideal')@k``, with
    subtopics as features.

    Reference: Chapelle, Ji, Liao, Velipasaoglu, Lai and Wu, Intent-based diversification of web search results: metrics
    and algorithms, Information Retrieval 14, 2011.
    """

    name = "err_ia"
    aliases = ("ERR_IA", "erria")

    normalise: Literal["none", "most", "ideal"] = "none"

    def validate(self) -> None:
        super().validate()
        if self.normalise == "ideal" and self.intents == "profile":
            raise self.refuse(
                "normalise", "the ideal list weights all aspects of relevant items equally, so use intents='relevant'"
            )

    def judge(self, lists: AlignedBlock) -> Values:
        assert self.scale is not None
        grade = np.where(self.is_relevant(lists), lists.truth.gains[lists.truth_rows], 0.0)
        satisfied = self.satisfied(grade)
        gains = AspectGains(satisfied, 1.0 - satisfied)
        places = self.k or max(lists.depth(None), int(np.diff(lists.truth_offsets).max(initial=1)))
        discount = 1.0 / np.arange(1.0, places + 1)
        if self.normalise == "ideal":
            return np.minimum(ratio(self.gained(lists, gains, discount), self.best(lists, gains, discount)), 1.0)
        found = self.weighted(lists, gains, discount)
        if self.normalise == "most":
            found = found / self._most()
        return found

    def _most(self) -> float:
        """Return the value of a list whose items all have the highest grade and every aspect; endless without k.

        >>> round(ERRIA(k=1000, scale=1.0)._most() - ERRIA(scale=1.0)._most(), 12)
        0.0
        """
        assert self.scale is not None
        surest = (2.0**self.scale - 1.0) / 2.0**self.scale
        if self.k is None:  # the sum of x^p / p is -ln(1 - x)
            return 1.0 if surest == 1 else float(-surest * math.log(surest) / (1.0 - surest))
        discount = 1.0 / np.arange(1.0, self.k + 1)
        return float((discount * surest * (1.0 - surest) ** np.arange(self.k)).sum())
