"""The columns of a table, each loaded on first use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

import polars as pl

from recassay.columnar.texts import HashedTexts


def normalised_name(name: str) -> str:
    """Return a column name in the form used for comparison: lower case, without blanks, dashes and underscores.

    >>> normalised_name("User ID"), normalised_name("userId")
    ('userid', 'userid')
    """
    return name.strip().lower().replace("_", "").replace("-", "").replace(" ", "")


class LazyColumns:
    """Columns of a table under their canonical names; each is loaded on access and not cached.

    So a Parquet file can be read with one column in memory at a time. ``narrow`` returns a column of ids in a form that
    becomes codes faster (see :meth:`ids`), or None if there is none. ``positions`` is True if the name of the time
    column or the format says that it holds positions (1, 2, 3, ...) rather than times. ``remarks`` are texts about the
    table that findings quote, by finding code.

    >>> columns = LazyColumns({"user_id": lambda: pl.Series([1, 2])})
    >>> columns["user_id"].to_list(), columns.frame().shape
    ([1, 2], (2, 1))
    """

    def __init__(
        self,
        fetch: Mapping[str, Callable[[], pl.Series]],
        rows: int | None = None,
        narrow: Callable[[str], pl.Series | HashedTexts | None] | None = None,
        remarks: Mapping[str, str] | None = None,
        *,
        positions: bool = False,
    ) -> None:
        self._fetch = fetch
        self._narrow = narrow
        self.remarks = dict(remarks or {})
        self.positions = positions
        self.rows = next(iter(fetch.values()))().len() if rows is None else rows

    @classmethod
    def of(
        cls,
        frame: pl.DataFrame,
        remarks: Mapping[str, str] | None = None,
        *,
        positions: bool = False,
        categories: Collection[str] = (),
    ) -> LazyColumns:
        """Return the columns of a frame that is in memory.

        ``categories`` are columns of ids that are stored as categories; only :meth:`ids` returns them so, all else
        returns their texts. ``remarks`` and ``positions`` are as in :class:`LazyColumns`.
        """
        fetch: dict[str, Callable[[], pl.Series]] = {name: partial(frame.get_column, name) for name in frame.columns}
        fetch |= {name: partial(frame[name].cast, pl.String) for name in categories}
        return cls(fetch, frame.height, frame.get_column, remarks, positions=positions)

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._fetch)

    def __contains__(self, name: object) -> bool:
        return name in self._fetch

    def __getitem__(self, name: str) -> pl.Series:
        return self._fetch[name]().alias(name)

    def ids(self, name: str) -> pl.Series | HashedTexts:
        """Return a column of ids in the form that becomes codes fastest.

        32-bit integers and categories stay so if the table can give them without a copy, and texts may come with their
        hashes.
        """
        found = self._narrow(name) if self._narrow else None
        return self[name] if found is None else found

    def frame(self) -> pl.DataFrame:
        """Return all columns as one frame."""
        return pl.DataFrame({name: self[name] for name in self._fetch})
