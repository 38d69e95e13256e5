"""Sentences on whether target-set designs agree on the order of systems by one metric."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recassay.report.content import wording
from recassay.report.content.grids import Grid
from recassay.report.content.verdict import MAX_NAMED, listed


def design_sentences(grid: Grid) -> list[str]:
    """Return sentences on whether leader and order are the same under all designs; none for a single design.

    A design says which items are ranked as candidates.
    """
    if len(grid.designs) < 2 or grid.higher_is_better is None or len(grid.ranked(grid.designs[0])) < 2:
        return []
    return _designs(grid)


def _designs(grid: Grid) -> list[str]:
    first, total = grid.designs[0], len(grid.designs)
    other_leaders = {
        design: grid.best(design)
        for design in grid.designs
        if grid.best(design) and not set(grid.best(first)) & set(grid.best(design))
    }
    moved = [design for design in grid.designs if not grid.same_order(design)]
    if not moved:
        return [
            f"All {total} designs rank the systems in the same order."
            if total > 2
            else "Both designs rank the systems in the same order."
        ]
    sentences = []
    if other_leaders:
        named = list(other_leaders.items())[:MAX_NAMED]
        leaders = "; ".join(_other_leader(grid, design, best) for design, best in named)
        more = len(other_leaders) - len(named)
        rest = f"; {more} more {'design has' if more == 1 else 'designs have'} another leader" if more > 0 else ""
        sentences.append(f"The leader depends on the design: {leaders}{rest}.")
    else:
        scope = f"all {total} designs" if total > 2 else "both designs"
        sentences.append(f"The leader is the same under {scope}.")
    taus = {design: grid.agreement(design) for design in moved if not math.isnan(grid.agreement(design))}
    least = min(taus, key=taus.__getitem__, default=None)
    change = ""
    if least is not None:
        change = f"; the largest change is under {least} (Kendall's tau {wording.number(taus[least], 2)})"
    sentences.append(f"{_how_many(len(moved), total - 1)} the systems differently than {first}{change}.")
    return sentences


def _other_leader(grid: Grid, design: str, best: Sequence[str]) -> str:
    """Return a phrase that names the leaders (``best``) under a design other than the first.

    It adds whether the lead of the first of them over the leader under the first design is significant, if that was
    tested.
    """
    leads = f"under {design} {listed(best)} {'leads' if len(best) == 1 else 'lead'}"
    pair = grid.versus(design, best[0], grid.best(grid.designs[0])[0])
    if pair is None:
        return leads
    return f"{leads} ({'significant' if pair['significant'] else 'not significant'})"


def _how_many(moved: int, others: int) -> str:
    if others == 1:
        return "The other design ranks"
    if moved == others:
        return f"All {others} other designs rank"
    return f"{moved} of the {others} other designs {'ranks' if moved == 1 else 'rank'}"
