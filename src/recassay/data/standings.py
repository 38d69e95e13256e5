"""Where every relevant item stands among all others: enough to judge a system under any design, exactly.

A design picks candidates, relevant items and sampled non-relevant ones. For each of them it is enough to know, for
every (query, relevant item), how many non-relevant candidates the system scores above it and how many tie with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.vocabulary import Vocabulary

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

ALL, TEST, RATED = "AI", "TI", "rated"  # base sets: all items; items with a test rating; what the user rated in test


@dataclass(frozen=True, eq=False)
class Percentiles:
    """Standings within bins of items of like popularity: each pair meets only the candidates of its own item's bin.

    Bins hold equal numbers of the items with a test rating, most popular first (users in training and test; equal ones
    by id), sizes differing by at most one, larger bins first. ``bin`` is that of each pair's item; ``above``, ``tied``
    and ``pool`` count non-relevant candidates of that bin, per pair.
    """

    bins: int
    bin: NDArray[np.int32]
    above: Int64
    tied: Int64
    pool: Int64


@dataclass(frozen=True, eq=False)
class Standings:
    """One system's standings. The pairs of query q are ``offsets[q]:offsets[q + 1]``, best score first.

    ``above`` and ``tied`` count, per pair and base set, the candidates that are neither relevant for the query nor in
    its training profile and score higher than, or the same as, the relevant item. ``pool`` counts all of them, per
    query. The base set ``rated`` holds what the user rated in test and did not like.
    ``mass_above``, ``mass_tied`` and ``mass`` are the same with sampling weights (users of each item in training) in
    place of counts.
    ``tied_masses`` (pair) and ``pool_masses`` (query) have a row for the masses of the tied candidates, and of all:
    their number, then the masses if there are no more than seven, else the sums of their powers 1..4. Candidates
    without mass are left out. Where draws may repeat a candidate, its copies are above a tied item together, so the
    sums alone do not tell the law.

    ``tie_relevant`` counts other relevant items of the query with the same score; they stand side by side. An item the
    system could not score ties at the bottom with all others it could not score.

    ``users`` is the number of users of the whole log, asked or not, and ``everyone`` their ids; ``others`` are the
    numbers of candidates of those who were not asked, in the order of ``everyone``. ``popularity`` is the
    number of training users of each item. ``unlisted`` counts pairs whose item the system could not score, or a ranked
    list did not hold where the standings come from lists: they tie at the bottom with everything else that is not
    there. ``how`` says what was asked.
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
    percentiles: Mapping[int, Percentiles] = field(default_factory=dict)  # by number of bins
    others: Mapping[str, Int64] = field(default_factory=dict)
    users: int = 0
    everyone: pl.Series | None = None
    popularity: Int64 = field(default_factory=lambda: np.empty(0, np.int64))
    unlisted: int = 0
    how: Mapping[str, Any] = field(default_factory=dict)

    @property
    def relevant(self) -> Int64:
        """Relevant items of each query, R."""
        return np.diff(self.offsets)

    @property
    def pairs(self) -> int:
        """Number of (query, relevant item) pairs."""
        return int(self.offsets[-1])

    def frame(self) -> pl.DataFrame:
        """A row per pair: query, item, and its counts under every base set."""
        query = np.repeat(np.arange(self.queries.len()), self.relevant)
        columns: dict[str, pl.Series] = {
            "user_id": self.queries.gather(query),
            "item_id": self.vocabulary.decode(self.item),
            "tie_relevant": pl.Series(self.tie_relevant),
        }
        for base in self.above:
            columns[f"above {base}"] = pl.Series(self.above[base])
            columns[f"tied {base}"] = pl.Series(self.tied[base])
            columns[f"pool {base}"] = pl.Series(self.pool[base][query])
        for base in self.mass_above:
            columns[f"mass above {base}"] = pl.Series(self.mass_above[base])
            columns[f"mass tied {base}"] = pl.Series(self.mass_tied[base])
            columns[f"mass {base}"] = pl.Series(self.mass[base][query])
        for bins, one in self.percentiles.items():
            named: dict[str, NDArray[Any]] = {
                "bin": one.bin,
                "above bin": one.above,
                "tied bin": one.tied,
                "pool bin": one.pool,
            }
            columns |= {f"{what} of {bins}": pl.Series(counts) for what, counts in named.items()}
        return pl.DataFrame(columns)
