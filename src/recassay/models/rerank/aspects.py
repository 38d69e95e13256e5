"""Re-rankers by aspects: features of items, groups of items or single items, which the items above cover or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl

from recassay.arrays import Float, Int32, Int64
from recassay.columnar._sets import feature_shares, mean_shares
from recassay.columnar.layout import ranges, readonly, row_groups
from recassay.columnar.vocabulary import Recoding
from recassay.data.features import Features, gather_sets
from recassay.data.interactions import Interactions
from recassay.data.subprofiles import Miner
from recassay.models.rerank import _kernels
from recassay.models.rerank.base import FIRST_ITEMS, NORMS, Candidates, RerankContext, Reranker
from recassay.naming.named import COUNT, INSIDE, Departure
from recassay.rng import derive

SMALLEST = np.finfo(np.float64).tiny
Relevance = Literal["score_share", "graded", "binary"]


def pick_by_aspects(
    method: Reranker, lists: Candidates, aspects: tuple[Int64, Int32], priors: tuple[Int64, Float],
    relevance: Relevance, order: Int64, pick_values: Float,
) -> int:  # fmt: skip
    """Reorder lists by the coverage of aspects; return the number of lists whose scores were shifted up.

    ``aspects`` are those of each row, and ``priors`` those of each list, as offsets and values; ``relevance`` is how an
    item's relevance to an aspect is computed.
    """
    (offsets, codes), (starts, shares) = aspects, priors
    query, lengths = row_groups(lists.offsets), np.diff(lists.offsets)
    competes, low = ranges(0, lengths) < method.candidates, np.zeros(lengths.size)
    if (lists.scores < 0).any():
        np.minimum.at(low, query[competes], lists.scores[competes])
    scores = np.where(competes, lists.scores - low[query], 0.0)
    _kernels.pick_by_aspects(
        lists.offsets, lists.scores, readonly(offsets), readonly(codes),
        readonly(_chances(scores, query, np.diff(offsets), codes, relevance)), readonly(starts), shares.copy(),
        float(method.weight), method.places, method.candidates, NORMS[method.norm], order, pick_values,
    )  # fmt: skip
    return int(((low < 0) & (np.diff(starts) > 0)).sum()) if method.weight else 0


def _chances(scores: Float, query: Int64, sizes: Int64, codes: Int32, relevance: Relevance) -> Float:
    """Return p(i | u, a), the relevance of each row i of the lists to each of its aspects a, as ``relevance`` says.

    ``scores`` are those of the rows, none below 0, and 0 if a row is no candidate; ``query`` are the lists of the rows.
    ``codes`` has the aspects of all rows, one row after another, and ``sizes`` the number of aspects of each row.
    """
    if relevance == "binary":
        return np.ones(codes.size)
    entry = np.repeat(query * (int(codes.max(initial=0)) + 1), sizes) + codes
    own = np.repeat(scores, sizes)
    if relevance == "score_share":
        return np.asarray(own / np.maximum(np.bincount(entry, own, minlength=1)[entry], SMALLEST))
    most = np.zeros(int(entry.max(initial=0)) + 1)
    np.maximum.at(most, entry, own)
    return np.asarray((2.0 ** (own / np.maximum(most[entry], SMALLEST)) - 1.0) / 2.0)  # 0 for a score of 0


@dataclass(frozen=True, repr=False)
class XQuAD(Reranker):
    """xQuAD re-ranking: diversity is how well an item covers features that the user likes and items above hardly cover.

    It is the sum over features a of p(a | u) p(i | u, a) product over items j above of (1 - p(j | u, a)). p(a | u) is
    the share of a among all features of the items in the user's training profile, the same for all features if that
    profile is empty or with ``prior="uniform"``.
    ``relevance`` defines p(i | u, a) of an item with feature a: ``score_share``, its share of the scores of all
    candidates with a; ``graded``, (2^(s / m) - 1) / 2, with s its score and m the largest of these scores; ``binary``,
    1. p(i | u, a) is 0 for an item without a. For it, scores are shifted up if one is negative, so that the least is 0.

    Each of the first ``places`` ranks goes to the item among the first ``candidates`` that maximises
    (1 - weight) x score + weight x diversity; ties go to the better rank.

    With providers as features, ``XQuAD(relevance='binary', prior='uniform', norm='none')`` is FAR of Liu and Burke
    (2018): a bonus for a provider that the items above lack, so that more providers are seen.

    Reference: Santos, Macdonald and Ounis, Exploiting query reformulations for web search result diversification,
    WWW 2010; with features as aspects: Vargas and Castells, RecSys 2011.
    """

    name: ClassVar[str] = "xQuAD"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sudden-death",
            "Equation 1 of the paper adds score and diversity as they are; recassay standardises both among the "
            "items left at each rank, as the authors' programs do.",
            "xQuAD(norm='none')",
        ),
        Departure(
            "sudden-death",
            "The paper does not say how p(i | u, a) of equation 3 is estimated; recassay takes an item's share of the "
            "scores of all candidates with the feature, as the program of one of the authors does.",
        ),
        FIRST_ITEMS,
    )

    relevance: Relevance = "score_share"
    prior: Literal["profile", "uniform"] = "profile"

    reads_features: ClassVar[bool] = True

    def prepare(self, context: RerankContext) -> RerankContext:
        """Return the users' profiles and the item features."""
        _ = context.feature_rows  # cached before threads use it
        if self.prior == "profile":
            _ = context.log_feature_rows, context.log.by_user
        return context

    def reorder(
        self, prepared: RerankContext, lists: Candidates, order: Int64, pick_values: Float
    ) -> Mapping[str, int]:
        """Write the new order of a block of lists to ``order`` and the value of each pick to ``pick_values``.

        Return the number of rows without features (``bare``), of lists whose scores were shifted up (``shifted``), and
        of users without a feature in their profile (``without_profile``).
        """
        features = prepared.features
        priors, without_profile = self._priors(prepared, lists.users)
        offsets, aspects = gather_sets(features.offsets, features.codes, prepared.feature_rows(lists.items))
        starts = np.arange(lists.users.size + 1) * features.names.len()
        shifted = pick_by_aspects(
            self, lists, (offsets, aspects), (starts, priors.ravel()), self.relevance, order, pick_values
        )
        return {"bare": int((np.diff(offsets) == 0).sum()), "shifted": shifted, "without_profile": without_profile}

    def _priors(self, context: RerankContext, users: Int32) -> tuple[Float, int]:
        """Return p(a | u) (users, features), and the number of users whose profile has no feature."""
        features = context.features
        priors = np.full((users.size, features.names.len()), 1.0 / max(features.names.len(), 1))
        if self.prior == "uniform":
            return priors, 0
        offsets, items = context.log.by_user
        without = feature_shares(
            readonly(offsets), readonly(items), readonly(context.log_feature_rows), readonly(features.offsets),
            readonly(features.codes), users, priors,
        )  # fmt: skip
        return priors, without


