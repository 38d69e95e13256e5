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
from recassay._kernel_cache import use_writable_cache as _use_writable_cache
from recassay._version import __version__

_use_writable_cache()

if TYPE_CHECKING:
    from recassay import designs, drift, experiments, models, protocols, split
    from recassay.api.compare import compare
    from recassay.api.evaluate import Evaluation, evaluate
    from recassay.api.judge import judge
    from recassay.api.play import play
    from recassay.api.score import score
    from recassay.api.weight import Weights, choose_weight
    from recassay.backends.spark.given_folds import spark_fold
    from recassay.backends.spark.logs import spark_log
    from recassay.backends.spark.session import spark_session
    from recassay.columnar.vocabulary import Vocabulary
    from recassay.comparison.across import Across, across
    from recassay.comparison.compare import Comparison, SignificanceOptions
    from recassay.comparison.consistency import Consistency, consistency
    from recassay.comparison.over_time.compare import OverTime, compare_over_time, declared
    from recassay.comparison.over_time.curves import Curve, over_time
    from recassay.comparison.over_time.folds import FoldCurves, compare_folds, over_folds
    from recassay.comparison.overall import global_score, pareto
    from recassay.comparison.power import Power, users_needed
    from recassay.comparison.sudden_death import SuddenDeath
    from recassay.comparison.trade_off import trade_off
    from recassay.data.features import Features
    from recassay.data.fold import Fold
    from recassay.data.fold_files import read_fold
    from recassay.data.generated import Generated
    from recassay.data.interactions import Interactions
    from recassay.data.read import read_interactions, read_items, read_run, read_runs, read_truth
    from recassay.data.run import Run
    from recassay.data.sequences import SequenceFold, Sequences
    from recassay.data.standings import Standings
    from recassay.data.truth import Truth
    from recassay.engine.decisions.decide import Decision, decide
    from recassay.engine.decisions.home_and_away import home_and_away
    from recassay.engine.decisions.interleaving import Interleaving, interleave
    from recassay.engine.decisions.sudden_death import sudden_death
    from recassay.engine.finished.conclude import FinishedConclusions, conclude
    from recassay.engine.finished.order_agreement import order_agreement
    from recassay.engine.finished.read import FinishedScores, read_finished
    from recassay.engine.lists.score_sets import read_scores
    from recassay.engine.options import ConventionOptions, DesignOptions, Execution, GroupOptions, ReadOptions
    from recassay.engine.ranks.sampled_ranks import sampled_ranks
    from recassay.engine.sequences.exhibits import (
        by_position,
        item_counts,
        item_frequency,
        parallel_view,
        sequence_sizes,
    )
    from recassay.engine.sequences.generate import generate
    from recassay.engine.sequences.likelihood import perplexity_by_position
    from recassay.engine.sequences.score import score_sequences, sequeval
    from recassay.errors import InputError, InternalError, RecassayError, UsageError
    from recassay.extension import register
    from recassay.live.watch import watch
    from recassay.metrics.base import Metric
    from recassay.metrics.function import metric
    from recassay.metrics.registry import parse_metric
    from recassay.models.rerank.runs import Reranked, rerank
    from recassay.report.listing import explain
    from recassay.results.design_scores import DesignScores
    from recassay.results.finding import Finding
    from recassay.results.group_scores import GroupScores
    from recassay.results.outcomes import Outcomes
    from recassay.results.score_set import ScoreSet
    from recassay.results.scores import Scores
    from recassay.sampled.corrections import correct
    from recassay.sampled.curve import sampling_curve
    from recassay.sampled.mapping import mapped_cutoff
    from recassay.sampled.result import SamplingCurve
    from recassay.stats.intervals import Uncertainty
    from recassay.study.run.study import run_study

