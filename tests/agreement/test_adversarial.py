"""trec_eval, ir_measures and ranx themselves beside their profiles, on input made to be awkward: every value of every
user agrees, but for rounding in double precision.

trec_eval sees scores as C floats, which decides ties; it computes in double precision, as the others do. What is not
compared is what the profile says it does not reproduce: ``mrr`` of ir_measures at a cut-off where scores tie.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from adversarial import adversarial, as_dicts
from answer_adversarial import measures
from record_ranx import GOLDEN, SEED, lists
from same import BESIDE, LIBRARY

import recassay as ra
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.metrics.align import Conventions, align

pytestmark = pytest.mark.peers
PROFILES = ("trec_eval", "ir_measures", "ranx")
SEEDS = (1, 2)
ROUNDING = 1e-9
HERE = Path(__file__).parent


@functools.cache
def theirs(profile: str) -> dict[str, Any]:
    """By seed, by their name of a measure, by user."""
    library = LIBRARY.get(profile, profile)
    if importlib.util.find_spec(library) is None:
        missing = f"{library} is not installed: pip install {BESIDE[library]}"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    command = [sys.executable, str(HERE / "answer_adversarial.py"), library, *map(str, SEEDS)]
    how = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=how)
    answered: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answered


@functools.cache
def ours(profile: str, seed: int) -> ra.Scores:
    """A table as a file would have it: ranks and scores, in the order of rows."""
    case = adversarial(seed)
    judged = [(user, item, gain) for user, items in case["truth"].items() for item, gain in items.items()]
    return ra.score(
        {"run": pl.DataFrame(case["rows"], ["user_id", "item_id", "rank", "score"], orient="row")},
        pl.DataFrame(judged, ["user_id", "item_id", "gain"], orient="row"),
        list(dict.fromkeys(measures(profile).values())),
        profile=profile,
        interval=None,
        columns=ra.options.ReadOptions(negative="unjudged"),
    )


def compared(profile: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Their values and ours, a row per user and a column per measure; NaN where a user is left out."""
    scores, case = ours(profile, seed), adversarial(seed)
    users, names = scores.units.to_list(), measures(profile)
    answered = theirs(profile)[str(seed)]
    expected = np.array([[answered[name].get(user, np.nan) for name in names] for user in users])
    found = np.stack([scores.values("run", name) for name in names.values()], axis=1)
    if profile == "ir_measures":  # it answers for users without a list in some measures and not in others, with 0
        expected = np.where(np.isnan(expected), 0.0, expected)
        tied = {
            user for user, held in as_dicts(case["rows"]).items() if len(set(np.float32([*held.values()]))) < len(held)
        }
        excluded = np.ix_([user in tied for user in users], [name.startswith("RR@") for name in names])
        expected[excluded] = found[excluded] = np.nan
    return expected, found


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("profile", PROFILES)
def test_every_value_agrees(profile: str, seed: int) -> None:
    expected, found = compared(profile, seed)
    wrong = ~np.isclose(found, expected, rtol=0, atol=ROUNDING, equal_nan=True)
    names, users = list(measures(profile)), ours(profile, seed).units.to_list()
    examples = [
        (users[user], names[name], expected[user, name], found[user, name]) for user, name in np.argwhere(wrong)
    ]
    assert not examples, f"{len(examples)} of {wrong.size}: {examples[:5]}"


def test_there_is_enough_to_compare() -> None:
    """Values there are on both sides, and what makes them awkward."""
    count = sum(int((~np.isnan(compared(profile, seed)[0])).sum()) for profile in PROFILES for seed in SEEDS)
    assert count >= 50_000
    for seed in SEEDS:
        case = adversarial(seed)
        held, rows = as_dicts(case["rows"]), case["rows"]
        met = ours("trec_eval", seed).rows[0]
        assert met.duplicate == len(rows) - sum(map(len, held.values())) > 500
        assert met.missing > 20
        assert held.keys() - case["truth"].keys()
        assert sum(len(items) > 15 and len(set(items.values())) < len(items) for items in held.values()) > 50
        assert sum(max(gains.values()) < 1 for gains in case["truth"].values()) > 20


def test_what_ir_measures_orders_otherwise_is_said() -> None:
    [finding] = [one for one in ours("ir_measures", 1).findings if one.code == "P001"]
    assert "mrr with tied scores" in finding.detail
    assert not [one for one in ours("ranx", 1).findings if one.code == "P001"]


RECORDED = json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_ties_stand_as_compiled_ranx_left_them() -> None:
    """Lists of up to 1,000 rows of few scores, in the order that ranx 0.3.21 gave them (record_ranx.py)."""
    scored = lists()
    rows = [(user, row, float(score)) for user, held in enumerate(scored) for row, score in enumerate(held)]
    run = Run.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "score"], orient="row"), "run")
    truth = Truth.from_frame(pl.DataFrame({"user_id": range(len(scored)), "item_id": [0] * len(scored)}))
    found = align(run, truth, Conventions(order="score", ties="ranx")).run
    items = found.vocabulary.decode(found.items)
    stable = [np.argsort(-np.array(held), kind="stable").tolist() for held in scored]
    for user, order in enumerate(RECORDED["orders"]):
        assert items[found.offsets[user] : found.offsets[user + 1]].to_list() == order, len(order)
        assert order == stable[user] or len(order) > 15
    assert sum(order != other for order, other in zip(RECORDED["orders"], stable, strict=True)) > 60


def test_compiled_ranx_gave_the_same_means() -> None:
    """It was not compiled above."""
    scores = ours("ranx", SEED)
    assert {name: scores.row("run", name_here).mean for name, name_here in measures("ranx").items()} == pytest.approx(
        RECORDED["means"], abs=ROUNDING, rel=0
    )
