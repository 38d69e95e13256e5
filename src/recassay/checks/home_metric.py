"""H0xx: systems that are scored by the metric they were trained to optimise."""

from __future__ import annotations

import numpy as np

from recassay.checks.base import HomeMetricFacts, check, format_count
from recassay.results.finding import Severity


@check("H001", "A metric favours a system that optimises it", "warning", about=HomeMetricFacts)
def judged_at_home(facts: HomeMetricFacts) -> tuple[Severity, str] | None:
    """Report if a metric is close to what one of the systems optimises (its home metric), and so favours that system.

    The severity is warning if such a system leads under its home metric but not by its mean rank under away metrics,
    those that no system optimises. Otherwise it is info.
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
    homes = "; ".join(f"{metric} is the home metric of {', '.join(owners)}" for metric, owners in home.items())
    if not flattered:
        return "info", f"{format_count(len(home), 'metric')} of {len(facts.ranks)} may favour a system: {homes}"
    metric, owner = flattered[0]
    leader = min(mean_away, key=lambda name: mean_away[name])
    return (
        "warning",
        f"{owner} leads under {metric}, which is close to what it optimises, but under "
        f"{format_count(len(away), 'away metric')} its mean rank is {mean_away[owner]:.1f}, and that of {leader} is "
        f"{mean_away[leader]:.1f}; {homes}",
    )


def _mean(ranks: list[float]) -> float:
    return float(np.mean(ranks)) if ranks else float("nan")
