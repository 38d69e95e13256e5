"""``evaluate``: from a log to a verdict in one call, with every default stated."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recassay.api.compare import compare
from recassay.api.play import play
from recassay.api.score import score
from recassay.comparison.compare import Comparison
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.nouns import require_model
from recassay.data.read import Columns, read_interactions, read_items
from recassay.data.run import Run
from recassay.engine.options import Execution
from recassay.errors import UsageError
from recassay.metrics.registry import Metrics
from recassay.models.base.registry import parse as parse_model
from recassay.naming.arguments import checks_types
from recassay.naming.choices import Population
from recassay.naming.system_names import system_names
from recassay.protocols.ranking import Ranking
from recassay.results.scores import Scores, population
from recassay.shown import Displayable
from recassay.split import REGISTRY as SPLITS
from recassay.split import Split
from recassay.stats.intervals import Uncertainty

METRICS = "ndcg@10 recall@10 coverage@10"
BY_TIMES = {  # the split of a log by what its times can order: the strictest that they allow
    "clock": "global_time(quantile=0.8)",
    "global": "global_time(quantile=0.8)",
    "user": "last(n=1)",
    None: "random(test=0.2)",
}
REFERENCE = " (reference)"  # added to the names of systems that the caller did not name


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Displayable):
    """Results of :func:`evaluate`: the fold, a run of every system, scores, and tests of all pairs.

    ``references`` names the systems that were added for comparison. ``stated`` describes the split, the protocol, the
    metrics and the references in words, and the users if not all are scored.
    """

    fold: Fold
    runs: Mapping[str, Run]
    scores: Scores
    comparison: Comparison
    references: tuple[str, ...]
    stated: Mapping[str, str]

    def report(self, path: str | Path) -> Path:
        """Write the page of results, with the tests of all pairs; return its path."""
        return self.scores.report(path, self.comparison)


@checks_types
def evaluate(
    log: Any,
    models: Any,
    metrics: Metrics = METRICS,
    *,
    split: str | Split | None = None,
    protocol: Ranking | None = None,
    references: bool = True,
    items: Any = None,
    columns: Columns = None,
    users: Population = "all",
    seed: int = 0,
    threads: int | None = None,
) -> Evaluation:
    """Fit models on a part of a log, score their lists on the rest, test all pairs, and return everything.

    ``log`` is a log, anything that :func:`~recassay.read_interactions` reads, or a fold (then ``split`` is ignored).
    ``models`` are texts (``"ALS(factors=64)"``), models, or runs; one, a list, or a dict of name to model. Without
    names, systems are named by class and parameters: those that are not defaults, and those in which they differ.

    ``split`` is by default the strictest that the times of the log allow: ``global_time(quantile=0.8)`` for times that
    order all events, ``last(n=1)`` for times that only order the events of each user, ``random(test=0.2)`` without
    times.
    ``protocol`` says how the models' lists are made. ``references`` adds systems that every good system must beat,
    Popular and ItemKNN (UserKNN where the library implicit is not installed); their names mark them as references.
    ``items`` are item features. ``users="known"`` takes means over the test users with training events alone.

    >>> from recassay.data.synthetic import log
    >>> made = log(users=80, items=60, events=2_000, seed=1)
    >>> found = evaluate(made, "PureSVD(factors=4)", "ndcg@10", references=False)
    >>> found.scores.systems, found.stated["split"]
    (('PureSVD(factors=4)',), 'global_time(quantile=0.8), chosen by the times of the log')
    """
    fold, how = _fold(log, split, columns, items)
    named = dict(_named(models))
    neighbours = "ItemKNN" if importlib.util.find_spec("implicit") else "UserKNN"
    usual = {name: parse_model(name) for name in ("Popular", neighbours)} if references else {}
    added = {name: model for name, model in usual.items() if type(model) not in set(map(type, named.values()))}
    systems = {**named, **{name + REFERENCE: model for name, model in added.items()}}
    ask = protocol or Ranking(bins=0)
    runs = {name: play(model, fold, ask, name=name, threads=threads) for name, model in systems.items()}
    scores = score(
        runs,
        fold,
        metrics,
        users=users,
        relevant_from=ask.relevant_from or 1.0,
        interval=Uncertainty(seed=seed),
        execution=Execution(threads=threads),
    )
    comparison = Comparison((), None, "metric", "d_z", 0.95, seed)  # of a single system
    if len(runs) > 1 and scores.unit_metrics:
        comparison = compare(scores, seed=seed, threads=threads)
    stated = {"split": how, "protocol": str(ask), "metrics": ", ".join(scores.metrics), "references": ", ".join(added)}
    stated["users"] = population(scores.settings)
    return Evaluation(fold, runs, scores, comparison, tuple(name + REFERENCE for name in added), stated)


def _fold(log: Any, split: str | Split | None, columns: Columns, items: Any) -> tuple[Fold, str]:
    """Return the fold to evaluate on, and a text that says how it was made.

    ``log`` is a log, anything that readers accept, or a fold, which is returned as it is. ``split`` divides a log; None
    takes the strictest split that its times allow.
    """
    if isinstance(log, Fold):
        fold, how = log, f"{log.how.get('split', 'given')}, given as a fold"
    else:
        whole: Interactions = read_interactions(log, columns=columns)
        # times that are all equal order nothing, so they count as no times
        same = whole.timestamps is not None and whole.timestamps.n_unique() == 1
        chosen: Split = SPLITS.parse(split or BY_TIMES[None if same else whole.times])
        folds = chosen(whole)
        if len(folds) > 1:
            hint = "give one of the folds: ra.evaluate(folds[0], models), or run a study, which pools all of them"
            raise UsageError("U124", f"{chosen} gives {len(folds)} folds, but one is needed", where="split", hint=hint)
        fold, how = folds[0], str(chosen) if split else f"{chosen}, chosen by the times of the log"
    return (fold if items is None else replace(fold, items=read_items(items))), how


def _named(models: Any) -> Iterable[tuple[str, Any]]:
    """Yield (name, model) of each model; raise U109 for repeated names.

    Names are the keys of a dict, else the names of runs, or of models by their class and parameters.
    """
    if isinstance(models, Mapping):
        yield from ((str(name), _parsed(model)) for name, model in models.items())
        return
    parsed = [_parsed(one) for one in (models if isinstance(models, list | tuple) else [models])]
    seen = set()
    for model, described in zip(parsed, system_names(parsed), strict=True):
        name = model.name if isinstance(model, Run) else described
        if name in seen:
            raise UsageError("U109", f"two systems have the name '{name}'", hint="give a dict of name to model")
        seen.add(name)
        yield name, model


def _parsed(model: Any) -> Any:
    found = parse_model(model) if isinstance(model, str) else model
    require_model(found)
    return found
