"""``sampled_ranks``: the rank of each relevant item of a played run among drawn candidates, as a table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.layout import row_groups
from recassay.data.io.columns import ITEM, POOL, RANK, USER
from recassay.data.nouns import wrong_noun
from recassay.data.run import Run
from recassay.designs.grammar import parse
from recassay.engine.ranks.sampling import DesignSampler, Int64, draw_all, source_of
from recassay.errors import UsageError
from recassay.naming.arguments import checks_types


@checks_types
def sampled_ranks(
    run: Run,
    sample: int | None = None,
    *,
    design: str | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> pl.DataFrame:
    """Return the rank of each relevant item of a played run among ``sample`` candidates, drawn once.

    The columns are user_id, item_id, rank (1 to ``sample`` + 1) and pool, the number of candidates drawn from. Every
    system gets the same candidates, which depend on the seed and the ids alone. Candidates are drawn uniformly from all
    items; a ``design`` with one relevant item, such as ``"TI-1R-NN(100, by='mixed')"``, draws in another way.

    >>> import recassay as ra
    >>> from recassay.data.synthetic import log
    >>> fold = ra.split.last(n=1)(log(users=300, items=120, events=6_000, seed=1))[0]
    >>> run = ra.play(ra.models.Popular(), fold, ra.protocols.next_item())
    >>> sampled_ranks(run, 20).columns, sampled_ranks(run, 20).height
    (['user_id', 'item_id', 'rank', 'pool'], 300)
    """
    if not isinstance(run, Run):
        raise wrong_noun(run, "played run")
    if (sample is None) == (design is None):
        raise UsageError("U102", "give either sample= or design=", hint="sampled_ranks(run, 100)")
    parsed = parse(f"AI-1R-NN({sample})" if design is None else design)
    if parsed.relevant != "1R" or parsed.n is None or parsed.bins is not None:
        what = "ranks among drawn candidates need a design with one relevant item and a number of candidates"
        raise UsageError("U122", what, where=str(parsed), hint="such as AI-1R-NN(100)")
    source, standings = source_of(run), run.standings
    assert standings is not None  # a run with a source was played
    sampler = _RankSampler.of(standings, source.task, parsed, {}, "error", 1, threads)
    sampler = replace(sampler, ranks=np.empty(standings.item.size, np.int64))
    draw_all([sampler], source, run.name, seed, threads=threads)
    query = row_groups(standings.offsets)
    return pl.DataFrame(
        {
            USER: standings.queries.gather(query),
            ITEM: source.task.train.item_vocabulary.decode(standings.item),
            RANK: sampler.ranks,
            POOL: standings.pool[parsed.base][query].astype(np.int64),
        }
    )


@dataclass(frozen=True, eq=False)
class _RankSampler(DesignSampler):
    """A sampler that stores the rank of each relevant item in its only draw, and no metrics."""

    ranks: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def store(self, low: int, high: int, above: Int64, place: Int64) -> None:
        """Store the ranks of the relevant items of the target sets from ``low`` up to ``high`` (excluded).

        A target set holds one relevant item and the candidates it is ranked against; ``above[0]`` counts those ranked
        above it. ``place`` is ignored.
        """
        pairs = self.groups.order[self.groups.offsets[low] : self.groups.offsets[high]]
        self.ranks[pairs] = above[0] + 1
