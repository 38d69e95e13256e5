"""recassay evaluates recommender systems: exact metrics, named conventions, uncertainty, caveats.

>>> import recassay as ra
>>> scores = ra.score({"mine": {"ann": ["x", "q"]}}, {"ann": ["x", "y"]}, ["recall@2", "mrr"], interval=None)
>>> scores.row("mine", "recall@2").mean
0.5
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from recassay import shown as _shown
from recassay._version import __version__

if TYPE_CHECKING:
    from recassay import (
        designs,
        drift,
        experiments,
        metrics,
        models,
        options,
        overall,
        protocols,
        sampled,
        sequences,
        split,
        types,
    )
    from recassay.api import register
    from recassay.api.arrays import score_arrays, scorer
    from recassay.api.compare import compare
    from recassay.api.evaluate import evaluate
    from recassay.api.gate import gate
    from recassay.api.judge import judge
    from recassay.api.play import play
    from recassay.api.score import score
    from recassay.api.weight import choose_weight
    from recassay.backends.spark.folds import spark_fold
    from recassay.backends.spark.logs import spark_log
    from recassay.backends.spark.session import spark_session
    from recassay.comparison.over_time.compare import compare_over_time
    from recassay.comparison.over_time.curves import over_time
    from recassay.comparison.power import users_needed
    from recassay.comparison.trade_off import trade_off
    from recassay.data.features import Features
    from recassay.data.fold import Fold
    from recassay.data.fold_files import read_fold
    from recassay.data.interactions import Interactions
    from recassay.data.read import read_interactions, read_items, read_run, read_runs, read_truth
    from recassay.data.run import Run
    from recassay.data.truth import Truth
    from recassay.engine.decisions.decide import decide
    from recassay.engine.decisions.home_and_away import home_and_away
    from recassay.engine.decisions.interleaving import interleave
    from recassay.engine.decisions.sudden_death import sudden_death
    from recassay.engine.lists.score_sets import read_scores
    from recassay.errors import InputError, RecassayError, UsageError
    from recassay.live.watch import watch
    from recassay.metrics.function import metric
    from recassay.models.rerank.runs import rerank
    from recassay.report.listing import explain
    from recassay.results.outcomes import Outcomes
    from recassay.results.scores import Scores
    from recassay.sampled.corrections import correct
    from recassay.sampled.curve import sampling_curve
    from recassay.study.run.study import run_study

# Where each public name lives; a module is its own home. Nothing is imported before it is asked for: `import recassay`
# costs nothing.
_HOMES = {
    "Features": "data.features",
    "Fold": "data.fold",
    "InputError": "errors",
    "Interactions": "data.interactions",
    "Outcomes": "results.outcomes",
    "RecassayError": "errors",
    "Run": "data.run",
    "Scores": "results.scores",
    "Truth": "data.truth",
    "UsageError": "errors",
    "choose_weight": "api.weight",
    "compare": "api.compare",
    "compare_over_time": "comparison.over_time.compare",
    "correct": "sampled.corrections",
    "decide": "engine.decisions.decide",
    "designs": "designs",
    "drift": "drift",
    "evaluate": "api.evaluate",
    "experiments": "experiments",
    "explain": "report.listing",
    "gate": "api.gate",
    "home_and_away": "engine.decisions.home_and_away",
    "interleave": "engine.decisions.interleaving",
    "judge": "api.judge",
    "metric": "metrics.function",
    "metrics": "metrics",
    "models": "models",
    "options": "options",
    "over_time": "comparison.over_time.curves",
    "overall": "overall",
    "play": "api.play",
    "protocols": "protocols",
    "read_fold": "data.fold_files",
    "read_interactions": "data.read",
    "read_items": "data.read",
    "read_run": "data.read",
    "read_runs": "data.read",
    "read_scores": "engine.lists.score_sets",
    "read_truth": "data.read",
    "register": "api",
    "rerank": "models.rerank.runs",
    "run_study": "study.run.study",
    "sampled": "sampled",
    "sampling_curve": "sampled.curve",
    "score": "api.score",
    "score_arrays": "api.arrays",
    "scorer": "api.arrays",
    "sequences": "sequences",
    "spark_fold": "backends.spark.folds",
    "spark_log": "backends.spark.logs",
    "spark_session": "backends.spark.session",
    "split": "split",
    "sudden_death": "engine.decisions.sudden_death",
    "trade_off": "comparison.trade_off",
    "types": "types",
    "users_needed": "comparison.power",
    "watch": "live.watch",
}

__all__ = [
    "Features",
    "Fold",
    "InputError",
    "Interactions",
    "Outcomes",
    "RecassayError",
    "Run",
    "Scores",
    "Truth",
    "UsageError",
    "__version__",
    "choose_weight",
    "compare",
    "compare_over_time",
    "correct",
    "decide",
    "designs",
    "drift",
    "evaluate",
    "experiments",
    "explain",
    "gate",
    "home_and_away",
    "interleave",
    "judge",
    "metric",
    "metrics",
    "models",
    "options",
    "over_time",
    "overall",
    "play",
    "protocols",
    "read_fold",
    "read_interactions",
    "read_items",
    "read_run",
    "read_runs",
    "read_scores",
    "read_truth",
    "register",
    "rerank",
    "run_study",
    "sampled",
    "sampling_curve",
    "score",
    "score_arrays",
    "scorer",
    "sequences",
    "spark_fold",
    "spark_log",
    "spark_session",
    "split",
    "sudden_death",
    "trade_off",
    "types",
    "users_needed",
    "watch",
]


# Results display themselves in notebooks by the report package, which is above them and imported when it is needed.
_shown.install_renderer(lambda: importlib.import_module("recassay.report.notebook"))


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'recassay' has no attribute {name!r}")
    home = importlib.import_module(f"recassay.{_HOMES[name]}")
    return home if _HOMES[name] == name else getattr(home, name)


__dir__ = __all__.copy