@dataclass(frozen=True, repr=False)
class LongTail(XQuAD):
    """xQuAD with two features: an item is in the popular ``head`` of the catalogue or in its long tail.

    The head has the share ``head`` of the items of the training log, those with the most users, and all items with as
    many users as the last of them. An item that nobody has in the training log is in the tail, as ``aplt`` counts it.
    p(a | u) is the share of head and of tail items in the user's training profile, so the list of a user who likes
    rare items gets more of them. With ``prior="uniform"`` head and tail count the same for all users. ``relevance`` is
    that of xQuAD. No features of items are needed.

    Each of the first ``places`` ranks goes to the item among the first ``candidates`` that maximises
    (1 - weight) x score + weight x diversity; ties go to the better rank.

    Reference: Abdollahpouri, Burke and Mobasher, Managing popularity bias in recommender systems with personalized
    re-ranking, FLAIRS 2019.
    """

    departures = ()
    reads_features: ClassVar[bool] = False

    head: Annotated[float, INSIDE] = 0.2

    def prepare(self, context: RerankContext) -> RerankContext:
        """Return the users' profiles and the class (head or tail) of every item."""
        unknown = context.vocabulary.decode(np.unique(context.listed[context.log_items(context.listed) < 0]))
        return super().prepare(replace(context, items=popularity_classes(context.log, self.head, unknown)))


