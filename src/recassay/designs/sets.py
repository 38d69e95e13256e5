"""Target sets: the candidates that each relevant item is ranked against under a design, from standings.

Standings have, for each relevant item, the numbers of candidates ranked above it and tied with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from recassay.arrays import Bool, Float, Int32, Int64
from recassay.columnar.layout import readonly, row_groups
from recassay.data.standings import SEEN_TOO, Standings
from recassay.designs import _places
from recassay.designs.classes import Classes
from recassay.designs.grammar import Design
from recassay.errors import UsageError
from recassay.naming import choices

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
    group's weight in the mean, and ``bin`` its popularity bin. ``level`` has the masses of the candidates that tie with
    each pair; it is None unless candidates are drawn with replacement.
    """

    owner: Int64
    order: Int64
    offsets: Int64
    above: Float
    tied: Float
    ties: Int32
    pool: Float
    drawn: Int64
    short: int
    weight: Float
    bin: Int64
    level: Classes | None = None

    @property
    def relevant(self) -> Int64:
        """Return the number of relevant items of each group."""
        return np.diff(self.offsets)

    def kernel_arguments(self, *, with_replacement: bool) -> tuple[tuple[Any, ...], Float, Float]:
        """Return (arrays, logs, parts): what the kernels ``joint_moments`` and ``separate_moments`` share.

        ``arrays`` are the values of the kernels' parameters from ``offsets`` to ``mass``, in that order. ``logs[x]`` is
        log(x!) and ``parts[x]`` is 1 / x, for x up to the largest number of candidates or draws.
        """
        # Without masses of the tied candidates the kernels never read them; one class with the total mass fills them.
        classes = Classes.equal(self.tied > 0, self.tied) if self.level is None else self.level
        largest = int(self.drawn.max(initial=0))
        if not with_replacement:
            largest = max(largest, int(self.pool.max(initial=0)))
        largest = max(largest, _places.FEW * int(classes.number.max(initial=0)) + int(self.ties.max(initial=0)) + 1)
        arrays = (
            self.offsets, self.above, self.tied, self.ties, self.pool, self.drawn, classes.offsets, classes.number,
            classes.mass,
        )  # fmt: skip
        return tuple(readonly(np.ascontiguousarray(array)) for array in arrays), *logs_and_parts(largest)


def logs_and_parts(largest: int) -> tuple[Float, Float]:
    """Return (logs, parts): log(x!) and 1 / x for x from 0 to ``largest`` and a few more; 1 / 0 counts as 1."""
    numbers = np.arange(largest + 4.0)
    return readonly(scipy.special.gammaln(numbers + 1)), readonly(1 / np.maximum(numbers, 1))


def target_sets(
    standings: Standings, design: Design, short: Short, whole: Float | None = None, *, simulated: bool = False
) -> TargetSets:
    """Return the target sets of a design: the candidates that each relevant item is ranked in.

    Queries without a relevant item have none. With ``short="all"``, a user with fewer candidates than the design draws
    gets all of them; with ``"error"``, such a user raises U120. In designs with popularity bins, the weights of sets
    need the number of sets in each bin over all users: ``whole`` gives these numbers if the standings are those of a
    chunk of the users. Raise U122 if the standings do not have the counts that the design needs, or if the design has
    no closed form and is not ``simulated`` by draws.
    """
    _check_supported(standings, design, simulated)
    return group_items(standings, design, short, whole)


def group_items(standings: Standings, design: Design, short: Short, whole: Float | None = None) -> TargetSets:
    """Return what :func:`target_sets` does, without a check of the standings (ranks of relevant items)."""
    query = row_groups(standings.offsets)
    order, bins = np.arange(query.size), np.zeros(query.size, np.int64)
    above, tied, pool, number = _counts(standings, design, query)
    if design.bins:
        bins = standings.percentiles[design.bins].bin.astype(np.int64)
        order = np.lexsort((order, bins, query))
    group = np.column_stack([query, bins])[order]
    apart = design.resample == "per_rating"  # every relevant item has sets of its own
    heads = np.flatnonzero(np.append(True, apart | (group[1:] != group[:-1]).any(axis=1))[: order.size])
    offsets = np.append(heads, order.size)
    owner, of_bin = group[heads, 0], group[heads, 1]
    pool, available = pool[order][heads], number[order][heads]
    wanted = available if design.n is None else np.full(heads.size, design.n)
    lacking = (available < wanted) if not design.with_replacement else (pool <= 0)
    if lacking.any() and short == "error":
        raise _short_pool_error(standings, design, owner, available, lacking)
    drawn = np.where(lacking, np.where(pool > 0, available, 0), wanted)
    sizes = np.diff(offsets)
    # 1R: the mean is over sets, so a group is weighted by its number of sets. All bins have equal weight.
    sets = sizes.astype(np.float64) if design.relevant == "1R" else np.ones(heads.size)
    of_one_bin = sets_in_bins(design, of_bin, sizes) if whole is None else whole
    weight = sets / of_one_bin[of_bin] / np.count_nonzero(of_one_bin) if design.bins else sets
    ties = _ties(standings, order, offsets) if design.bins or apart else standings.tie_relevant
    level = None
    if design.with_replacement:
        base = design.base
        masses = standings.mass_tied.get(base), standings.tied_masses.get(base)
        level = Classes.drawn(design.by, standings.tied[base], *masses)
    return TargetSets(
        owner, order, offsets, above[order], tied[order], ties, pool, drawn.astype(np.int64),
        int(sets[lacking].sum()), weight, of_bin, level,
    )  # fmt: skip


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


