"""What re-rankers share: whose lists they take, how far down, and how much diversity weighs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.read import read_items
from recassay.errors import UsageError
from recassay.models.base import NOTHING, BuiltIn, Fitted, Lists, Sequential, best_unseen
from recassay.models.rerank import _kernels
from recassay.models.rerank.candidates import Candidates, Float, Int64, reordered
from recassay.models.rerank.ground import Ground
from recassay.spec import Expression, Value

NORMS = {"zscore_step": _kernels.STEP, "none": _kernels.NONE, "minmax": _kernels.MINMAX}


class Greedy(Protocol):
    """A re-ranker that has all it needs to know."""

    def reorder(self, lists: Candidates, order: Int64, worth: Float) -> Mapping[str, int]:
        """Fill in the new order of a block of lists and what each pick was worth; returns what is to be counted."""


@dataclass(frozen=True, repr=False)
class Reranker(BuiltIn):
    """Base of models that put the lists of another one into a better order, item by item.

    Each of the first ``places`` is given to the item among the first ``candidates`` of the list that has the most of
    (1 - weight) x score + weight x diversity, where diversity looks at what stands above; all else stays in the order
    it had. Equal values fall to the better rank, and weight 0 keeps the order. Values are equal where they differ by
    less than rounding does (2^-40 of their size), so that no order is made of how sums are rounded.

    ``norm``: ``zscore_step`` makes mean 0 and standard deviation 1 of both among the items left, anew at each place;
    ``minmax`` moves scores into 0 to 1 once; ``none`` takes them as they are. ``of`` is the model, or its text.
    ``items`` are features of items, unless they are given elsewhere.
    """

    of: object = None
    weight: float = 0.5
    places: int = 20
    candidates: int = 100
    norm: Literal["zscore_step", "none", "minmax"] = "zscore_step"
    items: object = None

    def __post_init__(self) -> None:
        if isinstance(self.of, BuiltIn) and not isinstance(self.of, Reranker):
            object.__setattr__(self, "of", str(self.of))  # a text and what it means are one value
        super().__post_init__()

    def validate(self) -> None:
        """A weight is a share, and there are places to fill from candidates."""
        if not 0 <= self.weight <= 1:
            raise self.refuse("weight", "a weight lies between 0 (the order stays) and 1 (diversity alone)", "0 to 1")
        self.at_least(1, "places", "candidates")
        if self.places > self.candidates:
            raise self.refuse("places", f"there are only {self.candidates} candidates", "as many candidates, or more")

    def __str__(self) -> str:
        plain = str | int | float | bool
        stated: dict[str, Value] = {}
        for one in dataclasses.fields(self):
            value = getattr(self, one.name)
            if one.name == "of" and value is not None:
                stated["of"] = str(value)
            elif isinstance(value, plain) and value != one.default:
                stated[one.name] = value
            elif not isinstance(value, plain) and value is not None and one.name != "items":
                stated[one.name] = "given"
        return str(Expression(self.name, stated))

    __repr__ = __str__

    @property
    def base(self) -> Any:
        """The model whose lists are put into another order."""
        if self.of is None:
            what = f"{self.name} puts the lists of another model into a new order, and no model was named"
            raise UsageError("U202", what, where=str(self), hint=f"{self.name}(of='ALS(factors=64)')")
        if isinstance(self.of, str):
            from recassay.models import parse  # which knows this module

            return parse(self.of)
        return self.of

    def fit(self, log: Interactions) -> FittedReranker:
        """Fits the model whose lists are taken, unless it is fitted already."""
        base = self.base
        return self.around(base.fit(log) if hasattr(base, "fit") else base)

    def around(self, fitted: Fitted, items: Features | None = None) -> FittedReranker:
        """What a fitted model and features of items make."""
        log = fitted.log
        every = np.arange(log.n_items, dtype=np.int32)
        features = items if self.items is None else read_items(self.items)
        ground = Ground(self.name, log.item_vocabulary, every, features, log, getattr(fitted, "item_factors", None))
        return FittedReranker(log, fitted, self, self.prepare(ground))

    def prepare(self, ground: Ground) -> Greedy:
        """Everything that is the same for all lists."""
        raise NotImplementedError(f"{type(self).__name__} must say how it picks")


@dataclass(frozen=True, eq=False)
class FittedReranker:
    """A fitted model and what puts its lists into another order; an item's score is minus its rank."""

    log: Interactions
    fitted: Fitted
    method: Reranker
    greedy: Greedy

    def recommend(self, users: NDArray[np.int32], k: int) -> Lists:
        """Items (n, k) and scores, best first."""
        items, scores = self._listed(users, max(k, self.method.candidates))
        lists = Candidates.of_table(items, scores, users)
        lists.refuse_unscored(str(self.method))
        order = reordered(lists, self.method.places, self.method.candidates, self.greedy.reorder).order
        row, place = np.nonzero(items != NOTHING)
        found = np.full(items.shape, NOTHING, np.int32)
        found[row, place] = lists.items[order]
        found = found[:, :k]
        return found, np.where(found == NOTHING, -np.inf, -np.arange(1.0, k + 1))

    def weighing(self, weight: float) -> FittedReranker:
        """The same with another weight of diversity."""
        method = replace(self.method, weight=float(weight))
        return replace(self, method=method, greedy=replace(cast("Any", self.greedy), method=method))

    def told(self, log: Interactions) -> FittedReranker:
        """The same when users have this log behind them; tastes are still those of the log it was fitted on."""
        fitted = self.fitted.told(log) if isinstance(self.fitted, Sequential | FittedReranker) else self.fitted
        return replace(self, log=log, fitted=fitted)

    def _listed(self, users: NDArray[np.int32], k: int) -> Lists:
        """The lists of the fitted model, from whatever it can do."""
        fitted: Any = self.fitted
        if hasattr(fitted, "scores"):
            return best_unseen(fitted.scores, self.log, users, k)
        if hasattr(fitted, "item_factors"):
            return best_unseen(lambda block: fitted.user_factors[block] @ fitted.item_factors.T, self.log, users, k)
        found: Lists = fitted.recommend(users, k)
        return found
