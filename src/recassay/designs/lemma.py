"""How precision with one relevant item is tied to precision with all of them (Bellogin, Castells and Cantador 2017).

With the same non-relevant items in all sets of a user and m_u = n + |PR_u| - 1,

    sum_u P_u@n / |PR|  <=  1RP@n  <=  sum_u m_u P_u@m_u / (n |PR|)

for every ranking: leaving the other relevant items out moves a relevant item up, by at most |PR_u| - 1 ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recassay.data.standings import Standings
from recassay.designs.credit import credit_of
from recassay.designs.expect import expect
from recassay.designs.grammar import Design
from recassay.designs.moments import sums_of
from recassay.designs.sets import Short, sets_of
from recassay.errors import InternalError
from recassay.metrics.ranking.precision import Precision

SLACK = 1e-12


@dataclass(frozen=True)
class Bounds:
    """1RP@n between what AR precision allows."""

    lower: float
    value: float
    upper: float

    def check(self) -> Bounds:
        """Itself, or an error: the lemma holds for every ranking, so something was counted wrongly."""
        if not self.lower - SLACK <= self.value <= self.upper + SLACK:
            raise InternalError(
                "X102",
                f"precision with one relevant item is {self.value!r}, outside [{self.lower!r}, {self.upper!r}]",
                hint="please report this with the data",
            )
        return self


def lemma(
    standings: Standings, design: Design, n: int, *, short: Short = "error", threads: int | None = None
) -> Bounds:
    """The bounds of 1RP@n under a 1R design from the AR design with the same candidates, checked.

    >>> import recassay as ra
    >>> from recassay.data.synthetic import log
    >>> fold = ra.split.random(test=0.2, seed=7)(log(users=200, items=80, events=4_000, seed=1))[0]
    >>> run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking())
    >>> bounds = lemma(run.standings, ra.designs.parse("TI-1R-NN(20)"), 10)
    >>> [round(value, 4) for value in (bounds.lower, bounds.value, bounds.upper)]
    [0.0527, 0.0626, 0.0681]
    """
    precision = Precision(k=n)
    value = expect(standings, design, {"p": precision}, short=short, variance=False, threads=threads).outcomes["p"].mean
    together = replace(design, relevant="AR")
    groups = sets_of(standings, together, short)
    pairs = int(groups.relevant.sum())
    deepest = n + int(groups.relevant.max(initial=1)) - 1
    share = np.ones((groups.order.size, 1))
    hits = []
    for last in (np.full(groups.owner.size, n), n + groups.relevant - 1):
        table = credit_of(Precision(k=deepest)).table(deepest)[None, :]
        found, _ = sums_of(together, groups, False, share, table, last.astype(np.int64), False, threads)
        hits.append(float(found.sum()))
    return Bounds(hits[0] / n / pairs, value, hits[1] / n / pairs).check()
