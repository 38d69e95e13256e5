"""Mean absolute error and root mean square error of predicted ratings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recassay.errors import UsageError
from recassay.metrics.align import AlignedBlock, Alignment
from recassay.metrics.base import Addend, UnitMetric, Values, range_sums
from recassay.metrics.context import ContextLookup


@dataclass(frozen=True, repr=False)
class RatingDeviation(UnitMetric):
    """An error of the run's scores as predictions of the truth's gains, over the pairs that both have.

    ``average``: over all ``pairs`` with equal weights, or over each ``user`` first and then over users.
    """

    family: ClassVar[str] = "rating"
    uses_scores: ClassVar[bool] = True
    cutoff: ClassVar[Literal["required", "optional", "none"]] = "none"
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    higher_is_better: ClassVar[bool | None] = False
    no_formula: ClassVar[str] = "it evaluates predicted ratings, not ranks"

    average: Literal["pairs", "user"] = "pairs"

    def bind(self, lookup: ContextLookup) -> None:
        run = lookup.alignment.run
        if run.scores is None:
            raise UsageError(
                "U105",
                f"{self} needs predicted ratings, and {run.name} has no scores",
                where=run.origin,
                hint="give the run a column of scores, or name it with --columns score=...",
            )

    def _errors(self, lists: AlignedBlock) -> tuple[Values, Values]:
        """Return (counts, errors): numbers of predicted ratings, per query, and errors, per judged item in a list.

        The error is prediction minus rating. An error that is not finite is set to 0 and not counted.
        """
        scores = lists.alignment.run.scores
        assert scores is not None
        error = scores[lists.rows] - lists.grade
        usable = np.isfinite(error) & (lists.grade >= 0)
        return range_sums(lists.start, usable), np.where(usable, error, 0.0)

    @staticmethod
    def _mean(lists: AlignedBlock, pairs: Values, error: Values) -> Values:
        return np.where(pairs > 0, range_sums(lists.start, error) / np.maximum(pairs, 1), np.nan)

    def weights(self, lists: AlignedBlock) -> Values | None:
        return self._errors(lists)[0] if self.average == "pairs" else None

    def addends(self, alignment: Alignment) -> Mapping[str, Addend]:
        """Return two counts: rated ``pairs`` of the truth that have a prediction, and ``unpredicted`` pairs."""
        predicted = int(self._errors(alignment.block(0, alignment.match.size))[0].sum())
        return {"pairs": predicted, "unpredicted": int((alignment.truth.gains >= 0).sum()) - predicted}


@dataclass(frozen=True, repr=False)
class MAE(RatingDeviation):
    """Mean absolute error of predicted ratings. Lower is better.

    Formula: ``(1/|P|) sum over pairs of |score - rating|``, P the pairs that both run and truth have.
    ``average="user"``: the mean over users of each user's mean.

    Edges: pairs without a prediction are left out and counted, so compare runs that predict the same pairs. A user
    without a pair is undefined.

    Libraries: Surprise and Microsoft mae, Cornac MAE (pairs), LensKit MAE (both).

    Reference: Herlocker, Konstan, Terveen and Riedl, Evaluating collaborative filtering recommender systems, TOIS 2004.
    """

    name = "mae"
    aliases = ("MAE",)

    def evaluate(self, lists: AlignedBlock) -> Values:
        pairs, error = self._errors(lists)
        return self._mean(lists, pairs, np.abs(error))


@dataclass(frozen=True, repr=False)
class RMSE(RatingDeviation):
    """Root mean square error of predicted ratings. Lower is better.

    Formula: ``sqrt((1/|P|) sum over pairs of (score - rating)^2)``, P the pairs that both run and truth have.
    ``average="user"``: the mean over users of each user's root.

    Edges: pairs without a prediction are left out and counted, so compare runs that predict the same pairs. A user
    without a pair is undefined.

    Libraries: Surprise and Microsoft rmse, Cornac RMSE (pairs), LensKit RMSE (both).

    Reference: Herlocker, Konstan, Terveen and Riedl, Evaluating collaborative filtering recommender systems, TOIS 2004.
    """

    name = "rmse"
    aliases = ("RMSE",)

    @property
    def power(self) -> float:
        """Return 2 if squares are averaged over pairs before the root, and 1 if the roots of users are averaged."""
        return 2.0 if self.average == "pairs" else 1.0

    def evaluate(self, lists: AlignedBlock) -> Values:
        pairs, error = self._errors(lists)
        return np.sqrt(self._mean(lists, pairs, np.square(error)))
