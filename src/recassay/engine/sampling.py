"""Explicit target sets, as papers draw them: the same candidates for every system, ranked by its own scores.

Who is drawn for a user is decided by hashes of (seed, draw, user id, item id), so neither the system nor the order of
rows nor the other users change it, and the sets of a smaller design are parts of those of a larger one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from recassay.data.identity import SECOND, id_keys, mix
from recassay.data.run import Run
from recassay.data.standings import RATED, Standings
from recassay.designs.counted import counted
from recassay.designs.credit import COUNTED, Credit, credit_of
from recassay.designs.expect import Judged, Users, pooled
from recassay.designs.grammar import Design
from recassay.designs.moments import Moments, moments_of
from recassay.designs.sets import Sets, Short, sets_of, too_short
from recassay.engine import _draws
from recassay.engine.play import Source
from recassay.engine.question import Question
from recassay.engine.standings import score_rows, side_by_side
from recassay.engine.tiles import TILE
from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.ranking.auc import AUC
from recassay.rng import derive_seed
from recassay.threads import Progress, each_block

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]
Keys = NDArray[np.uint64]


class Sampled(NamedTuple):
    """Means over draws of one system under one design, and a checksum of what was drawn: equal for all systems."""

    judged: Judged
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
) -> list[Sampled]:
    """A played run judged on drawn target sets, all designs in one pass over its scores.

    Values are means over ``draws``, ties in an order drawn with them; the variance is that of one draw's mean.

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
        raise UsageError("U102", f"{draws} draws cannot be made", hint="draws is at least 1")
    source = _source(run)
    assert run.standings is not None  # a run with a source was played
    plans = [_Plan.of(run.standings, source.question, one, metrics, short, draws, threads) for one in designs]
    keys = _Hashes.of(source.question, seed, draws)
    rows = score_rows(source.question, source.fitted, run.name)

    def work(begin: int, end: int) -> list[np.uint64]:
        table = side_by_side(rows, source.question.rows, begin, end)
        return [plan.draw(table, begin, end, keys) for plan in plans]

    with threadpool_limits(1):
        found = each_block(work, source.question.users.size, size=TILE, threads=threads, progress=progress)
    sums = [sum(int(tile[place]) for tile in found) % 2**64 for place in range(len(plans))]
    return [Sampled(plan.judged(users), f"{total:016x}") for plan, total in zip(plans, sums, strict=True)]


def _source(run: Run) -> Source:
    source = run.source
    if not (isinstance(source, Source) and any(hasattr(source.fitted, way) for way in ("scores", "item_factors"))):
        raise UsageError(
            "U122",
            f"'{run.name}' cannot be asked for its scores again, so no candidates can be drawn for it",
            where=run.origin,
            hint="give a run played by a system with scores; method='exact' judges lists and standings",
        )
    return source


@dataclass(frozen=True, eq=False)
class _Hashes:
    """Hashes of items by code, and ``users[q, d]`` of seed, draw and user."""

    items: Keys
    users: Keys

    @classmethod
    def of(cls, question: Question, seed: int, draws: int) -> _Hashes:
        of_draw = np.array([derive_seed(seed, "candidates", d) % 2**64 for d in range(draws)], np.uint64)
        items = question.train.item_vocabulary.decode(np.arange(question.item.size, dtype=np.int32))
        users = mix(id_keys(question.queries))
        return cls(mix(id_keys(items) ^ SECOND), mix(users[:, None] ^ of_draw))


