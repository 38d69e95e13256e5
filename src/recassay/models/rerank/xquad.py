"""xQuAD: good items that have what the user likes and the items above lack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recassay.data._sets import interests
from recassay.data.features import members
from recassay.data.layout import readonly
from recassay.models.rerank import _kernels
from recassay.models.rerank.base import NORMS, Reranker
from recassay.models.rerank.candidates import Candidates, Float, Int64
from recassay.models.rerank.ground import Ground


@dataclass(frozen=True, repr=False)
class XQuAD(Reranker):
    """Diversity is how well an item serves features that the user likes and the items above serve badly.

    It is the sum over features a of p(a | u) p(i | u, a) product over items j above of (1 - p(j | u, a)). p(a | u) is
    the share of a among all features of the items of the user's training profile, alike for all a where there is none.
    ``relevance`` says what p(i | u, a) is for an item with feature a: ``score_share``, its share of the scores of all
    candidates with a; ``graded``, (2^(s / m) - 1) / 2, m the largest of them. It is 0 for an item without a. Negative
    scores are moved up for this, so that the least is 0.

    Each of the first ``places`` falls to the item among the first ``candidates`` with the most of
    (1 - weight) x score + weight x diversity; ties fall to the better rank.

    Reference: Santos, Macdonald and Ounis, Exploiting query reformulations for web search result diversification,
    WWW 2010; with features as aspects: Vargas and Castells, RecSys 2011.
    """

    name: ClassVar[str] = "xQuAD"

    relevance: Literal["score_share", "graded"] = "score_share"

    def prepare(self, ground: Ground) -> GreedyXQuAD:
        """Profiles and features."""
        _ = ground.feature_rows, ground.log_feature_rows, ground.log.by_user  # once, before blocks are cut
        return GreedyXQuAD(self, ground)


@dataclass(frozen=True, eq=False)
class GreedyXQuAD:
    """Picks by features."""

    method: XQuAD
    ground: Ground

    def reorder(self, lists: Candidates, order: Int64, worth: Float) -> Mapping[str, int]:
        """A block of lists in its new order."""
        how, features = self.method, self.ground.features
        priors = np.empty((lists.users.size, features.names.len()))
        profile_offsets, profile_items = self.ground.log.by_user
        alike = interests(
            readonly(profile_offsets), readonly(profile_items), readonly(self.ground.log_feature_rows),
            readonly(features.offsets), readonly(features.codes), lists.users, priors,
        )  # fmt: skip
        rows = self.ground.feature_rows(lists.items)
        offsets, aspects = members(features.offsets, features.codes, rows)
        shifted = _kernels.by_aspects(
            lists.offsets, lists.scores, readonly(offsets), readonly(aspects),
            readonly(np.arange(lists.users.size + 1) * features.names.len()), readonly(priors.ravel()),
            how.weight, how.places, how.candidates, NORMS[how.norm], how.relevance == "graded", order, worth,
        )  # fmt: skip
        return {"bare": int((np.diff(offsets) == 0).sum()), "shifted": shifted, "without_profile": alike}
