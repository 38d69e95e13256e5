"""Target sets: the candidates that each relevant item is ranked against under a design, from standings.

Standings have, for each relevant item, the numbers of candidates ranked above it and tied with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay.arrays import Bool, Float, Int32, Int64
from recassay.columnar.layout import readonly, row_groups, rows_of_groups
from recassay.data.standings import SEEN_TOO, Standings
from recassay.designs import _places
from recassay.designs.grammar import Design
from recassay.errors import UsageError
from recassay.naming import choices

Short = choices.Short


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of candidates with equal mass: row r of the caller's table has the classes ``offsets[r]:offsets[r + 1]``.

    Class c has ``number[c]`` candidates, each of mass ``mass[c]`` (its weight in a random draw).

    >>> Classes.equal(np.array([3, 0, 2]), np.array([6.0, 0.0, 2.0])).number.tolist()
    [3, 2]
    """

    offsets: Int64
    number: Int64
    mass: Float

    @classmethod
    def equal(cls, number: NDArray[Any], mass: Float) -> Classes:
        """Return one class per row: ``number[r]`` candidates that share the total mass ``mass[r]`` equally.

        A row without candidates or mass gets no class.
        """
        present = (np.asarray(number) > 0) & (mass > 0)
        numbers = np.asarray(number)[present].astype(np.int64)
        return cls(np.append(0, np.cumsum(present)).astype(np.int64), numbers, mass[present] / numbers)

    @classmethod
    def of(cls, table: Float) -> Classes:
        """Return, for each row of ``table``, groups ("classes") of candidates that have equal mass.

        A row describes the masses (weights in a draw) of some candidates: their number, then the masses themselves if
        they are few, else the sums of their powers 1 to 4. Few masses are kept as they are. Many are replaced by two
        classes with the same sums of masses and of squares, and nearly the same sums of cubes and fourth powers.
        """
        room = int(np.minimum(table[:, 0], _places.FEW).sum()) if table.size else 0
        offsets, number, mass = np.zeros(len(table) + 1, np.int64), np.zeros(room + 2, np.int64), np.zeros(room + 2)
        _places.fill_classes(readonly(np.ascontiguousarray(table, np.float64)), offsets, number, mass)
        return cls(offsets, number[: offsets[-1]], mass[: offsets[-1]])

    @classmethod
    def drawn(cls, by: str, number: Int64, mass: Int64 | None, table: Float | None) -> Classes:
        """Return, for each row, the classes of ``number`` candidates that are drawn uniformly or by popularity.

        ``by`` says which of both, ``mass`` is the total popularity of the candidates, and ``table`` describes it as
        :meth:`of` takes it. Without a table they are assumed to be equally popular.
        """
        if by == "uniform":
            return cls.equal(number, number.astype(np.float64))
        if table is not None:
            return cls.of(table)
        assert mass is not None, "the standings have popularity masses"
        return cls.equal(number, mass.astype(np.float64))

    @staticmethod
    def draws_of_heaviest(table: Float, pool: Float, drawn: int) -> Float:
        """Return how often the heaviest candidates of each row are drawn, on average, where classes approximate a row.

        ``table`` has the rows that :meth:`of` takes, ``pool`` the mass that each row's candidates are drawn from, and
        ``drawn`` is the number of draws. The mass of the heaviest candidates is taken as the sum of 4th powers over
        that of 3rd powers. The result is 0 where a row is exact: at most seven masses, or equal ones.
        """
        number, first, second, third, fourth = table[:, : 1 + _places.POWERS].T
        approximated = (number > _places.FEW) & (second * number > first**2 * (1 + _places.EQUAL))
        return np.where(approximated, drawn * fourth / np.maximum(third * pool, 1e-300), 0.0)

    def take(self, rows: Int64) -> Classes:
        """Return the classes of ``rows``, in that order."""
        at, offsets = rows_of_groups(self.offsets, rows)
        return Classes(offsets, self.number[at], self.mass[at])

    @property
    def squares(self) -> Float:
        """Return, for each row, the sum of the squared masses (weights in a draw) of its candidates."""
        rows, squares = row_groups(self.offsets), self.number * self.mass**2
        return np.bincount(rows, weights=squares, minlength=self.offsets.size - 1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class TargetSets:
    """The target sets of a design (the candidates that relevant items are ranked in), in groups.

    A group has the relevant items of one query (or of one query and popularity bin, or a single one if each has sampled
    candidates of its own). All relevant items of a group are ranked against the same candidates. A pair is a query and
    one of its relevant items.

    - ``owner``: for each group, its query
    - ``order``, ``offsets``: the pairs of group g are ``order[offsets[g]:offsets[g + 1]]``, best first
    - ``above``, ``tied``: for each pair, the candidates above the item and tied with it: their numbers, or their masses
      if they are drawn by popularity
    - ``ties``: for each pair, the number of other relevant items of the group with the same score
    - ``pool``: for each group, the number or mass of all candidates
    - ``drawn``: for each group, the number of sampled candidates
    - ``short``: the number of target sets with fewer candidates than the design draws
    - ``weight``, ``bin``: for each group, its weight in the mean and its popularity bin
    - ``level``: for each pair, the masses of the candidates that tie with the item; None unless candidates are drawn
      with replacement
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
    """Return the result of :func:`target_sets`, without a check of the standings (ranks of relevant items)."""
    query = row_groups(standings.offsets)
    order, bins = np.arange(query.size), np.zeros(query.size, np.int64)
    above, tied, pool, number = _candidate_counts(standings, design, query)
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
    ties = _other_items_in_tie(standings, order, offsets) if design.bins or apart else standings.tie_relevant
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


def _candidate_counts(standings: Standings, design: Design, query: Int64) -> tuple[Float, Float, Float, Int64]:
    """Return (above, tied, pool, number) for each relevant item; ``query`` has the query of each.

    The first three are the numbers of candidates ranked above it, tied with it, and in all, or their total masses if
    they are drawn by popularity. ``number`` is how many candidates can be drawn. If the design has popularity bins,
    only candidates in the item's own bin count.
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
    """Return, for each query, how many different candidates the design can draw.

    If it draws by popularity, candidates of popularity 0 do not count.
    """
    base = base_in(standings, design)
    if design.n is None or design.by == "uniform" or design.with_replacement or base not in standings.pool_masses:
        return standings.pool[base]
    return standings.pool_masses[base][:, 0].astype(np.int64)


def base_in(standings: Standings, design: Design) -> str:
    """Return the key in the standings of the counts for a design: the set of items that it takes candidates from.

    For a design that takes all candidates, the set includes the items that the user has seen, if the protocol says so.
    """
    seen_too = SEEN_TOO.get(design.base, "")
    return seen_too if design.n is None and seen_too in standings.pool else design.base


def _other_items_in_tie(standings: Standings, order: Int64, offsets: Int64) -> Int32:
    """Return, for each relevant item of a query, how many others of its group have the same score.

    ``order`` are the pairs sorted by group (query and bin), and group g is ``order[offsets[g]:offsets[g + 1]]``.
    """
    begin = np.flatnonzero(begins_level(standings.tie_relevant, standings.offsets))
    level = np.searchsorted(begin, order, side="right")  # a run of equal scores is identified by its first pair
    key = row_groups(offsets) * (begin.size + 1) + level
    _, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse] - 1, np.int32)


def begins_level(ties: Int32, offsets: Int64) -> Bool:
    """Return, for each relevant item, whether it is the first of its query with its score.

    ``offsets[q]:offsets[q + 1]`` are the items of query q, best first, and ``ties`` counts the other relevant items of
    the query with the same score.

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
