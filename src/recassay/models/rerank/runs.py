"""Re-ranking of runs: the lists of a run in a more diverse order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.layout import row_groups
from recassay.columnar.vocabulary import Recoding, Vocabulary
from recassay.data.interactions import Interactions
from recassay.data.read import Columns, RunSource, TableSource, read_interactions, read_items, read_run
from recassay.data.run import Run
from recassay.errors import InputError, UsageError
from recassay.models.rerank.base import Candidates, RerankContext, Reranker, reorder_lists
from recassay.naming.arguments import checks_types
from recassay.naming.registry import Registry
from recassay.shown import Displayable

METHODS: Registry[type[Reranker]] = Registry("re-ranker", "recassay.models.rerank", Reranker, group="recassay.models")


@dataclass(frozen=True, eq=False, repr=False)
class Reranked(Displayable):
    """A re-ranked run, with the re-ranker (``method``), the value of every pick (lists, places), and counts.

    ``counts``: ``lists``; ``moved``, rows at another rank than before; ``short``, lists with fewer items than the
    method has places; ``few``, lists with fewer items than it has candidates; ``duplicate``, removed rows that repeated
    an item; ``bare``, rows whose item has no features or users to compare; ``shifted``, lists whose negative scores
    were shifted up; ``without_profile`` and ``without_liked``, users without items or liked items in the training log.
    """

    run: Run
    method: Reranker
    pick_values: NDArray[np.float64]
    counts: Mapping[str, int]

    @property
    def parameters(self) -> dict[str, Any]:
        """Return all parameters of the re-ranker by name, ready for JSON; a table or another object becomes "given".

        The model (``of``) and the item features (``items``) are left out.
        """
        return {
            name: value if isinstance(value, str | int | float | None) else "given"
            for name, value in self.method.parameters.items()
            if name not in ("of", "items")
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the names of the run and of the re-ranker, all ``parameters`` of the latter, and ``counts``.

        The dict is ready for JSON.
        """
        named = {"run": self.run.name, "method": self.method.name}
        return {**named, "parameters": self.parameters, "counts": {**self.counts}}


@checks_types
def rerank(
    run: RunSource,
    method: str | Reranker,
    *,
    items: TableSource = None,
    train: TableSource = None,
    columns: Columns = None,
    format: str | None = None,
    name: str | None = None,
    threads: int | None = None,
) -> Reranked:
    """Reorder the lists of a run to make them more diverse.

    ``method`` is a re-ranker or its name with parameters. ``run``, ``items`` (features) and ``train`` (a log) are
    objects of recassay or anything its readers accept; ``columns`` and ``format`` say how to read them. The lists must
    have scores; their order is that of the run. In the new run an item's score is minus its rank, so every reader sees
    the same order. ``name`` is the name of the new run, by default that of the old run.

    >>> run = {"ann": {"heat": 0.9, "ronin": 0.8, "up": 0.6}}
    >>> films = pl.DataFrame({"item_id": ["heat", "ronin", "up"], "genres": [["crime"], ["crime"], ["family"]]})
    >>> found = rerank(run, "MMR(weight=0.6)", items=films)
    >>> found.run.frame()["item_id"].to_list(), found.counts["moved"]
    (['heat', 'up', 'ronin'], 2)
    """
    prepared = PreparedRun.of(run, method, items=items, train=train, columns=columns, format=format)
    return prepared.rerank(name=name, threads=threads)


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """A run and all data that a re-ranker needs to reorder it with any weight of diversity.

    ``duplicate`` is the number of rows that were removed because they repeated an item of their list.
    """

    run: Run
    lists: Candidates
    method: Reranker
    prepared: Any
    duplicate: int

    @classmethod
    def of(
        cls, run: Any, method: str | Reranker, *, items: Any, train: Any, columns: Columns, format: str | None = None
    ) -> PreparedRun:
        """Return a run with the data that the re-ranker ``method`` reads: features of ``items`` and the log ``train``.

        ``columns`` and ``format`` say how to read the run. Raise U201 if the re-ranker has a model of its own (``of``),
        and I301 or I201 for scores that cannot be used.
        """
        reranker = METHODS.parse(method)
        if reranker.of is not None:
            what = f"{reranker} has a model, but a run is re-ranked"
            raise UsageError("U201", what, where=str(reranker), hint="remove of=: the run takes the place of the model")
        given = read_run(run, columns=columns, format=format, nan="last").with_ties_broken()  # raises I301 below
        log = None if train is None else read_interactions(train, columns=columns)
        feature_source = reranker.items if items is None else items
        features = None if feature_source is None else read_items(feature_source, columns=columns)
        repeats = given.repeated()
        distinct = given.without(repeats)
        lists = _candidates(distinct, log)
        context = RerankContext(reranker.name, distinct.vocabulary, distinct.items, features, log, where=given.origin)
        return cls(distinct, lists, reranker, reranker.prepare(context), int(repeats.sum()))

    def rerank(self, *, weight: float | None = None, name: str | None = None, threads: int | None = None) -> Reranked:
        """Return the run in its new order, with the re-ranker's weight of diversity or another ``weight``."""
        method = self.method if weight is None else replace(self.method, weight=float(weight))
        order, pick_values, counts = reorder_lists(self.lists, method, self.prepared, threads=threads)
        run = self.run
        ranks = np.arange(1, run.items.size + 1) - run.offsets[row_groups(run.offsets)]
        made = replace(
            run, name=name or run.name, items=run.items[order], order="rank",
            score_column=pl.Series(-ranks, dtype=pl.Float64), tied=None, standings=None, source=None,
        )  # fmt: skip
        return Reranked(made, method, pick_values, {**counts, "duplicate": self.duplicate})


def _candidates(run: Run, log: Interactions | None) -> Candidates:
    """Return the lists of a run, ready to be reordered; raise I201 without scores, I301 if one is not finite."""
    if run.scores is None:
        raise InputError(
            "I201",
            f"the run has no scores, only an order of {run.items.size:,} items",
            where=run.origin,
            hint="add a column `score`: re-ranking weighs differences of scores against diversity",
        )
    users = np.full(run.queries.len(), -1, np.int32)
    if log is not None:
        vocabulary, codes = Vocabulary.encode(run.queries)
        users = Recoding.between(vocabulary, log.user_ids, "user")(codes)
    lists = Candidates(run.offsets, run.items, run.scores, users, run.queries)
    lists.require_scores(run.origin)
    return lists
