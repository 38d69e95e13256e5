"""Reading of sampled ranks: from an array, a table, a file, or several systems of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from recassay.data.io import run_sources
from recassay.data.io.columns import POOL, RANK, USER
from recassay.data.io.read import read_table
from recassay.data.run import Run
from recassay.engine.ranks.judge import named
from recassay.engine.ranks.sampled_ranks import sampled_ranks
from recassay.errors import InputError

Int64 = NDArray[np.int64]
Pool = int | ArrayLike | None
MOST_CANDIDATES = 2**31 - 1  # ids of items are numbered in 32 bits


@dataclass(frozen=True, eq=False)
class Ranks:
    """The ranks of a system's cases: the rank (from 1) of one relevant item each, among sampled candidates.

    ``pool`` is, for each case, the number of all candidates from which these were sampled. ``users`` are distinct and
    ascending; ``user`` is the position of each case's user in them.
    """

    users: pl.Series
    user: Int64
    rank: Int64
    pool: Int64

    @property
    def cases(self) -> Int64:
        """Return, for each user, the number of cases: relevant items of the user that have a sampled rank."""
        return np.bincount(self.user, minlength=self.users.len())


def read_ranks(
    source: object, *, pool: Pool, sample: int, replace: bool, columns: str | Mapping[str, str] | None = None,
    seed: int = 0,
) -> dict[str, Ranks]:  # fmt: skip
    """Return the ranks of each system by name; raise I311 unless all have the same users and cases.

    A case is a relevant item with its rank among ``sample`` drawn candidates (with replacement if ``replace``). An
    array is a system with one case per entry, in the same order for every system. A table has the columns user_id and
    rank, and pool (the number of candidates drawn from) if that is not given here. Several systems are a dict by name,
    or a list of files. From runs that ``play`` returned, the candidates are drawn here, by ``seed``.
    """
    found: dict[str, Ranks] = {}
    for name, ranks in _drawn(source, sample, replace, seed) or _sources(source):
        found[name] = _ranks(name, ranks, pool, sample, replace, columns)
        first_name, first = next(iter(found.items()))
        if not (first.users.equals(found[name].users) and np.array_equal(first.cases, found[name].cases)):
            raise InputError(
                "I311",
                f"'{first_name}' and '{name}' have different cases: {first.rank.size:,} of {first.users.len():,} users "
                f"and {found[name].rank.size:,} of {found[name].users.len():,}",
                hint="give all systems the same cases",
            )
    if not found:
        raise InputError("I102", "there are no ranks", hint="give an array, a table, or a dict of name to ranks")
    return found


def _drawn(source: Any, sample: int, replace: bool, seed: int) -> list[tuple[str, pl.DataFrame]]:
    """Return (name, table of user_id, rank and pool) of each played run; an empty list for any other source.

    Ranks are among ``sample`` candidates that are drawn here, with replacement if ``replace``.
    """
    given = list(source.values()) if isinstance(source, Mapping) else source
    given = given if isinstance(given, list | tuple) else [given]
    if not given or not all(isinstance(one, Run) for one in given):
        return []
    design = f"AI-1R-NN({sample}, replace=True)" if replace else f"AI-1R-NN({sample})"
    return [(name, sampled_ranks(run, design=design, seed=seed)) for name, run in named(source)]


def _sources(source: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name and the ranks of every system; a single system without a name is called "run"."""
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
    """Return the ranks of the system ``name``, read from an array, table or file, and checked."""
    where = str(source) if isinstance(source, str | Path) else name
    if _is_array(source):
        rank: ArrayLike = source
        users = pl.Series(USER, np.arange(np.size(source)))
        pools = pool
    else:
        frame = read_table(source, "ranks", columns=columns)
        rank, users = frame[RANK].fill_null(np.nan).to_numpy(), frame[USER]
        pools = frame[POOL].fill_null(0).to_numpy() if pool is None and POOL in frame.columns else pool
    checked = check_ranks(rank, sample, where)
    distinct = users.unique().sort()
    place = distinct.search_sorted(users).to_numpy().astype(np.int64)
    return Ranks(distinct, place, checked, _check_pools(pools, checked.size, sample, replace, where))


def _is_array(source: Any) -> bool:
    """Return whether the source is an array or a sequence of numbers, not a table or a collection of systems."""
    if isinstance(source, np.ndarray | pl.Series | range | int | float):
        return True
    if isinstance(source, Sequence) and not isinstance(source, str | bytes | bytearray | memoryview):
        return all(isinstance(one, int | float | np.number) for one in source)
    return hasattr(source, "__array__") and not hasattr(source, "columns")  # a pandas series, a tensor


def check_ranks(ranks: ArrayLike, sample: int, where: str = "ranks") -> Int64:
    """Return the ranks as integers; raise I331 if one is not a whole number from 1 to ``sample`` + 1.

    >>> check_ranks([1.0, 3.0], sample=5).tolist()
    [1, 3]
    """
    try:
        found = np.asarray(ranks, np.float64).ravel()
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError("I202", f"ranks are not numbers: {error}", where=where) from None
    if not found.size:
        raise InputError("I102", "there are no ranks", where=where)
    inside = (found >= 1) & (found <= sample + 1)
    broken = np.isfinite(found) & (found != np.floor(found))
    wrong = broken | ~inside
    if wrong.any():
        first = int(np.argmax(wrong))
        zeros = not broken.any() and bool((found == 0).any()) and found.max() <= sample
        hint = (
            "ranks start at 1: add 1 to each"
            if zeros
            else f"with {sample:,} sampled candidates the last rank is {sample + 1:,}"
        )
        if broken.any():
            hint = "do not average ranks over ties: give the rank in one random order of the tied items"
        raise InputError(
            "I331",
            f"{int(wrong.sum()):,} of {found.size:,} ranks are not among 1, 2, .., {sample + 1}, the first "
            f"{found[first]:g} in row {first + 1:,}",
            where=where,
            hint=hint,
        )
    return found.astype(np.int64)


def _check_pools(pool: Any, cases: int, sample: int, replace: bool, where: str) -> Int64:
    """Return the number of candidates of each of ``cases`` relevant items, given as one number or one per item.

    Raise I332 if a number is missing, not whole, too large, or less than the draws need: ``sample``, or 1 with
    ``replace``.
    """
    if pool is None:
        raise InputError(
            "I332",
            "the number of candidates to sample from is missing",
            where=where,
            hint="give pool, the number of items without the relevant one and excluded ones, or a column of that name",
        )
    try:
        found = np.asarray(pool, np.float64).ravel()
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError("I202", f"pools are not numbers: {error}", where=where) from None
    if found.size not in (1, cases):
        raise InputError(
            "I332", f"there are {found.size:,} pools for {cases:,} cases", where=where, hint="give one for each case"
        )
    least = 1 if replace else sample
    if (found > MOST_CANDIDATES).any():
        what = f"a pool of {found.max():g} candidates is larger than {MOST_CANDIDATES:,}"
        hint = "pool is the number of all candidates without the relevant one"
        raise InputError("I332", what, where=where, hint=hint)
    wrong = ~(found >= least) | (found != np.floor(found))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise InputError(
            "I332",
            f"{int(wrong.sum()):,} of {found.size:,} pools are too small for {sample:,} draws, the first "
            f"{found[first]:g} in row {first + 1:,}",
            where=where,
            hint="pool is the number of all candidates without the relevant one, sample the number of those drawn"
            + ("" if replace else "; use replace=True if a candidate could be drawn twice"),
        )
    return np.broadcast_to(found.astype(np.int64), cases)
