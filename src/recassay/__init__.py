"""recassay judges recommender systems: exact metrics, named conventions, uncertainty, caveats.

>>> import recassay as ra
>>> scores = ra.score({"mine": {"ann": ["x", "q"]}}, {"ann": ["x", "y"]}, ["recall@2", "mrr"], interval=None)
>>> scores.row("mine", "recall@2").mean
0.5
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from recassay._version import __version__

if TYPE_CHECKING:
    from recassay import bias, designs, drift, models, protocols, split
    from recassay.comparison.across import Across, across
    from recassay.comparison.compare import Comparison, compare
    from recassay.comparison.compare_over_time import OverTime, compare_over_time, declared
    from recassay.comparison.consistency import Consistency, consistency
    from recassay.comparison.folds import FoldCurves, compare_folds, over_folds
    from recassay.comparison.over_time import Curve, over_time
    from recassay.comparison.overall import global_score, pareto
    from recassay.comparison.power import Power, users_needed
    from recassay.comparison.sudden_death import SuddenDeath
    from recassay.comparison.trade_off import trade_off
    from recassay.data.assay import Assay
    from recassay.data.features import Features
    from recassay.data.finding import Finding
    from recassay.data.fold import Fold
    from recassay.data.generated import Generated
    from recassay.data.interactions import Interactions
    from recassay.data.outcomes import Outcomes
    from recassay.data.read import read_interactions, read_items, read_run, read_runs, read_truth
    from recassay.data.run import Run
    from recassay.data.score_set import ScoreSet
    from recassay.data.scores import Scores
    from recassay.data.sequences import SequenceFold, Sequences
    from recassay.data.standings import Standings
    from recassay.data.truth import Truth
    from recassay.data.vocabulary import Vocabulary
    from recassay.engine.contest import sudden_death
    from recassay.engine.decide import Decision, decide
    from recassay.engine.foretold import perplexity_by_position
    from recassay.engine.generate import generate
    from recassay.engine.home_and_away import home_and_away
    from recassay.engine.judge import judge
    from recassay.engine.play import play
    from recassay.engine.score import score
    from recassay.engine.score_sequences import score_sequences, sequeval
    from recassay.engine.score_sets import read_scores
    from recassay.engine.sequence_exhibits import by_position, item_frequency, parallel_view
    from recassay.engine.spark.logs import spark_log
    from recassay.engine.spark.ready import spark_fold
    from recassay.engine.spark.session import spark_session
    from recassay.engine.weight import Weights, choose_weight
    from recassay.errors import InputError, InternalError, RecassayError, UsageError
    from recassay.metrics.base import Metric
    from recassay.metrics.registry import parse_metric
    from recassay.models.rerank.runs import Reranked, rerank
    from recassay.sampled.corrections import correct
    from recassay.sampled.curve import sampling_curve
    from recassay.sampled.mapping import mapped_cutoff
    from recassay.sampled.result import SamplingCurve
    from recassay.study.run import run_study

# Where each public name lives; a module is its own home. Nothing is imported before it is asked for: `import recassay`
# costs nothing.
_HOMES = {
    "Across": "comparison.across",
    "Assay": "data.assay",
    "Comparison": "comparison.compare",
    "Consistency": "comparison.consistency",
    "Curve": "comparison.over_time",
    "Decision": "engine.decide",
    "Features": "data.features",
    "Finding": "data.finding",
    "Fold": "data.fold",
    "FoldCurves": "comparison.folds",
    "Generated": "data.generated",
    "InputError": "errors",
    "Interactions": "data.interactions",
    "InternalError": "errors",
    "Metric": "metrics.base",
    "Outcomes": "data.outcomes",
    "OverTime": "comparison.compare_over_time",
    "Power": "comparison.power",
    "RecassayError": "errors",
    "Reranked": "models.rerank.runs",
    "Run": "data.run",
    "SamplingCurve": "sampled.result",
    "ScoreSet": "data.score_set",
    "Scores": "data.scores",
    "SequenceFold": "data.sequences",
    "Sequences": "data.sequences",
    "Standings": "data.standings",
    "SuddenDeath": "comparison.sudden_death",
    "Truth": "data.truth",
    "UsageError": "errors",
    "Vocabulary": "data.vocabulary",
    "Weights": "engine.weight",
    "across": "comparison.across",
    "bias": "bias",
    "by_position": "engine.sequence_exhibits",
    "choose_weight": "engine.weight",
    "compare": "comparison.compare",
    "compare_folds": "comparison.folds",
    "compare_over_time": "comparison.compare_over_time",
    "consistency": "comparison.consistency",
    "correct": "sampled.corrections",
    "decide": "engine.decide",
    "declared": "comparison.compare_over_time",
    "designs": "designs",
    "drift": "drift",
    "generate": "engine.generate",
    "global_score": "comparison.overall",
    "home_and_away": "engine.home_and_away",
    "item_frequency": "engine.sequence_exhibits",
    "judge": "engine.judge",
    "mapped_cutoff": "sampled.mapping",
    "models": "models",
    "over_folds": "comparison.folds",
    "over_time": "comparison.over_time",
    "parallel_view": "engine.sequence_exhibits",
    "pareto": "comparison.overall",
    "perplexity_by_position": "engine.foretold",
    "parse_metric": "metrics.registry",
    "play": "engine.play",
    "protocols": "protocols",
    "read_interactions": "data.read",
    "read_items": "data.read",
    "read_run": "data.read",
    "read_runs": "data.read",
    "read_scores": "engine.score_sets",
    "read_truth": "data.read",
    "rerank": "models.rerank.runs",
    "run_study": "study.run",
    "sampling_curve": "sampled.curve",
    "score": "engine.score",
    "score_sequences": "engine.score_sequences",
    "sequeval": "engine.score_sequences",
    "spark_fold": "engine.spark.ready",
    "spark_log": "engine.spark.logs",
    "spark_session": "engine.spark.session",
    "split": "split",
    "sudden_death": "engine.contest",
    "trade_off": "comparison.trade_off",
    "users_needed": "comparison.power",
}

__all__ = [
    "Across",
    "Assay",
    "Comparison",
    "Consistency",
    "Curve",
    "Decision",
    "Features",
    "Finding",
    "Fold",
    "FoldCurves",
    "Generated",
    "InputError",
    "Interactions",
    "InternalError",
    "Metric",
    "Outcomes",
    "OverTime",
    "Power",
    "RecassayError",
    "Reranked",
    "Run",
    "SamplingCurve",
    "ScoreSet",
    "Scores",
    "SequenceFold",
    "Sequences",
    "Standings",
    "SuddenDeath",
    "Truth",
    "UsageError",
    "Vocabulary",
    "Weights",
    "__version__",
    "across",
    "bias",
    "by_position",
    "choose_weight",
    "compare",
    "compare_folds",
    "compare_over_time",
    "consistency",
    "correct",
    "decide",
    "declared",
    "designs",
    "drift",
    "generate",
    "global_score",
    "home_and_away",
    "item_frequency",
    "judge",
    "mapped_cutoff",
    "models",
    "over_folds",
    "over_time",
    "parallel_view",
    "pareto",
    "parse_metric",
    "perplexity_by_position",
    "play",
    "protocols",
    "read_interactions",
    "read_items",
    "read_run",
    "read_runs",
    "read_scores",
    "read_truth",
    "rerank",
    "run_study",
    "sampling_curve",
    "score",
    "score_sequences",
    "sequeval",
    "spark_fold",
    "spark_log",
    "spark_session",
    "split",
    "sudden_death",
    "trade_off",
    "users_needed",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'recassay' has no attribute {name!r}")
    home = importlib.import_module(f"recassay.{_HOMES[name]}")
    return home if _HOMES[name] == name else getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)
