"""xQuAD: relevant items with features that the user likes and the items above lack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recassay.columnar._sets import feature_shares
from recassay.columnar.layout import readonly
from recassay.data.features import gather_sets
from recassay.models.rerank import _kernels
from recassay.models.rerank.base import FIRST_ITEMS, NORMS, Reranker
from recassay.models.rerank.candidates import Candidates, Float, Int32, Int64
from recassay.models.rerank.context import RerankContext
from recassay.naming.named import Departure

RELEVANCE = {"score_share": _kernels.SCORE_SHARE, "graded": _kernels.GRADED, "binary": _kernels.BINARY}


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

    relevance: Literal["score_share", "graded", "binary"] = "score_share"
    prior: Literal["profile", "uniform"] = "profile"

    @property
    def needs_items(self) -> bool:
        """Return whether item features must still be given: the re-ranker has none of its own (parameter ``items``)."""
        return self.items is None

    def prepare(self, context: RerankContext) -> GreedyXQuAD:
        """Return the re-ranker together with users' profiles and item features."""
        _ = context.feature_rows  # cached before threads use it
        if self.prior == "profile":
            _ = context.log_feature_rows, context.log.by_user
        return GreedyXQuAD(self, context)


@dataclass(frozen=True, eq=False)
class GreedyXQuAD:
    """The re-ranker ``XQuAD`` with the users' profiles and item features that it needs to reorder lists."""

    method: XQuAD
    context: RerankContext

    def reorder(self, lists: Candidates, order: Int64, pick_values: Float) -> Mapping[str, int]:
        """Write the new order of a block of lists to ``order`` and the value of each pick to ``pick_values``.

        Return the number of rows without features (``bare``), of lists whose scores were shifted up (``shifted``), and
        of users without a feature in their profile (``without_profile``).
        """
        method, features = self.method, self.context.features
        priors, without_profile = self._priors(lists.users)
        rows = self.context.feature_rows(lists.items)
        offsets, aspects = gather_sets(features.offsets, features.codes, rows)
        shifted = _kernels.pick_by_aspects(
            lists.offsets, lists.scores, readonly(offsets), readonly(aspects),
            readonly(np.arange(lists.users.size + 1) * features.names.len()), readonly(priors.ravel()),
            float(method.weight), method.places, method.candidates, NORMS[method.norm], RELEVANCE[method.relevance],
            order, pick_values,
        )  # fmt: skip
        return {"bare": int((np.diff(offsets) == 0).sum()), "shifted": shifted, "without_profile": without_profile}

    def _priors(self, users: Int32) -> tuple[Float, int]:
        """Return p(a | u) (users, features), and the number of users whose profile has no feature."""
        features = self.context.features
        priors = np.full((users.size, features.names.len()), 1.0 / max(features.names.len(), 1))
        if self.method.prior == "uniform":
            return priors, 0
        offsets, items = self.context.log.by_user
        without = feature_shares(
            readonly(offsets), readonly(items), readonly(self.context.log_feature_rows), readonly(features.offsets),
            readonly(features.codes), users, priors,
        )  # fmt: skip
        return priors, without
