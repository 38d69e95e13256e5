"""S005: ties of candidates of many popularities, where a candidate may be drawn repeatedly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay.checks.base import check, format_share
from recassay.columnar.layout import row_groups
from recassay.data.standings import Standings
from recassay.designs.classes import Classes
from recassay.results.finding import Severity

Floats = NDArray[np.float64]

REPEATED = 2.0  # draws of the heaviest tied candidates from which approximate ties are reported
MEASURED_TIES = ((4.0, 0.04), (8.0, 0.16), (16.0, 0.48), (40.0, 1.53), (math.inf, math.inf))  # error up to these draws
SMALL = 0.001  # effect on a mean, relative to it, that is information only


@dataclass(frozen=True, eq=False)
class RepeatedDrawFacts:
    """What checks examine about draws by popularity with replacement: the standings of each system, and the draws.

    ``draws`` has a base set of candidates and a number of draws for each design or sample size, by its name. With
    ``closed_form``, the means of the systems are computed and not drawn.
    """

    standings: Mapping[str, Standings]
    draws: Mapping[str, tuple[str, int]]
    closed_form: bool = True


@check("S005", "Ties of many popularities are approximate", "warning", about=RepeatedDrawFacts)
def ties_approximated(facts: RepeatedDrawFacts) -> tuple[Severity, str] | None:
    """Report if draws by popularity with replacement are far from exact for tied candidates.

    Copies of a candidate are above a tied item together, so a mean over the orders of ties depends on every mass. Of
    more than seven tied candidates with different masses, standings keep sums of powers, which two masses replace. The
    error grows with the number of times that the heaviest of them are drawn; it is reported from 2 draws on average. A
    random order ties all candidates, so the `random` column is approximate too, and alone: then it is an info, and so
    it is where ties are of so few relevant items that a mean changes by less than a thousandth.
    """
    found = []
    for name, (base, drawn) in facts.draws.items():
        for system, standings in facts.standings.items():
            if base not in standings.tied_masses:
                continue
            pool, query = standings.mass[base].astype(np.float64), row_groups(standings.offsets)
            of_pairs = Classes.draws_of_heaviest(standings.tied_masses[base], pool[query], drawn)
            of_pools = Classes.draws_of_heaviest(standings.pool_masses[base], pool, drawn)
            found.append(_Approximated(name, system, of_pairs * facts.closed_form, of_pools))
    worst = max(found, key=lambda one: one.most, default=None)
    if worst is None or worst.most < REPEATED:
        return None
    tied = max(found, key=lambda one: float(one.pairs.max(initial=0.0)))
    if tied.pairs.max(initial=0.0) < REPEATED:
        what = "chance values (`random`) are approximate: all candidates tie in a random order"
        return "info", f"{worst.name}: {what}, and {_extent(worst.pools)}"
    several = int(np.count_nonzero(tied.pairs >= REPEATED))
    what = f"{format_share(several, tied.pairs.size)} relevant items of {tied.system} tie with more than seven masses"
    small = several / tied.pairs.size * _error(tied.pairs) < SMALL
    text = f"{tied.name}: {what}, and means and chance values are approximate: {_extent(tied.pairs)}"
    return "info" if small else "warning", text


class _Approximated(NamedTuple):
    """How often the heaviest candidates of approximated ties are drawn: of each relevant item, and of each pool."""

    name: str
    system: str
    pairs: Floats
    pools: Floats

    @property
    def most(self) -> float:
        """Return the largest of these numbers."""
        return max(float(self.pairs.max(initial=0.0)), float(self.pools.max(initial=0.0)))


def _error(draws: Floats) -> float:
    """Return the largest relative error of hit@1 that was measured for the largest of these numbers of draws."""
    most = float(draws.max())
    return next(error for bound, error in MEASURED_TIES if most <= bound)


def _extent(draws: Floats) -> str:
    """Return a phrase on the largest number of draws, with the largest error measured for so many."""
    error = _error(draws)
    far = f"up to {100 * error:.0f} %" if math.isfinite(error) else "several times its value"
    return f"the heaviest are drawn {draws.max():.1f} times on average, where hit@1 was off by {far}"
