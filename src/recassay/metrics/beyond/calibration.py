"""Calibration: whether a list has the features that the user likes in the user's own proportions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from recassay.arrays import Int32, Int64
from recassay.columnar._sets import mean_shares
from recassay.columnar.layout import readonly, row_groups
from recassay.data.features import Features
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Values
from recassay.metrics.beyond.aspects import WithAspects
from recassay.metrics.beyond.base import Discount, ListMetric, item_codes, rank_weights
from recassay.metrics.context import ContextLookup
from recassay.naming.named import INSIDE
from recassay.threads import blocks

Divergence = Literal["kl", "js", "sqrt_js", "hellinger", "tv"]

CELLS = 1 << 21  # (user, feature) cells per block of distributions, which bounds memory


@dataclass(frozen=True, repr=False)
class Calibration(WithAspects, ListMetric):
    """Distance of the list's features from the features of the user's training profile; 0 is calibrated.

    Formula: p and q are the means over profile and list of the features of each item, in shares that sum to 1; with
    ``aspects="subprofiles"``, p is the size of each subprofile of the user as a share of all sizes, and q the mean over
    the list of the subprofiles that each item has (``k1``, ``k2``, ``liked_from``). ``divergence``:
    ``kl``, sum p ln(p / ((1 - alpha) q + alpha p)), in nats; ``js``, (KL2(p, m) + KL2(q, m)) / 2 with m = (p + q) / 2,
    in bits; ``sqrt_js``, its square root; ``hellinger``, sqrt(1 - sum sqrt(p q)); ``tv``, half of sum |p - q|.
    ``rank_discount="log"`` weights the items of the list by 1/log2(rank + 1).

    Edges: items without features (or subprofiles), or not in the table of items, are ignored; a profile or a list
    without any other item is undefined, and so is a user without a subprofile. ``alpha`` smooths ``kl`` only,
    for features of the profile that the list lacks.

    Libraries: the default is C_KL of Steck's paper.

    Reference: Steck, Calibrated recommendations, RecSys 2018.
    """

    name = "calibration"
    aliases = ("miscalibration",)
    bounds = (0.0, float("inf"))
    higher_is_better = False
    needs: ClassVar[frozenset[str]] = frozenset({"train", "items"})

    divergence: Divergence = "kl"
    alpha: Annotated[float, INSIDE] = 0.01
    rank_discount: Discount = "none"

    def bind(self, lookup: ContextLookup) -> object:
        """Return (lookup, data): ``lookup``, and what the metric reads of training profiles.

        If the aspects of the metric are features, the data are, for each item of every training profile, the item's row
        in the table of features (-1: none). If they are subprofiles (tastes of a user), it is the object that finds
        them.
        """
        if self.aspects == "subprofiles":
            return super().bind(lookup)
        _ = lookup.feature_rows, lookup.train_users
        return lookup, lookup.train_feature_rows[lookup.train.by_user[1]]

    def judge(self, lists: AlignedBlock) -> Values:
        return self._by_features(lists) if self.aspects == "features" else self._by_subprofiles(lists)

    def _by_subprofiles(self, lists: AlignedBlock) -> Values:
        block, (offsets, _) = self.aspects_of(lists), lists.places(self.k)
        assert block.mined is not None
        rows, weight = np.arange(int(offsets[-1]), dtype=np.int32), rank_weights(offsets, self.rank_discount)
        first, weights, out = block.mined.offsets, block.mined.weights, np.empty(lists.size)
        for begin, end in blocks(lists.size, max(1, CELLS // max(block.most, 1))):
            p, q = np.zeros((end - begin, block.most)), np.empty((end - begin, block.most))
            of = row_groups(first[begin : end + 1])
            p[of, np.arange(first[begin], first[end]) - first[begin + of]] = weights[first[begin] : first[end]]
            mean_shares(
                readonly(offsets[begin:end]), readonly(offsets[begin + 1 : end + 1]), readonly(rows), readonly(weight),
                readonly(block.shown.starts), readonly(block.shown.codes), q,
            )  # fmt: skip
            out[begin:end] = divergence(p, q, self.divergence, self.alpha)
        out[block.width == 0] = np.nan
        return out

    def _by_features(self, lists: AlignedBlock) -> Values:
        lookup, profile_rows = lists.bound(self)
        features: Features = lookup.features
        offsets, _ = lists.places(self.k)
        rows = item_codes(lists, self.k, lookup.feature_rows)
        weight = rank_weights(offsets, self.rank_discount)
        users = lookup.train_users[lists.begin : lists.end]
        known, profiles = users >= 0, lookup.train.by_user[0]
        first, last = (np.where(known, profiles[np.where(known, users + past, 0)], 0) for past in (0, 1))
        out = np.empty(lists.size)
        for begin, end in blocks(lists.size, max(1, CELLS // max(features.names.len(), 1))):
            p = _feature_distribution(features, first[begin:end], last[begin:end], profile_rows, np.empty(0))
            q = _feature_distribution(features, offsets[begin:end], offsets[begin + 1 : end + 1], rows, weight)
            out[begin:end] = divergence(p, q, self.divergence, self.alpha)
        return out


def _feature_distribution(features: Features, starts: Int64, stops: Int64, rows: Int32, weight: Values) -> Values:
    """Return the mean distribution over features (queries, features) of some items of each query; rows sum to 1.

    The items of query q are ``rows[starts[q]:stops[q]]``, as row numbers in the table of features, with the weights
    ``weight``.
    """
    out = np.empty((starts.size, features.names.len()))
    mean_shares(
        readonly(starts), readonly(stops), readonly(rows), readonly(weight),
        readonly(features.offsets), readonly(features.codes), out,
    )  # fmt: skip
    return out


def divergence(p: Values, q: Values, kind: Divergence, alpha: float = 0.01) -> Values:
    """Return the divergence of each row of q from the same row of p (see :class:`Calibration`); NaN if either is NaN.

    ``alpha`` smooths ``kl`` only.

    >>> p, q = np.array([[0.6, 0.3, 0.1]]), np.array([[0.8, 0.2, 0.0]])
    >>> [round(float(divergence(p, q, kind)[0]), 6) for kind in ("kl", "js", "sqrt_js", "hellinger", "tv")]
    [0.409553, 0.067603, 0.260005, 0.249461, 0.2]
    """
    if kind == "kl":
        return np.asarray(np.maximum(_row_sums(_relative_entropy(p, (1 - alpha) * q + alpha * p)), 0.0))
    if kind == "hellinger":
        return np.asarray(np.sqrt(np.maximum(1.0 - _row_sums(np.sqrt(p * q)), 0.0)))
    if kind == "tv":
        return _row_sums(np.abs(p - q)) / 2
    m = (p + q) / 2
    js = np.maximum(_row_sums(_relative_entropy(p, m) + _relative_entropy(q, m)) / (2 * math.log(2)), 0.0)
    return np.asarray(np.sqrt(js) if kind == "sqrt_js" else js)


def _row_sums(values: Values) -> Values:
    """Return the sum of each row, added from the left, so that trailing columns of zeros change no bit."""
    return np.asarray(np.cumsum(values, axis=1)[:, -1]) if values.shape[1] else np.zeros(values.shape[0])


def _relative_entropy(p: Values, q: Values) -> Values:
    """Return ``p ln(p / q)``, 0 where p is 0."""
    return p * np.log(np.divide(p, q, out=np.ones_like(p), where=p != 0))
