"""S0xx: what sampled ranks cannot say."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from recassay.diagnose.base import Sampling, check, several

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
