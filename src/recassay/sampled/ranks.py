"""Sampled ranks as people have them: an array, a table, a file, or several systems of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from recassay.data.io import read_table, run_sources
from recassay.data.io.roles import POOL, RANK, USER
from recassay.errors import InputError

Int64 = NDArray[np.int64]
Pool = int | ArrayLike | None


@dataclass(frozen=True, eq=False)
class Ranks:
    """Where the relevant item of each case stood among the sampled candidates, from 1, and from how many they came.

    ``users`` are distinct and ascending, ``user`` is the place among them of each case's.
    """

    users: pl.Series
    user: Int64
    rank: Int64
    pool: Int64

    @property
    def cases(self) -> Int64:
        """The number of cases of each user."""
        return np.bincount(self.user, minlength=self.users.len())


def read_ranks(
    source: object, *, pool: Pool, sample: int, replace: bool, columns: str | Mapping[str, str] | None = None
) -> dict[str, Ranks]:
    """Systems by name, asked about the same users (I311).

    An array is a system with one case per entry, in the same order for every system. A table has the columns user_id
    and rank, and pool where it is not given here. Several systems are a dict of names, or a list of files.
    """
    found: dict[str, Ranks] = {}
    for name, one in _sources(source):
        found[name] = _ranks(name, one, pool, sample, replace, columns)
        first_name, first = next(iter(found.items()))
        if not (first.users.equals(found[name].users) and np.array_equal(first.cases, found[name].cases)):
            raise InputError(
                "I311",
                f"'{first_name}' was asked about {first.rank.size:,} cases of {first.users.len():,} users, '{name}' "
                f"about {found[name].rank.size:,} of {found[name].users.len():,}, or others",
                hint="give all systems the same cases",
            )
    if not found:
        raise InputError("I103", "there are no ranks", hint="give an array, a table, or a dict of name to ranks")
    return found


def _sources(source: Any) -> Iterator[tuple[str, Any]]:
    """Every system's name and ranks."""
    paths = [source] if isinstance(source, str | Path) else source
    if isinstance(paths, list | tuple) and paths and all(isinstance(one, str | Path) for one in paths):
        yield from run_sources(paths)
    elif isinstance(source, Mapping) and not {USER, RANK} <= source.keys():
        yield from ((str(name), one) for name, one in source.items())
    else:
        yield "run", source


def _ranks(
    name: str, source: Any, pool: Pool, sample: int, replace: bool, columns: str | Mapping[str, str] | None
) -> Ranks:
    where = str(source) if isinstance(source, str | Path) else name
    if _is_array(source):
        rank: ArrayLike = source
        users = pl.Series(USER, np.arange(len(source)))
        pools = pool
    else:
        frame = read_table(source, "ranks", columns=columns)
        rank, users = frame[RANK].fill_null(np.nan).to_numpy(), frame[USER]
        pools = frame[POOL].fill_null(0).to_numpy() if pool is None and POOL in frame.columns else pool
    checked = checked_ranks(rank, sample, where)
    distinct = users.unique().sort()
    place = distinct.search_sorted(users).to_numpy().astype(np.int64)
    return Ranks(distinct, place, checked, _checked_pools(pools, checked.size, sample, replace, where))


def _is_array(source: Any) -> bool:
    """Whether this is a row of numbers, and no table."""
    if isinstance(source, np.ndarray | pl.Series | range):
        return True
    if isinstance(source, Sequence) and not isinstance(source, str):
        return all(isinstance(one, int | float | np.number) for one in source)
    return hasattr(source, "__array__") and not hasattr(source, "columns")  # a series of pandas, a tensor


def checked_ranks(ranks: ArrayLike, sample: int, where: str = "ranks") -> Int64:
    """Ranks as whole numbers from 1 to sample + 1; any other is I331.

    >>> checked_ranks([1.0, 3.0], sample=5).tolist()
    [1, 3]
    """
    found = np.asarray(ranks, np.float64).ravel()
    if not found.size:
        raise InputError("I103", "there are no ranks", where=where)
    inside = (found >= 1) & (found <= sample + 1)
    broken = np.isfinite(found) & (found != np.floor(found))
    wrong = broken | ~inside
    if wrong.any():
        first = int(np.argmax(wrong))
        zeros = not broken.any() and bool((found == 0).any()) and found.max() <= sample
        hint = "ranks begin at 1: add 1 to each" if zeros else f"the last of 1 and {sample:,} sampled is {sample + 1:,}"
        if broken.any():
            hint = "no sample gives a rank averaged over ties: write the rank in one random order of the items that tie"
        raise InputError(
            "I331",
            f"{int(wrong.sum()):,} of {found.size:,} ranks are not among 1, 2, .., {sample + 1}, the first "
            f"{found[first]:g} in row {first + 1:,}",
            where=where,
            hint=hint,
        )
    return found.astype(np.int64)


def _checked_pools(pool: Any, cases: int, sample: int, replace: bool, where: str) -> Int64:
    """The candidates of each case, at least as many as were drawn (I332)."""
    if pool is None:
        raise InputError(
            "I332",
            "nothing says how many candidates there were to sample from",
            where=where,
            hint="give pool, the number of items less the relevant one and those left out, or a column of that name",
        )
    found = np.asarray(pool, np.float64).ravel()
    if found.size not in (1, cases):
        raise InputError(
            "I332", f"there are {found.size:,} pools for {cases:,} cases", where=where, hint="one for each"
        )
    least = 1 if replace else sample
    wrong = ~(found >= least) | (found != np.floor(found))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise InputError(
            "I332",
            f"{sample:,} candidates cannot be drawn from {found[first]:g}, the pool of row {first + 1:,}; so for "
            f"{int(wrong.sum()):,} of {found.size:,}",
            where=where,
            hint="pool is the number of all candidates beside the relevant one, sample that of those drawn"
            + ("" if replace else "; say replace=True if one could be drawn twice"),
        )
    return np.broadcast_to(found.astype(np.int64), cases)
