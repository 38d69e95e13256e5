"""Base classes of models, ranked lists from scores, and sums that do not depend on the order of their terms.

A model is a frozen description. It can be printed, compared and fitted many times; fitting never changes it.

Items with the same terms must get the same score, but floating-point sums depend on the order of addition. Sums of
multiples of one power of two are exact, in any order.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from recassay.columnar.layout import row_groups, rows_of_groups
from recassay.columnar.vocabulary import rows_in_table
from recassay.data.interactions import Interactions
from recassay.data.nouns import require_log
from recassay.data.run import Run
from recassay.data.sequences import Histories
from recassay.errors import InputError, UsageError
from recassay.models.base.capabilities import Fitted, Lists, Score, score_function
from recassay.naming.grammar import Expression, Value, suggest
from recassay.naming.named import Named
from recassay.threads import blocks, one_library_thread

USERS_PER_BLOCK = 256  # bounds memory; constant, because the rounding of a matrix product depends on its shape
NO_ITEM = -1  # fills the end of a list that runs out of items


class NamesFitted:
    """Base of unfitted models: the fitted model has the name of the unfitted one in tables of results."""

    def check_data(self, data: Any) -> None:
        """Raise an error if the model cannot be fitted on data of this kind; by default it can be."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Wrap the ``fit`` of a class so that the fitted model gets the name of the unfitted one."""
        super().__init_subclass__(**options)
        if "fit" in vars(cls):
            cls.fit = _noting_its_name(cls.fit)  # type: ignore[attr-defined]


def _noting_its_name(fit: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fit)
    def noting(self: Any, log: Any, **options: Any) -> Any:
        self.check_data(log)
        fitted = fit(self, log, **options)
        vars(fitted)["fitted_from"] = str(self)  # fitted models are frozen
        return fitted

    return noting


@dataclass(frozen=True, eq=False)
class Wrapper(NamesFitted):
    """Base of unfitted models around a model of another library; they are named after its class."""

    model: Any

    def __str__(self) -> str:
        return type(self.model).__name__


class CheckedParameters(Named, NamesFitted):
    """Base of unfitted models with parameters; the name of a model is that of its class, or its ``name``.

    A base of several models sets ``name = ""``, so that users cannot choose it by name.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Set ``name`` to the name of the class, unless the class sets it."""
        super().__init_subclass__(**options)
        if "name" not in vars(cls):
            cls.name = cls.__name__


class BuiltIn(CheckedParameters):
    """Base of built-in models before they are fitted.

    ``presets`` are published or customary parameters, by name. ``reads_ratings`` says whether the values of ratings
    change what the model learns; None means that the wrapped model decides. A model that does not read them takes every
    row of the log as one event.
    """

    name = ""
    reads_ratings: ClassVar[bool | None] = False
    library: ClassVar[str] = ""  # the optional library that it needs
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {}

    def __str__(self) -> str:
        stated: dict[str, Value] = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            value = getattr(self, field.name)
            if isinstance(value, str | int | float | None):
                stated |= {field.name: value} if value != field.default else {}
            elif field.name != "items":  # features; `of` is another model
                stated[field.name] = str(value) if field.name == "of" else "given"
        return str(Expression(self.name, stated))

    __repr__ = __str__

    def check_data(self, data: Any) -> None:
        """Raise U124 for anything but a log."""
        require_log(data)

    @classmethod
    def preset(cls, name: str, **changes: Value) -> Self:
        """Return the model with the parameters of a preset, updated by ``changes``; raise U107 for an unknown name."""
        if name not in cls.presets:
            hint = suggest(name, cls.presets)
            raise UsageError("U107", f"{cls.name} has no preset '{name}'", where=cls.name, hint=hint)
        return cls(**{**cls.presets[name], **changes})


class ScoringModel(ABC):
    """Base of fitted models that score every item; their lists are the best items a user has not had.

    A ``personal`` model knows a user by the user's events, so that a user without any has no scores and gets no list.
    Set it to False for a model that scores items for everybody, such as popularity.
    """

    personal: ClassVar[bool] = True

    log: Interactions

    @property
    def unknown_users(self) -> NDArray[np.bool_]:
        """Return a mask of the users for whom the model has no scores, by user code."""
        without = np.diff(self.log.by_user[0]) == 0
        return without if self.personal else np.zeros_like(without)

    @abstractmethod
    def scores(self, users: NDArray[np.int32]) -> NDArray[np.floating]:
        """Return scores (n, items) for user codes."""

    def recommend(self, users: NDArray[np.int32], k: int) -> Lists:
        """Return items and scores (n, k), best first; empty lists for users without scores."""
        score = score_function(self)
        assert score is not None, "it scores every item"
        return best_unseen(score, self.log, users, k)


