"""Base classes of re-rankers: the lists that they reorder, the data that they may read, and the loop over lists."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.arrays import Float, Int32, Int64
from recassay.columnar.layout import readonly
from recassay.columnar.vocabulary import Recoding, Vocabulary
from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.read import read_items
from recassay.errors import InputError, UsageError
from recassay.models.base.capabilities import Fitted, HasFactors, Lists, UsesLog, fitted, score_function
from recassay.models.base.model import NO_ITEM, BuiltIn, best_unseen
from recassay.models.base.registry import parse
from recassay.models.rerank import _kernels
from recassay.naming.named import COUNT, UP_TO_1, Departure
from recassay.threads import each_block

Given = TypeVar("Given")

LISTS_PER_BLOCK = 1_024
NORMS = {"zscore_step": _kernels.STEP, "none": _kernels.NONE, "minmax": _kernels.MINMAX}
FIRST_ITEMS = Departure(
    "sudden-death", "The paper does not say how many items of a list are re-ranked; recassay takes the first 100."
)
NEEDS = {  # what a re-ranker may lack, in words, and what to do
    "items": ("item features", "give the features of items: --items FILE"),
    "train": ("the training log", "give the log the lists were made from: --train LOG"),
    "factors": ("item vectors", "wrap a model with factors, such as ALS; a run has no factors"),
}


@dataclass(frozen=True, eq=False)
class Candidates:
    """Ranked lists: list q is ``items[offsets[q]:offsets[q + 1]]``, best first.

    ``ids[q]`` is the id of the list's user and ``users[q]`` its code in the log, -1 for a user the log does not have.
    """

    offsets: Int64
    items: Int32
    scores: Float
    users: Int32
    ids: pl.Series

    @classmethod
    def of_table(cls, items: Int32, scores: Float, users: Int32, ids: pl.Series) -> Candidates:
        """Return a model's lists from tables of ``items`` and ``scores`` (n, k); item -1 ends a shorter list.

        ``ids[q]`` is the id of the user of list q, and ``users[q]`` the user's code.

        >>> items = np.array([[7, 8], [9, -1]], np.int32)
        >>> users, ids = np.array([0, 1], np.int32), pl.Series(["ann", "bob"])
        >>> Candidates.of_table(items, np.zeros((2, 2)), users, ids).offsets.tolist()
        [0, 2, 3]
        """
        there = items >= 0
        offsets = np.append(0, np.cumsum(there.sum(axis=1)))
        return cls(offsets, items[there], scores[there], users, ids)

    def block(self, begin: int, end: int) -> Candidates:
        """Return the lists ``begin`` to ``end`` - 1, with offsets that start at 0."""
        rows = slice(self.offsets[begin], self.offsets[end])
        offsets = self.offsets[begin : end + 1] - self.offsets[begin]
        return Candidates(
            readonly(offsets), readonly(self.items[rows]), readonly(self.scores[rows]),
            readonly(self.users[begin:end]), self.ids[begin:end],
        )  # fmt: skip

    def require_scores(self, where: str = "") -> None:
        """Raise I301 unless all scores are finite: every pick depends on scores."""
        if np.isfinite(self.scores.sum()) or np.isfinite(self.scores).all():
            return
        bad = ~np.isfinite(self.scores)
        row = int(np.argmax(bad))
        place = row - int(self.offsets[np.searchsorted(self.offsets, row, "right") - 1]) + 1
        raise InputError(
            "I301",
            f"{int(bad.sum()):,} of {bad.size:,} baseline scores are NaN or infinite, the first ({self.scores[row]}) "
            f"at position {place} of its list",
            where=where,
            hint="remove such items from the lists, or give them a finite score",
        )


def reorder_lists(
    lists: Candidates, method: Reranker, prepared: Any, *, threads: int | None = None
) -> tuple[Int64, Float, dict[str, int]]:
    """Return the rows of all lists in their new order, the value of each pick when it was made, and named counts.

    Blocks of lists go over threads; ``prepared`` are the re-ranker's data. The values (lists, places) are NaN where
    nothing was picked.

    Counts in addition to those of the re-ranker: ``lists``; ``moved``, rows at another rank than before; ``short``,
    lists with fewer items than the re-ranker has places; ``few``, lists with fewer items than it has candidates.
    """
    n, places, depth = lists.users.size, method.places, method.candidates
    order, pick_values = np.empty(lists.items.size, np.int64), np.full((n, places), np.nan)

    def fill(begin: int, end: int) -> Mapping[str, int]:
        rows = order[lists.offsets[begin] : lists.offsets[end]]
        own_counts = method.reorder(prepared, lists.block(begin, end), rows, pick_values[begin:end])
        moved = int((rows != np.arange(rows.size)).sum())
        rows += lists.offsets[begin]
        return {"moved": moved, **own_counts}

    block_counts = each_block(fill, n, size=LISTS_PER_BLOCK, threads=threads)
    lengths = np.diff(lists.offsets)
    counts = {"lists": n, "short": int((lengths < places).sum()), "few": int((lengths < depth).sum())}
    for own_counts in block_counts:
        for name, count in own_counts.items():
            counts[name] = counts.get(name, 0) + count
    return order, pick_values, counts


@dataclass(frozen=True, eq=False)
class RerankContext:
    """Data that the re-ranker named ``who`` may read, such as features of items.

    Reading data that was not given raises U201. ``listed`` are the codes of all items in the lists, ``vocabulary`` has
    their ids, and ``where`` says in errors where the lists come from.
    """

    who: str
    vocabulary: Vocabulary
    listed: Int32
    items: Features | None = None
    train: Interactions | None = None
    factors: NDArray[np.floating] | None = None
    where: str = ""

    @property
    def features(self) -> Features:
        """Return the features of items."""
        return self._needed("items", self.items).required()

    @property
    def log(self) -> Interactions:
        """Return the training log."""
        return self._needed("train", self.train)

    @property
    def learned(self) -> NDArray[np.floating]:
        """Return the factors (items, factors) that the wrapped model learned for each item of the log."""
        return self._needed("factors", self.factors)

    def _needed(self, name: str, given: Given | None) -> Given:
        if given is None:
            what, hint = NEEDS[name]
            raise UsageError("U201", f"{self.who} needs {what}, but none is given", hint=hint)
        return given

    @functools.cached_property
    def feature_rows(self) -> Recoding:
        """Return the mapping from item codes of the lists to rows of the table of features."""
        return self._rows_in(self.features.items, "I407", "item features")

    @functools.cached_property
    def log_items(self) -> Recoding:
        """Return the mapping from item codes of the lists to item codes of the training log."""
        return self._rows_in(self.log.item_ids, "I406", "training log")

    def _rows_in(self, ids: pl.Series, code: str, what: str) -> Recoding:
        """Return the mapping from item codes of the lists to rows of ``ids``, which are those of ``what``.

        Raise the error ``code`` if the lists have none of them.
        """
        recoding = Recoding.between(self.vocabulary, ids)
        return recoding.require_overlap(self.listed, self.vocabulary, ids, code=code, what=what, where=self.where)

    @functools.cached_property
    def log_feature_rows(self) -> Int32:
        """Return, for each item of the training log, its row in the table of features, -1 if it has none."""
        codes = np.arange(self.log.n_items, dtype=np.int32)
        return Recoding.between(self.log.item_vocabulary, self.features.items)(codes)


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

    name = ""
    reads_ratings: ClassVar[bool | None] = None
    reads_features: ClassVar[bool] = False  # of items

    of: object = None
    weight: Annotated[float, UP_TO_1] = 0.5
    places: Annotated[int, COUNT] = 20
    candidates: Annotated[int, COUNT] = 100
    norm: Literal["zscore_step", "none", "minmax"] = "zscore_step"
    items: object = None

    def __post_init__(self) -> None:
        if isinstance(self.of, BuiltIn) and not isinstance(self.of, Reranker):
            object.__setattr__(self, "of", str(self.of))  # a model and its text are the same value
        super().__post_init__()

    def validate(self) -> None:
        """Raise U102 for a parameter out of range, or if there are fewer candidates than places."""
        super().validate()
        if self.places > self.candidates:
            raise self.refuse("places", f"there are only {self.candidates} candidates", "candidates >= places")

    @property
    def needs_items(self) -> bool:
        """Return whether the re-ranker needs features of items and has none of its own (parameter ``items``)."""
        return self.items is None and self.reads_features

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

    def prepare(self, context: RerankContext) -> Any:
        """Return the data that all lists share, such as distances between items; they do not depend on the weight."""
        raise NotImplementedError(f"{type(self).__name__} must define prepare")

    def reorder(self, prepared: Any, lists: Candidates, order: Int64, pick_values: Float) -> Mapping[str, int]:
        """Write to ``order`` the rows of the lists in their new order, and to ``pick_values`` the value of each pick.

        ``prepared`` is what :meth:`prepare` returned. Return named counts, such as the number of lists whose scores
        were ``shifted``.
        """
        raise NotImplementedError(f"{type(self).__name__} must define reorder")


@dataclass(frozen=True, eq=False)
class FittedReranker:
    """A fitted model whose lists are reordered; an item's score is minus its rank."""

    log: Interactions
    fitted: Fitted
    method: Reranker
    prepared: Any

    def recommend(self, users: Int32, k: int) -> Lists:
        """Return items and scores (n, k), best first."""
        items, scores = self._base_lists(users, max(k, self.method.candidates))
        lists = Candidates.of_table(items, scores, users, self.log.user_vocabulary.decode(users))
        lists.require_scores(str(self.method))
        order, _, _ = reorder_lists(lists, self.method, self.prepared)
        row, place = np.nonzero(items != NO_ITEM)
        found = np.full(items.shape, NO_ITEM, np.int32)
        found[row, place] = lists.items[order]
        found = found[:, :k]
        return found, np.where(found == NO_ITEM, -np.inf, -np.arange(1.0, k + 1))

    def with_weight(self, weight: float) -> FittedReranker:
        """Return a copy of the re-ranker with another weight of diversity."""
        return replace(self, method=replace(self.method, weight=float(weight)))

    def with_log(self, log: Interactions) -> FittedReranker:
        """Return a copy of the re-ranker that recommends from users' histories in another log.

        What users like is still taken from the log the re-ranker was fitted on.
        """
        fitted = self.fitted.with_log(log) if isinstance(self.fitted, UsesLog) else self.fitted
        return replace(self, log=log, fitted=fitted)

    def _base_lists(self, users: Int32, k: int) -> Lists:
        """Return the lists of the wrapped model, from its scores if it has any."""
        score = score_function(self.fitted)
        return self.fitted.recommend(users, k) if score is None else best_unseen(score, self.log, users, k)
