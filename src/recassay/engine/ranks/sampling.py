"""Evaluation on sampled target sets, as in papers: the same candidates for every system, ranked by its own scores.

Hashes of (seed, draw, user id, item id) decide which items are drawn. So the draw does not depend on the system, the
order of rows or the other users. The sets of a smaller design are subsets of those of a larger one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.arrays import Bool, Float, Int32, Int64
from recassay.columnar._hashes import mix as mix_key
from recassay.columnar._hashes import unit
from recassay.columnar.identity import SECOND, id_keys, mix
from recassay.data.run import Run
from recassay.data.standings import RATED, Standings
from recassay.designs.expect import DesignResult, Users, pool_moments
from recassay.designs.grammar import Design
from recassay.designs.moments import CreditMoments, random_and_best, sampled_values
from recassay.designs.random_order import RandomOrders
from recassay.designs.sets import Short, TargetSets, target_sets
from recassay.engine.ranks.blocks import BLOCK_ROWS
from recassay.engine.ranks.play import RunSource
from recassay.engine.ranks.standings import block_scorer, score_queries
from recassay.engine.ranks.task import RankingTask
from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.credit import Credit, JudgedFormula, PairFormula, formula_of
from recassay.models.base.capabilities import gives_scores
from recassay.rng import derive_seed
from recassay.threads import Progress, each_block, one_library_thread

Keys = NDArray[np.uint64]

UNIFORM, MASS, REPLACED = 0, 1, 2  # schemes: uniform, weighted without replacement, weighted with replacement
MIXED = 3  # scheme: half uniform, half weighted, all different
SECOND_HALF = np.uint64(0x9FB21C651E98DF25)  # makes the second half of a mixed draw independent of the first
TIES = np.uint64(0x5851F42D4C957F2D)  # makes the order of ties independent of the draw
SCHEMES = {"uniform": UNIFORM, "popularity": MASS, "mixed": MIXED, "repeated": REPLACED}


class SampledScores(NamedTuple):
    """The results of one system under one design, as means over draws, and a checksum of the drawn items.

    The checksum is equal for all systems.
    """

    judged: DesignResult
    checksum: str


def sample(
    run: Run,
    designs: Iterable[Design],
    metrics: Mapping[str, Metric],
    *,
    draws: int = 20,
    seed: int = 0,
    users: Users = "all",
    short: Short = "error",
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[SampledScores]:
    """Return the scores of a played run on randomly drawn target sets, for each design, from one pass over its scores.

    A target set holds the relevant items and the candidates drawn to rank them against. Values are means over
    ``draws``. Each draw also orders tied items at random. The variance is that of the result of a single draw. With
    ``users="all"`` a user without a relevant item counts 0 where all relevant items of a user share a target set, with
    ``short="all"`` a user with too few candidates gets all of them.

    >>> import recassay as ra
    >>> from recassay.data.synthetic import log
    >>> from recassay.metrics.registry import parse_metrics
    >>> fold = ra.split.random(test=0.2, seed=7)(log(users=200, items=80, events=4_000, seed=1))[0]
    >>> run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking())
    >>> (drawn,) = sample(run, ra.designs.parse_list("TI-1R-NN(20)"), parse_metrics("precision@5"))
    >>> drawn.checksum, round(drawn.judged.outcomes["precision@5"].mean, 3)
    ('f5d4c97261fdbebd', 0.079)
    """
    if draws < 1:
        raise UsageError("U102", f"draws must be at least 1, got {draws}", hint="such as draws=20")
    source = source_of(run)
    assert run.standings is not None  # a run with a source was played
    samplers = [
        DesignSampler.of(run.standings, source.task, design, metrics, short, draws, threads) for design in designs
    ]
    sums = draw_all(samplers, source, run.name, seed, threads=threads, progress=progress)
    return [
        SampledScores(sampler.result(users), f"{total:016x}") for sampler, total in zip(samplers, sums, strict=True)
    ]


def draw_all(
    samplers: Sequence[DesignSampler], source: RunSource, name: str, seed: int, *, threads: int | None,
    progress: Progress | None = None,
) -> list[int]:  # fmt: skip
    """Draw the candidates of all designs in one pass over the scores of a system, and give each sampler its own.

    ``source`` computes the scores of the run called ``name``. The samplers store mean and variance of their metrics.
    Return a checksum of the drawn items for each of ``samplers``.
    """
    task = source.task
    hashes = _DrawHashes.of(task, seed, max((sampler.draws for sampler in samplers), default=0))
    scorer = block_scorer(task, source.fitted, name)

    def work(begin: int, end: int) -> list[np.uint64]:
        scores = score_queries(scorer, task, begin, end)
        return [sampler.draw(scores, begin, end, hashes) for sampler in samplers]

    with one_library_thread():
        checks = each_block(work, task.users.size, size=BLOCK_ROWS, threads=threads, progress=progress)
    return [sum(int(check[number]) for check in checks) % 2**64 for number in range(len(samplers))]


def source_of(run: Run) -> RunSource:
    """Return the fitted system and the task of a run; raise U122 if the system gives no scores."""
    source = run.source
    if not (isinstance(source, RunSource) and gives_scores(source.fitted)):
        raise UsageError(
            "U122",
            f"'{run.name}' has no fitted system with scores, which sampling candidates needs",
            where=run.origin,
            hint="give a run played by a system with scores, or choose method='exact' for lists and standings",
        )
    return source


@dataclass(frozen=True, eq=False)
class _DrawHashes:
    """Hashes that decide the draws.

    ``items`` has the hash of each item code, and ``users[q, d]`` is a hash of the seed, draw d and the user of query q.
    """

    items: Keys
    users: Keys

    @classmethod
    def of(cls, task: RankingTask, seed: int, draws: int) -> _DrawHashes:
        of_draw = np.array([derive_seed(seed, "candidates", d) % 2**64 for d in range(draws)], np.uint64)
        items = task.train.item_vocabulary.decode(np.arange(task.item.size, dtype=np.int32))
        users = mix(id_keys(task.queries))
        return cls(mix(id_keys(items) ^ SECOND), mix(users[:, None] ^ of_draw))


@dataclass(frozen=True, eq=False)
class DesignSampler:
    """The evaluation of one design by sampling: its target sets (``groups``), and ``moments`` filled block by block.

    A target set holds relevant items and the candidates drawn to rank them against. ``moments`` holds, per metric, the
    mean and the variance over draws of each target set.
    """

    standings: Standings
    task: RankingTask
    design: Design
    metrics: Mapping[str, Metric]
    groups: TargetSets
    moments: Mapping[str, CreditMoments]
    inside: Bool  # whether each item is in the base set
    bin: Int32  # of each item
    weight: Float  # of each item: its popularity if any draw is by popularity, else 1
    draws: int
    ranks: Int64 | None = None  # of the relevant items, if they are asked for

    @classmethod
    def of(
        cls, standings: Standings, task: RankingTask, design: Design, metrics: Mapping[str, Metric], short: Short,
        draws: int, threads: int | None,
    ) -> Self:  # fmt: skip
        """Return the sampler of a design for ``draws`` draws, whose means and variances are still empty (NaN).

        ``standings`` are the ranks of relevant items, and ``task`` has the items that can be drawn. ``short`` says
        whether a user with too few candidates is an error or gets all of them. Raise U110 for a metric that is not
        computed from sampled candidates.
        """
        groups = target_sets(standings, design, short, simulated=True)
        formulas = {name: formula_of(metric) for name, metric in metrics.items()}
        for name, formula in formulas.items():
            if isinstance(formula, JudgedFormula):
                raise UsageError(
                    "U110",
                    f"{metrics[name]} counts judged items wherever they are ranked, so it needs no target set",
                    where=str(design),
                    hint="method='exact' computes it",
                )
        credits = {name: formula for name, formula in formulas.items() if isinstance(formula, Credit)}
        known = random_and_best(standings, design, groups, credits, threads, RandomOrders())
        n = groups.owner.size
        of_pairs = np.full(n, 0.5), np.ones(n)
        empty = {  # draws fill mean and variance
            name: CreditMoments(np.full(n, np.nan), np.full(n, np.nan), *known.get(name, of_pairs)) for name in metrics
        }
        by_popularity = design.by != "uniform" and design.n is not None
        return cls(
            standings, task, design, metrics, groups, empty,
            inside=task.inside(task.bases[0] if design.base == RATED else design.base)[task.place],
            bin=task.bin_of_items(design.bins) if design.bins else np.zeros(task.item.size, np.int32),
            weight=standings.popularity.astype(np.float64) if by_popularity else np.ones(task.item.size),
            draws=draws,
        )  # fmt: skip

    def draw(self, table: NDArray[np.floating], begin: int, end: int, hashes: _DrawHashes) -> np.uint64:
        """Draw candidates for the queries from ``begin`` up to ``end``, and store mean and variance of their metrics.

        ``table`` has a row of scores for each of these queries, and ``hashes`` decide the draws. Return a checksum of
        the drawn items.
        """
        groups, design, check = self.groups, self.design, np.uint64(0)
        scheme = SCHEMES["repeated" if design.with_replacement else "uniform" if design.n is None else design.by]
        low, high = np.searchsorted(groups.owner, [begin, end])
        first, last = groups.offsets[low], groups.offsets[high]
        above, place = (np.zeros((self.draws, last - first), np.int32) for _ in range(2))
        for group in range(low, high):
            at = slice(groups.offsets[group], groups.offsets[group + 1])
            own = slice(at.start - first, at.stop - first)
            query, items = int(groups.owner[group]), self.standings.item[groups.order[at]]
            line, codes = table[query - begin], self.candidates(query, int(groups.bin[group]))
            found = [np.empty((self.draws, items.size), np.int32) for _ in range(2)]
            seeds = hashes.users[query]  # a hash per draw
            seeds = mix(seeds ^ hashes.items[items[0]]) if design.resample == "per_rating" else seeds
            drawn = draw(
                line[self.task.place[codes]].astype(np.float64), hashes.items[codes], self.weight[codes],
                int(groups.drawn[group]), scheme, seeds,
                line[self.task.place[items]].astype(np.float64), hashes.items[items], *found,
            )  # fmt: skip
            above[:, own], place[:, own] = found
            check = np.uint64((int(check) + int(drawn)) % 2**64)
        if low < high:
            self.store(int(low), int(high), above.astype(np.int64), place.astype(np.int64))
        return check

    def candidates(self, query: int, of_bin: int) -> Int64:
        """Return the codes, ascending, of items that may be drawn for a query; with bins, only those in ``of_bin``."""
        task = self.task
        if self.design.base == RATED:
            return np.sort(task.item[task.rated.of(query)]).astype(np.int64)
        free = self.inside.copy()
        for excluded in (task.seen, task.relevant):
            free[task.item[excluded.of(query)]] = False
        codes = np.flatnonzero(free)
        return codes[self.bin[codes] == of_bin] if self.design.bins else codes

    def store(self, low: int, high: int, above: Int64, place: Int64) -> None:
        """Store the mean and variance over draws of every metric, for the target sets from ``low`` up to ``high``.

        A target set holds relevant items and the candidates drawn to rank them against. Both tables have a row per draw
        and a column per relevant item: ``above`` is the number of drawn candidates above the item, and ``place`` the
        number of relevant items above it.
        """
        groups = self.groups
        offsets = groups.offsets[low : high + 1]
        pairs = groups.order[offsets[0] : offsets[-1]]
        starts, relevant = offsets[:-1] - offsets[0], np.diff(offsets)
        separate = self.design.relevant == "1R"
        if self.ranks is not None:
            self.ranks[pairs] = above[0] + 1
        for name, metric in self.metrics.items():
            formula = formula_of(metric)
            if isinstance(formula, PairFormula):
                with np.errstate(invalid="ignore"):
                    value = formula.share(np.add.reduceat(above, starts, axis=1), relevant * groups.drawn[low:high])
            else:
                assert isinstance(formula, Credit)
                item = self.standings.item[pairs]
                ranks = above + 1 if separate else above + place + 1
                value = sampled_values(
                    formula, ranks, np.zeros_like(place) if separate else place, starts, relevant, separate,
                    self.standings.popularity[item],
                )  # fmt: skip
            moments = self.moments[name]
            moments.mean[low:high] = value.mean(axis=0)
            if self.draws > 1:
                moments.variance[low:high] = value.var(axis=0, ddof=1)

    def result(self, users: Users) -> DesignResult:
        """Return the results of the design: values per query, and their means, from the target sets stored so far.

        Queries without a stored target set have the value NaN and are not in the means. With ``users="all"``, users
        without a relevant item count 0 in the means of designs in which all relevant items of a user are ranked
        together; in other designs, and with any other ``users``, they are left out.
        """
        return pool_moments(self.standings, self.design, self.groups, self.moments, users, self.draws > 1)


@njit(nogil=True, cache=True)
def draw(
    scores: Float, keys: Keys, weight: Float, drawn: int, scheme: int, seeds: Keys, levels: Float, level_keys: Keys,
    above: Int32, place: Int32,
) -> np.uint64:  # fmt: skip
    """Count the items above each relevant item of one target set in every draw; return a checksum of the drawn items.

    A target set holds relevant items and the candidates drawn to rank them against. Candidates have ``scores``,
    ``keys`` (hashes of their ids) and weights ``weight``; relevant items have the scores ``levels`` and the hashes
    ``level_keys``. Each draw takes ``drawn`` candidates by the ``scheme`` UNIFORM, MASS, REPLACED or MIXED.
    ``seeds[d]`` is a hash of seed, draw d and user. The outputs are ``above[d, r]``, the number of drawn candidates
    above relevant item r (an item drawn twice counts twice), and ``place[d, r]``, the number of relevant items above
    it. Equal scores are ordered by a hash that each item gets once per draw.
    """
    check = np.uint64(0)
    chosen, tie = np.empty(drawn, np.int64), np.empty(levels.size, np.uint64)
    reach = np.cumsum(weight)
    for d in range(seeds.size):
        if scheme == REPLACED:
            pick_with_replacement(reach, seeds[d], chosen)
        elif scheme == MIXED:
            pick_mixed(keys, weight, seeds[d], chosen)
        else:
            pick_smallest(keys, weight, scheme, seeds[d], chosen)
        for r in range(levels.size):
            tie[r] = mix_key(mix_key(seeds[d] ^ level_keys[r] ^ TIES))
            above[d, r], place[d, r] = 0, 0
        for j in range(drawn):
            c = chosen[j]
            check += mix_key(seeds[d] ^ keys[c])
            own = mix_key(mix_key(seeds[d] ^ keys[c] ^ TIES))  # all copies of an item tie alike
            for r in range(levels.size):
                above[d, r] += scores[c] > levels[r] or (scores[c] == levels[r] and own > tie[r])
        for r in range(levels.size):
            for other in range(levels.size):
                place[d, r] += levels[other] > levels[r] or (levels[other] == levels[r] and tie[other] > tie[r])
    return check


@njit(nogil=True, cache=True)
def pick_smallest(keys: Keys, weight: Float, scheme: int, seed: np.uint64, chosen: Int64) -> None:
    """Write to ``chosen`` the positions of the candidates with the smallest random numbers, without replacement.

    Each candidate's number depends on its hash in ``keys``, the ``seed`` and, for the ``scheme`` MASS, its ``weight``
    (Efraimidis and Spirakis 2006). So a smaller sample is part of a larger one.
    """
    if chosen.size == 0:
        return
    number = np.empty(keys.size)
    for c in range(keys.size):
        number[c] = unit(mix_key(seed ^ keys[c]))
        if scheme == MASS:
            number[c] = -math.log(number[c]) / weight[c] if weight[c] > 0 else np.inf
    last = np.inf if chosen.size == keys.size else np.partition(number, chosen.size - 1)[chosen.size - 1]
    filled = 0
    for c in range(keys.size):
        if number[c] <= last and filled < chosen.size:
            chosen[filled] = c
            filled += 1


@njit(nogil=True, cache=True)
def pick_mixed(keys: Keys, weight: Float, seed: np.uint64, chosen: Int64) -> None:
    """Write to ``chosen`` positions of different candidates: the first half drawn uniformly, the rest by ``weight``.

    Of an odd number, one more is drawn uniformly. Hashes ``keys`` and ``seed`` give the random numbers.
    """
    half = (chosen.size + 1) // 2
    pick_smallest(keys, weight, UNIFORM, seed, chosen[:half])
    left = weight.copy()
    left[chosen[:half]] = 0
    pick_smallest(keys, left, MASS, mix_key(seed ^ SECOND_HALF), chosen[half:])


@njit(nogil=True, cache=True)
def pick_with_replacement(reach: Float, seed: np.uint64, chosen: Int64) -> None:
    """Write to ``chosen`` positions of candidates, drawn with replacement in proportion to their weights.

    ``reach`` is the running sum of the weights. The random numbers are computed from ``seed``, a hash of seed, draw and
    user.
    """
    for j in range(chosen.size):
        at = unit(mix_key(seed + mix_key(np.uint64(j)))) * reach[-1]
        chosen[j] = min(np.searchsorted(reach, at, side="right"), reach.size - 1)