def popularity_classes(log: Interactions, head: float, unknown: pl.Series) -> Features:
    """Return the feature ``head`` or ``tail`` of every item of a log, and ``tail`` of the ``unknown`` items.

    ``head`` is the share of the items of the log in the head. Items that nobody has are in the tail.

    >>> rows = pl.DataFrame({"user_id": [1, 2, 3, 1, 2, 1], "item_id": [7, 7, 7, 8, 8, 9]})
    >>> found = popularity_classes(Interactions.from_frame(rows), head=0.3, unknown=pl.Series([5]))
    >>> found.items.to_list(), found.names.gather(found.codes).to_list()
    ([5, 7, 8, 9], ['tail', 'head', 'tail', 'tail'])
    """
    counts, ids = log.item_users, log.item_ids
    least = np.sort(counts)[::-1][max(int(np.ceil(head * counts.size)), 1) - 1]
    known = pl.DataFrame({"item_id": ids, "popularity": np.where(counts >= max(least, 1), "head", "tail")})
    others = pl.DataFrame({"item_id": unknown.cast(ids.dtype), "popularity": ["tail"] * unknown.len()})
    table = pl.concat([known, others], how="vertical_relaxed")
    return Features.from_frame(table, columns=["popularity"], origin=log.origin)


@dataclass(frozen=True, repr=False)
class SPAD(Reranker):
    """xQuAD with subprofiles (groups of similar items a user liked) in place of features: items need no features.

    The subprofile around a liked training item i contains i and all liked items that have i among their ``k1`` nearest
    neighbours; subprofiles inside another one are dropped. p(S | u) is the size of S as a share of all sizes. An item
    belongs to S if it is among the ``k2`` nearest neighbours of an item of S. p(i | u, S) is its share of the scores of
    all candidates of S; for it, scores are shifted up if one is negative, so that the least is 0. Items rated
    ``liked_from`` or more are liked; all items if it is None. Neighbours have the largest cosine of their training
    users. The list of a user who liked nothing keeps its order.

    Each of the first ``places`` ranks goes to the item among the first ``candidates`` that maximises
    (1 - weight) x score + weight x diversity; ties go to the better rank. k1 and k2 need tuning.

    Reference: Kaya and Bridge, Subprofile-aware diversification of recommendations, UMUAI 29, 2019.
    """

    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sudden-death",
            "The paper refers to an article that we do not have for the mining of subprofiles; recassay follows the "
            "program that the first author of SPAD published later for a challenge, which mines them more simply.",
        ),
        Departure(
            "sudden-death",
            "Equation 1 of the paper adds score and diversity as they are; recassay standardises both among the "
            "items left at each rank, as the authors' programs do.",
            "SPAD(norm='none')",
        ),
        FIRST_ITEMS,
    )

    k1: Annotated[int, COUNT] = 10
    k2: Annotated[int, COUNT] = 10
    liked_from: float | None = None

    def prepare(self, context: RerankContext) -> tuple[Miner, Recoding]:
        """Return (neighbours of all items, which define subprofiles; map from items of lists to these items)."""
        return Miner.of(context.log, k1=self.k1, k2=self.k2, liked_from=self.liked_from), context.log_items

    def reorder(
        self, prepared: tuple[Miner, Recoding], lists: Candidates, order: Int64, pick_values: Float
    ) -> Mapping[str, int]:
        """Write the new order of a block of lists to ``order`` and the value of each pick to ``pick_values``.

        Return the number of lists whose scores were shifted up (``shifted``), and of users who liked no item
        (``without_liked``).
        """
        miner, log_items = prepared
        mined = miner.mine(lists.users)
        aspects, priors = mined.aspects(lists.offsets, log_items(lists.items)), (mined.offsets, mined.weights)
        shifted = pick_by_aspects(self, lists, aspects, priors, "score_share", order, pick_values)
        return {"shifted": shifted, "without_liked": int((np.diff(mined.offsets) == 0).sum())}


