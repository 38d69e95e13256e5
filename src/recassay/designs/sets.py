"""Target sets: the candidates that each relevant item is ranked against under a design, from standings.

Standings have, for each relevant item, the numbers of candidates ranked above it and tied with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import row_groups
from recassay.data.standings import SEEN_TOO, Standings
from recassay.designs.classes import Classes
from recassay.designs.grammar import Design
from recassay.errors import UsageError
from recassay.naming import choices

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

Short = choices.Short


@dataclass(frozen=True, eq=False)
class TargetSets:
    """The target sets of a design (the candidates that relevant items are ranked in), in groups.

    A group has the relevant items of one query (or of one query and popularity bin, or a single one if each has sampled
    candidates of its own). All relevant items of a group are ranked against the same candidates.

    The pairs (query, relevant item) of group g are ``order[offsets[g]:offsets[g + 1]]``, best first, and ``owner[g]``
    is its query. ``above`` and ``tied`` (per pair) are the candidates above the item and tied with it, and ``pool``
    (per group) all candidates: their numbers, or their masses if they are drawn by popularity. ``ties`` is the number
    of other relevant items of the group with the same score. ``drawn`` is the number of sampled candidates of each
    group, and ``short`` the number of target sets with fewer candidates than the design draws. ``weight`` is the
    group's weight in the mean, and ``bin`` its popularity bin. For draws with replacement, ``level`` has the masses of
    the candidates that tie with each pair, and ``whole`` the masses of all candidates of each group; both are None for
    other designs.
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
        """Return the number of relevant items of each group."""
        return np.diff(self.offsets)


def target_sets(standings: Standings, design: Design, short: Short, whole: Float | None = None) -> TargetSets:
    """Return the target sets of a design: the candidates that each relevant item is ranked in.

    Queries without a relevant item have none. With ``short="all"``, a user with fewer candidates than the design draws
    gets all of them; with ``"error"``, such a user raises U120. In designs with popularity bins, the weights of sets
    need the number of sets in each bin over all users: ``whole`` gives these numbers if the standings are those of a
    chunk of the users.
    """
    _check_supported(standings, design)
    query = row_groups(standings.offsets)
    order = np.arange(query.size)
    counts = _counts(standings, design)
    bins = standings.percentiles[design.bins].bin.astype(np.int64) if design.bins else np.zeros(query.size, np.int64)
    if design.bins:
        order = np.lexsort((order, bins, query))
    group = np.column_stack([query, bins])[order]
    apart = design.resample == "per_rating"  # every relevant item has sets of its own
    heads = np.flatnonzero(np.append(True, apart | (group[1:] != group[:-1]).any(axis=1))[: order.size])
    offsets = np.append(heads, order.size)
    owner, of_bin = group[heads, 0], group[heads, 1]
    above, tied, pool = counts.above[order], counts.tied[order], counts.pool[order][heads]
    available = counts.number[order][heads]
    wanted = available if design.n is None else np.full(heads.size, design.n)
    lacking = (available < wanted) if not design.with_replacement else (pool <= 0)
    if lacking.any() and short == "error":
        raise short_pool_error(standings, design, owner, available, lacking)
    drawn = np.where(lacking, np.where(pool > 0, available, 0), wanted)
    sizes = np.diff(offsets)
    # 1R: the mean is over sets, so a group is weighted by its number of sets. All bins have equal weight.
    sets = sizes.astype(np.float64) if design.relevant == "1R" else np.ones(heads.size)
    of_one_bin = sets_in_bins(design, of_bin, sizes) if whole is None else whole
    weight = sets / of_one_bin[of_bin] / np.count_nonzero(of_one_bin) if design.bins else sets
    missing = int((sets[lacking]).sum())
    ties = _ties(standings, order, offsets) if design.bins or apart else standings.tie_relevant
    level, whole_pool = _classes(standings, design, owner)
    return TargetSets(
        owner, order, offsets, above, tied, ties, pool, drawn.astype(np.int64), missing, weight, of_bin, level,
        whole_pool,
    )  # fmt: skip


def _classes(standings: Standings, design: Design, owner: Int64) -> tuple[Classes | None, Classes | None]:
    """Return the masses of the candidates tied with each relevant item, and of all candidates of each group.

    A mass is a candidate's weight in a draw; candidates of equal mass form a class. The first result has an entry per
    pair (query, relevant item), the second one per group of such pairs; ``owner[g]`` is the query of group g. Both are
    None unless candidates are drawn with replacement. If the standings have no masses of single candidates, all tied
    candidates are assumed to have equal mass.
    """
    if not design.with_replacement:
        return None, None
    base = design.base
    tied, pool = standings.tied[base], standings.pool[base]
    if design.by == "uniform":
        return Classes.equal(tied, tied.astype(float)), Classes.equal(pool[owner], pool[owner].astype(float))
    if base in standings.tied_masses:
        return Classes.of(standings.tied_masses[base]), Classes.of(standings.pool_masses[base][owner])
    masses = standings.mass_tied[base].astype(float), standings.mass[base][owner].astype(float)
    return Classes.equal(tied, masses[0]), Classes.equal(pool[owner], masses[1])


