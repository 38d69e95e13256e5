"""D0xx: threats to decisions from a comparison: uncorrected or lenient tests, few seeds, weak baselines."""

from __future__ import annotations

from recassay.checks.base import ComparisonFacts, check, format_count
from recassay.results.finding import Severity

FEW_FOR_BOOTSTRAP = 50  # units; with more, its level is within 1 % of the one that is stated
FEW_SEEDS = 3  # with fewer, the variance of training is unknown
EASY = {
    "popularity": {"popular", "popularity", "pop", "mostpop", "mostpopular", "toppop", "poprec", "mp"},
    "chance": {"random", "rand", "randomrec", "chance"},
}


@check("D001", "Many comparisons without correction", "warning", about=ComparisonFacts)
def uncorrected(facts: ComparisonFacts) -> tuple[Severity, str] | None:
    """Report if several differences were tested without correction: with many tests, some are significant by chance.

    The severity is info if every significant difference is also significant after Holm's correction, else warning.
    """
    if facts.correction != "none" or facts.tests < 2:
        return None
    by_luck = 1 - (1 - facts.alpha) ** facts.tests
    return (
        "warning" if facts.lost else "info",
        f"{format_count(facts.tests, 'p-value')} without correction: if no two systems differed and the tests were "
        f"independent, one of them would be at or below {facts.alpha:g} with probability {100 * by_luck:.0f} %; "
        f"{facts.claims:,} are, of which {facts.lost:,} would not be after Holm's correction over each metric",
    )


@check("D002", "Few seeds", "warning", about=ComparisonFacts)
def few_seeds(facts: ComparisonFacts) -> str | None:
    """Report if systems with random training were trained with one or two seeds: their results depend on these seeds.

    A test over users does not show it: it tells whether other users would change the decision, not another training.
    """
    few = {system: seeds for system, seeds in facts.seeds.items() if seeds < FEW_SEEDS}
    if not few:
        return None
    names = ", ".join(f"{system} ({seeds})" for system, seeds in few.items())
    return (
        f"trained with fewer than {FEW_SEEDS} seeds: {names}; intervals and tests cover the variation "
        "over users only, not over training runs"
    )


@check("D003", "A baseline that is beaten by popularity or chance", "warning", about=ComparisonFacts)
def weak_baseline(facts: ComparisonFacts) -> str | None:
    """Report if a system without personalisation is significantly better than the baseline, which then proves little.

    Without a given baseline, all systems are checked.
    """
    if not facts.beaten:
        return None
    worst = max(facts.beaten, key=lambda beaten: beaten.difference)
    where = f" in {worst.where}" if worst.where else ""
    names = list(dict.fromkeys(beaten.system for beaten in facts.beaten))
    role = "the baseline" if facts.baseline is not None else format_count(len(names), "system")
    verb = "is" if facts.baseline is not None or len(names) == 1 else "are"
    return (
        f"{role} {', '.join(names)} {verb} beaten in {format_count(len(facts.beaten), 'comparison')} by a system that "
        f"is not personalised: by {worst.metric} {worst.easy} is {worst.difference:.4f} better than "
        f"{worst.system}{where}"
    )


@check("D004", "A test that finds too much with few users", "warning", about=ComparisonFacts)
def lenient_test(facts: ComparisonFacts) -> str | None:
    """Report if the bootstrap test compares systems on fewer than 50 users: it underestimates the variance of a mean.

    It then finds a difference that is not there more often than its level says.
    """
    if facts.test != "bootstrap" or not 0 < facts.fewest < FEW_FOR_BOOTSTRAP:
        return None
    return (
        f"the bootstrap test compares systems on {format_count(facts.fewest, 'unit')}; at 5 % it finds a difference "
        "that is not there in 7 % of studies of 20 units, and in 10 % of studies of 10: use the permutation test"
    )


def easy_kind(name: str) -> str | None:
    """Return "popularity" or "chance" if the name of a system says that it recommends that way, else None.

    >>> easy_kind("Most-Pop"), easy_kind("Random(seed=3)"), easy_kind("StreamPopular"), easy_kind("BPR")
    ('popularity', 'chance', 'popularity', None)
    """
    plain = "".join(letter for letter in name.partition("(")[0].lower() if letter.isalnum())
    return next((kind for kind, names in EASY.items() if plain.removeprefix("stream") in names), None)
