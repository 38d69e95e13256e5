"""Standings in a Spark table: a row for every user of the log, with what stands above each of the user's items.

Whole users stand in one row, so that they can be judged wherever the row is, and nothing need be brought together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.identity import id_keys, pair_keys
from recassay.data.io.roles import ITEM, USER
from recassay.data.layout import stretch_of
from recassay.data.run import Run
from recassay.data.standings import ALL, RATED, TEST, Percentiles, Standings
from recassay.data.vocabulary import Vocabulary
from recassay.designs._places import WIDTH

ASKED, ITEMS, TIES, LISTED, WORTH = "asked", "item", "tie_relevant", "listed", "score"
BASES, SAMPLED = (ALL, TEST, RATED), (ALL, TEST)  # base sets; those of them that candidates are sampled from
KINDS = ("bin", "above", "tied", "pool")

Sets = Mapping[int, NDArray[np.float64]]  # by number of bins: how many in each


@dataclass(frozen=True, eq=False)
class About:
    """What all users' standings of a system have in common."""

    name: str
    items: pl.Series
    popularity: NDArray[np.int64]
    how: Mapping[str, Any]
    bins: tuple[int, ...]

    @property
    def of_pairs(self) -> dict[str, str]:
        """Columns with a number for every relevant item of a user, and the type of the number."""
        counts = {f"{what}_{base}": "int" for base in BASES for what in ("above", "tied")}
        masses = {f"mass_{what}_{base}": "bigint" for base in SAMPLED for what in ("above", "tied")}
        bins = {f"{what}_of_{m}": "int" for m in self.bins for what in KINDS}
        tied = {name: "double" for base in SAMPLED for name in _masses("tied", base)}
        return {ITEMS: "int", TIES: "int", **counts, **masses, **tied, **bins}

    @property
    def of_users(self) -> tuple[str, ...]:
        """Columns with a number for every user."""
        return (*(f"pool_{base}" for base in BASES), *(f"mass_{base}" for base in SAMPLED))

    @property
    def of_pools(self) -> tuple[str, ...]:
        """Columns with a number for every user that need not be whole."""
        return tuple(name for base in SAMPLED for name in _masses("pool", base))

    def schema(self, user: str, item: str) -> str:
        """Of the table; a user who was not asked has nothing but the id."""
        users = ", ".join([f"{name} bigint" for name in self.of_users] + [f"{name} double" for name in self.of_pools])
        pairs = ", ".join(f"{name} array<{kind}>" for name, kind in self.of_pairs.items())
        return f"{USER} {user}, {ASKED} boolean, {users}, {pairs}, {LISTED} array<{item}>, {WORTH} array<double>"