def sets_in_bins(design: Design, of_bin: Int64, sizes: Int64) -> Float:
    """Return the number of target sets in each popularity bin (a single number 1 if the design has no bins).

    A target set holds the candidates that relevant items are ranked in: all of a group, or one each. ``of_bin`` is the
    bin of each group and ``sizes`` its number of relevant items. The results for chunks of users add up to the result
    for all users.
    """
    if not design.bins:
        return np.ones(1)
    sets = sizes if design.relevant == "1R" else np.ones_like(sizes)
    return np.bincount(of_bin, weights=sets, minlength=design.bins).astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Counts:
    """Numbers (or masses) of the candidates ranked above each relevant item, tied with it and in total (``pool``).

    ``number`` is how many candidates can be drawn to rank the item against.
    """

    above: Float
    tied: Float
    pool: Float
    number: Int64


def _counts(standings: Standings, design: Design) -> _Counts:
    """Return the candidates above each relevant item, tied with it and in total.

    There is an entry per pair (query, relevant item). The candidates are counted, or their masses added if they are
    drawn by popularity. If the design has popularity bins, only candidates in the item's own bin count.
    """
    query = row_groups(standings.offsets)
    if design.bins:
        bins = standings.percentiles[design.bins]
        return _Counts(bins.above.astype(float), bins.tied.astype(float), bins.pool.astype(float), bins.pool)
    base = base_in(standings, design)
    number = standings.pool[base][query]
    if design.n is not None and design.by == "popularity":
        masses = (standings.mass_above, standings.mass_tied)
        above, tied = (mass[design.base].astype(np.float64) for mass in masses)
        return _Counts(above, tied, standings.mass[design.base][query].astype(np.float64), number)
    above, tied = (counts[base].astype(np.float64) for counts in (standings.above, standings.tied))
    return _Counts(above, tied, number.astype(np.float64), number)


def base_in(standings: Standings, design: Design) -> str:
    """Return the base set of the standings that a design takes candidates from.

    A design that takes all candidates ranks among the items that the user has seen too, if the protocol says so.
    """
    seen_too = SEEN_TOO.get(design.base, "")
    return seen_too if design.n is None and seen_too in standings.pool else design.base


def _ties(standings: Standings, order: Int64, offsets: Int64) -> NDArray[np.int32]:
    """Return for each (query, relevant item) the number of other relevant items of the same group with the same score.

    ``order`` are the pairs sorted by group (query and bin), and group g is ``order[offsets[g]:offsets[g + 1]]``.
    """
    begin = np.flatnonzero(begins_level(standings.tie_relevant, standings.offsets))
    level = np.searchsorted(begin, order, side="right")  # a run of equal scores is identified by its first pair
    key = row_groups(offsets) * (begin.size + 1) + level
    _, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
    ties: NDArray[np.int32] = (counts[inverse] - 1).astype(np.int32)
    return ties


def begins_level(ties: NDArray[np.int32], offsets: Int64) -> NDArray[np.bool_]:
    """Return whether each relevant item is the first of its query with its score; the items of a query are best first.

    ``offsets[q]:offsets[q + 1]`` are the items of query q, and ``ties`` counts the other relevant items of the query
    with the same score.

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


def _check_supported(standings: Standings, design: Design) -> None:
    """Raise U122 if the standings (ranks of relevant items) do not have the counts that the design needs."""
    why = hint = ""
    if design.bins and design.bins not in standings.percentiles:
        have = ", ".join(map(str, standings.percentiles)) or "none"
        why = f"the standings have no {design.bins} popularity bins (they have: {have})"
        hint = f"play with ranking(bins={design.bins}); it needs at least {design.bins} items with a test rating"
    elif design.uniform_items and standings.how.get("name") != "uniform_items":
        why = "the test part does not have the same number of ratings for every candidate"
        hint = "split with uniform_items(test=0.2)"
    elif design.base == "AI" and standings.how.get("name") == "uniform_items":
        why = "after a split by uniform_items only the candidates can be relevant, so all other items are misses"
        hint = "use test items as candidates: TI instead of AI"
    elif design.by != "uniform" and design.n is not None and not standings.mass:
        why, hint = "the standings have no popularity mass", "play the system again"
    elif design.by == "mixed":
        why = "a sample of which half is drawn uniformly and half by popularity has no closed form"
        hint = "use method='sample' to draw samples"
    elif design.by == "popularity" and not design.with_replacement:
        why = "sampling by popularity without replacement has no closed form in the mass above an item"
        hint = "use method='sample' to draw samples, or replace=True, which has a closed form"
    if why:
        raise UsageError("U122", why, where=f"{design}, {standings.name}", hint=hint)


def short_pool_error(
    standings: Standings, design: Design, owner: Int64, available: Int64, lacking: NDArray[np.bool_]
) -> UsageError:
    """Return the error U120: some queries have fewer candidates than the design draws.

    ``lacking`` has an entry per group of relevant items: true if it has too few candidates. ``owner`` is the query of
    each group, and ``available`` its number of candidates.
    """
    first = int(np.argmax(lacking))
    user, users = standings.queries[int(owner[first])], int(np.unique(owner[lacking]).size)
    return UsageError(
        "U120",
        f"{users:,} users have fewer than {design.n} non-relevant candidates, the first is {user!r} with "
        f"{int(available[first]):,}",
        where=f"{design}, {standings.name}",
        hint=f"draw at most {int(available.min()):,}, or use short='all' to take all candidates of such users and "
        "count them",
    )
