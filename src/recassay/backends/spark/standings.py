"""Standings of chunks of users, as the tasks of Spark make them, and totals over all users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from recassay.arrays import Float, Int64
from recassay.backends.spark.tallies import Sums, pack, unpack
from recassay.columnar.identity import id_keys, pair_keys
from recassay.columnar.layout import ranges, row_groups
from recassay.columnar.vocabulary import concat_ids, rows_in_table
from recassay.data.standings import BinnedStandings, Standings

SHARED = ("name", "vocabulary", "popularity", "how")  # fields of standings that all chunks of a run share
PER_PAIR = ("item", "tie_relevant", "above", "tied", "mass_above", "mass_tied", "tied_masses")
PER_QUERY = ("pool", "mass", "pool_masses")
PER_BIN = ("bin", "above", "tied", "pool")

Sets = Mapping[int, Float]  # by number of bins: how many target sets in each


@dataclass(frozen=True, eq=False)
class PlayedTotals:
    """Counts over the users for whom recommendations were computed; the counts of disjoint groups of users add up.

    ``queries`` counts users who were queried, ``owners`` users with a relevant item, ``pairs`` the relevant items of
    all users, and ``unlisted`` those that are not in the user's list. ``digest`` is a checksum of the relevant items,
    modulo 2^64. ``alone`` and ``together`` have, for each number of popularity bins, a count per bin: the relevant
    items in it, and the users with a relevant item in it.
    """

    users: int
    queries: int
    owners: int
    pairs: int
    unlisted: int
    digest: int
    alone: Sets
    together: Sets

    @classmethod
    def of(cls, standings: Standings) -> PlayedTotals:
        """Return the counts over some users, queried or not, from the ranks of their relevant items."""
        query, item_keys = row_groups(standings.offsets), np.arange(standings.popularity.size, dtype=np.uint64)
        keys = pair_keys(query.astype(np.int32), standings.item, id_keys(standings.queries), item_keys, 1)
        alone, together = {}, {}
        for m, one in standings.percentiles.items():
            alone[m] = np.bincount(one.bin, minlength=m).astype(np.float64)
            together[m] = np.bincount(np.unique(query * m + one.bin) % m, minlength=m).astype(np.float64)
        return cls(
            standings.users,
            standings.queries.len(),
            int((standings.relevant > 0).sum()),
            standings.pairs,
            standings.unlisted,
            int(keys.sum(dtype=np.uint64)),
            alone,
            together,
        )

    def __add__(self, other: PlayedTotals) -> PlayedTotals:
        return PlayedTotals(*(Sums(vars(self).values()) + tuple(vars(other).values())))


def packed_standings(standings: Standings) -> bytes:
    """Return the standings of a chunk of users as bytes, without the fields that all chunks share."""
    return pack({name: value for name, value in vars(standings).items() if name not in SHARED})


def unpacked_standings(packed: bytes, shared: Mapping[str, Any]) -> Standings:
    """Return the standings in bytes that :func:`packed_standings` made; ``shared`` has the fields that they lack."""
    return Standings(**unpack(packed), **shared)


def joined_standings(parts: Sequence[Standings], users: pl.Series) -> Standings:
    """Return the standings of ``users``, who ascend, from the standings of disjoint groups of users."""
    queries, lengths = concat_ids(part.queries for part in parts), np.concatenate([part.relevant for part in parts])
    everyone = concat_ids(part.everyone for part in parts if part.everyone is not None)
    row = rows_in_table(users, queries)
    rows = row[row >= 0]
    pairs = ranges((np.cumsum(lengths) - lengths)[rows], lengths[rows])
    without_query = everyone.filter(~everyone.is_in(queries.implode()))
    others = rows_in_table(users.filter(pl.Series(row < 0)), without_query)

    def rows_of_parts(tables: Sequence[Any], rows: Int64) -> Any:
        """Return some rows of the array that the parts ``tables`` make together; for dicts, of each of their arrays."""
        if not isinstance(tables[0], Mapping):
            return np.concatenate(tables)[rows]
        return {key: rows_of_parts([table[key] for table in tables], rows) for key in tables[0]}

    columns = {name: rows_of_parts([getattr(part, name) for part in parts], pairs) for name in PER_PAIR}
    columns |= {name: rows_of_parts([getattr(part, name) for part in parts], rows) for name in PER_QUERY}
    bins = [
        {m: {name: getattr(one, name) for name in PER_BIN} for m, one in part.percentiles.items()} for part in parts
    ]
    return replace(
        parts[0],
        queries=users.filter(pl.Series(row >= 0)),
        offsets=np.append(0, np.cumsum(lengths[rows])),
        **columns,
        percentiles={m: BinnedStandings(m, **counts) for m, counts in rows_of_parts(bins, pairs).items()},
        others=rows_of_parts([part.others for part in parts], others),
        users=users.len(),
        everyone=users,
    )
