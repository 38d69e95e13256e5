"""Sampled ranks: drawn for a played run, or read from an array, a table, a file, or several systems of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from recassay.arrays import Bool, Float, Int64
from recassay.columnar.layout import row_groups
from recassay.data.io import run_sources
from recassay.data.io.columns import ITEM, POOL, RANK, USER
from recassay.data.io.read import read_table
from recassay.data.nouns import wrong_noun
from recassay.data.run import Run
from recassay.designs.grammar import parse
from recassay.engine.ranks.judge import named
from recassay.engine.ranks.sampling import DesignSampler, draw_all, source_of
from recassay.errors import InputError, UsageError
from recassay.naming.arguments import checks_types

Pool = int | ArrayLike | None
MOST_CANDIDATES = 2**31 - 1  # ids of items are numbered in 32 bits


@checks_types
def sampled_ranks(
    run: Run,
    sample: int | None = None,
    *,
    design: str | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> pl.DataFrame:
    """Return the rank of each relevant item of a played run among ``sample`` candidates, drawn once.

    The columns are user_id, item_id, rank (1 to ``sample`` + 1) and pool, the number of candidates drawn from. Every
    system gets the same candidates, which depend on the seed and the ids alone. Candidates are drawn uniformly from all
    items; a ``design`` with one relevant item, such as ``"TI-1R-NN(100, by='mixed')"``, draws in another way.

    >>> import recassay as ra
    >>> from recassay.data.synthetic import log
    >>> fold = ra.split.last(n=1)(log(users=300, items=120, events=6_000, seed=1))[0]
    >>> run = ra.play(ra.models.Popular(), fold, ra.protocols.next_item())
    >>> sampled_ranks(run, 20).columns, sampled_ranks(run, 20).height
    (['user_id', 'item_id', 'rank', 'pool'], 300)
    """
    if not isinstance(run, Run):
        raise wrong_noun(run, "played run")
    if (sample is None) == (design is None):
        raise UsageError("U102", "give either sample= or design=", hint="sampled_ranks(run, 100)")
    parsed = parse(f"AI-1R-NN({sample})" if design is None else design)
    if parsed.relevant != "1R" or parsed.n is None or parsed.bins is not None:
        what = "ranks among drawn candidates need a design with one relevant item and a number of candidates"
        raise UsageError("U122", what, where=str(parsed), hint="such as AI-1R-NN(100)")
    source, standings = source_of(run), run.standings
    assert standings is not None  # a run with a source was played
    ranks = np.empty(standings.item.size, np.int64)
    sampler = replace(DesignSampler.of(standings, source.task, parsed, {}, "error", 1, threads), ranks=ranks)
    draw_all([sampler], source, run.name, seed, threads=threads)
    query = row_groups(standings.offsets)
    return pl.DataFrame(
        {
            USER: standings.queries.gather(query),
            ITEM: source.task.train.item_vocabulary.decode(standings.item),
            RANK: ranks,
            POOL: standings.pool[parsed.base][query].astype(np.int64),
        }
    )


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
    for name, ranks in _sources(source, sample, replace, seed):
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


def _sources(source: Any, sample: int, replace: bool, seed: int) -> Iterator[tuple[str, Any]]:
    """Yield the name and the ranks of every system; a single system without a name is called "run".

    The ranks of played runs are among ``sample`` candidates that are drawn here, with replacement if ``replace``.
    """
    several = list(source.values()) if isinstance(source, Mapping) else source
    several = several if isinstance(several, list | tuple) else [several]
    if several and all(isinstance(one, Run) for one in several):
        design = f"AI-1R-NN({sample}, replace=True)" if replace else f"AI-1R-NN({sample})"
        yield from ((name, sampled_ranks(run, design=design, seed=seed)) for name, run in named(source))
    elif several and not isinstance(source, Mapping) and all(isinstance(one, str | Path) for one in several):
        yield from run_sources(several)
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
    numbers = _numbers(ranks, "ranks", where)
    if not numbers.size:
        raise InputError("I102", "there are no ranks", where=where)
    broken = np.isfinite(numbers) & (numbers != np.floor(numbers))
    wrong = broken | ~((numbers >= 1) & (numbers <= sample + 1))
    if wrong.any():
        hint = f"with {sample:,} sampled candidates the last rank is {sample + 1:,}"
        if broken.any():
            hint = "do not average ranks over ties: give the rank in one random order of the tied items"
        elif (numbers == 0).any() and numbers.max() <= sample:
            hint = "ranks start at 1: add 1 to each"
        raise _wrong_rows(numbers, wrong, "ranks are", f"not among 1, 2, .., {sample + 1}", where, hint)
    return numbers.astype(np.int64)


def _check_pools(pool: Any, cases: int, sample: int, replace: bool, where: str) -> Int64:
    """Return the number of candidates of each of ``cases`` relevant items, given as one number or one per item.

    Raise I332 if a number is missing, not whole, too large, or less than the draws need: ``sample``, or 1 with
    ``replace``.
    """
    if pool is None:
        what = "the number of candidates to sample from is missing"
        hint = "give pool, the number of items without the relevant one and excluded ones, or a column of that name"
        raise InputError("I332", what, where=where, hint=hint)
    numbers = _numbers(pool, "pools", where)
    if numbers.size not in (1, cases):
        what = f"there are {numbers.size:,} pools for {cases:,} cases"
        raise InputError("I332", what, where=where, hint="give one for each case")
    if (numbers > MOST_CANDIDATES).any():
        what = f"a pool of {numbers.max():g} candidates is larger than {MOST_CANDIDATES:,}"
        hint = "pool is the number of all candidates without the relevant one"
        raise InputError("I332", what, where=where, hint=hint)
    wrong = ~(numbers >= (1 if replace else sample)) | (numbers != np.floor(numbers))
    if wrong.any():
        hint = "pool is the number of all candidates without the relevant one, sample the number of those drawn"
        hint += "" if replace else "; use replace=True if a candidate could be drawn twice"
        raise _wrong_rows(numbers, wrong, "pools are", f"too small for {sample:,} draws", where, hint)
    return np.broadcast_to(numbers.astype(np.int64), cases)


def _numbers(values: Any, noun: str, where: str) -> Float:
    try:
        return np.asarray(values, np.float64).ravel()
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError("I202", f"{noun} are not numbers: {error}", where=where) from None


def _wrong_rows(numbers: Float, wrong: Bool, noun: str, why: str, where: str, hint: str) -> InputError:
    """Return the error for numbers that are ``wrong``, with their count and the first; I331 for ranks, else I332."""
    first = int(np.argmax(wrong))
    what = f"{int(wrong.sum()):,} of {numbers.size:,} {noun} {why}, the first {numbers[first]:g} in row {first + 1:,}"
    return InputError("I331" if noun == "ranks are" else "I332", what, where=where, hint=hint)
