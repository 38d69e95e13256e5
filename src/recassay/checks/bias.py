"""B0xx: effects of target-set designs: the order of systems changes, or scores reflect popularity or sparsity."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import polars as pl

from recassay.checks.base import DesignFacts, check, format_count, format_share
from recassay.data.standings import TEST, Standings
from recassay.results.finding import Severity
from recassay.results.scores import Scores

SURE = 1.96  # standard errors beyond which a paired difference is significant (95 %)
POPULAR = 0.5  # rank correlation of success and popularity from which the finding is reported
FEW_PAIRS = 10  # with fewer relevant items a correlation means nothing
TOP = 10  # an item is a hit if fewer candidates than this rank above it
HEAD = 0.1  # the most popular tenth of relevant items
CEILING = 0.5  # below this maximum a mean mostly measures the number of relevant items


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


@check("B001", "Designs disagree on the order of systems", "warning", about=DesignFacts)
def orders_disagree(facts: DesignFacts) -> tuple[Severity, str] | None:
    """Report if one design ranks a system above another and a second design ranks it below.

    The choice of design then decides. The severity is warning if both differences of some such pair exceed 1.96
    standard errors of the paired difference, else info.
    """
    found = design_swaps(facts)
    if not found:
        return None
    sure = [swap for swap in found if swap.sure]
    most = max(sure or found, key=lambda swap: min(map(abs, swap.leads)))
    compared = {(swap.metric, *swap.designs) for swap in found}
    (leader, other), (first, second) = most.systems, most.designs
    return (
        "warning" if sure else "info",
        f"{format_count(len(found), 'pair')} of systems {'swaps' if len(found) == 1 else 'swap'} places between "
        "designs "
        f"({len(sure):,} with both differences above {SURE} standard errors), in "
        f"{format_count(len(compared), 'comparison')} of two designs: by {most.metric} {leader} leads {other} by "
        f"{most.leads[0]:.4f} under {first}, and {other} leads {leader} by {-most.leads[1]:.4f} under {second}",
    )


def design_swaps(facts: DesignFacts) -> list[DesignSwap]:
    """Return the pairs of systems that two designs order differently, for each metric and pair of designs.

    The first system of a pair leads under the first design.
    """
    assay, found = facts.assay, []
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


@check("B002", "The score mostly reflects item popularity", "warning", about=DesignFacts)
def value_is_popularity(facts: DesignFacts) -> str | None:
    """Report if a system ranks relevant items the higher the more training users they have.

    Reported is a Spearman correlation of 0.5 or more. Part of its score is then the popularity bias of the log. Some
    designs keep this bias, others remove it.
    """
    found = {name: effect for name, each in facts.standings.items() if (effect := popularity_effect(each)) is not None}
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


@check("B003", "The score mostly reflects the number of test ratings", "warning", about=DesignFacts)
def value_is_sparsity(facts: DesignFacts) -> tuple[Severity, str] | None:
    """Report if users have so few relevant items that no system's mean of a metric can reach 0.5.

    This concerns designs that rank all relevant items of a user together (AR). The mean then measures the number of
    test ratings, and falls in proportion when test ratings are removed. The severity is warning if the best system
    leads by less than half the width of its interval, else info.
    """
    assay = facts.assay
    capped = [row for row in assay.rows if row.best < CEILING and _ranks_together(row.design)]
    if not capped:
        return None
    lowest = min(capped, key=lambda row: row.best)
    rows = sorted(
        (row for row in capped if (row.design, row.metric) == (lowest.design, lowest.metric)), key=lambda row: -row.mean
    )
    relevant = next(iter(facts.standings.values())).relevant
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
