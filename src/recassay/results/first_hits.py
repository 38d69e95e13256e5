"""The rank of each user's first relevant item (first hit), the input of Sudden Death.

Sudden Death compares systems by their first hits.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.io.manifest import manifest_of
from recassay.data.io.parquet import parquet_metadata, read_parquet
from recassay.data.io.write import json_text, write_parquet

FIRST_HITS = "first-hits.parquet"  # in a folder of results
ABOUT = "recassay first hits"  # key in the metadata of the file, for what is no column
SYSTEM, USER, RANK, RELEVANT, LENGTH = "system", "user", "first_relevant", "has_relevant", "length"

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SystemHits:
    """The first hit (relevant item) of each list of one system: arrays with a value per user.

    ``rank`` is the rank of the first relevant item: 0 if the list has none, NaN if the user has no relevant item.
    ``length`` is the length of the list, NaN if there is none. ``extra`` counts lists of users outside the truth.
    """

    rank: Floats
    length: Floats
    extra: int = 0


@dataclass(frozen=True, eq=False)
class FirstHits:
    """The first hits of all systems for the users of one truth. An item is relevant from the gain ``relevant_from`` on.

    >>> own = SystemHits(np.array([2.0, 0.0, np.nan]), np.array([5.0, np.nan, 5.0]))
    >>> hits = FirstHits(pl.Series(["ann", "bob", "eve"]), {"mine": own})
    >>> hits.has_relevant.tolist(), hits.frame().row(1)
    ([True, True, False], ('mine', 'bob', None, True, None))
    """

    users: pl.Series
    by_system: Mapping[str, SystemHits]
    relevant_from: float = 1.0

    @functools.cached_property
    def has_relevant(self) -> NDArray[np.bool_]:
        """Return a mask of the users who have a relevant item."""
        return ~np.isnan(next(iter(self.by_system.values())).rank)

    def frame(self) -> pl.DataFrame:
        """Return a table with a row per system and user: system, user, first_relevant, has_relevant, length.

        The rank ``first_relevant`` is null without a hit, and ``length`` without a list.
        """
        tables = [
            pl.DataFrame(
                {
                    SYSTEM: pl.repeat(name, self.users.len(), eager=True),
                    USER: self.users,
                    RANK: pl.Series(np.where(own.rank > 0, own.rank, np.nan)).fill_nan(None).cast(pl.Int64),
                    RELEVANT: self.has_relevant,
                    LENGTH: pl.Series(own.length).fill_nan(None).cast(pl.Int64),
                }
            )
            for name, own in self.by_system.items()
        ]
        return pl.concat(tables)

    def write(self, folder: Path) -> None:
        """Write everything to one Parquet file in a folder of results."""
        extra = {name: own.extra for name, own in self.by_system.items()}
        about = json_text({"relevant_from": self.relevant_from, "extra": extra})
        write_parquet(self.frame(), folder / FIRST_HITS, {ABOUT: about})

    @classmethod
    def read(cls, folder: Path) -> FirstHits | None:
        """Return the first hits in a folder of results; None if it has none."""
        path = folder / FIRST_HITS
        if not path.is_file():
            return None
        manifest_of(folder).require_intact([path])
        about = json.loads(parquet_metadata(path)[ABOUT])
        parts = read_parquet(path).partition_by(SYSTEM, as_dict=True, maintain_order=True)
        found = {str(name): _system_hits(part, about["extra"][name]) for (name,), part in parts.items()}
        return cls(next(iter(parts.values()))[USER], found, about["relevant_from"])


def _system_hits(part: pl.DataFrame, extra: int) -> SystemHits:
    rank = part[RANK].fill_null(0).cast(pl.Float64).to_numpy()
    length = part[LENGTH].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return SystemHits(np.where(part[RELEVANT].to_numpy(), rank, np.nan), length, extra)
