"""The base of experiments on an evaluation, and their input: systems fitted on a fold, with their recommendations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from recassay.api.score import score
from recassay.data.fold import Fold
from recassay.data.run import Run
from recassay.data.standings import Standings
from recassay.data.truth import Truth
from recassay.engine.options import Execution
from recassay.engine.ranks.play import play_fitted, ranking_task
from recassay.errors import UsageError
from recassay.models.base.capabilities import fitted_on_fold
from recassay.naming.named import Named
from recassay.naming.system_names import system_names
from recassay.protocols.base import UserProtocol
from recassay.protocols.ranking import Ranking
from recassay.results.exhibit import Exhibit
from recassay.results.scores import Scores

CONSTANT = 1e-30  # sum of squares up to which points do not differ


@dataclass(frozen=True, eq=False)
class Trial:
    """The input of experiments: a fold, the systems fitted on it, and their recommendations.

    ``models`` are unfitted models, ``fit`` returns the fitted ones and ``runs`` are their recommendations, all by name
    of the system. ``ask`` is the protocol, which says what each system must recommend.
    """

    fold: Fold
    ask: UserProtocol
    models: Mapping[str, Any]
    fit: Callable[[], Mapping[str, Any]]
    runs: Mapping[str, Run]
    threads: int | None = None

    @functools.cached_property
    def fitted(self) -> Mapping[str, Any]:
        """Return ``{name: fitted system}``, fitted when first needed, since most experiments only read ranks."""
        return self.fit()

    @property
    def truth(self) -> Truth:
        """Return the relevant items of the fold."""
        return self.ask.truth(self.fold)

    def standings(self) -> dict[str, Standings]:
        """Return for every system how many candidates are above each relevant item, and tied with it.

        Raise U122 if a run does not have these numbers.
        """
        missing = next((name for name, run in self.runs.items() if run.standings is None), None)
        if missing is not None:
            raise UsageError("U122", f"the run '{missing}' has no standings", hint="play it on the fold")
        return {name: run.standings for name, run in self.runs.items() if run.standings is not None}

    def score(self, metrics: str | list[str], runs: Any = None, interval: Any = None) -> Scores:
        """Return the scores by ``metrics`` of the lists of all systems, or of other ``runs``, on the fold."""
        return score(
            dict(self.runs) if runs is None else runs, self.truth, metrics, train=self.fold.train,
            items=self.fold.items, interval=interval, execution=Execution(threads=self.threads),
        )  # fmt: skip


def played(
    fitted: Mapping[str, Any], fold: Fold, ask: UserProtocol, k: int = 1, threads: int | None = None
) -> dict[str, Run]:
    """Return ``{name: run}``: the top ``k`` lists of fitted systems on a fold, with the ranks of relevant items.

    ``ask`` is the protocol, which says for whom and from which items systems recommend.
    """
    task = ranking_task(fold, ask)
    return {name: play_fitted(system, task, name, k=k, threads=threads) for name, system in fitted.items()}


def trial(
    models: Mapping[str, Any] | Iterable[Any],
    fold: Fold,
    ask: UserProtocol | None = None,
    *,
    threads: int | None = None,
) -> Trial:
    """Return a :class:`Trial`: models fitted on a fold, with their runs under the protocol ``ask``.

    >>> import recassay as ra
    >>> from recassay.data.synthetic import log
    >>> fold = ra.split.random(test=0.2, seed=7)(log(users=200, items=80, events=4_000, seed=1))[0]
    >>> ready = trial([ra.models.Popular(), ra.models.Random()], fold, ra.protocols.ranking(bins=4))
    >>> exhibit = ra.experiments.percentiles(bins=4, metric="precision@5")(ready)[0]
    >>> exhibit.table.filter(system="Popular")["mean"].round(3).to_list()
    [0.113, 0.065, 0.056, 0.067]
    """
    ask = ask or Ranking()
    if not isinstance(models, Mapping):
        models = list(models)
        models = dict(zip(system_names(models), models, strict=True))
    fitted = {name: fitted_on_fold(model, fold) for name, model in models.items()}
    return Trial(fold, ask, dict(models), lambda: fitted, played(fitted, fold, ask, ask.k, threads), threads)


class Experiment(Named):
    """Base of experiments: an object with parameters that, called on a :class:`Trial`, returns tables with a figure."""

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Run the experiment on the fold and the systems in ``trial``; return tables with a figure (exhibits)."""
        raise NotImplementedError(f"{type(self).__name__} must say what it does")


def fits(table: pl.DataFrame, x: str, y: str, by: list[str]) -> pl.DataFrame:
    """Return slope, intercept and R2 of the least-squares line of ``y`` over ``x`` in every group of rows.

    ``y``, ``x`` and ``by`` name columns of ``table``; ``by`` are the columns that define the groups. R2 is NaN where
    all ``y`` are equal.

    >>> fits(pl.DataFrame({"g": ["a"] * 3, "x": [0, 1, 2], "y": [1.0, 3.0, 5.0]}), "x", "y", ["g"]).rows()
    [('a', 2.0, 1.0, 1.0)]
    """
    slope, constant = pl.cov(x, y) / pl.col(x).var(), pl.col(y).var() * (pl.len() - 1) <= CONSTANT
    return table.group_by(by, maintain_order=True).agg(
        slope=slope,
        intercept=pl.col(y).mean() - slope * pl.col(x).mean(),
        r2=pl.when(constant).then(float("nan")).otherwise(pl.corr(x, y) ** 2),
    )
