"""Item features such as genres, tags and categories. A feature is a name that an item has or does not have."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.identity import id_keys
from recassay.columnar.layout import row_groups
from recassay.columnar.vocabulary import Vocabulary
from recassay.errors import InputError
from recassay.naming.grammar import suggest
from recassay.shown import Displayable

SEPARATOR = "|"
LIST_SEPARATORS = (";", ",")  # of texts that are plainly lists; commas and semicolons occur in titles too
NUMBER = r"^[-+]?[0-9]*,[0-9]+$"  # with a decimal comma
WORD = 64  # bits of a mask
WORDS = "artist brand category categorie class department feature genre kind style tag topic type"
FEATURE_NAMES = frozenset(f"{word}{ending}" for word in WORDS.split() for ending in ("", "s", "_id"))


@dataclass(frozen=True, eq=False, repr=False)
class Features(Displayable):
    """The features that each item has, such as its genres.

    Items ascend by id. Item i has the features ``codes[offsets[i]:offsets[i + 1]]``, which are positions in ``names``;
    names are distinct and ascend. They come from ``columns``; ``separators`` maps a column to the separator at which
    its texts were split. ``numbers`` has the numeric columns that are not features, such as prices, for metrics that
    users define.

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
    separators: Mapping[str, str] = field(default_factory=dict, repr=False)
    numbers: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, *, columns: Sequence[str] | None = None, origin: str = "") -> Features:
        """Return the features of a table with a column item_id and feature columns; an item may have several rows.

        A list column gives each of its entries. A text column is split at ``|``, as in MovieLens genres, and at ``;``
        or ``,`` if its texts are plainly lists (:func:`list_separator`). Any other column gives its value. Missing and
        empty values do not count. With several columns a feature is called ``column=name``.

        Without ``columns``, the first of these that exists is used: all list columns; all text columns of lists; all
        text columns that give some item several values in several rows; all text columns whose values recur (at most
        half as many values as rows, which excludes titles); columns that are called category, genre, tag or the like,
        except those of decimal numbers. Other columns are used only if ``columns`` lists them. A table may have numeric
        columns alone; what needs features then raises I201.
        """
        chosen = tuple(columns) if columns else feature_columns(frame)
        numeric = [
            name for name, kind in frame.schema.items() if name not in ("item_id", *chosen) and kind.is_numeric()
        ]
        if columns or not numeric:
            _check_usable(frame, chosen, origin)
        vocabulary, items = Vocabulary.dense(frame["item_id"])
        separators = {name: separator for name in chosen if (separator := list_separator(frame[name]))}
        columns_of_pairs = [
            _pairs(items, frame[name], separators.get(name, ""), f"{name}=" if len(chosen) > 1 else "")
            for name in chosen
        ]
        schema = {"item": pl.Int32, "feature": pl.String}
        pairs = pl.concat([pl.DataFrame(schema=schema), *columns_of_pairs]).unique().sort("item", "feature")
        names, codes = Vocabulary.dense(pairs["feature"])
        offsets = np.searchsorted(pairs["item"].to_numpy(), np.arange(vocabulary.size + 1))
        numbers = frame.select("item_id", *(pl.col(name).cast(pl.Float64) for name in numeric))
        return cls(vocabulary, offsets, codes, names.stored_ids, chosen, origin, separators, numbers)

    def required(self) -> Features:
        """Return this object; raise I201 if it has no features, because the table has numeric columns alone."""
        if not self.columns:
            _check_usable(self.numbers, (), self.origin)
        return self

    def numbers_of(self, column: str) -> dict[Any, float]:
        """Return the number that each item has in a numeric column, where it has one.

        Raise I201 if there is no such column, or if an item has several numbers.
        """
        if column not in self.numbers.columns[1:]:
            raise InputError(
                "I201",
                f"the items have no numeric column '{column}' beside their features",
                where=self.origin,
                hint=suggest(column, self.numbers.columns[1:])
                if self.numbers.width > 1
                else "add it to the table of items",
            )
        pairs = self.numbers.select("item_id", column).drop_nulls().unique(maintain_order=True)
        if (repeated := pairs["item_id"].is_duplicated()).any():
            item = pairs.filter(repeated)["item_id"][0]
            raise InputError(
                "I201",
                f"item {item!r} has several numbers in '{column}'",
                where=self.origin,
                hint="give one row per item, or the same number in each",
            )
        return dict(pairs.iter_rows())

    @property
    def sources(self) -> str:
        """Return the columns that the features come from, with the separator at which texts were split.

        >>> Features.from_frame(pl.DataFrame({"item_id": [7, 3], "genres": ["Drama|War", "War"]})).sources
        "genres (split at '|')"
        """
        split = {name: f"{name} (split at {separator!r})" for name, separator in self.separators.items()}
        return ", ".join(split.get(name, name) for name in self.columns)

    @property
    def items(self) -> pl.Series:
        """Return the ids of the items, ascending."""
        return self.vocabulary.stored_ids

    @property
    def n_items(self) -> int:
        """Return the number of items, including those without a feature."""
        return self.vocabulary.size

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return a digest of which item has which features and numbers."""
        arrays = (id_keys(self.items), self.offsets, self.codes)
        digests = [hashlib.blake2b(array.tobytes()).hexdigest() for array in arrays]
        numbers = self.numbers.sort(self.numbers.columns).write_csv() if self.numbers.width > 1 else ""
        text = f"{self.vocabulary.kind} {self.names.to_list()} {digests}{numbers}"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @functools.cached_property
    def masks(self) -> NDArray[np.uint64]:
        """Return the features of each item as the bits of one 64-bit word; empty if there are more than 64 features."""
        if self.names.len() > WORD:
            return np.empty(0, np.uint64)
        masks = np.zeros(self.n_items, np.uint64)
        np.bitwise_or.at(masks, row_groups(self.offsets), np.uint64(1) << self.codes.astype(np.uint64))
        return masks


def gather_sets(
    offsets: NDArray[np.int64], codes: NDArray[np.int32], rows: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the offsets and members of the sets numbered ``rows``, in that order; row -1 gives an empty set.

    Set s has the members ``codes[offsets[s]:offsets[s + 1]]``.

    >>> starts, found = gather_sets(np.array([0, 2, 3]), np.array([5, 6, 7], np.int32), np.array([1, -1, 0], np.int32))
    >>> starts.tolist(), found.tolist()
    ([0, 1, 1, 3], [7, 5, 6])
    """
    lengths = np.where(rows >= 0, np.diff(offsets)[rows], 0)
    starts = np.append(0, np.cumsum(lengths))
    number = row_groups(starts)
    return starts, codes[np.arange(starts[-1]) - starts[number] + offsets[rows[number]]]


