"""Bounds of precision with one relevant item by precision with all of them (Bellogin, Castells and Cantador 2017).

With the same non-relevant items in all sets of a user and m_u = n + |PR_u| - 1,

    sum_u P_u@n / |PR|  <=  1RP@n  <=  sum_u m_u P_u@m_u / (n |PR|)

for every ranking, because leaving out the other relevant items moves a relevant item up by at most |PR_u| - 1 ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recassay.data.standings import Standings
from recassay.designs.expect import expect
from recassay.designs.grammar import Design
from recassay.designs.moments import credit_sums
from recassay.designs.sets import Short, target_sets
from recassay.errors import InternalError
from recassay.metrics.credit import credit_of
from recassay.metrics.ranking.precision import Precision

SLACK = 1e-12


@dataclass(frozen=True)
class PrecisionBounds:
    """The precision at n under a 1R design (1RP@n), with bounds that follow from precision under the AR design.

    A 1R design has one relevant item per target set, an AR design all relevant items of a user.
    """

    lower: float
    value: float
    upper: float

    def check(self) -> PrecisionBounds:
        """Return these bounds, or raise X102 if the precision is outside them.

        The bounds hold for every ranking, so that would be a bug.
        """
        if not self.lower - SLACK <= self.value <= self.upper + SLACK:
            raise InternalError(
                "X102",
                f"precision with one relevant item is {self.value!r}, outside [{self.lower!r}, {self.upper!r}]",
                hint="please report this with the data",
            )
        return self


def precision_bounds(
    standings: Standings, design: Design, n: int, *, short: Short = "error", threads: int | None = None
) -> PrecisionBounds:
    """Return the precision at n under a 1R design (one relevant item per set), with its bounds from the AR design.

    A 1R design ranks each relevant item on its own, the AR design all relevant items of a user together. With
    ``short="all"``, users with fewer candidates than the design draws get all of them.

    >>> import recassay as ra
    >>> from recassay.data.synthetic import log
    >>> fold = ra.split.random(test=0.2, seed=7)(log(users=200, items=80, events=4_000, seed=1))[0]
    >>> run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking())
    >>> bounds = precision_bounds(run.standings, ra.designs.parse("TI-1R-NN(20)"), 10)
    >>> [round(value, 4) for value in (bounds.lower, bounds.value, bounds.upper)]
    [0.0527, 0.0626, 0.0681]
    """
    precision = Precision(k=n)
    value = expect(standings, design, {"p": precision}, short=short, variance=False, threads=threads).outcomes["p"].mean
    together = replace(design, relevant="AR", resample="per_user")
    groups = target_sets(standings, together, short)
    pairs = int(groups.relevant.sum())
    deepest = n + int(groups.relevant.max(initial=1)) - 1
    share = np.ones((groups.order.size, 1))
    hits = []  # sums of expected hits down to rank n, and down to rank m_u
    for last in (np.full(groups.owner.size, n), n + groups.relevant - 1):
        table = credit_of(Precision(k=deepest)).table(deepest)[None, :]
        found, _ = credit_sums(together, groups, False, share, table, last.astype(np.int64), False, threads)
        hits.append(float(found.sum()))
    return PrecisionBounds(hits[0] / n / pairs, value, hits[1] / n / pairs).check()
