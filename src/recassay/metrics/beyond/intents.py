"""Metrics of the aspects of items: subtopic recall, alpha-nDCG, and precision and ERR for one aspect each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from recassay.arrays import Bool, Int32, Int64
from recassay.columnar.layout import readonly
from recassay.data.features import Features
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Values
from recassay.metrics.beyond import _kernels
from recassay.metrics.beyond.aspects import AspectGains, AspectMetric, IntentMetric
from recassay.metrics.beyond.base import ListMetric, item_codes, place_discounts, ratio, relevant_places
from recassay.metrics.context import ContextLookup
from recassay.metrics.ranking.err import Satisfying
from recassay.naming.named import UP_TO_1, Departure


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
        n_found = _distinct_features(features, offsets, rows, counted)
        n_all = np.full(lists.size, float(features.names.len()))
        if self.denominator == "relevant":
            relevant = lists.truth.gains[lists.truth_rows] >= self.relevant_from
            n_all = _distinct_features(
                features, lists.truth_offsets, lookup.truth_feature_rows[lists.truth_rows], relevant
            )
        if self.relevant_only:
            n_all[lists.relevant(self.relevant_from) == 0] = 0.0
        return ratio(n_found, n_all)


def _distinct_features(features: Features, offsets: Int64, rows: Int32, counted: Bool) -> Values:
    """Return the number of different features among the counted items of each list.

    The rows of list q are ``rows[offsets[q]:offsets[q + 1]]``.
    """
    out = np.empty(offsets.size - 1)
    _kernels.distinct_features(
        readonly(offsets), readonly(rows), readonly(counted), readonly(features.offsets), readonly(features.codes),
        features.names.len(), out,
    )  # fmt: skip
    return out


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

    alpha: Annotated[float, UP_TO_1] = 0.5
    ideal: Literal["greedy", "exact", "ranksys"] = "greedy"
    clip: bool = False

    def validate(self) -> None:
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
        gain = self.weighted(lists, gains, discount)
        if self.normalise == "most":
            gain = gain / self._largest_value()
        return gain

    def _largest_value(self) -> float:
        """Return the value of a list of k items (endless without k) that all have the highest grade and every aspect.

        >>> round(ERRIA(k=1000, scale=1.0)._largest_value() - ERRIA(scale=1.0)._largest_value(), 12)
        0.0
        """
        assert self.scale is not None
        surest = (2.0**self.scale - 1.0) / 2.0**self.scale
        if self.k is None:  # the sum of x^p / p is -ln(1 - x)
            return 1.0 if surest == 1 else float(-surest * math.log(surest) / (1.0 - surest))
        discount = 1.0 / np.arange(1.0, self.k + 1)
        return float((discount * surest * (1.0 - surest) ** np.arange(self.k)).sum())