@dataclass(frozen=True, eq=False)
class FittedFactors(ScoringModel):
    """A fitted model whose scores are products of a user's and an item's factors."""

    log: Interactions
    user_factors: NDArray[np.float32]
    item_factors: NDArray[np.float32]

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return scores (n, items) for user codes."""
        return self.user_factors[users] @ self.item_factors.T


@dataclass(frozen=True, eq=False)
class FittedProduct(ScoringModel):
    """A fitted model whose scores are ``left[user] @ right``: matrices, dense or sparse."""

    log: Interactions
    left: Any
    right: Any

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.floating]:
        """Return scores (n, items) for user codes."""
        table = self.left[users] @ self.right
        return np.asarray(table.toarray() if scipy.sparse.issparse(table) else table)


@dataclass(frozen=True, eq=False)
class FittedRow(ScoringModel):
    """A fitted model that has the same scores for everybody: ``row`` has one per item."""

    personal: ClassVar[bool] = False

    log: Interactions
    row: NDArray[np.float64]

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return scores (n, items) for user codes."""
        return np.broadcast_to(self.row, (users.size, self.row.size))


def rating_values(log: Interactions, who: str) -> NDArray[np.float64]:
    """Return the ratings of a log; raise I307 if it has none. ``who`` names the model in the error."""
    if log.ratings is None:
        raise no_ratings_to_learn(who, log.origin)
    return log.ratings.astype(np.float64)


def no_ratings_to_learn(who: str, where: str) -> InputError:
    """Return the error I307: the model ``who`` learns from ratings, but the log has none.

    ``where`` says where the log comes from.
    """
    return InputError(
        "I307",
        f"{who} learns from ratings, and the log has none",
        where=where,
        hint="choose a model that takes events as they are, such as ALS or UserKNN",
    )


def user_item_matrix(log: Interactions) -> scipy.sparse.csr_array:
    """Return the 0/1 matrix of users and items: 1 where the user had the item at least once."""
    offsets, items = log.by_user
    return scipy.sparse.csr_array((np.ones(items.size), items, offsets), shape=(log.n_users, log.n_items))


