"""Somebody's run in a more diverse order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.layout import stretch_of
from recassay.data.read import Columns, read_interactions, read_items, read_run
from recassay.data.recoding import Recoding
from recassay.data.run import Run
from recassay.data.vocabulary import Vocabulary
from recassay.errors import InputError, UsageError
from recassay.models.rerank.base import Reranker
from recassay.models.rerank.candidates import Candidates, reordered
from recassay.models.rerank.ground import Ground
from recassay.named import Registry

METHODS: Registry[Reranker] = Registry("re-ranker", "recassay.models.rerank", Reranker)


@dataclass(frozen=True, eq=False)
class Reranked:
    """A run in its new order, how it was made, what every pick was worth (lists, places), and counts.

    ``counts``: ``lists``; ``moved``, rows that stand elsewhere than before; ``short``, lists with fewer items than
    places; ``few``, lists with fewer items than candidates; ``duplicate``, rows that repeated an item and were left
    out; ``bare``, rows whose item has nothing to be told apart by; ``shifted``, lists whose negative scores were moved
    up; ``without_profile`` and ``without_liked``, users whom a training log says nothing about.
    """

    run: Run
    method: Reranker
    worth: NDArray[np.float64]
    counts: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: the method with all of its parameters, and the counts."""
        parameters = {
            name: value if isinstance(value, str | int | float | None) else "given"
            for name, value in self.method.parameters.items()
            if name not in ("of", "items")
        }
        return {"run": self.run.name, "method": self.method.name, "parameters": parameters, "counts": {**self.counts}}


def rerank(
    run: Any,
    method: str | Reranker,
    *,
    items: Any = None,
    train: Any = None,
    columns: Columns = None,
    format: str | None = None,
    name: str | None = None,
    threads: int | None = None,
) -> Reranked:
    """Put the lists of a run into a more diverse order.

    ``run``, ``items`` (features) and ``train`` (a log) are nouns or anything the readers take. Lists are taken in the
    order they have; scores are needed beside it. In the new run an item's score is minus its rank, so that every reader
    sees the same order. ``name`` is that of the new run; the old one's, if it is left out.

    >>> run = {"ann": {"heat": 0.9, "ronin": 0.8, "up": 0.6}}
    >>> films = pl.DataFrame({"item_id": ["heat", "ronin", "up"], "genres": [["crime"], ["crime"], ["family"]]})
    >>> found = rerank(run, "MMR(weight=0.6)", items=films)
    >>> found.run.frame()["item_id"].to_list(), found.counts["moved"]
    (['heat', 'up', 'ronin'], 2)
    """
    if threads is not None and threads < 1:
        raise UsageError("U102", f"there are no {threads} threads", hint="1 or more, or None for all processors")
    prepared = Prepared.of(run, method, items=items, train=train, columns=columns, format=format)
    return prepared.rerank(name=name, threads=threads)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A run and all that a method needs to re-rank it, with any weight."""

    run: Run
    lists: Candidates
    method: Reranker
    greedy: Any
    duplicate: int

    @classmethod
    def of(
        cls, run: Any, method: str | Reranker, *, items: Any, train: Any, columns: Columns, format: str | None = None
    ) -> Prepared:
        """Reads what is not read, and refuses what cannot be re-ranked."""
        how = METHODS.parse(method)
        if how.of is not None:
            what = f"{how} has a model of its own, and a run was to be re-ranked"
            raise UsageError("U202", what, where=str(how), hint="leave of= out: the run stands in its place")
        given = read_run(run, columns=columns, format=format, nan="last").arranged()  # refused below
        log = None if train is None else read_interactions(train, columns=columns)
        told = how.items if items is None else items
        features = None if told is None else read_items(told, columns=columns)
        again = given.repeated()
        settled = given.without(again)
        lists = _candidates(settled, log)
        ground = Ground(how.name, settled.vocabulary, settled.items, features, log, where=given.origin)
        return cls(settled, lists, how, how.prepare(ground), int(again.sum()))

    def rerank(self, *, weight: float | None = None, name: str | None = None, threads: int | None = None) -> Reranked:
        """The run in its new order, by the method's weight or another one."""
        how = self.method if weight is None else replace(self.method, weight=float(weight))
        greedy = replace(self.greedy, method=how)
        found = reordered(self.lists, how.places, how.candidates, greedy.reorder, threads=threads)
        run = self.run
        ranks = np.arange(1, run.items.size + 1) - run.offsets[stretch_of(run.offsets)]
        made = replace(
            run, name=name or run.name, items=run.items[found.order], order="rank",
            score_column=pl.Series(-ranks, dtype=pl.Float64), tied=None, standings=None, source=None,
        )  # fmt: skip
        return Reranked(made, how, found.worth, {**found.counts, "duplicate": self.duplicate})


def _candidates(run: Run, log: Interactions | None) -> Candidates:
    """The lists of a run; their scores must be there, and be numbers."""
    if run.scores is None:
        raise InputError(
            "I392",
            f"the run has no scores, only the order of {run.items.size:,} items",
            where=run.origin,
            hint="write a column `score` beside the ranks: how much better an item is decides what diversity may cost",
        )
    users = np.full(run.queries.len(), -1, np.int32)
    if log is not None:
        vocabulary, codes = Vocabulary.encode(run.queries)
        assert log.user_vocabulary.ids is not None, "a log's ids are dense"
        users = Recoding.between(vocabulary, log.user_vocabulary.ids, "user")(codes)
    lists = Candidates(run.offsets, run.items, run.scores, users)
    lists.refuse_unscored(run.origin)
    return lists
