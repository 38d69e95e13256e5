"""The recorded answers are whole, belong to the cases as they are now, and say what the libraries say today.

The toy case is the published table of how far libraries stand apart: the same four users, twelve answers.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from record import LIBRARIES, REQUIREMENTS, ask

GOLDEN = Path(__file__).parents[1] / "golden" / "peers"
CASES = {case["name"]: case for case in cases()}

# What each library prints on the toy case: precision, recall, nDCG, MAP, MRR, hit rate at 5.
TOY: dict[str, dict[str, float]] = {
    "ranx": {
        "precision@5": 0.25,
        "recall@5": 0.488,
        "ndcg@5": 0.513,
        "map@5": 0.405,
        "mrr@5": 0.625,
        "hit_rate@5": 0.75,
    },
    "ir_measures": {"P@5": 0.25, "R@5": 0.488, "nDCG@5": 0.513, "AP@5": 0.405, "RR@5": 0.625, "Success@5": 0.75},
    "pytrec_eval": {"P_5": 0.333, "recall_5": 0.651, "ndcg_cut_5": 0.684, "map_cut_5": 0.54, "recip_rank": 0.833},
    "rectools": {"Precision@5": 0.25, "Recall@5": 0.488, "NDCG@5": 0.313, "MAP@5": 0.405, "MRR@5": 0.625},
    "microsoft": {"precision_at_k@5": 0.333, "recall_at_k@5": 0.651, "ndcg_at_k@5": 0.513, "map_at_k@5": 0.578},
    "cornac": {"Precision@5": 0.25, "Recall@5": 0.488, "NDCG@5": 0.513, "HitRatio@5": 0.75},
    "recpack": {"PrecisionK@5": 0.25, "CalibratedRecallK@5": 0.517, "NDCGK@5": 0.513, "HitK@5": 1.25},
    "replay": {
        "Precision@5": 0.25,
        "Recall@5": 0.488,
        "NDCG@5": 0.513,
        "MAP@5": 0.433,
        "MRR@5": 0.625,
        "HitRate@5": 0.75,
    },
    "recbole": {"precision@5": 0.25, "recall@5": 0.488, "ndcg@5": 0.513, "map@5": 0.433, "mrr@5": 0.625, "hit@5": 0.75},
    "torchmetrics": {"RetrievalNormalizedDCG@5": 0.832, "RetrievalMAP@5": 0.625, "RetrievalHitRate@5": 1.0},
    "daisyrec": {"Precision@5": 0.422, "Recall@5": 0.651, "NDCG@5": 0.884, "MAP@5": 0.833, "MRR@5": 0.833, "HR@5": 1.0},
    "elliot": {"Precision@5": 0.333, "Recall@5": 0.651, "nDCG@5": 0.684, "MAP@5": 0.506, "MRR@5": 0.833, "HR@5": 1.0},
    "lenskit": {
        "Precision@5": 0.422,
        "AveragePrecision@5": 0.667,
        "Recall@5": 0.517,
        "NDCG@5": 0.533,
        "RecipRank@5": 0.625,
        "Hit@5": 0.75,
    },
}

# The libraries that live beside the project, and how closely they compute (torch works in single precision).
BESIDE = {"pytrec_eval": 1e-12, "ir_measures": 1e-12, "cornac": 1e-12, "ranx": 1e-12, "torchmetrics": 1e-6}


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_case_is_recorded_with_the_pinned_version(library: str) -> None:
    recorded = _recorded(library)
    assert list(recorded["cases"]) == list(CASES)
    pins = REQUIREMENTS / f"{library}.txt"
    assert bool(recorded["transcribed"]) is not pins.exists()
    if pins.exists():
        assert f"=={recorded['version'].split()[-1]}" in pins.read_text(encoding="utf-8")


@pytest.mark.parametrize("library", LIBRARIES)
def test_users_of_an_answer_are_users_of_its_case(library: str) -> None:
    for name, answers in _recorded(library)["cases"].items():
        known = set(CASES[name]["truth"]) | set(CASES[name]["run"])
        for answer in answers.values():
            assert set(answer.get("per_user") or ()) <= known


@pytest.mark.parametrize("library", LIBRARIES)
def test_toy_table(library: str) -> None:
    toy = _recorded(library)["cases"]["toy"]
    assert {metric: round(toy[metric]["mean"], 3) for metric in TOY[library]} == TOY[library]


@pytest.mark.peers
@pytest.mark.parametrize(
    "library",
    [pytest.param(library, marks=[pytest.mark.path] if library == "pytrec_eval" else []) for library in BESIDE],
)
def test_the_library_still_answers_as_recorded(library: str) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.fail(f"{library} is not installed") if os.environ.get("CI") else pytest.skip(
            f"{library} is not installed"
        )
    now, recorded = ask(library, Path(sys.executable))["cases"], _recorded(library)["cases"]
    if library == "torchmetrics":  # torch.topk leaves the order of tied scores open
        del now["ties"], recorded["ties"]
    assert now.keys() == recorded.keys()
    for case, answers in now.items():
        assert answers.keys() == recorded[case].keys()
        for metric, answer in answers.items():
            assert answer == _approximately(recorded[case][metric], BESIDE[library]), (case, metric)


def _approximately(answer: dict[str, Any], tolerance: float) -> dict[str, Any]:
    return {
        key: pytest.approx(value, abs=tolerance) if isinstance(value, float | dict) else value
        for key, value in answer.items()
    }


def _recorded(library: str) -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads((GOLDEN / f"{library}.json").read_text(encoding="utf-8"))
    return recorded
