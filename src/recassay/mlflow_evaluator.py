"""The evaluator ``recassay`` of MLflow: lists of retrieved ids against lists of relevant ids, with bounds and findings.

MLflow takes it from an entry point, so it is made when it is asked for: without MLflow nothing is imported.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from recassay.api.score import score
from recassay.optional import need
from recassay.report.folder.track import log_results

DEFAULT = "ndcg@10 recall@10 mrr@10"
QUERY, NAME = "query_id", "retriever"


def can_evaluate(_: Any, *, model_type: str, evaluator_config: dict[str, Any] | None = None, **__: Any) -> bool:
    """Return whether the rows hold lists: those of a retriever, or what is configured with metrics of recassay."""
    return model_type == "retriever" or "metrics" in (evaluator_config or {})


def evaluate(
    _: Any, *, dataset: Any, run_id: str, evaluator_config: dict[str, Any] | None = None, model: Any = None, **__: Any
) -> Any:
    """Score the lists of the rows, log means, bounds, counts and findings to the run, and return MLflow's result."""
    mlflow = need("mlflow", "the evaluator")
    lists = dataset.predictions_data if model is None else model.predict(dataset.features_data)
    run, truth = (
        pl.DataFrame({QUERY: range(len(column)), "items": [list(ids) for ids in column]})
        for column in (lists, dataset.labels_data)
    )
    scores = score({NAME: run}, truth, (evaluator_config or {}).get("metrics", DEFAULT))
    metrics = log_results(mlflow.MlflowClient(), run_id, scores)
    return mlflow.models.EvaluationResult(metrics=metrics, artifacts={}, run_id=run_id)


def __getattr__(name: str) -> Any:
    if name != "RecassayEvaluator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    base = need("mlflow.models.evaluation.base", "the evaluator").ModelEvaluator
    parts: dict[str, Any] = {"can_evaluate": classmethod(can_evaluate), "evaluate": evaluate, "__doc__": __doc__}  # type: ignore[arg-type]
    return type(name, (base,), parts)