@dataclass(frozen=True, eq=False)
class Played:
    """What users who were played add up to: ``owners`` have a relevant item, ``pairs`` is the number of these.

    ``digest`` tells one set of relevant items from another. ``alone`` and ``together`` count, for each number of bins,
    what stands in each: relevant items, and users with one.
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
    def of(cls, standings: Standings, users: int) -> Played:
        """Of some users."""
        query, item_keys = stretch_of(standings.offsets), np.arange(standings.popularity.size, dtype=np.uint64)
        keys = pair_keys(query.astype(np.int32), standings.item, id_keys(standings.queries), item_keys, 1)
        alone, together = {}, {}
        for m, one in standings.percentiles.items():
            alone[m] = np.bincount(one.bin, minlength=m).astype(np.float64)
            together[m] = np.bincount(np.unique(query * m + one.bin) % m, minlength=m).astype(np.float64)
        return cls(
            users,
            standings.queries.len(),
            int((standings.relevant > 0).sum()),
            standings.pairs,
            standings.unlisted,
            int(keys.sum(dtype=np.uint64)),
            alone,
            together,
        )

    def __add__(self, other: Played) -> Played:
        return Played(
            self.users + other.users,
            self.queries + other.queries,
            self.owners + other.owners,
            self.pairs + other.pairs,
            self.unlisted + other.unlisted,
            (self.digest + other.digest) % 2**64,
            {m: sets + other.alone[m] for m, sets in self.alone.items()},
            {m: sets + other.together[m] for m, sets in self.together.items()},
        )


def rows_of(run: Run, everyone: pl.Series, about: About) -> pl.DataFrame:
    """The table of a run; ``everyone`` may be more than were asked."""
    standings = run.standings
    assert standings is not None, "it was played"
    numbers: dict[str, NDArray[Any]] = {ITEMS: standings.item, TIES: standings.tie_relevant}
    for base in BASES:
        numbers |= {f"above_{base}": standings.above[base], f"tied_{base}": standings.tied[base]}
    for base in SAMPLED:
        masses = standings.mass_above[base], standings.mass_tied[base]
        numbers |= {f"mass_above_{base}": masses[0], f"mass_tied_{base}": masses[1]}
        numbers |= dict(zip(_masses("tied", base), standings.tied_masses[base].T, strict=True))
    for m, one in standings.percentiles.items():
        numbers |= {f"{what}_of_{m}": getattr(one, what) for what in KINDS}
    kinds = {"int": pl.Int32, "bigint": pl.Int64, "double": pl.Float64}
    pairs = pl.DataFrame({name: pl.Series(numbers[name], dtype=kinds[kind]) for name, kind in about.of_pairs.items()})
    query = pl.Series("query", stretch_of(standings.offsets), dtype=pl.Int64)
    asked = pl.DataFrame({USER: standings.queries, "query": np.arange(standings.queries.len())})
    asked = asked.with_columns(
        pl.lit(value=True).alias(ASKED),
        *(pl.Series(f"pool_{base}", standings.pool[base], dtype=pl.Int64) for base in BASES),
        *(pl.Series(f"mass_{base}", standings.mass[base], dtype=pl.Int64) for base in SAMPLED),
        *(
            pl.Series(name, column)
            for base in SAMPLED
            for name, column in zip(_masses("pool", base), standings.pool_masses[base].T, strict=True)
        ),
    )
    idle = pl.DataFrame({USER: everyone.filter(~everyone.is_in(standings.queries.implode()))}).with_columns(
        pl.Series(f"other_{base}", pools, dtype=pl.Int64) for base, pools in standings.others.items()
    )
    lists = run.frame().select(USER, pl.col(ITEM).alias(LISTED), WORTH)
    return (
        everyone.alias(USER)
        .to_frame()
        .join(asked, on=USER, how="left", maintain_order="left")
        .join(idle, on=USER, how="left", maintain_order="left")
        .with_columns(pl.coalesce(f"pool_{base}", f"other_{base}").alias(f"pool_{base}") for base in SAMPLED)
        .join(pairs.with_columns(query).group_by("query", maintain_order=True).agg(pl.all()), on="query", how="left")
        .join(lists.group_by(USER, maintain_order=True).agg(pl.all()), on=USER, how="left", maintain_order="left")
        .select(USER, ASKED, *about.of_users, *about.of_pools, *about.of_pairs, LISTED, WORTH)
        .sort(USER)
    )


def standings_of(rows: pl.DataFrame, about: About, unlisted: int = 0) -> Standings:
    """Standings again, of users who ascend."""
    asked = rows.filter(ASKED)
    lengths = asked[ITEMS].list.len().fill_null(0).to_numpy().astype(np.int64)
    some = asked.filter(pl.col(ITEMS).is_not_null())

    def each(name: str, kind: Any = np.int64) -> NDArray[Any]:
        return some[name].explode().to_numpy().astype(kind) if some.height else np.empty(0, kind)

    def one(name: str) -> NDArray[np.int64]:
        return asked[name].to_numpy().astype(np.int64)

    return Standings(
        name=about.name,
        queries=asked[USER],
        offsets=np.append(0, np.cumsum(lengths)),
        item=each(ITEMS, np.int32),
        vocabulary=Vocabulary(about.items),
        tie_relevant=each(TIES, np.int32),
        above={base: each(f"above_{base}") for base in BASES},
        tied={base: each(f"tied_{base}") for base in BASES},
        pool={base: one(f"pool_{base}") for base in BASES},
        mass_above={base: each(f"mass_above_{base}") for base in SAMPLED},
        mass_tied={base: each(f"mass_tied_{base}") for base in SAMPLED},
        mass={base: one(f"mass_{base}") for base in SAMPLED},
        tied_masses={
            base: np.stack([each(name, np.float64) for name in _masses("tied", base)], axis=1) for base in SAMPLED
        },
        pool_masses={base: asked.select(_masses("pool", base)).to_numpy().astype(np.float64) for base in SAMPLED},
        percentiles={m: Percentiles(m, *_of_bins(m, each)) for m in about.bins},
        others={
            base: rows.filter(pl.col(ASKED).is_null())[f"pool_{base}"].to_numpy().astype(np.int64) for base in SAMPLED
        },
        users=rows.height,
        everyone=rows[USER],
        popularity=about.popularity,
        unlisted=unlisted,
        how=about.how,
    )


def _masses(what: str, base: str) -> list[str]:
    """The columns of a row of masses."""
    return [f"masses_{what}_{base}_{place}" for place in range(WIDTH)]


def _of_bins(m: int, each: Any) -> Iterator[NDArray[Any]]:
    for what in KINDS:
        yield each(f"{what}_of_{m}", np.int32 if what == "bin" else np.int64)
