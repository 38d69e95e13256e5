"""RePlay: its metric classes on pandas frames, once for the mean and once with the ``PerUser`` descriptor."""

from __future__ import annotations

import warnings
from importlib import metadata
from typing import Any

import pandas as pd
from replay import metrics

from .shared import Answers, answer, attempt, relevant_rows, run_rows

TRANSCRIBED = False


def version() -> str:
    return f"replay-rec {metadata.version('replay-rec')}"


def answers(case: dict[str, Any]) -> Answers:
    classes = ("Precision", "Recall", "NDCG", "MAP", "MRR", "HitRate", "RocAuc")
    return {f"{name}@{case['k']}": attempt(lambda name=name: _answer(case, getattr(metrics, name))) for name in classes}


def _answer(case: dict[str, Any], kind: Any) -> dict[str, Any]:
    rows = [(user, item, score) for user, item, score, _ in run_rows(case)]
    recommendations = pd.DataFrame(rows, columns=["query_id", "item_id", "rating"])
    truth = pd.DataFrame(relevant_rows(case), columns=["query_id", "item_id", "rating"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of duplicates, and goes on
        (mean,) = kind(case["k"])(recommendations, truth).values()
        (per_user,) = kind(case["k"], mode=metrics.PerUser())(recommendations, truth).values()
    return answer(mean, per_user)
