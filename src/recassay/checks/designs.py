"""B001 to B003, S002, S003, S005, T002: effects of target-set designs: other orders, popularity, sparsity, ties."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.checks.base import check, format_count, format_share
from recassay.columnar.layout import row_groups
from recassay.data.standings import TEST, Standings
from recassay.designs.classes import Classes
from recassay.designs.grammar import parse
from recassay.results.design_scores import DesignScores
from recassay.results.finding import Severity
from recassay.results.scores import Scores

Floats = NDArray[np.float64]

SURE = 1.96  # standard errors beyond which a paired difference is significant (95 %)
POPULAR = 0.5  # rank correlation of success and popularity from which the finding is reported
FEW_PAIRS = 10  # with fewer relevant items a correlation means nothing
TOP = 10  # an item is a hit if fewer candidates than this rank above it
HEAD = 0.1  # the most popular tenth of relevant items
CEILING = 0.5  # below this maximum a mean mostly measures the number of relevant items
OFTEN = 0.1  # share of relevant items that ties may move into or out of the first 10
REPEATED = 2.0  # draws of the heaviest tied candidates from which approximate ties are reported
MEASURED_TIES = ((4.0, 0.04), (8.0, 0.16), (16.0, 0.48), (40.0, 1.53), (math.inf, math.inf))  # error up to these draws
SMALL = 0.001  # effect on a mean, relative to it, that is information only


class DesignSwap(NamedTuple):
    """Two systems that two designs order differently.

    ``leads`` are the differences of their means, first system minus second, under the two designs; ``sure`` says
    whether both are significant.
    """

    metric: str
    designs: tuple[str, str]
    systems: tuple[str, str]
    leads: tuple[float, float]
    sure: bool


@check("B001", "Designs disagree on the order of systems", "warning", about="designs")
def orders_disagree(assay: DesignScores) -> tuple[Severity, str] | None:
    """Report if one design ranks a system above another and a second design ranks it below.

    The choice of design then decides. The severity is warning if both differences of some such pair exceed 1.96
    standard errors of the paired difference, else info.
    """
    found = design_swaps(assay)
    if not found:
        return None
    sure = [swap for swap in found if swap.sure]
    most = max(sure or found, key=lambda swap: min(map(abs, swap.leads)))
    compared = {(swap.metric, *swap.designs) for swap in found}
    (leader, other), (first, second) = most.systems, most.designs
    return (
        "warning" if sure else "info",
        f"{format_count(len(found), 'pair')} of systems {'swaps' if len(found) == 1 else 'swap'} places between "
        f"designs ({len(sure):,} with both differences above {SURE} standard errors), in "
        f"{format_count(len(compared), 'comparison')} of two designs: by {most.metric} {leader} leads {other} by "
        f"{most.leads[0]:.4f} under {first}, and {other} leads {leader} by {-most.leads[1]:.4f} under {second}",
    )


def design_swaps(assay: DesignScores) -> list[DesignSwap]:
    """Return the pairs of systems that two designs order differently, for each metric and pair of designs.

    The first system of a pair leads under the first design.
    """
    found = []
    for metric, (a, b) in itertools.product(assay.metrics, itertools.combinations(assay.systems, 2)):
        leads = {design: mean_lead(assay.scores(design), metric, a, b) for design in assay.designs}
        for first, second in itertools.combinations(assay.designs, 2):
            (here, sure_here), (there, sure_there) = leads[first], leads[second]
            if here * there < 0:
                sign = math.copysign(1.0, here)
                systems = (a, b) if here > 0 else (b, a)
                found.append(
                    DesignSwap(metric, (first, second), systems, (sign * here, sign * there), sure_here and sure_there)
                )
    return found


def mean_lead(scores: Scores, metric: str, a: str, b: str) -> tuple[float, bool]:
    """Return the mean difference (a minus b) over users, and whether its size exceeds 1.96 standard errors."""
    difference = scores.values(a, metric) - scores.values(b, metric)
    weight = scores.weights(a, metric)
    weight = np.ones_like(difference) if weight is None else weight
    counted = ~np.isnan(difference) & (weight > 0)
    difference, weight = difference[counted], weight[counted]
    if difference.size < 2:
        return (float(difference.sum()), False)
    mean = float(np.average(difference, weights=weight))
    error = float(np.sqrt((weight**2 * (difference - mean) ** 2).sum()) / weight.sum())
    return mean, abs(mean) > SURE * error


@check("B002", "The score mostly reflects item popularity", "warning", about="designs")
def value_is_popularity(standings: Mapping[str, Standings]) -> str | None:
    """Report if a system ranks relevant items the higher the more training users they have.

    Reported is a Spearman correlation of 0.5 or more. Part of its score is then the popularity bias of the log. Some
    designs keep this bias, others remove it.
    """
    found = {name: effect for name, each in standings.items() if (effect := popularity_effect(each)) is not None}
    popular = {name: effect for name, effect in found.items() if effect.correlation >= POPULAR}
    if not popular:
        return None
    name, effect = max(popular.items(), key=lambda pair: pair[1].correlation)
    others = f"; also {', '.join(other for other in popular if other != name)}" if len(popular) > 1 else ""
    hits = f"{format_share(effect.head_hits, effect.hits)} hits@{TOP}" if effect.hits else "none of the hits"
    return (
        f"{name} ranks relevant items by popularity (rank correlation with training users {effect.correlation:.2f}"
        f"{others}): the most popular tenth of relevant items has {hits} and "
        f"{format_share(effect.head, effect.pairs)} of the relevant pairs; P1R and U1R remove the effect of popularity"
    )


class PopularityEffect(NamedTuple):
    """The rank correlation between how high a relevant item is ranked and how popular it is.

    The other fields count pairs of a user and a relevant item: all (``pairs``), those of the most popular tenth of
    items (``head``), those among the first 10 candidates (``hits``), and both (``head_hits``).
    """

    correlation: float
    pairs: int
    head: int
    hits: int
    head_hits: int


def popularity_effect(standings: Standings) -> PopularityEffect | None:
    """Return how far a system ranks popular relevant items higher: a rank correlation over pairs (user, relevant item).

    Return None for fewer than 10 pairs, or if all have the same popularity or the same rank.
    """
    pool = np.repeat(standings.pool[TEST], standings.relevant)
    usable = pool > 0
    if usable.sum() < FEW_PAIRS:
        return None
    above = (standings.above[TEST] + standings.tied[TEST] / 2)[usable]
    users = standings.popularity[standings.item[usable]]
    success = 1 - above / pool[usable]
    if np.ptp(users) == 0 or np.ptp(success) == 0:
        return None
    ranks = [pl.Series(values).rank().to_numpy() for values in (success, users)]
    items = np.unique(standings.item[usable])
    order = items[np.lexsort((items, -standings.popularity[items]))]
    head = np.isin(standings.item[usable], order[: max(1, round(HEAD * items.size))])
    hit = above < TOP
    x, y = (rank - rank.mean() for rank in ranks)
    correlation = float((x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()))
    return PopularityEffect(correlation, users.size, int(head.sum()), int(hit.sum()), int((head & hit).sum()))


@check("B003", "The score mostly reflects the number of test ratings", "warning", about="designs")
def value_is_sparsity(assay: DesignScores, standings: Mapping[str, Standings]) -> tuple[Severity, str] | None:
    """Report if users have so few relevant items that no system's mean of a metric can reach 0.5.

    This concerns designs that rank all relevant items of a user together (AR). The mean then measures the number of
    test ratings, and falls in proportion when test ratings are removed. The severity is warning if the best system
    leads by less than half the width of its interval, else info.
    """
    capped = [row for row in assay.rows if row.best < CEILING and _ranks_together(row.design)]
    if not capped:
        return None
    lowest = min(capped, key=lambda row: row.best)
    rows = sorted(
        (row for row in capped if (row.design, row.metric) == (lowest.design, lowest.metric)), key=lambda row: -row.mean
    )
    relevant = next(iter(standings.values())).relevant
    ahead = rows[0].mean - rows[1].mean if len(rows) > 1 else math.inf
    reach = (rows[0].high - rows[0].low) / 2
    within = ahead < reach  # false if no interval was computed
    lead = f"; {rows[0].system} leads by {ahead:.4f}, within its interval of ±{reach:.4f}" if within else ""
    return (
        "warning" if within else "info",
        f"{lowest.metric} under {lowest.design} cannot exceed {lowest.best:.4f}, because "
        f"{format_share(int((relevant == 1).sum()), relevant.size)} test users have 1 relevant item (mean over "
        f"{lowest.n:,} users); it depends on the number of test ratings, unlike a 1R design{lead}",
    )


def _ranks_together(design: str) -> bool:
    return design.partition("(")[0].split("-")[1:2] == ["AR"] or design.startswith(("UAR", "PAR"))


@check("T002", "Many candidates have tied scores", "warning", about="designs")
def catalogue_ties(standings: Mapping[str, Standings]) -> str | None:
    """Report if ties decide for 10 % of the relevant items or more whether they are among the first 10 candidates.

    Means are over all orders of ties. A program that uses one order, such as by item number, prints another value.
    """
    unsure = {}
    for name, each in standings.items():
        above, tied = each.above[TEST], each.tied[TEST]
        unsure[name] = (int(((above < TOP) & (above + tied >= TOP)).sum()), max(each.pairs, 1))
    tied_often = {name: count for name, (count, pairs) in unsure.items() if count >= OFTEN * pairs}
    if not tied_often:
        return None
    name = max(tied_often, key=lambda name: unsure[name][0] / unsure[name][1])
    others = f"; also {', '.join(other for other in tied_often if other != name)}" if len(tied_often) > 1 else ""
    return (
        f"for {format_share(*unsure[name])} relevant items ties decide whether {name} ranks them among the first "
        f"{TOP}, because other candidates have the same score{others}"
    )


@check("S002", "All designs sample their candidates", "info", about="designs")
def only_sampled(assay: DesignScores) -> str | None:
    """Report if every design samples its candidates: means compare systems on a few items, not on all.

    The order of systems and the differences may change on all items. Add a design with all candidates, such as
    `TI-AR-AN`: `judge` computes it in the same run.
    """
    if any(parse(design).n is None for design in assay.designs):
        return None
    return f"{', '.join(assay.designs)}: no design uses all candidates, which has no extra cost here (TI-AR-AN)"


@check("S003", "Target sets smaller than the design requires", "warning", about="designs")
def short_sets(assay: DesignScores) -> str | None:
    """Report if a design samples more items than some users have candidates: their target sets are too small."""
    short = {row.design: row for row in assay.rows if row.short}
    if not short:
        return None
    worst = max(short.values(), key=lambda row: row.short / max(row.sets, 1))
    return (
        f"{format_share(worst.short, worst.sets)} target sets of {worst.design} have fewer candidates than the "
        "design requires"
    )


@check("S005", "Ties of many popularities are approximate", "warning", about="repeated draws")
def ties_approximated(
    standings: Mapping[str, Standings], draws: Mapping[str, tuple[str, int]], closed_form: bool = True
) -> tuple[Severity, str] | None:
    """Report if draws by popularity with replacement are far from exact for tied candidates.

    Copies of a candidate are above a tied item together, so a mean over the orders of ties depends on every mass. Of
    more than seven tied candidates with different masses, standings keep sums of powers, which two masses replace. The
    error grows with the number of times that the heaviest of them are drawn; it is reported from 2 draws on average. A
    random order ties all candidates, so the `random` column is approximate too, and alone: then it is an info, and so
    it is where ties are of so few relevant items that a mean changes by less than a thousandth.
    """
    found = []
    for name, (base, drawn) in draws.items():
        for system, one in standings.items():
            if base not in one.tied_masses:
                continue
            pool, query = one.mass[base].astype(np.float64), row_groups(one.offsets)
            of_pairs = Classes.draws_of_heaviest(one.tied_masses[base], pool[query], drawn)
            of_pools = Classes.draws_of_heaviest(one.pool_masses[base], pool, drawn)
            found.append(_Approximated(name, system, of_pairs * closed_form, of_pools))
    worst = max(found, key=lambda one: one.most, default=None)
    if worst is None or worst.most < REPEATED:
        return None
    tied = max(found, key=lambda one: float(one.pairs.max(initial=0.0)))
    if tied.pairs.max(initial=0.0) < REPEATED:
        what = "chance values (`random`) are approximate: all candidates tie in a random order"
        return "info", f"{worst.name}: {what}, and {_extent(worst.pools)}"
    several = int(np.count_nonzero(tied.pairs >= REPEATED))
    what = f"{format_share(several, tied.pairs.size)} relevant items of {tied.system} tie with more than seven masses"
    small = several / tied.pairs.size * _error(tied.pairs) < SMALL
    text = f"{tied.name}: {what}, and means and chance values are approximate: {_extent(tied.pairs)}"
    return "info" if small else "warning", text


class _Approximated(NamedTuple):
    """How often the heaviest candidates of approximated ties are drawn: of each relevant item, and of each pool."""

    name: str
    system: str
    pairs: Floats
    pools: Floats

    @property
    def most(self) -> float:
        """Return the largest of these numbers."""
        return max(float(self.pairs.max(initial=0.0)), float(self.pools.max(initial=0.0)))


def _error(draws: Floats) -> float:
    """Return the largest relative error of hit@1 that was measured for the largest of these numbers of draws."""
    most = float(draws.max())
    return next(error for bound, error in MEASURED_TIES if most <= bound)


def _extent(draws: Floats) -> str:
    """Return a phrase on the largest number of draws, with the largest error measured for so many."""
    error = _error(draws)
    far = f"up to {100 * error:.0f} %" if math.isfinite(error) else "several times its value"
    return f"the heaviest are drawn {draws.max():.1f} times on average, where hit@1 was off by {far}"