@dataclass(frozen=True, repr=False)
class Calibrated(Reranker):
    """Calibrated re-ranking: diversity is minus the divergence of the list's features from the user's training items'.

    p is the mean over the items of the profile, q that over the list and the candidate, of the shares of an item's
    features, which sum to 1. The divergence is the sum of p ln(p / ((1 - alpha) q + alpha p)), that of the metric
    ``calibration``; ``alpha`` keeps it finite for features that the list lacks. An item without features does not
    change q. The list of a user whose profile has no feature keeps its order.

    Each of the first ``places`` ranks goes to the item among the first ``candidates`` that maximises (1 - weight) x
    score + weight x diversity; ties go to the better rank. ``norm="none"`` is the form of the paper.

    Reference: Steck, Calibrated recommendations, RecSys 2018.
    """

    alpha: Annotated[float, INSIDE] = 0.01

    reads_features: ClassVar[bool] = True

    def prepare(self, context: RerankContext) -> tuple[RerankContext, Int32]:
        """Return item features, and the row of the features of each item of all users' profiles."""
        _ = context.feature_rows  # cached before threads use it
        return context, context.log_feature_rows[context.log.by_user[1]]

    def reorder(
        self, prepared: tuple[RerankContext, Int32], lists: Candidates, order: Int64, pick_values: Float
    ) -> Mapping[str, int]:
        """Write the new order of a block of lists to ``order`` and the value of each pick to ``pick_values``.

        Return the number of rows without features (``bare``) and of lists whose user has no profile
        (``without_profile``).
        """
        context, profile_rows = prepared
        features, rows = context.features, context.feature_rows(lists.items)
        wanted = _profile_shares(context, profile_rows, lists.users)
        _kernels.pick_by_calibration(
            lists.offsets, lists.scores, readonly(rows), readonly(features.offsets), readonly(features.codes),
            readonly(wanted), self.alpha, self.weight, self.places, self.candidates, NORMS[self.norm], order,
            pick_values,
        )  # fmt: skip
        sizes = np.append(np.diff(features.offsets), 0)  # row -1, an unknown item, reads the 0 at the end
        return {"bare": int((sizes[rows] == 0).sum()), "without_profile": int(np.isnan(wanted).any(axis=1).sum())}


def _profile_shares(context: RerankContext, profile_rows: Int32, users: Int32) -> Float:
    """Return the mean feature shares (lists, features) of each list's user over the user's training items.

    They are NaN for a user whose items have no features.
    """
    features, offsets = context.features, context.log.by_user[0]
    known = users >= 0
    first, last = (np.where(known, offsets[np.where(known, users + past, 0)], 0) for past in (0, 1))
    wanted = np.empty((users.size, features.names.len()))
    mean_shares(
        readonly(first), readonly(last), readonly(profile_rows), readonly(np.empty(0)), readonly(features.offsets),
        readonly(features.codes), wanted,
    )  # fmt: skip
    return wanted


@dataclass(frozen=True, repr=False)
class Shuffled(Reranker):
    """Random re-ranking: diversity is a random number between 0 and 1, so items move for no reason.

    It is a control: any change of a list by chance changes diversity and coverage too, so a method is worth its name
    only if it beats a shuffle that costs as much accuracy. The numbers are drawn from the seed, the user's id and the
    rank of the item in the list: the same list of the same user is always shuffled alike.

    Each of the first ``places`` ranks goes to the item among the first ``candidates`` that maximises (1 - weight) x
    score + weight x diversity; ties go to the better rank.

    >>> import recassay as ra
    >>> found = ra.rerank({"ann": {"a": 3, "b": 2, "c": 1}}, "Shuffled(weight=1, seed=2)")
    >>> found.run.frame()["item_id"].to_list()
    ['c', 'a', 'b']
    """

    seed: int = 0

    def prepare(self, context: RerankContext) -> None:
        """Return nothing: no data are needed."""

    def reorder(self, prepared: None, lists: Candidates, order: Int64, pick_values: Float) -> Mapping[str, int]:
        """Write the new order of a block of lists to ``order`` and the value of each pick to ``pick_values``.

        Every row is an aspect of its own, whose prior is a random number. Return an empty dict: there is nothing to
        count.
        """
        draws = [
            derive(self.seed, "shuffled", user).random(size)
            for user, size in zip(lists.ids.to_list(), np.diff(lists.offsets).tolist(), strict=True)
        ]
        rows = np.arange(lists.items.size + 1)
        aspects = rows[:-1] - lists.offsets[row_groups(lists.offsets)]
        priors = np.concatenate([np.empty(0), *draws])
        every = (rows, aspects.astype(np.int32)), (lists.offsets, priors)
        pick_by_aspects(self, lists, *every, "binary", order, pick_values)
        return {}
