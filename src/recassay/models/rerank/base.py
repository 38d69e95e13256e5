"""Base classes of re-rankers: which lists they reorder, how many items of a list, and how much diversity counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.read import read_items
from recassay.errors import UsageError
from recassay.models.base.capabilities import Fitted, HasFactors, Lists, UsesLog, fitted, score_function
from recassay.models.base.model import NO_ITEM, BuiltIn, best_unseen
from recassay.models.base.registry import parse
from recassay.models.rerank import _greedy
from recassay.models.rerank.candidates import Candidates, Float, Int64, reorder_lists
from recassay.models.rerank.context import RerankContext
from recassay.naming.grammar import Expression, Value
from recassay.naming.named import Departure

NORMS = {"zscore_step": _greedy.STEP, "none": _greedy.NONE, "minmax": _greedy.MINMAX}
FIRST_ITEMS = Departure(
    "sudden-death", "The paper does not say how many items of a list are re-ranked; recassay takes the first 100."
)


class GreedyMethod(Protocol):
    """An interface of re-rankers that have all the data they need to reorder any block of lists."""

    def reorder(self, lists: Candidates, order: Int64, pick_values: Float) -> Mapping[str, int]:
        """Write to ``order`` the rows of the lists in their new order, and to ``pick_values`` the value of each pick.

        Return named counts, such as the number of lists whose scores were ``shifted``.
        """


def with_method(greedy: GreedyMethod, method: Reranker) -> GreedyMethod:
    """Return a copy of ``greedy`` with the re-ranker ``method``, and the same prepared data.

    ``method`` may differ from the re-ranker of ``greedy`` only in the weight of diversity, because the data depend on
    all other parameters.
    """
    prepared: Any = greedy  # every greedy method is a dataclass with a field ``method``
    return cast("GreedyMethod", replace(prepared, method=method))


@dataclass(frozen=True, repr=False)
class Reranker(BuiltIn):
    """Base of models that reorder the lists of another model greedily, item by item.

    Each of the first ``places`` ranks goes to the item among the first ``candidates`` of the list that maximises
    (1 - weight) x score + weight x diversity, where diversity compares with the items above. All other items keep
    their order. Ties go to the better rank, and weight 0 keeps the order. Values are ties if they differ by less than
    rounding (2^-40 of their size), so the order never depends on how sums are rounded.

    ``norm``: ``zscore_step`` standardises score and diversity to mean 0 and standard deviation 1 among the remaining
    items, again at each place; ``minmax`` scales scores to 0..1 once; ``none`` uses them unchanged. ``of`` is the
    model, or its name with parameters. ``items`` are features of items, if they are not given elsewhere.
    """

    reads_ratings: ClassVar[bool | None] = None

    of: object = None
    weight: float = 0.5
    places: int = 20
    candidates: int = 100
    norm: Literal["zscore_step", "none", "minmax"] = "zscore_step"
    items: object = None

    def __post_init__(self) -> None:
        if isinstance(self.of, BuiltIn) and not isinstance(self.of, Reranker):
            object.__setattr__(self, "of", str(self.of))  # a model and its text are the same value
        super().__post_init__()

    def validate(self) -> None:
        """Raise U102 if the weight is not in 0 to 1, or if there are fewer candidates than places."""
        if not 0 <= self.weight <= 1:
            raise self.refuse("weight", "it must be between 0 (keep the order) and 1 (diversity only)", "weight=0.5")
        self.at_least(1, "places", "candidates")
        if self.places > self.candidates:
            raise self.refuse("places", f"there are only {self.candidates} candidates", "candidates >= places")

    def __str__(self) -> str:
        plain = str | int | float | bool
        stated: dict[str, Value] = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name == "of" and value is not None:
                stated["of"] = str(value)
            elif isinstance(value, plain) and value != field.default:
                stated[field.name] = value
            elif not isinstance(value, plain) and value is not None and field.name != "items":
                stated[field.name] = "given"
        return str(Expression(self.name, stated))

    __repr__ = __str__

    @property
    def needs_items(self) -> bool:
        """Return whether the re-ranker needs features of items and has none of its own (parameter ``items``)."""
        return False

    def base_model(self) -> Any:
        """Return the model whose lists are reordered; raise U201 if none is given."""
        if self.of is None:
            what = f"{self.name} reorders the lists of another model, but no model is given"
            raise UsageError("U201", what, where=str(self), hint=f"{self.name}(of='ALS(factors=64)')")
        if isinstance(self.of, str):
            return parse(self.of)
        return self.of

    def fit(self, log: Interactions) -> FittedReranker:
        """Return a model that reorders the lists of the model ``of``, which is first fitted on ``log`` if need be."""
        return self.wrap(fitted(self.base_model(), log))

    def wrap(self, fitted: Fitted, items: Features | None = None) -> FittedReranker:
        """Return a model that reorders the lists of ``fitted``; ``items`` are features of items."""
        log = fitted.log
        all_items = np.arange(log.n_items, dtype=np.int32)
        features = items if self.items is None else read_items(self.items)
        factors = fitted.item_factors if isinstance(fitted, HasFactors) else None
        context = RerankContext(self.name, log.item_vocabulary, all_items, features, log, factors)
        return FittedReranker(log, fitted, self, self.prepare(context))

    def prepare(self, context: RerankContext) -> GreedyMethod:
        """Return the re-ranker together with the data that all lists share, such as distances between items."""
        raise NotImplementedError(f"{type(self).__name__} must define prepare")


@dataclass(frozen=True, eq=False)
class FittedReranker:
    """A fitted model whose lists are reordered; an item's score is minus its rank."""

    log: Interactions
    fitted: Fitted
    method: Reranker
    greedy: GreedyMethod

    def recommend(self, users: NDArray[np.int32], k: int) -> Lists:
        """Return items and scores (n, k), best first."""
        items, scores = self._base_lists(users, max(k, self.method.candidates))
        lists = Candidates.of_table(items, scores, users, self.log.user_vocabulary.decode(users))
        lists.require_scores(str(self.method))
        order = reorder_lists(lists, self.method.places, self.method.candidates, self.greedy.reorder).order
        row, place = np.nonzero(items != NO_ITEM)
        found = np.full(items.shape, NO_ITEM, np.int32)
        found[row, place] = lists.items[order]
        found = found[:, :k]
        return found, np.where(found == NO_ITEM, -np.inf, -np.arange(1.0, k + 1))

    def with_weight(self, weight: float) -> FittedReranker:
        """Return a copy of the re-ranker with another weight of diversity."""
        method = replace(self.method, weight=float(weight))
        return replace(self, method=method, greedy=with_method(self.greedy, method))

    def with_log(self, log: Interactions) -> FittedReranker:
        """Return a copy of the re-ranker that recommends from users' histories in another log.

        What users like is still taken from the log the re-ranker was fitted on.
        """
        fitted = self.fitted.with_log(log) if isinstance(self.fitted, UsesLog) else self.fitted
        return replace(self, log=log, fitted=fitted)

    def _base_lists(self, users: NDArray[np.int32], k: int) -> Lists:
        """Return the lists of the wrapped model, from its scores if it has any."""
        score = score_function(self.fitted)
        return self.fitted.recommend(users, k) if score is None else best_unseen(score, self.log, users, k)
