"""S001, S004: limits of sampled ranks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay.checks.base import check, format_count

MEASURED = "on MovieLens 100K means were within 0.005 of the exact ones"
UNSURE = 0.05  # probability of the other order from which it is reported


class SampledOrder(NamedTuple):
    """Means of systems by metric: of the sampled metric, and estimates of the mean under full ranking.

    ``resampled`` holds these estimates in resamples of the users, with the same resamples for all systems.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    sampled: Mapping[tuple[str, str], float]
    corrected: Mapping[tuple[str, str], float]
    resampled: Mapping[tuple[str, str], NDArray[np.float64]]


class UncertainOrder(NamedTuple):
    """Two systems in their order by sampled ranks, and how often the order is reversed after correction.

    ``chance`` is the share of resamples of users in which the corrected estimates have the other order.
    """

    metric: str
    leader: str
    other: str
    chance: float


@check("S001", "The order may differ under full ranking", "warning", about="sampled ranks")
def order_unsure(order: SampledOrder, estimator: str, users: int) -> str | None:
    """Report if two systems are in one order by their sampled ranks, and may be in the other order under full ranking.

    The probability is the share of resamples of users in which the corrected estimates have the other order; it is
    reported from 5 %. The correction balances bias and noise under the assumption that every full rank is equally
    likely, so the absence of a finding proves nothing.
    """
    found = uncertain_orders(order)
    unsure = [pair for pair in found if pair.chance >= UNSURE]
    if not unsure:
        return None
    most = max(unsure, key=lambda pair: pair.chance)
    lead = order.sampled[most.leader, most.metric] - order.sampled[most.other, most.metric]
    corrected = order.corrected[most.leader, most.metric] - order.corrected[most.other, most.metric]
    return (
        f"{len(unsure):,} of {format_count(len(found), 'pair')} of systems may swap places: by {most.metric} "
        f"{most.leader} leads {most.other} by {lead:.4f}, after correction by {corrected:.4f} ({estimator}); "
        f"{most.other} leads in {100 * most.chance:.0f} % of resamples of {users:,} users"
    )


def uncertain_orders(order: SampledOrder) -> list[UncertainOrder]:
    """Return every pair of systems with different sampled means, by metric, the better one first.

    With each pair comes the share of resamples in which the corrected estimates have the other order.
    """
    found = []
    for metric, pair in itertools.product(order.metrics, itertools.combinations(order.systems, 2)):
        leader, other = sorted(pair, key=lambda system: -order.sampled[system, metric])
        if order.sampled[leader, metric] > order.sampled[other, metric]:
            turned = order.resampled[leader, metric] < order.resampled[other, metric]
            found.append(UncertainOrder(metric, leader, other, float(np.mean(turned))))
    return found


@check("S004", "Sampled values are approximate", "info", about="sampling curve")
def approximated(schemes: Sequence[str], why: str) -> str | None:
    """Report if a sampling curve draws candidates by popularity without replacement: its distribution is approximated.

    The exact one needs the weight of every candidate above and below an item, and time quadratic in their number. The
    approximation gives all candidates above an item their mean weight, and all below theirs.
    """
    return f"{', '.join(schemes)} is approximate: {why}; {MEASURED}"
