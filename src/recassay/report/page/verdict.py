"""What a grid says, in sentences: who leads, by how much, whether that can be believed, and under which designs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recassay.report import wording
from recassay.report.page.board import Grid, real

NAMED = 4  # designs or systems that a sentence names; more are counted


def verdict(grid: Grid, *, level: float = 0.95, digits: int = 4) -> list[str]:
    """The verdict on one metric: the lead, then, if there are several designs, whether the order holds under all."""
    first = grid.designs[0]
    ranked = grid.ranked(first)
    if not ranked:
        return [f"{grid.metric} is undefined for every system."]
    if grid.higher_is_better is None:
        return [_range(grid, ranked, digits)]
    sentences = [_lead(grid, ranked, level, digits)]
    return [*sentences, *_designs(grid)] if len(grid.designs) > 1 and len(ranked) > 1 else sentences


def _range(grid: Grid, ranked: Sequence[str], digits: int) -> str:
    low, high = grid.value(ranked[0], grid.designs[0]), grid.value(ranked[-1], grid.designs[0])
    between = f"{wording.number(low, digits)} ({ranked[0]}) to {wording.number(high, digits)} ({ranked[-1]})"
    return f"It has no better end; it goes from {between}." if len(ranked) > 1 else f"It has no better end: {between}."


def _lead(grid: Grid, ranked: Sequence[str], level: float, digits: int) -> str:
    first, leader = grid.designs[0], ranked[0]
    under = f" under {first}" if len(grid.designs) > 1 else ""
    value = wording.number(grid.value(leader, first), digits)
    low, high = (grid.value(leader, first, name) for name in ("low", "high"))
    between = "" if math.isnan(low) else f" ({100 * level:.4g} % interval {wording.interval(low, high, digits)})"
    if len(ranked) == 1:
        others = "there is no other system" if len(grid.systems) == 1 else "no other system has a value"
        return f"{leader} has {value}{between}{under}; {others}."
    best = grid.best(first)
    if len(best) > 1:
        return f"{listed(best)} share the lead with {value}{between}{under}."
    second = ranked[1]
    ahead = abs(grid.value(leader, first) - grid.value(second, first))
    which = "above" if grid.higher_is_better else "below"
    lead = f"{leader} leads with {value}{between}{under}, {wording.number(ahead, digits)} {which} {second}"
    return f"{lead}: {_believable(grid, leader, second, digits)}"


def _believable(grid: Grid, leader: str, second: str, digits: int) -> str:
    """Whether the lead is larger than its uncertainty, by the test of the two, else by their intervals."""
    design = grid.designs[0]
    found = grid.versus(design, leader, second)
    if found is not None:
        p = wording.p_value(real(found["p_adjusted"]))
        between = wording.interval(real(found["low"]), real(found["high"]), digits)
        tested = f"(difference {between}, adjusted p {p})"
        if found["significant"]:
            return f"more than its uncertainty {tested}."
        return f"within its uncertainty, so the two cannot be told apart {tested}.{_next(grid, leader)}"
    bounds = [grid.value(system, design, name) for system in (leader, second) for name in ("low", "high")]
    if any(math.isnan(bound) for bound in bounds):
        return "how certain that is, was not asked."
    if bounds[0] > bounds[3] or bounds[2] > bounds[1]:
        return "the two were not compared, but their intervals do not overlap."
    return (
        f"the two were not compared and their intervals overlap, so the lead is not established.{_next(grid, leader)}"
    )


def _next(grid: Grid, leader: str) -> str:
    """The best system that the leader surely beats."""
    design = grid.designs[0]
    for system in grid.ranked(design)[2:]:
        found = grid.versus(design, leader, system)
        if found is not None and found["significant"]:
            return f" The best system that it does beat is {system}."
    return ""


def _designs(grid: Grid) -> list[str]:
    first, total = grid.designs[0], len(grid.designs)
    other_leader = {
        design: grid.best(design)
        for design in grid.designs
        if grid.best(design) and not set(grid.best(first)) & set(grid.best(design))
    }
    moved = [design for design in grid.designs if not grid.same_order(design)]
    if not moved:
        return [
            f"All {total} designs put the systems in the same order."
            if total > 2
            else "Both designs put them in the same order."
        ]
    sentences = []
    if other_leader:
        named = list(other_leader.items())[:NAMED]
        told = "; ".join(_overtaken(grid, design, best) for design, best in named)
        more = len(other_leader) - len(named)
        rest = f"; and {more} more designs have another leader" if more > 0 else ""
        sentences.append(f"The lead does not hold under all designs: {told}{rest}.")
    else:
        sentences.append(f"The lead holds under all {total} designs." if total > 2 else "The lead holds under both.")
    taus = {design: grid.agreement(design) for design in moved if not math.isnan(grid.agreement(design))}
    least = min(taus, key=taus.__getitem__, default=None)
    tau = "" if least is None else f"; least like it is {least} (Kendall's tau {wording.number(taus[least], 2)})"
    sentences.append(f"{_how_many(len(moved), total - 1)} the systems otherwise than {first}{tau}.")
    return sentences


def _overtaken(grid: Grid, design: str, best: Sequence[str]) -> str:
    """Who leads under another design, and whether by more than the uncertainty of it, if that was tested."""
    leads = f"under {design} {listed(best)} {'leads' if len(best) == 1 else 'lead'}"
    found = grid.versus(design, best[0], grid.best(grid.designs[0])[0])
    if found is None:
        return leads
    return f"{leads}, {'by more than' if found['significant'] else 'within'} the uncertainty"


def _how_many(moved: int, others: int) -> str:
    if others == 1:
        return "The other design orders"
    if moved == others:
        return f"All {others} other designs order"
    return f"{moved} of the {others} other designs {'orders' if moved == 1 else 'order'}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, the rest counted.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(list("abcdefg"))
    ('a', 'a, b and c', 'a, b, c, d and 3 more')
    """
    if len(names) > NAMED:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