def fit_quietly(model: Any, matrix: scipy.sparse.csr_matrix) -> None:
    """Fit a model of the library implicit on a 0/1 matrix, with one BLAS thread: several would round differently."""
    with one_library_thread("blas"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Method expects CSR input")  # the library causes this warning itself
        model.fit(matrix, show_progress=False)


def checked_scores(table: NDArray[np.floating], shape: tuple[int, int], who: str) -> NDArray[np.floating]:
    """Return a model's scores as 32- or 64-bit floats, other types as 64-bit; raise I308 for unusable ones.

    Unusable are a shape other than ``shape``, and a NaN. ``who`` names the model in errors.
    """
    if np.shape(table) != shape:
        raise InputError(
            "I308",
            f"{who} gave scores of shape {np.shape(table)} for {shape[0]:,} users and {shape[1]:,} items",
            hint=f"give an array of shape {shape}: a row per user, a column per item of the log",
        )
    if bad := int(np.isnan(table).sum()):
        row, column = np.argwhere(np.isnan(table))[0]
        raise InputError(
            "I308",
            f"{who} gave {bad:,} NaN among {table.size:,} scores, the first in row {row}, column {column}",
            hint="give -inf for items that cannot be scored",
        )
    return table if table.dtype in (np.float32, np.float64) else table.astype(np.float64)


def best_unseen(score: Score, log: Interactions, users: NDArray[np.int32], k: int) -> Lists:
    """Return the k best items of each user that the user does not have in the log, and their scores; both (n, k).

    ``score`` returns a row of item scores per user. Ties are ordered by ascending id. A list that runs out of items
    ends in -1 with score -inf. Raise U103 for k below 1.
    """
    if k < 1:
        raise UsageError("U103", f"the cut-off must be at least 1, got {k}", hint="request at least 1 item")
    items, scores = no_lists(users.size, k)
    width = min(k, log.n_items)
    for begin, end in blocks(users.size, USERS_PER_BLOCK):
        # Blocks are padded to one shape: the rounding of a matrix product depends on its shape.
        block = np.append(users[begin:end], np.zeros(USERS_PER_BLOCK - (end - begin), np.int32))
        table = np.array(
            checked_scores(score(block), (block.size, log.n_items), "the model")[: end - begin], np.float64
        )
        _mask_seen(table, log, users[begin:end])
        items[begin:end, :width], scores[begin:end, :width] = _top(table, width)
    items[np.isneginf(scores)] = NO_ITEM
    return items, scores


def no_lists(n: int, k: int) -> Lists:
    """Return n empty lists of length k, to be filled: items are -1, and scores minus infinity."""
    return np.full((n, k), NO_ITEM, np.int32), np.full((n, k), -np.inf)


def _mask_seen(table: NDArray[np.float64], log: Interactions, users: NDArray[np.int32]) -> None:
    """Set the scores in ``table`` (users, items) to -inf, in place, for items that the user has in the log."""
    offsets, profile = log.by_user
    rows, begins = rows_of_groups(offsets, users)
    table[row_groups(begins), profile[rows]] = -np.inf


def _top(table: NDArray[np.float64], k: int) -> Lists:
    """Return (columns, values) of the k largest values in each row of ``table``, largest first; ties by column."""
    threshold = -np.partition(-table, k - 1, axis=1)[:, k - 1, None]
    above, equal = table > threshold, table == threshold
    room = k - above.sum(axis=1, keepdims=True)
    columns = np.nonzero(above | (equal & (np.cumsum(equal, axis=1) <= room)))[1].reshape(-1, k)
    values = np.take_along_axis(table, columns, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1).astype(np.int32), np.take_along_axis(values, order, axis=1)


def recommend(fitted: Fitted, queries: pl.Series, k: int, name: str) -> Run:
    """Return a run with a list of at most k items for every query (a user id) that is a user of the log.

    ``name`` is the name of the run.

    >>> from recassay.models.baselines import Popular
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": ["x", "y", "y"]}))
    >>> recommend(Popular().fit(log), pl.Series([1, 2, 3]), 5, "pop").frame().rows()
    [(2, 'x', 1, 1.0)]
    """
    log = fitted.log
    codes = rows_in_table(queries, log.user_ids)
    users = codes[codes >= 0].astype(np.int32)
    items, scores = fitted.recommend(users, k)
    row, place = np.nonzero(items != NO_ITEM)
    frame = pl.DataFrame(
        {
            "user_id": log.user_vocabulary.decode(users[row]),
            "item_id": log.item_vocabulary.decode(items[row, place]),
            "rank": pl.Series(place + 1, dtype=pl.Int32),
            "score": scores[row, place],
        }
    )
    return Run.from_frame(frame, name)


class HistoryModel(ScoringModel):
    """Base of fitted models that read histories; a subclass is a frozen dataclass with a field ``log``."""

    log: Interactions

    @abstractmethod
    def next_scores(self, histories: Histories) -> NDArray[np.floating]:
        """Return scores (n, items) of the next item after each history."""

    @functools.cached_property
    def histories(self) -> Histories:
        """Return the histories of the users of the log, by user code."""
        return Histories.of(self.log)

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.floating]:
        """Return scores (n, items) for user codes."""
        return self.next_scores(self.histories.take(users))

    def with_log(self, log: Interactions) -> Self:
        """Return this model with the histories of another log of the same items; raise I322 if the items differ."""
        require_same_items(self.log, log, "the log given to with_log")
        return dataclasses.replace(self, log=log)  # type: ignore[type-var]  # subclasses are dataclasses

    def __getstate__(self) -> dict[str, Any]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]  # subclasses are dataclasses
        return {field.name: getattr(self, field.name) for field in fields}  # cached properties are not pickled


def require_same_items(log: Interactions, other: Interactions, what: str) -> None:
    """Raise I322 if two logs have different items: item codes of one mean nothing in the other.

    ``what`` names ``other`` in the error, such as "the validation part".
    """
    ours, theirs = log.item_ids, other.item_ids
    if ours is not theirs and not ours.equals(theirs):
        raise InputError(
            "I322",
            f"{what} has {theirs.len():,} items, which are not the {ours.len():,} items of the model's log",
            hint="use parts of one log: log.take(rows), or a split",
        )


def step_for(largest: float, count: int) -> float:
    """Return a power of two such that sums of ``count`` multiples of it, each at most ``largest`` in size, are exact.

    It is 2^-53 times ``largest`` times ``count``, where both are rounded up to powers of two (``largest`` to one above
    it). It is 1 if one of them is 0.

    >>> step_for(1.0, 4) == 2.0**-50
    True
    """
    if not largest or not count:
        return 1.0
    return 2.0 ** (math.frexp(largest)[1] + (count - 1).bit_length() - 53)


def rounded(terms: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    """Return each term rounded to the nearest multiple of ``step``, a power of two.

    >>> a, b, c = rounded(np.array([0.1, 0.2, 0.3]), step_for(0.3, 3))
    >>> bool((a + b) + c == (c + b) + a), bool((0.1 + 0.2) + 0.3 == (0.3 + 0.2) + 0.1)
    (True, False)
    """
    return np.asarray(np.rint(terms / step) * step)
