"""Ranks of relevant items among all other candidates, which are enough to evaluate a system under any design exactly.

A design picks candidates, relevant items and sampled non-relevant items. For each design it is enough to know, for
every (query, relevant item), how many non-relevant candidates the system scores above the item and how many tie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.vocabulary import Vocabulary
from recassay.shown import Displayable

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

ALL, TEST, RATED = "AI", "TI", "rated"  # base sets: all items; items with a test rating; items the user rated in test
SEEN_TOO = {ALL: "AI, seen too", TEST: "TI, seen too"}  # the same with the items of the user's history


@dataclass(frozen=True, eq=False)
class BinnedStandings:
    """Standings in which a relevant item is compared only with candidates of similar popularity, those of its own bin.

    Bins hold equal numbers of the items with a test rating, most popular first (by users in training and test; ties by
    id). Bin sizes differ by at most one, larger bins first. For each pair of a query and a relevant item, ``bin`` is
    the bin of the item, ``above`` and ``tied`` count the non-relevant candidates of that bin that score higher or the
    same, and ``pool`` counts all of them.
    """

    bins: int
    bin: NDArray[np.int32]
    above: Int64
    tied: Int64
    pool: Int64


@dataclass(frozen=True, eq=False, repr=False)
class Standings(Displayable):
    """The number of candidates that a system ranks above each relevant item of each query, and of those that tie.

    The pairs of a query and a relevant item are rows; those of query q are ``offsets[q]:offsets[q + 1]``, best score
    first. ``above`` and ``tied`` count, per pair, the candidates that score higher than the relevant item, or the same.
    They are dicts by base set: the set of items that a design samples candidates from. Candidates are the items that
    are neither relevant for the query nor in its training profile.

    ``pool`` counts all candidates, per query. The base set ``rated`` holds what the user rated in test and did not
    like. Base sets of :data:`SEEN_TOO` are there if a protocol ranks among all items and samples from unseen ones.
    ``mass_above``, ``mass_tied`` and ``mass`` are the same counts, weighted by the training users of each item, as in
    sampling by popularity. ``tied_masses`` (pair) and ``pool_masses`` (query) have a row describing the weights of the
    tied candidates, and of all candidates: their number, then the weights themselves if there are at most seven, else
    the sums of their powers 1..4. Candidates of weight 0 are left out. When a candidate can be drawn repeatedly, its
    copies are above a tied item together, so the sums alone do not determine the distribution.

    ``tie_relevant`` counts other relevant items of the query with the same score; they are adjacent. An item that the
    system could not score ties at the bottom with all others it could not score.

    ``users`` is the number of users of the whole log, queried or not, and ``everyone`` their ids; ``others`` are the
    numbers of candidates of the users who were not queried, in the order of ``everyone``. ``popularity`` is the number
    of training users of each item. ``unlisted`` counts pairs whose item the system could not score, or that a ranked
    list did not hold if the standings come from lists; they tie at the bottom with all other such items. ``how``
    records the protocol.
    """

    name: str
    queries: pl.Series
    offsets: Int64
    item: NDArray[np.int32]
    vocabulary: Vocabulary
    tie_relevant: NDArray[np.int32]
    above: Mapping[str, Int64]
    tied: Mapping[str, Int64]
    pool: Mapping[str, Int64]
    mass_above: Mapping[str, Int64] = field(default_factory=dict)
    mass_tied: Mapping[str, Int64] = field(default_factory=dict)
    mass: Mapping[str, Int64] = field(default_factory=dict)
    tied_masses: Mapping[str, Float] = field(default_factory=dict)
    pool_masses: Mapping[str, Float] = field(default_factory=dict)
    percentiles: Mapping[int, BinnedStandings] = field(default_factory=dict)  # by number of bins
    others: Mapping[str, Int64] = field(default_factory=dict)
    users: int = 0
    everyone: pl.Series | None = None
    popularity: Int64 = field(default_factory=lambda: np.empty(0, np.int64))
    unlisted: int = 0
    how: Mapping[str, Any] = field(default_factory=dict)

    @property
    def relevant(self) -> Int64:
        """Return the number of relevant items of each query, R."""
        return np.diff(self.offsets)

    @property
    def pairs(self) -> int:
        """Return the number of (query, relevant item) pairs."""
        return int(self.offsets[-1])

    def with_seen(self, seen_too: Standings) -> Standings:
        """Return these standings with the counts of others, of the same system, whose candidates have the seen items.

        ``seen_too`` has the same relevant items in the same order.
        """

        def both(ours: Mapping[str, Int64], theirs: Mapping[str, Int64]) -> dict[str, Int64]:
            return {**ours, **{SEEN_TOO[base]: counts for base, counts in theirs.items() if base in SEEN_TOO}}

        return replace(
            self,
            above=both(self.above, seen_too.above),
            tied=both(self.tied, seen_too.tied),
            pool=both(self.pool, seen_too.pool),
            others=both(self.others, seen_too.others),
        )

    def frame(self) -> pl.DataFrame:
        """Return a table with a row per relevant item of a query: how many candidates score above it, and the same.

        There are counts for each base set, the items that candidates come from: all items (AI), those with a test
        rating (TI), and those the user rated low (rated).
        """
        query = np.repeat(np.arange(self.queries.len()), self.relevant)
        columns: dict[str, pl.Series] = {
            "user_id": self.queries.gather(query),
            "item_id": self.vocabulary.decode(self.item),
            "tie_relevant": pl.Series(self.tie_relevant),
        }
        counts = (
            ("above", "tied", "pool", self.above, self.tied, self.pool),
            ("mass above", "mass tied", "mass", self.mass_above, self.mass_tied, self.mass),
        )
        for named_above, named_tied, named_pool, above, tied, pool in counts:
            for base in above:
                columns[f"{named_above} {base}"] = pl.Series(above[base])
                columns[f"{named_tied} {base}"] = pl.Series(tied[base])
                columns[f"{named_pool} {base}"] = pl.Series(pool[base][query])
        for bins, binned in self.percentiles.items():
            named: dict[str, NDArray[Any]] = {
                "bin": binned.bin,
                "above bin": binned.above,
                "tied bin": binned.tied,
                "pool bin": binned.pool,
            }
            columns |= {f"{what} of {bins}": pl.Series(counts) for what, counts in named.items()}
        return pl.DataFrame(columns)