def _counts(standings: Standings, design: Design, query: Int64) -> tuple[Float, Float, Float, Int64]:
    """Return (above, tied, pool, number) of each relevant item; ``query`` is the query of each.

    They are the candidates ranked above it, tied with it and in all, counted, or their masses added if they are drawn
    by popularity; ``number`` is how many of them can be drawn. If the design has popularity bins, only candidates in
    the item's own bin count.
    """
    if design.bins:
        bins = standings.percentiles[design.bins]
        return bins.above.astype(float), bins.tied.astype(float), bins.pool.astype(float), bins.pool
    base = base_in(standings, design)
    above, tied, pool = standings.above[base], standings.tied[base], standings.pool[base]
    number = candidates(standings, design)[query]
    if design.n is not None and design.by != "uniform":
        above, tied, pool = standings.mass_above[base], standings.mass_tied[base], standings.mass[base]
    return above.astype(float), tied.astype(float), pool[query].astype(float), number


def candidates(standings: Standings, design: Design) -> Int64:
    """Return how many different candidates a design can draw for each query; those without popularity never are."""
    base = base_in(standings, design)
    if design.n is None or design.by == "uniform" or design.with_replacement or base not in standings.pool_masses:
        return standings.pool[base]
    return standings.pool_masses[base][:, 0].astype(np.int64)


def base_in(standings: Standings, design: Design) -> str:
    """Return the base set of the standings that a design takes candidates from.

    A design that takes all candidates ranks among the items that the user has seen too, if the protocol says so.
    """
    seen_too = SEEN_TOO.get(design.base, "")
    return seen_too if design.n is None and seen_too in standings.pool else design.base


def _ties(standings: Standings, order: Int64, offsets: Int64) -> Int32:
    """Return for each (query, relevant item) the number of other relevant items of the same group with the same score.

    ``order`` are the pairs sorted by group (query and bin), and group g is ``order[offsets[g]:offsets[g + 1]]``.
    """
    begin = np.flatnonzero(begins_level(standings.tie_relevant, standings.offsets))
    level = np.searchsorted(begin, order, side="right")  # a run of equal scores is identified by its first pair
    key = row_groups(offsets) * (begin.size + 1) + level
    _, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse] - 1, np.int32)


def begins_level(ties: Int32, offsets: Int64) -> Bool:
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


def _check_supported(standings: Standings, design: Design, simulated: bool) -> None:
    """Raise U122 if the standings (ranks of relevant items) do not have the counts that the design needs."""
    uniform = standings.how.get("name") == "uniform_items"
    have = ", ".join(map(str, standings.percentiles)) or "none"
    problems = (
        (
            bool(design.bins) and design.bins not in standings.percentiles,
            f"the standings have no {design.bins} popularity bins (they have: {have})",
            f"play with ranking(bins={design.bins}); it needs at least {design.bins} items with a test rating",
        ),
        (
            design.uniform_items and not uniform,
            "the test part does not have the same number of ratings for every candidate",
            "split with uniform_items(test=0.2)",
        ),
        (
            design.base == "AI" and uniform,
            "after a split by uniform_items only the candidates can be relevant, so all other items are misses",
            "use test items as candidates: TI instead of AI",
        ),
        (
            design.by != "uniform" and design.n is not None and not standings.mass,
            "the standings have no popularity mass",
            "play the system again",
        ),
        (
            not (design.has_formula or simulated),
            "a sample of which half is drawn uniformly and half by popularity has no closed form"
            if design.by == "mixed"
            else "sampling by popularity without replacement has no closed form in the mass above an item",
            "use method='sample' to draw samples, or by='popularity' with replace=True, which has a closed form",
        ),
    )
    for applies, why, hint in problems:
        if applies:
            raise UsageError("U122", why, where=f"{design}, {standings.name}", hint=hint)


def _short_pool_error(
    standings: Standings, design: Design, owner: Int64, available: Int64, lacking: Bool
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
