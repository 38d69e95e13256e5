"""Microsoft recommenders: ``python_evaluation`` on two data frames; it has no value per user."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import pandas as pd
from recommenders.evaluation import python_evaluation as evaluation

from .shared import Answers, answer, attempt, relevant_rows, run_rows

TRANSCRIBED = False


def version() -> str:
    return metadata.version("recommenders")


def answers(case: dict[str, Any]) -> Answers:
    k = case["k"]
    calls = {
        f"precision_at_k@{k}": (evaluation.precision_at_k, {}),
        f"recall_at_k@{k}": (evaluation.recall_at_k, {}),
        f"r_precision_at_k@{k}": (evaluation.r_precision_at_k, {}),
        f"ndcg_at_k@{k}": (evaluation.ndcg_at_k, {}),
        f"ndcg_at_k(raw)@{k}": (evaluation.ndcg_at_k, {"score_type": "raw"}),
        f"ndcg_at_k(exp)@{k}": (evaluation.ndcg_at_k, {"score_type": "exp"}),
        f"ndcg_at_k(log2)@{k}": (evaluation.ndcg_at_k, {"discfun_type": "log2"}),
        f"map@{k}": (evaluation.map, {}),
        f"map_at_k@{k}": (evaluation.map_at_k, {}),
    }
    return {
        name: attempt(lambda function=function, options=options: _answer(case, function, options))
        for name, (function, options) in calls.items()
    }


def _answer(case: dict[str, Any], function: Any, options: dict[str, str]) -> dict[str, Any]:
    truth = pd.DataFrame(relevant_rows(case), columns=["userID", "itemID", "rating"])
    rows = [(user, item, score) for user, item, score, _ in run_rows(case)]
    run = pd.DataFrame(rows, columns=["userID", "itemID", "prediction"])
    return answer(function(truth, run, k=case["k"], **options))