def feature_columns(frame: pl.DataFrame) -> tuple[str, ...]:
    """Return the columns that are used as features when none are named; see :meth:`Features.from_frame`.

    >>> feature_columns(pl.DataFrame({"item_id": [1, 2], "title": ["Up", "Alien"], "genres": ["A|B", "A"]}))
    ('genres',)
    """
    others = [name for name in frame.columns if name != "item_id"]
    lists = [name for name in others if isinstance(frame[name].dtype, pl.List | pl.Array)]
    if lists:
        return tuple(lists)
    texts = [name for name in others if _is_text(frame[name])]
    joined = [name for name in texts if list_separator(frame[name])]
    if joined:
        return tuple(joined)
    items = frame["item_id"].n_unique()
    varying = [name for name in texts if frame.select("item_id", name).n_unique() > items]
    recurring = [name for name in texts if 2 * frame[name].n_unique() <= frame.height]
    named = [name for name in others if name.lower() in FEATURE_NAMES and not frame[name].dtype.is_float()]
    return tuple(varying or recurring or named)


def list_separator(column: pl.Series) -> str:
    """Return the separator at which the texts of a column are split into features; "" if they are not lists.

    A ``|`` always separates. A semicolon or comma does if the texts are plainly lists: most parts are in several
    different texts, and some part is in several places, or texts have different numbers of parts. So titles with
    commas, and names such as "Scott, Ridley", stay whole.

    >>> list_separator(pl.Series(["Action, Comedy", "Comedy, Drama", "Action"]))
    ','
    >>> list_separator(pl.Series(["Postman, The", "Mask, The", "Alien"]))
    ''
    """
    if not _is_text(column):
        return ""
    texts = column.cast(pl.String).drop_nulls().unique()
    if texts.str.contains(SEPARATOR, literal=True).any():
        return SEPARATOR
    return next((separator for separator in LIST_SEPARATORS if _are_lists(texts, separator)), "")


