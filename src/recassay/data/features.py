"""What items are: genres, tags, categories. A feature is a plain name that an item has or has not."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.identity import id_keys
from recassay.data.layout import stretch_of
from recassay.data.vocabulary import Vocabulary
from recassay.errors import InputError

SEPARATOR = "|"
WORD = 64
SCHEMA = {"item_id": "integer or string", "any other": "a list of names, names joined by '|', or one name a row"}


@dataclass(frozen=True, eq=False)
class Features:
    """Features of each item (items ascending by id), as codes into ``names``, ascending and distinct.

    >>> items = pl.DataFrame({"item_id": [7, 3, 5], "genres": ["Drama|War", "War", None]})
    >>> features = Features.from_frame(items)
    >>> features.items.to_list(), features.names.to_list(), features.offsets.tolist(), features.codes.tolist()
    ([3, 5, 7], ['Drama', 'War'], [0, 1, 1, 3], [1, 0, 1])
    """

    vocabulary: Vocabulary
    offsets: NDArray[np.int64]
    codes: NDArray[np.int32]
    names: pl.Series
    columns: tuple[str, ...]
    origin: str = field(default="", repr=False)

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, *, columns: Sequence[str] | None = None, origin: str = "") -> Features:
        """Lay out a table with a column item_id and columns of features; an item may have several rows.

        A column of lists gives each of its entries; a column of text is cut at ``|`` as in MovieLens genres; any other
        column gives its value. Missing and empty values are no features. Without ``columns``: all columns of lists; or
        else all text columns with a ``|``; or else all text columns that give some item several values in several
        rows; or else all text columns whose values recur (at most half as many as rows: titles do not, categories do).
        Numbers are features only if their column is named. With several columns a feature is called ``column=name``.
        """
        chosen = tuple(columns) if columns else feature_columns(frame)
        _refuse_unusable(frame, chosen, origin)
        vocabulary, items = Vocabulary.dense(frame["item_id"])
        parts = [_pairs(items, frame[name], f"{name}=" if len(chosen) > 1 else "") for name in chosen]
        pairs = pl.concat(parts).unique().sort("item", "feature")
        names, codes = Vocabulary.dense(pairs["feature"])
        offsets = np.searchsorted(pairs["item"].to_numpy(), np.arange(vocabulary.size + 1))
        assert names.ids is not None
        return cls(vocabulary, offsets, codes, names.ids, chosen, origin)

    @property
    def items(self) -> pl.Series:
        """Ids of the items, ascending."""
        assert self.vocabulary.ids is not None
        return self.vocabulary.ids

    @property
    def n_items(self) -> int:
        """Number of items, those without a feature too."""
        return self.vocabulary.size

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of which item has which features."""
        parts = (id_keys(self.items), self.offsets, self.codes)
        digests = [hashlib.blake2b(one.tobytes()).hexdigest() for one in parts]
        text = f"{self.vocabulary.kind} {self.names.to_list()} {digests}"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @functools.cached_property
    def masks(self) -> NDArray[np.uint64]:
        """The features of each item as bits of one word; empty if there are more than 64 features."""
        if self.names.len() > WORD:
            return np.empty(0, np.uint64)
        masks = np.zeros(self.n_items, np.uint64)
        np.bitwise_or.at(masks, stretch_of(self.offsets), np.uint64(1) << self.codes.astype(np.uint64))
        return masks


def members(
    offsets: NDArray[np.int64], codes: NDArray[np.int32], rows: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The sets of some rows one after the other; row -1 is an empty one.

    >>> starts, found = members(np.array([0, 2, 3]), np.array([5, 6, 7], np.int32), np.array([1, -1, 0], np.int32))
    >>> starts.tolist(), found.tolist()
    ([0, 1, 1, 3], [7, 5, 6])
    """
    lengths = np.where(rows >= 0, np.diff(offsets)[rows], 0)
    starts = np.append(0, np.cumsum(lengths))
    of = stretch_of(starts)
    return starts, codes[np.arange(starts[-1]) - starts[of] + offsets[rows[of]]]


def feature_columns(frame: pl.DataFrame) -> tuple[str, ...]:
    """The columns that hold features if nobody names them; see :meth:`Features.from_frame`.

    >>> feature_columns(pl.DataFrame({"item_id": [1, 2], "title": ["Up", "Alien"], "genres": ["A|B", "A"]}))
    ('genres',)
    """
    others = [name for name in frame.columns if name != "item_id"]
    lists = [name for name in others if isinstance(frame[name].dtype, pl.List | pl.Array)]
    if lists:
        return tuple(lists)
    texts = [name for name in others if isinstance(frame[name].dtype, pl.String | pl.Categorical | pl.Enum)]
    joined = [name for name in texts if frame[name].cast(pl.String).str.contains(SEPARATOR, literal=True).any()]
    if joined:
        return tuple(joined)
    items = frame["item_id"].n_unique()
    varying = [name for name in texts if frame.select("item_id", name).n_unique() > items]
    return tuple(varying or [name for name in texts if 2 * frame[name].n_unique() <= frame.height])


def _pairs(items: NDArray[np.int32], column: pl.Series, prefix: str) -> pl.DataFrame:
    pairs = pl.DataFrame({"item": items, "feature": column})
    if isinstance(column.dtype, pl.List | pl.Array):
        pairs = pairs.explode("feature")
    pairs = pairs.with_columns(pl.col("feature").cast(pl.String))
    if not isinstance(column.dtype, pl.List | pl.Array):
        pairs = pairs.with_columns(pl.col("feature").str.split(SEPARATOR)).explode("feature")
    pairs = pairs.with_columns(pl.col("feature").str.strip_chars())
    kept = pairs.filter(pl.col("feature").is_not_null() & (pl.col("feature") != ""))
    return kept.with_columns((pl.lit(prefix) + pl.col("feature")).alias("feature"))


def _refuse_unusable(frame: pl.DataFrame, chosen: tuple[str, ...], where: str) -> None:
    others = [name for name in frame.columns if name != "item_id"]
    absent = [name for name in chosen if name not in others]
    if absent or not chosen:
        what = f"the items have no column '{absent[0]}'" if absent else "no column of the items looks like features"
        raise InputError(
            "I201",
            f"{what}; their columns are {', '.join(map(repr, others)) or 'item_id alone'}",
            where=where,
            hint="name the columns of features; a list, names joined by '|', or one name a row will do",
        )
