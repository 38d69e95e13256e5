"""DaisyRec: the functions of ``daisy.utils.metrics`` on the lists of users that have a list and a truth."""

from __future__ import annotations

import warnings
from importlib import metadata
from typing import Any

import numpy as np
from daisy.utils import metrics

from .shared import Answers, answer, attempt, lists, relevant

TRANSCRIBED = False


def version() -> str:
    return metadata.version("daisyRec")


def answers(case: dict[str, Any]) -> Answers:
    names = ("Precision", "Recall", "NDCG", "MAP", "MRR", "HR", "F1", "AUC")
    return {f"{name}@{case['k']}": attempt(lambda name=name: _answer(case, name)) for name in names}


def _answer(case: dict[str, Any], name: str) -> dict[str, Any]:
    liked = {user: set(items) for user, items in relevant(case).items() if items}
    ranked = {user: np.array(items[: case["k"]]) for user, items in lists(case).items()}
    users = [user for user in case["run"] if user in liked]
    function = getattr(metrics, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 0/0 of a user without a hit
        per_user = {user: function(liked, [ranked[user]], [user]) for user in users}
        return answer(function(liked, [ranked[user] for user in users], users), per_user)