def _are_lists(texts: pl.Series, separator: str) -> bool:
    """Return whether texts, cut at the separator, look like lists, because their parts recur in several texts."""
    joined = texts.filter(texts.str.contains(separator, literal=True))
    if not joined.len() or joined.str.contains(NUMBER).all():
        return False
    parts = pl.DataFrame({"text": texts.str.split(separator)}).with_row_index("row").explode("text")
    parts = parts.with_columns(pl.col("text").str.strip_chars(), place=pl.int_range(pl.len()).over("row"))
    of_lists = parts.filter(pl.len().over("row") > 1)
    counts = (
        parts.group_by("text")
        .agg(pl.col("row").n_unique(), pl.col("place").n_unique())
        .join(of_lists.select("text").unique(), on="text", how="semi")
    )
    lengths = of_lists.group_by("row").len()["len"]
    varied = bool((counts["place"] > 1).any()) or lengths.n_unique() > 1
    return varied and 2 * int((counts["row"] > 1).sum()) > counts.height


def _is_text(column: pl.Series) -> bool:
    return isinstance(column.dtype, pl.String | pl.Categorical | pl.Enum)


def _pairs(items: NDArray[np.int32], column: pl.Series, separator: str, prefix: str) -> pl.DataFrame:
    """Return a table of the (item, feature) pairs of one column, whose feature names get ``prefix`` in front.

    ``items`` is the item code of each row. Texts are split at ``separator`` unless it is empty.
    """
    pairs = pl.DataFrame({"item": items, "feature": column})
    if isinstance(column.dtype, pl.List | pl.Array):
        pairs = pairs.explode("feature")
    if isinstance(pairs["feature"].dtype, pl.List | pl.Array | pl.Object):
        example = next(iter(pairs["feature"].drop_nulls().to_list()), None)
        raise InputError(
            "I202",
            f"features in column {column.name!r} are no texts or numbers: {example!r:.80}",
            hint="give each item one list of texts or numbers",
        )
    pairs = pairs.with_columns(pl.col("feature").cast(pl.String))
    if separator:
        pairs = pairs.with_columns(pl.col("feature").str.split(separator)).explode("feature")
    pairs = pairs.with_columns(pl.col("feature").str.strip_chars())
    kept = pairs.filter(pl.col("feature").is_not_null() & (pl.col("feature") != ""))
    return kept.with_columns((pl.lit(prefix) + pl.col("feature")).alias("feature"))


def _check_usable(frame: pl.DataFrame, chosen: tuple[str, ...], where: str) -> None:
    """Raise I201 if a chosen column is missing from the table, or if no column was found; ``where`` names the table."""
    others = [name for name in frame.columns if name != "item_id"]
    absent = [name for name in chosen if name not in others]
    if absent or not chosen:
        what = f"the items have no column '{absent[0]}'" if absent else "no column of the items looks like features"
        raise InputError(
            "I201",
            f"{what}; their columns are {', '.join(map(repr, others)) or 'item_id alone'}",
            where=where,
            hint="name the feature columns; a list, names joined by '|', ';' or ',', or one name per row also works",
        )


ROUNDING = 1e-9  # largest asymmetry that counts as rounding error


def validated_distances(table: Any, n_items: int) -> NDArray[np.float64]:
    """Return a table of distances between the items of a log, ascending by id, as an array (items, items).

    Raise I362 unless the table is symmetric, has ``n_items`` rows and columns, and distances between 0 and 1.

    >>> validated_distances([[0, 0.5], [0.5, 0]], 2).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    found, problem = np.asarray(table, np.float64), ""
    if found.shape != (n_items, n_items):
        problem = f"their shape is {found.shape}, and the log has {n_items:,} items"
    elif not ((found >= 0) & (found <= 1)).all():  # NaN fails this test too
        problem = "a distance is not between 0 and 1"
    elif np.abs(found - found.T).max(initial=0) > ROUNDING:
        problem = "they are not symmetric"
    if problem:
        raise InputError(
            "I362",
            f"the given distances cannot be used: {problem}",
            hint="give a symmetric table with a row and a column for each item of the log, ascending by id",
        )
    return found
