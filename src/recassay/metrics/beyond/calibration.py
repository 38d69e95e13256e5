"""Calibration: does a list mix what the user likes in the proportions in which the user likes it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.data.layout import readonly, stretch_of
from recassay.metrics.align import Aligned
from recassay.metrics.base import Values
from recassay.metrics.beyond import _kernels
from recassay.metrics.beyond.aspects import WithAspects
from recassay.metrics.beyond.base import Discount, ListMetric, rank_weights, recoded
from recassay.portable.elementary import log
from recassay.threads import blocks

if TYPE_CHECKING:
    from recassay.data.features import Features
    from recassay.metrics.context import Beside

Divergence = Literal["kl", "js", "sqrt_js", "hellinger", "tv"]

CELLS = 1 << 21  # distributions are made for so many (user, feature) cells at a time


@dataclass(frozen=True, repr=False)
class Calibration(WithAspects, ListMetric):
    """How far the features of the list are from the features of the user's training profile; 0 is calibrated.

    Formula: p and q are the mean over profile and list of the features of each item, which share 1; with
    ``aspects="subprofiles"``, p is the size of each subprofile of the user as a share of all sizes, and q the mean over
    the list of the subprofiles that each item has (``k1``, ``k2``, ``liked_from``). ``divergence``:
    ``kl``, sum p ln(p / ((1 - alpha) q + alpha p)), in nats; ``js``, (KL2(p, m) + KL2(q, m)) / 2 with m = (p + q) / 2,
    in bits; ``sqrt_js``, its square root; ``hellinger``, sqrt(1 - sum sqrt(p q)); ``tv``, half of sum |p - q|.
    ``rank_discount="log"`` weighs the items of the list by 1/log2(rank + 1).

    Edges: items without features (or subprofiles), or not in the table of items, are left out; a profile or a list in
    which no item is left is undefined, and so is a user without a subprofile. ``alpha`` smooths ``kl`` only, where a
    feature the user likes is missing from the list.

    Libraries: the default is C_KL of Steck's paper.

    Reference: Steck, Calibrated recommendations, RecSys 2018.
    """

    name = "calibration"
    aliases = ("miscalibration",)
    bounds = (0.0, float("inf"))
    higher_is_better = False
    needs: ClassVar[frozenset[str]] = frozenset({"train", "items"})

    divergence: Divergence = "kl"
    alpha: float = 0.01
    rank_discount: Discount = "none"

    def validate(self) -> None:
        super().validate()
        if not 0 < self.alpha < 1:
            raise self.refuse("alpha", "it lies between 0 and 1")

    def bind(self, beside: Beside) -> object:
        """The run beside log and features, and the item with features of each row of all profiles."""
        if self.aspects == "subprofiles":
            return super().bind(beside)
        _ = beside.feature_rows, beside.train_users
        return beside, beside.train_feature_rows[beside.train.by_user[1]]

    def judge(self, lists: Aligned) -> Values:
        return self._by_features(lists) if self.aspects == "features" else self._by_subprofiles(lists)

    def _by_subprofiles(self, lists: Aligned) -> Values:
        seen, (offsets, _) = self.seen(lists), lists.places(self.k)
        assert seen.mined is not None
        rows, weight = np.arange(int(offsets[-1]), dtype=np.int32), rank_weights(offsets, self.rank_discount)
        first, weights, out = seen.mined.offsets, seen.mined.weights, np.empty(lists.size)
        for begin, end in blocks(lists.size, max(1, CELLS // max(seen.most, 1))):
            p, q = np.zeros((end - begin, seen.most)), np.empty((end - begin, seen.most))
            of = stretch_of(first[begin : end + 1])
            p[of, np.arange(first[begin], first[end]) - first[begin + of]] = weights[first[begin] : first[end]]
            _kernels.taste(
                readonly(offsets[begin:end]), readonly(offsets[begin + 1 : end + 1]), readonly(rows), readonly(weight),
                readonly(seen.shown.starts), readonly(seen.shown.codes), q,
            )  # fmt: skip
            out[begin:end] = divergence(p, q, self.divergence, self.alpha)
        out[seen.width == 0] = np.nan
        return out

    def _by_features(self, lists: Aligned) -> Values:
        beside, profile_rows = lists.bound(self)
        features: Features = beside.features
        offsets, _ = lists.places(self.k)
        rows = recoded(lists, self.k, beside.feature_rows)
        weight = rank_weights(offsets, self.rank_discount)
        users = beside.train_users[lists.begin : lists.end]
        known, profiles = users >= 0, beside.train.by_user[0]
        first, last = (np.where(known, profiles[np.where(known, users + past, 0)], 0) for past in (0, 1))
        out = np.empty(lists.size)
        for begin, end in blocks(lists.size, max(1, CELLS // max(features.names.len(), 1))):
            p = _taste(features, first[begin:end], last[begin:end], profile_rows, np.empty(0))
            q = _taste(features, offsets[begin:end], offsets[begin + 1 : end + 1], rows, weight)
            out[begin:end] = divergence(p, q, self.divergence, self.alpha)
        return out


def _taste(
    features: Features, starts: NDArray[np.int64], stops: NDArray[np.int64], rows: NDArray[np.int32], weight: Values
) -> Values:
    """The mixture of features of the items of each stretch: a row each, which sums to 1."""
    out = np.empty((starts.size, features.names.len()))
    _kernels.taste(
        readonly(starts), readonly(stops), readonly(rows), readonly(weight),
        readonly(features.offsets), readonly(features.codes), out,
    )  # fmt: skip
    return out


def divergence(p: Values, q: Values, kind: Divergence, alpha: float = 0.01) -> Values:
    """Divergence of each row of q from that row of p; see :class:`Calibration`. NaN where one of them is.

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
    js = np.maximum(_row_sums(_relative_entropy(p, m) + _relative_entropy(q, m)) / (2 * log(2)), 0.0)
    return np.asarray(np.sqrt(js) if kind == "sqrt_js" else js)


def _row_sums(values: Values) -> Values:
    """The sum of each row, added from the left: columns of zeros behind it change no bit."""
    return np.asarray(np.cumsum(values, axis=1)[:, -1]) if values.shape[1] else np.zeros(values.shape[0])


def _relative_entropy(p: Values, q: Values) -> Values:
    """``p ln(p / q)``, 0 where p is 0."""
    return p * log(np.divide(p, q, out=np.ones_like(p), where=p != 0))
