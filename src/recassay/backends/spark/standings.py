"""Standings in a Spark table: a row for every user. For each relevant item of the user it has the numbers of candidates
above the item and tied with it.

A user is one row, so each task can evaluate the rows it has, and no rows need be brought together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.identity import id_keys, pair_keys
from recassay.columnar.layout import row_groups
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.io.columns import ITEM, USER
from recassay.data.run import Run
from recassay.data.standings import ALL, RATED, TEST, BinnedStandings, Standings
from recassay.designs._places import WIDTH

ASKED, ITEMS, TIES, LISTED, WORTH = "asked", "item", "tie_relevant", "listed", "score"
BASES, SAMPLED = (ALL, TEST, RATED), (ALL, TEST)  # base sets, and those that candidates can be sampled from
KINDS = ("bin", "above", "tied", "pool")

Sets = Mapping[int, NDArray[np.float64]]  # by number of bins: how many in each


@dataclass(frozen=True, eq=False)
class StandingsSchema:
    """The columns of a table of standings, and what the standings of a system have besides the rows of users.

    Standings are the ranks of the relevant items of each user among the candidates.
    """

    name: str
    items: pl.Series
    popularity: NDArray[np.int64]
    how: Mapping[str, Any]
    bins: tuple[int, ...]

    @property
    def of_pairs(self) -> dict[str, str]:
        """Return the columns with a list per user, one number per relevant item, as ``{column: Spark type}``."""
        counts = {f"{what}_{base}": "int" for base in BASES for what in ("above", "tied")}
        masses = {f"mass_{what}_{base}": "bigint" for base in SAMPLED for what in ("above", "tied")}
        bins = {f"{what}_of_{m}": "int" for m in self.bins for what in KINDS}
        tied = {name: "double" for base in SAMPLED for name in _masses("tied", base)}
        return {ITEMS: "int", TIES: "int", **counts, **masses, **tied, **bins}

    @property
    def of_users(self) -> tuple[str, ...]:
        """Return the names of the columns with one integer per user: number and total weight of the candidates."""
        return (*(f"pool_{base}" for base in BASES), *(f"mass_{base}" for base in SAMPLED))

    @property
    def of_pools(self) -> tuple[str, ...]:
        """Return the names of the columns with one float per user: they describe the weights of the candidates.

        Together they are the rows of ``Standings.pool_masses``.
        """
        return tuple(name for base in SAMPLED for name in _masses("pool", base))

    def schema(self, user: str, item: str) -> str:
        """Return the schema of the table as text, for user and item ids of these Spark types.

        In the row of a user who was not queried, most columns are null.
        """
        users = ", ".join([f"{name} bigint" for name in self.of_users] + [f"{name} double" for name in self.of_pools])
        pairs = ", ".join(f"{name} array<{kind}>" for name, kind in self.of_pairs.items())
        return f"{USER} {user}, {ASKED} boolean, {users}, {pairs}, {LISTED} array<{item}>, {WORTH} array<double>"


@dataclass(frozen=True, eq=False)
class PlayedTotals:
    """Counts over the users for whom recommendations were computed; the counts of disjoint groups of users add up.

    ``queries`` counts users who were queried, ``owners`` users with a relevant item, ``pairs`` the relevant items of
    all users, and ``unlisted`` those that are not in the user's list. ``digest`` is a checksum of the relevant items.
    ``alone`` and ``together`` have, for each number of popularity bins, a count per bin: the relevant items in it, and
    the users with a relevant item in it.
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
    def of(cls, standings: Standings, users: int) -> PlayedTotals:
        """Return the counts over some users, from the ranks of their relevant items; ``users`` is their number.

        Users who were not queried count too.
        """
        query, item_keys = row_groups(standings.offsets), np.arange(standings.popularity.size, dtype=np.uint64)
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

    def __add__(self, other: PlayedTotals) -> PlayedTotals:
        return PlayedTotals(
            self.users + other.users,
            self.queries + other.queries,
            self.owners + other.owners,
            self.pairs + other.pairs,
            self.unlisted + other.unlisted,
            (self.digest + other.digest) % 2**64,
            {m: sets + other.alone[m] for m, sets in self.alone.items()},
            {m: sets + other.together[m] for m, sets in self.together.items()},
        )


def rows_of_run(run: Run, everyone: pl.Series, about: StandingsSchema) -> pl.DataFrame:
    """Return the standings and lists of a run as a table with a row for each user of ``everyone``, queried or not.

    Standings are the ranks of relevant items among candidates. ``about`` says which columns the table has.
    """
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
    query = pl.Series("query", row_groups(standings.offsets), dtype=pl.Int64)
    queried = pl.DataFrame({USER: standings.queries, "query": np.arange(standings.queries.len())})
    queried = queried.with_columns(
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
        .join(queried, on=USER, how="left", maintain_order="left")
        .join(idle, on=USER, how="left", maintain_order="left")
        .with_columns(pl.coalesce(f"pool_{base}", f"other_{base}").alias(f"pool_{base}") for base in SAMPLED)
        .join(pairs.with_columns(query).group_by("query", maintain_order=True).agg(pl.all()), on="query", how="left")
        .join(lists.group_by(USER, maintain_order=True).agg(pl.all()), on=USER, how="left", maintain_order="left")
        .select(USER, ASKED, *about.of_users, *about.of_pools, *about.of_pairs, LISTED, WORTH)
        .sort(USER)
    )


def standings_from_rows(rows: pl.DataFrame, about: StandingsSchema, unlisted: int = 0) -> Standings:
    """Return the standings in the rows of a table that :func:`rows_of_run` made, whose users ascend.

    ``about`` says what all users share, such as the vocabulary; ``unlisted`` is the number of pairs of a user and a
    relevant item that is not in the user's list.
    """
    queried = rows.filter(ASKED)
    lengths = queried[ITEMS].list.len().fill_null(0).to_numpy().astype(np.int64)
    some = queried.filter(pl.col(ITEMS).is_not_null())

    def each(name: str, kind: Any = np.int64) -> NDArray[Any]:
        return some[name].explode().to_numpy().astype(kind) if some.height else np.empty(0, kind)

    def one(name: str) -> NDArray[np.int64]:
        return queried[name].to_numpy().astype(np.int64)

    return Standings(
        name=about.name,
        queries=queried[USER],
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
        pool_masses={base: queried.select(_masses("pool", base)).to_numpy().astype(np.float64) for base in SAMPLED},
        percentiles={m: BinnedStandings(m, *_of_bins(m, each)) for m in about.bins},
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
    """Return the names of the columns that hold ``Standings.tied_masses`` or ``pool_masses`` for a base set.

    A mass is the weight of a candidate in a random draw. ``what`` is ``tied`` (candidates that tie with a relevant
    item) or ``pool`` (all candidates). ``base`` is where candidates come from: ``AI`` (all items) or ``TI`` (items with
    a test rating).
    """
    return [f"masses_{what}_{base}_{place}" for place in range(WIDTH)]


def _of_bins(m: int, each: Any) -> Iterator[NDArray[Any]]:
    for what in KINDS:
        yield each(f"{what}_of_{m}", np.int32 if what == "bin" else np.int64)
