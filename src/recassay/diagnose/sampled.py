"""S0xx: what sampled ranks cannot say."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from recassay.designs.grammar import parse
from recassay.diagnose.base import Approximating, Judging, Sampling, check, several, share

MEASURED = "on MovieLens 100K means were within 0.005 of the exact ones"
UNSURE = 0.05  # chance from which the order may well be the other one


class Doubt(NamedTuple):
    """Who leads whom by the sampled ranks, and the share of resamples in which the corrected order is the other one."""

    metric: str
    leader: str
    other: str
    chance: float


@check("S001", "The order may be another under full ranking", "warning", about=Sampling)
def order_unsure(facts: Sampling) -> str | None:
    """Two systems stand one way round by their sampled ranks, and once these are corrected the other way round.

    The chance is the share of resamples of users with the other order; it is told from 5 % on. The correction weighs
    bias against noise under the assumption that every full rank is equally likely: that the check is silent is no
    proof.
    """
    found = doubts(facts)
    unsure = [one for one in found if one.chance >= UNSURE]
    if not unsure:
        return None
    most = max(unsure, key=lambda one: one.chance)
    lead = facts.sampled[most.leader, most.metric] - facts.sampled[most.other, most.metric]
    corrected = facts.corrected[most.leader, most.metric] - facts.corrected[most.other, most.metric]
    return (
        f"{len(unsure):,} of {several(len(found), 'order')} of two systems by sampled ranks may turn: by {most.metric} "
        f"{most.leader} leads {most.other} by {lead:.4f}, and corrected by {corrected:.4f} ({facts.estimator}); "
        f"{most.other} leads in {100 * most.chance:.0f} % of resamples of {facts.users:,} users"
    )


def doubts(facts: Sampling) -> list[Doubt]:
    """Every pair of systems that the sampled ranks order, by every metric."""
    found = []
    for metric, pair in itertools.product(facts.metrics, itertools.combinations(facts.systems, 2)):
        leader, other = sorted(pair, key=lambda system: -facts.sampled[system, metric])
        if facts.sampled[leader, metric] > facts.sampled[other, metric]:
            turned = facts.resampled[leader, metric] < facts.resampled[other, metric]
            found.append(Doubt(metric, leader, other, float(np.mean(turned))))
    return found


@check("S002", "Only sampled candidates were asked", "info", about=Judging)
def only_sampled(facts: Judging) -> str | None:
    """Every design draws its candidates: the means say how systems stand among a few items, and among no others.

    Order and size of differences among all items may be others. The same pass has them: add a design with AN.
    """
    if any(parse(design).n is None for design in facts.assay.designs):
        return None
    return f"{', '.join(facts.assay.designs)}: no design takes all candidates, which cost nothing more here (TI-AR-AN)"


@check("S003", "Target sets shorter than asked for", "warning", about=Judging)
def short_sets(facts: Judging) -> str | None:
    """A design asks for more sampled items than some users have candidates: theirs are smaller, and easier, sets."""
    short = {row.design: row for row in facts.assay.rows if row.short}
    if not short:
        return None
    worst = max(short.values(), key=lambda row: row.short / max(row.sets, 1))
    return f"{share(worst.short, worst.sets)} target sets of {worst.design} have fewer candidates than it asks for"


@check("S004", "Sampled values are approximate", "info", about=Approximating)
def approximated(facts: Approximating) -> str | None:
    """A sampling curve has draws by popularity without replacement, and their law was approximated.

    The exact law takes the weight of every candidate above and below an item, and time that grows with the square of
    their number. The approximation gives all candidates above an item their mean weight, and all below theirs.
    """
    return f"{', '.join(facts.laws)} is approximate: {facts.why}; {MEASURED}"
