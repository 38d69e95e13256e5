"""The recorded answers are whole, belong to the cases as they are now, and say what the libraries say today."""

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