# Where each public name lives; a module is its own home. Nothing is imported before it is asked for: `import recassay`
# costs nothing.
_HOMES = {
    "Across": "comparison.across",
    "Comparison": "comparison.compare",
    "Consistency": "comparison.consistency",
    "ConventionOptions": "engine.options",
    "Curve": "comparison.over_time.curves",
    "Decision": "engine.decisions.decide",
    "DesignOptions": "engine.options",
    "DesignScores": "results.design_scores",
    "Evaluation": "api.evaluate",
    "Execution": "engine.options",
    "Features": "data.features",
    "Finding": "results.finding",
    "FinishedConclusions": "engine.finished.conclude",
    "FinishedScores": "engine.finished.read",
    "Fold": "data.fold",
    "FoldCurves": "comparison.over_time.folds",
    "Generated": "data.generated",
    "GroupOptions": "engine.options",
    "GroupScores": "results.group_scores",
    "InputError": "errors",
    "Interactions": "data.interactions",
    "Interleaving": "engine.decisions.interleaving",
    "InternalError": "errors",
    "Metric": "metrics.base",
    "Outcomes": "results.outcomes",
    "OverTime": "comparison.over_time.compare",
    "Power": "comparison.power",
    "ReadOptions": "engine.options",
    "RecassayError": "errors",
    "Reranked": "models.rerank.runs",
    "Run": "data.run",
    "SamplingCurve": "sampled.result",
    "ScoreSet": "results.score_set",
    "Scores": "results.scores",
    "SequenceFold": "data.sequences",
    "Sequences": "data.sequences",
    "SignificanceOptions": "comparison.compare",
    "Standings": "data.standings",
    "SuddenDeath": "comparison.sudden_death",
    "Truth": "data.truth",
    "Uncertainty": "stats.intervals",
    "UsageError": "errors",
    "Vocabulary": "columnar.vocabulary",
    "Weights": "api.weight",
    "across": "comparison.across",
    "by_position": "engine.sequences.exhibits",
    "choose_weight": "api.weight",
    "compare": "api.compare",
    "compare_folds": "comparison.over_time.folds",
    "compare_over_time": "comparison.over_time.compare",
    "conclude": "engine.finished.conclude",
    "consistency": "comparison.consistency",
    "correct": "sampled.corrections",
    "decide": "engine.decisions.decide",
    "declared": "comparison.over_time.compare",
    "designs": "designs",
    "drift": "drift",
    "evaluate": "api.evaluate",
    "experiments": "experiments",
    "explain": "report.listing",
    "generate": "engine.sequences.generate",
    "global_score": "comparison.overall",
    "home_and_away": "engine.decisions.home_and_away",
    "interleave": "engine.decisions.interleaving",
    "item_counts": "engine.sequences.exhibits",
    "item_frequency": "engine.sequences.exhibits",
    "judge": "api.judge",
    "mapped_cutoff": "sampled.mapping",
    "metric": "metrics.function",
    "models": "models",
    "order_agreement": "engine.finished.order_agreement",
    "over_folds": "comparison.over_time.folds",
    "over_time": "comparison.over_time.curves",
    "parallel_view": "engine.sequences.exhibits",
    "pareto": "comparison.overall",
    "parse_metric": "metrics.registry",
    "perplexity_by_position": "engine.sequences.likelihood",
    "play": "api.play",
    "protocols": "protocols",
    "read_finished": "engine.finished.read",
    "read_fold": "data.fold_files",
    "read_interactions": "data.read",
    "read_items": "data.read",
    "read_run": "data.read",
    "read_runs": "data.read",
    "read_scores": "engine.lists.score_sets",
    "read_truth": "data.read",
    "register": "extension",
    "rerank": "models.rerank.runs",
    "run_study": "study.run.study",
    "sampled_ranks": "engine.ranks.sampled_ranks",
    "sampling_curve": "sampled.curve",
    "score": "api.score",
    "score_sequences": "engine.sequences.score",
    "sequence_sizes": "engine.sequences.exhibits",
    "sequeval": "engine.sequences.score",
    "spark_fold": "backends.spark.given_folds",
    "spark_log": "backends.spark.logs",
    "spark_session": "backends.spark.session",
    "split": "split",
    "sudden_death": "engine.decisions.sudden_death",
    "trade_off": "comparison.trade_off",
    "users_needed": "comparison.power",
    "watch": "live.watch",
}

__all__ = [
    "Across",
    "Comparison",
    "Consistency",
    "ConventionOptions",
    "Curve",
    "Decision",
    "DesignOptions",
    "DesignScores",
    "Evaluation",
    "Execution",
    "Features",
    "Finding",
    "FinishedConclusions",
    "FinishedScores",
    "Fold",
    "FoldCurves",
    "Generated",
    "GroupOptions",
    "GroupScores",
    "InputError",
    "Interactions",
    "Interleaving",
    "InternalError",
    "Metric",
    "Outcomes",
    "OverTime",
    "Power",
    "ReadOptions",
    "RecassayError",
    "Reranked",
    "Run",
    "SamplingCurve",
    "ScoreSet",
    "Scores",
    "SequenceFold",
    "Sequences",
    "SignificanceOptions",
    "Standings",
    "SuddenDeath",
    "Truth",
    "Uncertainty",
    "UsageError",
    "Vocabulary",
    "Weights",
    "__version__",
    "across",
    "by_position",
    "choose_weight",
    "compare",
    "compare_folds",
    "compare_over_time",
    "conclude",
    "consistency",
    "correct",
    "decide",
    "declared",
    "designs",
    "drift",
    "evaluate",
    "experiments",
    "explain",
    "generate",
    "global_score",
    "home_and_away",
    "interleave",
    "item_counts",
    "item_frequency",
    "judge",
    "mapped_cutoff",
    "metric",
    "models",
    "order_agreement",
    "over_folds",
    "over_time",
    "parallel_view",
    "pareto",
    "parse_metric",
    "perplexity_by_position",
    "play",
    "protocols",
    "read_finished",
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
    "sampled_ranks",
    "sampling_curve",
    "score",
    "score_sequences",
    "sequence_sizes",
    "sequeval",
    "spark_fold",
    "spark_log",
    "spark_session",
    "split",
    "sudden_death",
    "trade_off",
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


def __dir__() -> list[str]:
    return sorted(__all__)
