"""B001 to B003, S001 to S005, T002: effects of designs and sampled ranks: other orders, popularity, sparsity, ties."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from recassay.arrays import Float
from recassay.checks.base import check, format_count, format_share
from recassay.columnar.layout import row_groups
from recassay.data.standings import TEST, Standings
from recassay.designs.grammar import parse
from recassay.designs.sets import Classes
from recassay.results.design_scores import DesignScores
from recassay.results.finding import Severity
from recassay.results.scores import Scores

Means = Mapping[tuple[str, str], float]  # by system and metric

SURE = 1.96  # standard errors beyond which a paired difference is significant (95 %)
POPULAR = 0.5  # rank correlation of success and popularity from which the finding is reported
FEW_PAIRS = 10  # with fewer relevant items a correlation means nothing
TOP = 10  # an item is a hit if fewer candidates than this rank above it
HEAD = 0.1  # the most popular tenth of relevant items
CEILING = 0.5  # below this maximum a mean mostly measures the number of relevant items
OFTEN = 0.1  # share of relevant items that ties may move into or out of the first 10
REPEATED = 2.0  # draws of the heaviest tied candidates from which approximate ties are reported
MEASURED_TIES = ((4.0, 0.04), (8.0, 0.16), (16.0, 0.48), (40.0, 1.53), (math.inf, math.inf))  # error up to these draws
UNSURE = 0.05  # probability of the other order from which it is reported
MEASURED = "on MovieLens 100K means were within 0.005 of the exact ones"
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
    """Return a warning if one design ranks a system above another and a second design ranks it below.

    The choice of design then decides which system is better. The severity is warning if for one such pair both
    differences exceed 1.96 standard errors of the paired difference, else info.
    """
    swaps = design_swaps(assay)
    if not swaps:
        return None
    sure = [swap for swap in swaps if swap.sure]
    most = max(sure or swaps, key=lambda swap: min(map(abs, swap.leads)))
    compared = {(swap.metric, *swap.designs) for swap in swaps}
    (leader, other), (first, second) = most.systems, most.designs
    return (
        "warning" if sure else "info",
        f"{format_count(len(swaps), 'pair')} of systems {'swaps' if len(swaps) == 1 else 'swap'} places between "
        f"designs ({len(sure):,} with both differences above {SURE} standard errors), in "
        f"{format_count(len(compared), 'comparison')} of two designs: by {most.metric} {leader} leads {other} by "
        f"{most.leads[0]:.4f} under {first}, and {other} leads {leader} by {-most.leads[1]:.4f} under {second}",
    )


def design_swaps(assay: DesignScores) -> list[DesignSwap]:
    """Return the pairs of systems that two designs order differently, for each metric and pair of designs.

    The first system of a pair leads under the first design.
    """
    swaps = []
    for metric, (a, b) in itertools.product(assay.metrics, itertools.combinations(assay.systems, 2)):
        leads = {design: mean_lead(assay.scores(design), metric, a, b) for design in assay.designs}
        for first, second in itertools.combinations(assay.designs, 2):
            (here, sure_here), (there, sure_there) = leads[first], leads[second]
            if here * there < 0:
                sign = math.copysign(1.0, here)
                systems = (a, b) if here > 0 else (b, a)
                swaps.append(
                    DesignSwap(metric, (first, second), systems, (sign * here, sign * there), sure_here and sure_there)
                )
    return swaps


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
    """Return a warning if a system ranks relevant items the higher the more training users they have.

    Reported is a Spearman correlation of 0.5 or more. Part of its score is then the popularity bias of the log. Some
    designs keep this bias, others remove it.
    """
    effects = {name: effect for name, each in standings.items() if (effect := popularity_effect(each)) is not None}
    popular = {name: effect for name, effect in effects.items() if effect.correlation >= POPULAR}
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
    """Return how far a system ranks popular relevant items higher, as a rank correlation with counts of pairs.

    A pair is a user and one of the user's relevant items. Return None for fewer than 10 pairs, or if all have the same
    popularity or the same rank.
    """
    above = standings.above[TEST] + standings.tied[TEST] / 2
    pool = np.repeat(standings.pool[TEST], standings.relevant)
    columns = {"item": standings.item, "users": standings.popularity[standings.item], "above": above, "pool": pool}
    pairs = pl.DataFrame(columns).filter(pl.col("pool") > 0)
    success = 1 - pl.col("above") / pl.col("pool")
    correlation = float(pairs.select(pl.corr(success, "users", method="spearman")).item() or math.nan)
    if pairs.height < FEW_PAIRS or math.isnan(correlation):
        return None
    items = pairs.unique("item").sort("users", "item", descending=[True, False])["item"]
    head, hit = pairs["item"].is_in(items.head(max(1, round(HEAD * items.len()))).to_list()), pairs["above"] < TOP
    return PopularityEffect(correlation, pairs.height, int(head.sum()), int(hit.sum()), int((head & hit).sum()))


@check("B003", "The score mostly reflects the number of test ratings", "warning", about="designs")
def value_is_sparsity(assay: DesignScores, standings: Mapping[str, Standings]) -> tuple[Severity, str] | None:
    """Return a warning if no system can reach a mean of 0.5, because users have few relevant items.

    The largest possible mean of a metric is then low under designs that rank all relevant items of a user together
    (AR). Such a mean depends on the number of test ratings: with fewer test ratings it falls in proportion. The
    severity is warning if the best system leads by less than half the width of its confidence interval, else info.
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
    """Return a warning if ties decide which relevant items are among the first 10 candidates.

    They must decide it for 10 % of the relevant items or more. Means are over all orders of ties. A program that uses
    one order, such as by item number, prints another value.
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
    """Return a warning if every design samples its candidates: means compare systems on a few items, not on all.

    The order of systems and the differences may change on all items. Add a design with all candidates, such as
    `TI-AR-AN`: `judge` computes it in the same run.
    """
    if any(parse(design).n is None for design in assay.designs):
        return None
    return f"{', '.join(assay.designs)}: no design uses all candidates, which has no extra cost here (TI-AR-AN)"


@check("S003", "Target sets smaller than the design requires", "warning", about="designs")
def short_sets(assay: DesignScores) -> str | None:
    """Return a warning if a design samples more items than some users have candidates.

    Their target sets are too small.
    """
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
    """Return a warning if tied candidates, drawn by popularity with replacement, are computed too roughly.

    All copies of a drawn candidate are above or below a tied item together, so the mean over the orders of ties depends
    on the probability (mass) of every candidate. If more than seven tied candidates have different masses, they are
    approximated by two masses. The error grows with the number of times that the heaviest of them are drawn; the
    warning begins at 2 draws on average. The severity is info if only the `random` column is approximate, in which all
    candidates tie, or if so few relevant items have ties that a mean changes by less than a thousandth.
    """
    tied_draws = []
    for name, (base, drawn) in draws.items():
        for system, one in standings.items():
            if base in one.tied_masses:
                pool, query = one.mass[base].astype(np.float64), row_groups(one.offsets)
                of_pairs = Classes.draws_of_heaviest(one.tied_masses[base], pool[query], drawn) * closed_form
                of_pools = Classes.draws_of_heaviest(one.pool_masses[base], pool, drawn)
                tied_draws.append((name, system, of_pairs, of_pairs.max(initial=0.0), of_pools.max(initial=0.0)))
    worst = max(tied_draws, key=lambda ties: max(ties[-2:]), default=None)
    if worst is None or max(worst[-2:]) < REPEATED:
        return None
    name, system, of_pairs, most, _ = max(tied_draws, key=lambda ties: ties[-2])
    if most < REPEATED:
        what = "chance values (`random`) are approximate: all candidates tie in a random order"
        return "info", f"{worst[0]}: {what}, and {_largest_error_phrase(worst[-1])}"
    several = int(np.count_nonzero(of_pairs >= REPEATED))
    what = f"{format_share(several, of_pairs.size)} relevant items of {system} tie with more than seven masses"
    small = several / of_pairs.size * _largest_error(most) < SMALL
    text = f"{name}: {what}, and means and chance values are approximate: {_largest_error_phrase(most)}"
    return "info" if small else "warning", text


def _largest_error(draws: float) -> float:
    """Return the largest relative error of hit@1 that was measured for this number of draws."""
    return next(error for bound, error in MEASURED_TIES if draws <= bound)


def _largest_error_phrase(draws: float) -> str:
    """Return a phrase that states this number of draws, and the largest error measured for it."""
    error = _largest_error(draws)
    far = f"up to {100 * error:.0f} %" if math.isfinite(error) else "several times its value"
    return f"the heaviest are drawn {draws:.1f} times on average, where hit@1 was off by {far}"


@check("S001", "The order may differ under full ranking", "warning", about="sampled ranks")
def order_unsure(
    sampled: Means, corrected: Means, resampled: Mapping[tuple[str, str], Float], estimator: str, users: int
) -> str | None:
    """Return a warning if the order of two systems by sampled ranks may be reversed under full ranking.

    The probability of a reversal is the share of resamples of users in which the corrected estimates have the other
    order; it is reported from 5 %. The correction balances bias and noise under the assumption that every full rank is
    equally likely, so the absence of a warning proves nothing.
    """
    systems, metrics = (tuple(dict.fromkeys(names)) for names in zip(*sampled, strict=True))
    chances = {}
    for metric, pair in itertools.product(metrics, itertools.combinations(systems, 2)):
        leader, other = sorted(pair, key=lambda system: -sampled[system, metric])
        if sampled[leader, metric] > sampled[other, metric]:
            turned = resampled[leader, metric] < resampled[other, metric]
            chances[metric, leader, other] = float(np.mean(turned))
    unsure = {pair: chance for pair, chance in chances.items() if chance >= UNSURE}
    if not unsure:
        return None
    metric, leader, other = most = max(unsure, key=lambda pair: unsure[pair])
    lead, after = (means[leader, metric] - means[other, metric] for means in (sampled, corrected))
    return (
        f"{len(unsure):,} of {format_count(len(chances), 'pair')} of systems may swap places: by {metric} {leader} "
        f"leads {other} by {lead:.4f}, after correction by {after:.4f} ({estimator}); {other} leads in "
        f"{100 * unsure[most]:.0f} % of resamples of {users:,} users"
    )


@check("S004", "Sampled values are approximate", "info", about="sampling curve")
def approximated(schemes: Sequence[str], why: str) -> str | None:
    """Return a warning if a sampling curve draws candidates by popularity without replacement.

    Its distribution is approximated. The exact one needs the weight of every candidate above and below an item, and
    time quadratic in their number. The approximation gives all candidates above an item their mean weight, and all
    below theirs.
    """
    return f"{', '.join(schemes)} is approximate: {why}; {MEASURED}"
