"""Alpha-nDCG: a relevant item counts less for aspects that relevant items above it have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Values
from recassay.metrics.beyond.aspects import AspectGains, AspectMetric
from recassay.metrics.beyond.base import place_discounts, ratio
from recassay.naming.departures import Departure

LONGEST_EXACT = 8  # the best of all lists is searched for up to this many places


@dataclass(frozen=True, repr=False)
class AlphaNDCG(AspectMetric):
    """Discounted cumulative gain of aspects, whose gain falls each time an aspect is repeated.

    Formula: ``aDCG / ideal aDCG`` with ``aDCG = sum_{p<=k} 1/log2(p + 1) [item at p is relevant] sum over its aspects a
    of (1 - alpha)^c``, c the number of relevant items above p that have aspect a. ``ideal``, the list whose value is
    the divisor: ``greedy`` picks the relevant item that adds most, ties by ascending id, k times; ``exact`` is the best
    of all lists, for k of at most 8; ``ranksys`` picks k + 1 times, as the program RankSys does. ``clip=True`` cuts
    values above 1. An aspect is one of the ``features`` of items, or, as ``aspects`` says, one of the ``subprofiles``
    (tastes) of the user, mined from the training log as SPAD does (neighbours ``k1`` and ``k2``, liked is a rating of
    ``liked_from`` or more), which needs that log in place of items.

    Edges: no relevant item: undefined, or 0 with ``no_relevant="zero"``; relevant items of which none has an aspect:
    undefined. Greedy picks are not always the best, so a value can exceed 1; it is not clipped by default.

    Libraries: ndeval alpha-nDCG@k with subtopics as features; its ideal list breaks ties by the highest id. RankSys is
    ``alpha_ndcg(ideal='ranksys')@k``.

    Reference: Clarke, Kolla, Cormack, Vechtomova, Ashkan, Büttcher and MacKinnon, Novelty and diversity in information
    retrieval evaluation, SIGIR 2008.
    """

    name = "alpha_ndcg"
    aliases = ("andcg", "a_ndcg", "alpha_nDCG")
    bounds = (0.0, float("inf"))
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sudden-death",
            "The ideal of equation 5 is the best of all lists, whose search is NP-hard; recassay picks greedily.",
            "alpha_ndcg(ideal='exact')@5",
        ),
        Departure(
            "sudden-death",
            "The paper refers to an article that we do not have for alpha-nDCG over subprofiles; that a test item has "
            "a subprofile if it is among the k2 nearest neighbours of one of its items is our reconstruction from the "
            "published program of SPAD.",
        ),
    )

    alpha: float = 0.5
    ideal: Literal["greedy", "exact", "ranksys"] = "greedy"
    clip: bool = False

    def validate(self) -> None:
        super().validate()
        if not 0 <= self.alpha <= 1:
            raise self.refuse("alpha", "it must lie between 0 and 1")
        if self.ideal == "exact" and (self.k is None or self.k > LONGEST_EXACT):
            raise self.refuse("ideal", f"the best of all lists is searched for up to {LONGEST_EXACT} ranks only")

    def judge(self, lists: AlignedBlock) -> Values:
        relevant = self.is_relevant(lists)
        gains = AspectGains(relevant.astype(np.float64), np.where(relevant, 1.0 - self.alpha, 1.0))
        places = self.k or max(lists.depth(None), int(np.diff(lists.truth_offsets).max(initial=1)))
        gained = self.gained(lists, gains, place_discounts(places, "log"))
        picks = place_discounts(places + (self.ideal == "ranksys"), "log")
        best = self.best(lists, gains, picks, exact=self.ideal == "exact")
        values = ratio(gained, best)
        return np.minimum(values, 1.0) if self.clip else values
