"""Groups of users or items by the values of a column, such as the country of a user or the genres of an item."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.layout import row_groups
from recassay.columnar.vocabulary import rows_in_table
from recassay.data.features import Features, gather_sets
from recassay.errors import InputError
from recassay.naming.grammar import suggest

MAX_VALUES = 12  # a column of numbers with more values is divided at its quartiles
QUARTERS = (0.25, 0.5, 0.75)
ITEM = "item_id"  # the column of ids in a table of features


@dataclass(frozen=True, eq=False)
class Memberships:
    """The groups that each id belongs to; an id may be in several groups, or in none.

    ``by`` is the name of the column that the groups come from. ``features`` maps ids to groups, and ``order`` lists the
    codes of the groups in the order in which they are shown. ``note`` says how numbers were divided into groups.

    >>> users = pl.DataFrame({"user_id": ["ann", "bob", "eve"], "country": ["de", "fr", "de"]})
    >>> groups = Memberships.of(users, "user_id", "country")
    >>> groups.names, [places.tolist() for places in groups.places(pl.Series(["ann", "eve", "zoe"]), "user")]
    (('de', 'fr'), [[0, 1], []])
    """

    by: str
    features: Features
    order: tuple[int, ...]
    note: str = ""

    @classmethod
    def of(cls, frame: pl.DataFrame, ids: str, by: str, *, where: str = "") -> Memberships:
        """Return the groups that the column ``by`` of a table makes; the table has one row or several per id.

        ``ids`` names the column of ids. Lists, and texts with ``|``, put an id into several groups. Numbers with more
        than 12 different values are divided at their quartiles, into groups of equal size as far as values allow.
        Missing values are in no group. Raise I201 if there is no such column.
        """
        if by not in frame.columns:
            others = [name for name in frame.columns if name != ids]
            raise InputError(
                "I201",
                f"there is no column '{by}'; the columns are {', '.join(map(repr, others)) or ids + ' alone'}",
                where=where,
                hint=suggest(by, others),
            )
        name = f"{by} (group)" if by == ITEM else by  # the ids have that name in a table of features
        table, note = frame.select(pl.col(ids).alias(ITEM), pl.col(by).alias(name)).unique(maintain_order=True), ""
        if table[name].dtype.is_numeric():
            column, note = _grouped_numbers(table[name])
            table = table.with_columns(column.alias(name))
        made = cls.of_features(Features.from_frame(table, columns=[name], origin=where), name, note)
        return replace(made, by=by)

    @classmethod
    def of_features(cls, features: Features, by: str, note: str = "") -> Memberships:
        """Return the groups that one column of item features makes.

        Raise I201 if there is no such column. ``note`` is kept with the groups.
        """
        if by not in features.columns:
            raise InputError(
                "I201",
                f"the features come from {', '.join(map(repr, features.columns))}, and not from '{by}'",
                where=features.origin,
                hint=suggest(by, features.columns),
            )
        names = features.names.to_list()
        if len(features.columns) > 1:  # keep those of the column, with names that do not mention it
            chosen = [code for code, name in enumerate(names) if name.startswith(f"{by}=")]
            new_code = np.full(len(names), -1, np.int32)
            new_code[chosen] = np.arange(len(chosen))
            codes, names = new_code[features.codes], [names[code].removeprefix(f"{by}=") for code in chosen]
            offsets, kept = np.append(0, np.cumsum(codes >= 0))[features.offsets], codes[codes >= 0]
            own = pl.Series(names, dtype=pl.String)
            features = replace(features, offsets=offsets, codes=kept, names=own, columns=(by,))
        return cls(by, features, tuple(sorted(range(len(names)), key=lambda code: _natural(names[code]))), note)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the groups in the order in which they are shown: numbers by value, then texts."""
        names = self.features.names.to_list()
        return tuple(names[code] for code in self.order)

    def places(self, ids: pl.Series, what: str) -> list[NDArray[np.intp]]:
        """Return, for each group, the positions in ``ids`` of its members, ascending.

        ``what`` is user or item, for errors. Raise I407 if no id is in any group.
        """
        known = self.features.items
        offsets, codes = gather_sets(
            self.features.offsets, self.features.codes, rows_in_table(ids, known).astype(np.int32)
        )
        if not codes.size:
            there = f"such as {ids[0]!r}, " if ids.len() else ""
            raise InputError(
                "I407",
                f"no {what} of the truth, {there}has a value of '{self.by}', unlike {what}s such as {known[0]!r}",
                where=self.features.origin,
                hint="check that both tables use the same ids",
            )
        place = row_groups(offsets)
        return [place[codes == code] for code in self.order]


def _grouped_numbers(column: pl.Series) -> tuple[pl.Series, str]:
    """Return the group of each number as text, and a note on how the groups were made.

    Each value is a group, and the note is empty; if there are more than 12 different values, the groups are quartiles,
    named by their smallest and largest value.
    """
    values = column.drop_nulls().drop_nans() if column.dtype.is_float() else column.drop_nulls()
    distinct = values.n_unique()
    numbers = column.fill_nan(None).to_numpy() if column.dtype.is_float() else column.cast(pl.Float64).to_numpy()
    group, note = numbers, ""
    if distinct > MAX_VALUES:
        borders = np.unique(np.quantile(values.to_numpy(), QUARTERS, method="inverted_cdf"))
        group = np.searchsorted(borders, numbers)  # a border is the last value of its quarter
        note = f"'{column.name}' has {distinct:,} values: its groups are quartiles"
    names = {}
    for number in np.unique(group[~np.isnan(numbers)]):
        own = numbers[(group == number) & ~np.isnan(numbers)]
        names[number] = f"{own.min():g}" if own.min() == own.max() else f"{own.min():g} to {own.max():g}"
    texts = [None if np.isnan(value) else names[at] for value, at in zip(numbers, group, strict=True)]
    return pl.Series(column.name, texts, dtype=pl.String), note


def _natural(name: str) -> tuple[bool, float, str]:
    """Return a sort key: names that begin with a number by that number, then all others by their text.

    >>> sorted(["10 to 19", "9", "de", "-2.5"], key=_natural)
    ['-2.5', '9', '10 to 19', 'de']
    """
    number = re.match(r"-?\d+(\.\d+)?(e[+-]?\d+)?", name)
    return number is None, float(number[0]) if number else 0.0, name