@dataclass(frozen=True, eq=False)
class _Plan:
    """A design on a question: its groups, and the moments that fill up tile by tile."""

    standings: Standings
    question: Question
    design: Design
    metrics: Mapping[str, Metric]
    groups: Sets
    moments: Mapping[str, Moments]
    place: NDArray[np.int32]  # of each item in a score row
    inside: NDArray[np.bool_]  # whether each item is a candidate at all
    bin: NDArray[np.int32]  # of each item
    draws: int

    @classmethod
    def of(
        cls, standings: Standings, question: Question, design: Design, metrics: Mapping[str, Metric], short: Short,
        draws: int, threads: int | None,
    ) -> _Plan:  # fmt: skip
        groups, closed = _groups(standings, question, design, short)
        credits = {name: credit_of(metric) for name, metric in metrics.items() if not isinstance(metric, COUNTED)}
        moments = moments_of(standings, closed, groups, credits, False, threads)
        for name, metric in metrics.items():
            if name not in credits and not isinstance(metric, AUC):
                hint = "method='exact' judges it"
                raise UsageError("U121", f"{metric} looks at no target set", where=str(design), hint=hint)
            moments[name] = moments[name] if name in credits else counted(standings, closed, groups, metric)
        n = groups.owner.size
        empty = {  # chance and perfection stay, means and variances are to be drawn
            name: Moments(np.full(n, np.nan), np.full(n, np.nan), one.random, one.best) for name, one in moments.items()
        }
        place = np.empty_like(question.item)
        place[question.item] = np.arange(place.size, dtype=np.int32)
        cell = (np.searchsorted(question.cells, np.arange(place.size), side="right") - 1)[place]
        base = question.bases.index(design.base) if design.base != RATED else 0
        of_bin = question.bins[design.bins] if design.bins else np.zeros(question.cells.size - 1, np.int32)
        return cls(
            standings, question, design, metrics, groups, {name: empty[name] for name in metrics}, place,
            question.member[base][cell], of_bin[cell], draws,
        )  # fmt: skip

    def draw(self, table: NDArray[np.floating], begin: int, end: int, keys: _Hashes) -> np.uint64:
        """Draw for the groups of some queries, whose scores are given, and keep their moments."""
        groups, check = self.groups, np.uint64(0)
        low, high = np.searchsorted(groups.owner, [begin, end])
        first, last = groups.offsets[low], groups.offsets[high]
        above, place = (np.zeros((self.draws, last - first), np.int32) for _ in range(2))
        for group in range(low, high):
            at = slice(groups.offsets[group], groups.offsets[group + 1])
            own = slice(at.start - first, at.stop - first)
            query, items = int(groups.owner[group]), self.standings.item[groups.order[at]]
            line, codes = table[query - begin], self.candidates(query, int(groups.bin[group]))
            found = (np.empty((self.draws, items.size), np.int32), np.empty((self.draws, items.size), np.int32))
            drawn = _draws.draw(
                line[self.place[codes]].astype(np.float64), keys.items[codes], self.weight(codes),
                int(groups.drawn[group]), self.law, keys.users[query], line[self.place[items]].astype(np.float64),
                keys.items[items], *found,
            )  # fmt: skip
            above[:, own], place[:, own] = found
            check = np.uint64((int(check) + int(drawn)) % 2**64)
        if low < high:
            self.keep(int(low), int(high), above.astype(np.int64), place.astype(np.int64))
        return check

    @property
    def law(self) -> int:
        """How candidates are drawn, as the kernel has it."""
        if self.design.with_replacement:
            return _draws.REPLACED
        return _draws.MASS if self.design.by == "popularity" and self.design.n is not None else _draws.UNIFORM

    def candidates(self, query: int, of_bin: int) -> Int64:
        """The codes of items that may be drawn for a query, ascending."""
        question = self.question
        if self.design.base == RATED:
            return np.sort(question.item[_of(question.rated, query)]).astype(np.int64)
        free = self.inside.copy()
        free[question.item[_of(question.seen, query)]] = False
        free[question.item[_of(question.relevant, query)]] = False
        codes = np.flatnonzero(free)
        return codes[self.bin[codes] == of_bin] if self.design.bins else codes

    def weight(self, codes: Int64) -> Float:
        """How often each candidate is drawn, relative to others."""
        by_mass = self.design.by == "popularity" and self.design.n is not None
        return self.standings.popularity[codes].astype(np.float64) if by_mass else np.ones(codes.size)

    def keep(self, low: int, high: int, above: Int64, place: Int64) -> None:
        """Mean and variance over draws of every metric of groups low..high."""
        groups = self.groups
        offsets = groups.offsets[low : high + 1]
        pairs = groups.order[offsets[0] : offsets[-1]]
        starts, relevant = offsets[:-1] - offsets[0], np.diff(offsets)
        apart = self.design.relevant == "1R"
        for name, metric in self.metrics.items():
            if isinstance(metric, AUC):
                with np.errstate(invalid="ignore"):
                    value = 1 - np.add.reduceat(above, starts, axis=1) / (relevant * groups.drawn[low:high])
            else:
                item = self.standings.item[pairs]
                ranks = above + 1 if apart else above + place + 1
                value = credited(
                    credit_of(metric), ranks, np.zeros_like(place) if apart else place, starts, relevant, apart,
                    self.standings.popularity[item],
                )  # fmt: skip
            moments = self.moments[name]
            moments.mean[low:high] = value.mean(axis=0)
            if self.draws > 1:
                moments.variance[low:high] = value.var(axis=0, ddof=1)

    def judged(self, users: Users) -> Judged:
        """All groups together."""
        return pooled(self.standings, self.design, self.groups, self.moments, users, self.draws > 1)


def credited(
    credit: Credit, ranks: Int64, place: Int64, starts: Int64, relevant: Int64, apart: bool, popularity: Int64
) -> Float:
    """The value of each group in each draw, from the ranks (draws, pairs) of its relevant items.

    Where items stand ``apart`` each has a set of its own, and the value is the mean over the sets.
    """
    earned = credit.table(int(ranks.max()))[ranks - 1]
    within = np.ones_like(relevant) if apart else relevant  # relevant items of one set
    if credit.cut_at_relevant:
        earned = earned * (ranks <= np.repeat(within, relevant))
    if credit.weight is not None and not apart:
        weight = credit.weight(popularity)
        norm = np.add.reduceat(weight, starts)
        norm = np.where(norm > 0, norm, np.nan)
    else:
        weight = {"each": np.ones_like(earned), "first": place == 0, "place": place + 1}[credit.part]
        norm = credit.norm(within) * (relevant if apart else 1)
    sums: Float = np.add.reduceat(earned * weight, starts, axis=1)
    value: Float = sums / norm
    return value


def _of(lists: Any, query: int) -> NDArray[np.int32]:
    places: NDArray[np.int32] = lists.places[lists.offsets[query] : lists.offsets[query + 1]]
    return places


def _groups(standings: Standings, question: Question, design: Design, short: Short) -> tuple[Sets, Design]:
    """The groups of a design, and the design that has closed forms for chance and perfection on them.

    By popularity without replacement only items with a training user can be drawn, and there is no closed form; what a
    random order gets depends on the sizes of sets alone.
    """
    if design.n is None or design.by == "uniform" or design.with_replacement:
        return sets_of(standings, design, short), design
    groups = sets_of(standings, replace(design, replace=True), "all")
    known = question.pools((standings.popularity > 0).astype(np.int64))
    available = question.by_base(known)[design.base][groups.owner]
    lacking = available < design.n
    if lacking.any() and short == "error":
        raise too_short(standings, design, groups.owner, available, lacking)
    missing = int((groups.weight * lacking).sum())
    drawn = np.minimum(available, design.n)
    return replace(groups, drawn=drawn, short=missing, level=None, whole=None), replace(design, replace=True)
