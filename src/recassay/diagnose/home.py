"""H0xx: systems judged by the metric they were made to please."""

from __future__ import annotations

import numpy as np

from recassay.data.finding import Severity
from recassay.diagnose.base import Hosting, check, several


@check("H001", "A metric is judged at home", "warning", about=Hosting)
def judged_at_home(facts: Hosting) -> tuple[Severity, str] | None:
    """A metric is close to what one of the systems optimises, so it favours that system.

    It is a warning where such a system leads under its home metric and does not lead by its mean rank under the metrics
    that are at home for none; else it is info.
    """
    home = {metric: owners for metric, owners in facts.home.items() if owners}
    if not home:
        return None
    away = [metric for metric in facts.ranks if not facts.home.get(metric)]
    mean_away = {name: _mean([facts.ranks[metric][name] for metric in away]) for name in facts.systems}
    best = min((rank for rank in mean_away.values() if not np.isnan(rank)), default=float("nan"))
    flattered = [
        (metric, owner)
        for metric, owners in home.items()
        for owner in owners
        if facts.ranks[metric][owner] == 1 and mean_away[owner] > best
    ]
    told = "; ".join(f"{metric} is at home for {', '.join(owners)}" for metric, owners in home.items())
    if not flattered:
        return "info", f"{several(len(home), 'metric')} of {len(facts.ranks)} may favour a system: {told}"
    metric, owner = flattered[0]
    leader = min(mean_away, key=lambda name: mean_away[name])
    return (
        "warning",
        f"{owner} leads under {metric}, which is close to what it optimises, and away its mean rank is "
        f"{mean_away[owner]:.1f}, where {leader} has {mean_away[leader]:.1f} ({several(len(away), 'metric')} away); "
        f"{told}",
    )


def _mean(ranks: list[float]) -> float:
    return float(np.mean(ranks)) if ranks else float("nan")
