"""D0xx: what stands between a comparison and a decision: luck of many questions, of training, and easy opponents."""

from __future__ import annotations

from recassay.data.finding import Severity
from recassay.diagnose.base import Comparing, check, several

FEW_SEEDS = 3  # with fewer nobody knows what training anew would change
EASY = {
    "popularity": {"popular", "popularity", "pop", "mostpop", "mostpopular", "toppop", "poprec", "mp"},
    "chance": {"random", "rand", "randomrec", "chance"},
}


@check("D001", "Many comparisons without correction", "warning", about=Comparing)
def uncorrected(facts: Comparing) -> tuple[Severity, str] | None:
    """Several differences were tested and p was left as it is: among enough of them luck looks like a finding.

    It is info where every difference that seems significant is so after Holm's correction too.
    """
    if facts.correction != "none" or facts.tests < 2:
        return None
    by_luck = 1 - (1 - facts.alpha) ** facts.tests
    return (
        "warning" if facts.lost else "info",
        f"{several(facts.tests, 'p-value')} without correction: were no two systems different, and the tests "
        f"independent, one of them would be at or below {facts.alpha:g} with a chance of {100 * by_luck:.0f} %; "
        f"{facts.claims:,} are, of which {facts.lost:,} would not be after Holm's correction over each metric",
    )


@check("D002", "Few seeds", "warning", about=Comparing)
def few_seeds(facts: Comparing) -> str | None:
    """Systems that depend on chance were trained with one seed or two: their luck is part of the result.

    A test over users does not see it: it asks whether other users would change the verdict, not another training.
    """
    few = {system: seeds for system, seeds in facts.seeds.items() if seeds < FEW_SEEDS}
    if not few:
        return None
    names = ", ".join(f"{system} ({seeds})" for system, seeds in few.items())
    return (
        f"trained with fewer than {FEW_SEEDS} seeds: {names}; intervals and tests are over users alone, and know "
        "nothing of what another training would change"
    )


@check("D003", "A baseline that is beaten by popularity or chance", "warning", about=Comparing)
def weak_baseline(facts: Comparing) -> str | None:
    """A system that knows nothing of the user is significantly better than the baseline: to beat that says little.

    Without a stated baseline it is asked of all systems.
    """
    if not facts.beaten:
        return None
    worst = max(facts.beaten, key=lambda one: one.difference)
    where = f" in {worst.where}" if worst.where else ""
    names = list(dict.fromkeys(one.system for one in facts.beaten))
    role = "the baseline" if facts.baseline is not None else several(len(names), "system")
    verb = "is" if facts.baseline is not None or len(names) == 1 else "are"
    return (
        f"{role} {', '.join(names)} {verb} beaten in {several(len(facts.beaten), 'comparison')} by a system that "
        f"knows nothing of the user: by {worst.metric} {worst.easy} is {worst.difference:.4f} better than "
        f"{worst.system}{where}"
    )


def easy_kind(name: str) -> str | None:
    """Whether the name of a system or a model says popularity or chance.

    >>> easy_kind("Most-Pop"), easy_kind("Random(seed=3)"), easy_kind("StreamPopular"), easy_kind("BPR")
    ('popularity', 'chance', 'popularity', None)
    """
    plain = "".join(letter for letter in name.partition("(")[0].lower() if letter.isalnum())
    return next((kind for kind, names in EASY.items() if plain.removeprefix("stream") in names), None)
