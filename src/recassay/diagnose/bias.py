"""B0xx: what a design makes of systems: orders that turn, value that is popularity, value that is sparsity."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import polars as pl

from recassay.data.finding import Severity
from recassay.data.scores import Scores
from recassay.data.standings import TEST, Standings
from recassay.diagnose.base import Judging, check, several, share

SURE = 1.96  # standard errors of a paired difference beyond which it is no accident (95 %)
POPULAR = 0.5  # rank correlation of success and popularity from which popularity tells most of it
FEW_PAIRS = 10  # with fewer relevant items a correlation says nothing
TOP = 10  # an item is hit where fewer than so many candidates stand above it
HEAD = 0.1  # the most popular tenth of relevant items
CEILING = 0.5  # a mean that cannot be larger than this for want of relevant items measures how many there are


class Swap(NamedTuple):
    """Two systems that two designs order differently, with the lead under each and whether both leads are sure."""

    metric: str
    designs: tuple[str, str]
    systems: tuple[str, str]
    leads: tuple[float, float]
    sure: bool


@check("B001", "Designs disagree on the order of systems", "warning", about=Judging)
def orders_disagree(facts: Judging) -> tuple[Severity, str] | None:
    """Two systems stand one way round under a design and the other way under another: the design decides.

    It is info where every such lead is, under one of the two, within 1.96 standard errors of the paired difference.
    """
    found = swaps(facts)
    if not found:
        return None
    sure = [swap for swap in found if swap.sure]
    most = max(sure or found, key=lambda swap: min(map(abs, swap.leads)))
    asked = {(swap.metric, *swap.designs) for swap in found}
    (one, other), (first, second) = most.systems, most.designs
    return (
        "warning" if sure else "info",
        f"{several(len(found), 'order')} of two systems {'differs' if len(found) == 1 else 'differ'} between designs "
        f"({len(sure):,} beyond {SURE} standard errors of both differences), in {several(len(asked), 'comparison')} of "
        f"two designs: by {most.metric} {one} leads {other} by "
        f"{most.leads[0]:.4f} under {first}, and {other} leads {one} by {-most.leads[1]:.4f} under {second}",
    )


def swaps(facts: Judging) -> list[Swap]:
    """Every pair of systems that two designs order differently; the first system leads under the first design."""
    assay, found = facts.assay, []
    for metric, (a, b) in itertools.product(assay.metrics, itertools.combinations(assay.systems, 2)):
        leads = {design: lead(assay.scores(design), metric, a, b) for design in assay.designs}
        for first, second in itertools.combinations(assay.designs, 2):
            (here, sure_here), (there, sure_there) = leads[first], leads[second]
            if here * there < 0:
                sign = math.copysign(1.0, here)
                systems = (a, b) if here > 0 else (b, a)
                found.append(
                    Swap(metric, (first, second), systems, (sign * here, sign * there), sure_here and sure_there)
                )
    return found


def lead(scores: Scores, metric: str, a: str, b: str) -> tuple[float, bool]:
    """The mean difference of two systems over users, and whether it is sure."""
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


@check("B002", "Value is popularity", "warning", about=Judging)
def value_is_popularity(facts: Judging) -> str | None:
    """A system places a relevant item the higher the more training users it has: Spearman correlation 0.5 or more.

    Part of its value is then the bias of the log towards popular items, which a design may keep or take out.
    """
    found = {name: one for name, each in facts.standings.items() if (one := popularity_of(each)) is not None}
    told = {name: one for name, one in found.items() if one.correlation >= POPULAR}
    if not told:
        return None
    name, one = max(told.items(), key=lambda pair: pair[1].correlation)
    others = f", and so for {', '.join(other for other in told if other != name)}" if len(told) > 1 else ""
    hits = f"{share(one.head_hits, one.hits)} of its hits@{TOP}" if one.hits else "none of its hits"
    return (
        f"how well {name} places a relevant item goes with the item's training users (rank correlation "
        f"{one.correlation:.2f}{others}): the most popular tenth of relevant items makes {hits} and "
        f"{share(one.head, one.pairs)} of what is relevant; P1R and U1R take popularity out"
    )


class Popularity(NamedTuple):
    """How a system's success goes with the popularity of items, over (user, relevant item) pairs."""

    correlation: float
    pairs: int
    head: int
    hits: int
    head_hits: int


def popularity_of(standings: Standings) -> Popularity | None:
    """Success and popularity among test items; None where there are too few pairs, or they are all alike."""
    pool = np.repeat(standings.pool[TEST], standings.relevant)
    usable = pool > 0
    if usable.sum() < FEW_PAIRS:
        return None
    above = (standings.above[TEST] + standings.tied[TEST] / 2)[usable]
    users = standings.popularity[standings.item[usable]]
    success = 1 - above / pool[usable]
    if np.ptp(users) == 0 or np.ptp(success) == 0:
        return None
    ranks = [pl.Series(one).rank().to_numpy() for one in (success, users)]
    items = np.unique(standings.item[usable])
    order = items[np.lexsort((items, -standings.popularity[items]))]
    head = np.isin(standings.item[usable], order[: max(1, round(HEAD * items.size))])
    hit = above < TOP
    one, other = (rank - rank.mean() for rank in ranks)
    correlation = float((one * other).sum() / np.sqrt((one * one).sum() * (other * other).sum()))
    return Popularity(correlation, users.size, int(head.sum()), int(hit.sum()), int((head & hit).sum()))


@check("B003", "Value is sparsity", "warning", about=Judging)
def value_is_sparsity(facts: Judging) -> tuple[Severity, str] | None:
    """Users have so few relevant items that no system could reach a mean of 0.5 where they stand together (AR).

    The mean measures how much was tested, and falls in proportion when test ratings are removed. It is a warning where
    the best system leads by less than its interval reaches.
    """
    assay = facts.assay
    capped = [row for row in assay.rows if row.best < CEILING and _together(row.design)]
    if not capped:
        return None
    lowest = min(capped, key=lambda row: row.best)
    rows = sorted(
        (row for row in capped if (row.design, row.metric) == (lowest.design, lowest.metric)), key=lambda row: -row.mean
    )
    relevant = next(iter(facts.standings.values())).relevant
    ahead = rows[0].mean - rows[1].mean if len(rows) > 1 else math.inf
    reach = (rows[0].high - rows[0].low) / 2
    within = ahead < reach  # false where no interval was asked for
    lead_told = f"; {rows[0].system} leads by {ahead:.4f}, and its interval reaches {reach:.4f}" if within else ""
    return (
        "warning" if within else "info",
        f"{lowest.metric} under {lowest.design} cannot be larger than {lowest.best:.4f}, because "
        f"{share(int((relevant == 1).sum()), relevant.size)} tested users have 1 relevant item and {lowest.n:,} users "
        f"are counted; it moves with the number of test ratings, which a 1R design does not{lead_told}",
    )


def _together(design: str) -> bool:
    return design.partition("(")[0].split("-")[1:2] == ["AR"] or design.startswith(("UAR", "PAR"))
