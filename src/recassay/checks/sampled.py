"""S0xx: limits of sampled ranks and sampled target sets."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from recassay.checks.base import ApproximationFacts, DesignFacts, SampledFacts, check, format_count, format_share

MEASURED = "on MovieLens 100K means were within 0.005 of the exact ones"
UNSURE = 0.05  # probability of the other order from which it is reported


class UncertainOrder(NamedTuple):
    """Two systems in their order by sampled ranks, and how often the order is reversed after correction.

    ``chance`` is the share of resamples of users in which the corrected estimates have the other order.
    """

    metric: str
    leader: str
    other: str
    chance: float


@check("S001", "The order may differ under full ranking", "warning", about=SampledFacts)
def order_unsure(facts: SampledFacts) -> str | None:
    """Report if two systems are in one order by their sampled ranks, and may be in the other order under full ranking.

    The probability is the share of resamples of users in which the corrected estimates have the other order; it is
    reported from 5 %. The correction balances bias and noise under the assumption that every full rank is equally
    likely, so the absence of a finding proves nothing.
    """
    found = uncertain_orders(facts)
    unsure = [pair for pair in found if pair.chance >= UNSURE]
    if not unsure:
        return None
    most = max(unsure, key=lambda pair: pair.chance)
    lead = facts.sampled[most.leader, most.metric] - facts.sampled[most.other, most.metric]
    corrected = facts.corrected[most.leader, most.metric] - facts.corrected[most.other, most.metric]
    return (
        f"{len(unsure):,} of {format_count(len(found), 'pair')} of systems may swap places: by {most.metric} "
        f"{most.leader} leads {most.other} by {lead:.4f}, after correction by {corrected:.4f} ({facts.estimator}); "
        f"{most.other} leads in {100 * most.chance:.0f} % of resamples of {facts.users:,} users"
    )


def uncertain_orders(facts: SampledFacts) -> list[UncertainOrder]:
    """Return every pair of systems with different sampled means, by metric, the better one first.

    With each pair comes the share of resamples in which the corrected estimates have the other order.
    """
    found = []
    for metric, pair in itertools.product(facts.metrics, itertools.combinations(facts.systems, 2)):
        leader, other = sorted(pair, key=lambda system: -facts.sampled[system, metric])
        if facts.sampled[leader, metric] > facts.sampled[other, metric]:
            turned = facts.resampled[leader, metric] < facts.resampled[other, metric]
            found.append(UncertainOrder(metric, leader, other, float(np.mean(turned))))
    return found


@check("S002", "All designs sample their candidates", "info", about=DesignFacts)
def only_sampled(facts: DesignFacts) -> str | None:
    """Report if every design samples its candidates: means compare systems on a few items, not on all.

    The order of systems and the differences may change on all items. Add a design with all candidates, such as
    `TI-AR-AN`: `judge` computes it in the same run.
    """
    from recassay.designs.grammar import parse  # late: other checks need no designs

    if any(parse(design).n is None for design in facts.assay.designs):
        return None
    return f"{', '.join(facts.assay.designs)}: no design uses all candidates, which has no extra cost here (TI-AR-AN)"


@check("S003", "Target sets smaller than the design requires", "warning", about=DesignFacts)
def short_sets(facts: DesignFacts) -> str | None:
    """Report if a design samples more items than some users have candidates: their target sets are too small."""
    short = {row.design: row for row in facts.assay.rows if row.short}
    if not short:
        return None
    worst = max(short.values(), key=lambda row: row.short / max(row.sets, 1))
    return (
        f"{format_share(worst.short, worst.sets)} target sets of {worst.design} have fewer candidates than the "
        "design requires"
    )


@check("S004", "Sampled values are approximate", "info", about=ApproximationFacts)
def approximated(facts: ApproximationFacts) -> str | None:
    """Report if a sampling curve draws candidates by popularity without replacement: its distribution is approximated.

    The exact one needs the weight of every candidate above and below an item, and time quadratic in their number. The
    approximation gives all candidates above an item their mean weight, and all below theirs.
    """
    return f"{', '.join(facts.schemes)} is approximate: {facts.why}; {MEASURED}"
