"""From standings to target sets: who meets whom under a design, and how many are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recassay.data.layout import stretch_of
from recassay.data.standings import Standings
from recassay.designs.classes import Classes
from recassay.designs.grammar import Design
from recassay.errors import UsageError

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

Short = Literal["error", "all"]


@dataclass(frozen=True, eq=False)
class Sets:
    """Groups of pairs that share their candidates: a user's, or a user's within one popularity bin.

    The pairs of group g are ``order[offsets[g]:offsets[g + 1]]``, best first; ``owner`` is its query. ``above``,
    ``tied`` (per pair of ``order``) and ``pool`` (per group) are numbers of candidates, or their mass where they are
    drawn by it. ``drawn`` candidates are sampled. ``weight`` is the group's weight in the mean, and ``bin`` its bin.
    Where candidates are drawn with replacement, ``level`` says what those weigh that tie with each pair, and ``whole``
    what all candidates of each group weigh.
    """

    owner: Int64
    order: Int64
    offsets: Int64
    above: Float
    tied: Float
    ties: NDArray[np.int32]
    pool: Float
    drawn: Int64
    short: int
    weight: Float
    bin: Int64
    level: Classes | None = None
    whole: Classes | None = None

    @property
    def relevant(self) -> Int64:
        """Relevant items of each group."""
        return np.diff(self.offsets)


def sets_of(standings: Standings, design: Design, short: Short, whole: Float | None = None) -> Sets:
    """The target sets of a design; groups without a relevant item have no set.

    ``whole`` counts the sets in each bin where the standings are only those of some users.
    """
    _refuse(standings, design)
    query = stretch_of(standings.offsets)
    order = np.arange(query.size)
    counts = _counts(standings, design)
    bins = standings.percentiles[design.bins].bin.astype(np.int64) if design.bins else np.zeros(query.size, np.int64)
    if design.bins:
        order = np.lexsort((order, bins, query))
    group = np.column_stack([query, bins])[order]
    heads = np.flatnonzero(np.append(True, (group[1:] != group[:-1]).any(axis=1))[: order.size])
    offsets = np.append(heads, order.size)
    owner, of_bin = group[heads, 0], group[heads, 1]
    above, tied, pool = counts.above[order], counts.tied[order], counts.pool[order][heads]
    available = counts.number[order][heads]
    wanted = available if design.n is None else np.full(heads.size, design.n)
    lacking = (available < wanted) if not design.with_replacement else (pool <= 0)
    if lacking.any() and short == "error":
        raise too_short(standings, design, owner, available, lacking)
    drawn = np.where(lacking, np.where(pool > 0, available, 0), wanted)
    sizes = np.diff(offsets)
    # One relevant item: the mean is over sets, so a group counts by its number of sets. Bins count alike.
    sets = sizes.astype(np.float64) if design.relevant == "1R" else np.ones(heads.size)
    of_one_bin = sets_in_bins(design, of_bin, sizes) if whole is None else whole
    weight = sets / of_one_bin[of_bin] / np.count_nonzero(of_one_bin) if design.bins else sets
    missing = int((sets[lacking]).sum())
    ties = _ties(standings, order, offsets) if design.bins else standings.tie_relevant
    level, whole_pool = _classes(standings, design, owner)
    return Sets(
        owner, order, offsets, above, tied, ties, pool, drawn.astype(np.int64), missing, weight, of_bin, level,
        whole_pool,
    )  # fmt: skip


def _classes(standings: Standings, design: Design, owner: Int64) -> tuple[Classes | None, Classes | None]:
    """What tied candidates weigh, and what all weigh, where they are drawn with replacement (never within bins).

    Standings that do not say what each tied candidate weighs are taken to have candidates of equal mass.
    """
    if not design.with_replacement:
        return None, None
    base = design.base
    tied, pool = standings.tied[base], standings.pool[base]
    if design.by == "uniform":
        return Classes.alike(tied, tied.astype(float)), Classes.alike(pool[owner], pool[owner].astype(float))
    if base in standings.tied_masses:
        return Classes.of(standings.tied_masses[base]), Classes.of(standings.pool_masses[base][owner])
    masses = standings.mass_tied[base].astype(float), standings.mass[base][owner].astype(float)
    return Classes.alike(tied, masses[0]), Classes.alike(pool[owner], masses[1])


def sets_in_bins(design: Design, of_bin: Int64, sizes: Int64) -> Float:
    """The number of target sets in each bin, from the bins and the sizes of groups; of users parted, they add up."""
    if not design.bins:
        return np.ones(1)
    sets = sizes if design.relevant == "1R" else np.ones_like(sizes)
    return np.bincount(of_bin, weights=sets, minlength=design.bins).astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Counts:
    """Candidates above and level with each pair, and in all; ``number`` of them can be drawn."""

    above: Float
    tied: Float
    pool: Float
    number: Int64


def _counts(standings: Standings, design: Design) -> _Counts:
    query = stretch_of(standings.offsets)
    if design.bins:
        one = standings.percentiles[design.bins]
        return _Counts(one.above.astype(float), one.tied.astype(float), one.pool.astype(float), one.pool)
    number = standings.pool[design.base][query]
    if design.n is not None and design.by == "popularity":
        masses = (standings.mass_above, standings.mass_tied)
        above, tied = (mass[design.base].astype(np.float64) for mass in masses)
        return _Counts(above, tied, standings.mass[design.base][query].astype(np.float64), number)
    above, tied = (counts[design.base].astype(np.float64) for counts in (standings.above, standings.tied))
    return _Counts(above, tied, number.astype(np.float64), number)


def _ties(standings: Standings, order: Int64, offsets: Int64) -> NDArray[np.int32]:
    """Other relevant items of the same group with the same score: within a bin fewer than within a query."""
    begin = np.flatnonzero(begins_level(standings.tie_relevant, standings.offsets))
    level = np.searchsorted(begin, order, side="right")  # a stretch of equal scores is known by where it begins
    key = stretch_of(offsets) * (begin.size + 1) + level
    _, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
    ties: NDArray[np.int32] = (counts[inverse] - 1).astype(np.int32)
    return ties


def begins_level(ties: NDArray[np.int32], offsets: Int64) -> NDArray[np.bool_]:
    """Whether a pair is the first of those with its score.

    >>> begins_level(np.array([1, 1, 0, 0], np.int32), np.array([0, 3, 4])).tolist()
    [True, False, True, True]
    """
    begins = np.zeros(ties.size, np.bool_)
    at, ends = offsets[:-1][np.diff(offsets) > 0], offsets[1:][np.diff(offsets) > 0]
    while at.size:
        begins[at] = True
        at = at + ties[at] + 1
        inside = at < ends
        at, ends = at[inside], ends[inside]
    return begins


def _refuse(standings: Standings, design: Design) -> None:
    """Raise U119 where the standings cannot be judged in this way."""
    why = hint = ""
    if design.bins and design.bins not in standings.percentiles:
        have = ", ".join(map(str, standings.percentiles)) or "none"
        why = f"there are no standings within {design.bins} popularity bins (there are: {have})"
        hint = f"play with ranking(bins={design.bins}), and have at least {design.bins} items with a test rating"
    elif design.uniform_items and standings.how.get("name") != "uniform_items":
        why = "the test part was not drawn with the same number of ratings for every candidate"
        hint = "split with uniform_items(test=0.2)"
    elif design.base == "AI" and standings.how.get("name") == "uniform_items":
        why = "after uniform_items only the candidates can be relevant, so other items are sure misses"
        hint = "take test items as candidates: TI in place of AI"
    elif design.by == "popularity" and design.n is not None and not standings.mass:
        why, hint = "the standings hold no popularity mass", "play the system again"
    elif design.by == "popularity" and not design.with_replacement:
        why = "sampling by popularity without replacement has no closed form in the mass above an item"
        hint = "method='sample' draws it; replace=True has a closed form"
    if why:
        raise UsageError("U119", why, where=f"{design}, {standings.name}", hint=hint)


def too_short(
    standings: Standings, design: Design, owner: Int64, available: Int64, lacking: NDArray[np.bool_]
) -> UsageError:
    """The error for users with fewer candidates than a design draws."""
    first = int(np.argmax(lacking))
    user, users = standings.queries[int(owner[first])], int(np.unique(owner[lacking]).size)
    return UsageError(
        "U120",
        f"{users:,} users have fewer than {design.n} non-relevant candidates, the first is {user!r} with "
        f"{int(available[first]):,}",
        where=f"{design}, {standings.name}",
        hint=f"at most {int(available.min()):,} can be drawn for everybody; short='all' takes all there are and counts "
        "such users",
    )
