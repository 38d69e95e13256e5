"""D0xx, H0xx: threats to decisions: lenient or uncorrected tests, few seeds, weak baselines, favoured systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from recassay.checks.base import check, format_count
from recassay.results.finding import Severity

FEW_FOR_BOOTSTRAP = 50  # units; with more, its level is within 1 % of the one that is stated
FEW_SEEDS = 3  # with fewer, the variance of training is unknown
EASY = {
    "popularity": {"popular", "popularity", "pop", "mostpop", "mostpopular", "toppop", "poprec", "mp"},
    "chance": {"random", "rand", "randomrec", "chance"},
}


class BeatenSystem(NamedTuple):
    """A system that is significantly worse than a system that is not personalised (``easy``).

    ``difference`` is that of their means by ``metric``, and ``where`` the data set, split and so on in words.
    """

    system: str
    easy: str
    metric: str
    where: str
    difference: float


@check("D001", "Many comparisons without correction", "warning", about="comparison")
def uncorrected(correction: str, alpha: float, tests: int, claims: int, lost: int) -> tuple[Severity, str] | None:
    """Return a warning if several differences were tested without correcting their p-values.

    With many tests, some differences are significant by chance. ``claims`` counts the significant differences, and
    ``lost`` those that are not after Holm's correction. The severity is info if none is lost, else warning.
    """
    if correction != "none" or tests < 2:
        return None
    by_luck = 1 - (1 - alpha) ** tests
    return (
        "warning" if lost else "info",
        f"{format_count(tests, 'p-value')} without correction: if no two systems differed and the tests were "
        f"independent, one of them would be at or below {alpha:g} with probability {100 * by_luck:.0f} %; "
        f"{claims:,} are, of which {lost:,} would not be after Holm's correction over each metric",
    )


@check("D002", "Few seeds", "warning", about="comparison")
def few_seeds(seeds: Mapping[str, int]) -> str | None:
    """Return a warning if systems with random training were trained with only one or two seeds.

    Their results depend on these seeds. A test over users does not show it: it tells whether other users would change
    the decision, not another training. ``seeds`` is the number of seeds of each system.
    """
    few = {system: number for system, number in seeds.items() if number < FEW_SEEDS}
    if not few:
        return None
    names = ", ".join(f"{system} ({number})" for system, number in few.items())
    return (
        f"trained with fewer than {FEW_SEEDS} seeds: {names}; intervals and tests cover the variation "
        "over users only, not over training runs"
    )


@check("D003", "A baseline that is beaten by popularity or chance", "warning", about="comparison")
def weak_baseline(beaten: Sequence[BeatenSystem], baseline: str | None = None) -> str:
    """Return a warning if a system without personalisation is significantly better than the baseline.

    A win over such a baseline proves little. If ``baseline`` is None, all systems are checked.
    """
    worst = max(beaten, key=lambda one: one.difference)
    where = f" in {worst.where}" if worst.where else ""
    names = list(dict.fromkeys(one.system for one in beaten))
    role = "the baseline" if baseline is not None else format_count(len(names), "system")
    verb = "is" if baseline is not None or len(names) == 1 else "are"
    return (
        f"{role} {', '.join(names)} {verb} beaten in {format_count(len(beaten), 'comparison')} by a system that "
        f"is not personalised: by {worst.metric} {worst.easy} is {worst.difference:.4f} better than "
        f"{worst.system}{where}"
    )


@check("D004", "A test that finds too much with few users", "warning", about="comparison")
def lenient_test(test: str, fewest: int) -> str | None:
    """Return a warning if the bootstrap test compares systems on fewer than 50 users.

    It then underestimates the variance of a mean, and finds a difference that is not there more often than its level
    says. ``fewest`` is the smallest number of users of a comparison.
    """
    if test != "bootstrap" or not 0 < fewest < FEW_FOR_BOOTSTRAP:
        return None
    return (
        f"the bootstrap test compares systems on {format_count(fewest, 'unit')}; at 5 % it finds a difference "
        "that is not there in 7 % of studies of 20 units, and in 10 % of studies of 10: use the permutation test"
    )


@check("H001", "A metric favours a system that optimises it", "warning", about="home metrics")
def judged_at_home(
    systems: Sequence[str], ranks: Mapping[str, Mapping[str, float]], home: Mapping[str, Sequence[str]]
) -> tuple[Severity, str] | None:
    """Return a warning if a metric is close to what one of the systems optimises, and so favours that system.

    Such a metric is the home metric of the system; ``home`` names the systems of each metric, and ``ranks`` has the
    rank of each system under each metric. The severity is warning if a system leads under its home metric, but not by
    its mean rank under away metrics, those that no system optimises. Otherwise it is info.
    """
    home = {metric: owners for metric, owners in home.items() if owners}
    if not home:
        return None
    away = [metric for metric in ranks if not home.get(metric)]
    mean_away = {name: float("nan") for name in systems}
    if away:
        mean_away = {name: float(np.mean([ranks[metric][name] for metric in away])) for name in systems}
    best = min((rank for rank in mean_away.values() if not np.isnan(rank)), default=float("nan"))
    flattered = [
        (metric, owner)
        for metric, owners in home.items()
        for owner in owners
        if ranks[metric][owner] == 1 and mean_away[owner] > best
    ]
    homes = "; ".join(f"{metric} is the home metric of {', '.join(owners)}" for metric, owners in home.items())
    if not flattered:
        return "info", f"{format_count(len(home), 'metric')} of {len(ranks)} may favour a system: {homes}"
    metric, owner = flattered[0]
    leader = min(mean_away, key=lambda name: mean_away[name])
    return (
        "warning",
        f"{owner} leads under {metric}, which is close to what it optimises, but under "
        f"{format_count(len(away), 'away metric')} its mean rank is {mean_away[owner]:.1f}, and that of {leader} is "
        f"{mean_away[leader]:.1f}; {homes}",
    )


def easy_kind(name: str) -> str | None:
    """Return "popularity" or "chance" if the name of a system says that it recommends that way, else None.

    >>> easy_kind("Most-Pop"), easy_kind("Random(seed=3)"), easy_kind("StreamPopular"), easy_kind("BPR")
    ('popularity', 'chance', 'popularity', None)
    """
    plain = "".join(letter for letter in name.partition("(")[0].lower() if letter.isalnum())
    return next((kind for kind, names in EASY.items() if plain.removeprefix("stream") in names), None)
