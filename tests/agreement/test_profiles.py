"""Under the profile of a library, every number is the library's: each user's and the mean, on every recorded case.

The answers were recorded; test_recorded_answers.py compares them with what the libraries say today. What is not
compared is what the profile itself excludes, and an answer that is an error.
"""

from __future__ import annotations

import functools
import json
import math
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cases import Case, cases
from same import LIBRARY, SAME

import recassay as ra
from recassay.naming.grammar import parse
from recassay.profiles import PROFILES, Profile

GOLDEN = Path(__file__).parents[1] / "golden" / "peers"
CASES = {case["name"]: case for case in cases()}

SINGLE_PRECISION = {"torchmetrics": 2e-6, "recbole": 2e-6}


def test_every_profile_and_every_metric_of_it_is_compared() -> None:
    assert set(SAME) == set(PROFILES.kinds)
    for name, same in SAME.items():
        assert {parse(ours.format(k=5)).name for ours in same.values()} == set(PROFILES.find(name).metrics), name


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("profile", SAME)
def test_a_profile_prints_what_the_library_prints(profile: str, case: str) -> None:
    answers = _recorded(LIBRARY.get(profile, profile))[case]
    same = {
        theirs.format(k=CASES[case]["k"]): ours.format(k=CASES[case]["k"]) for theirs, ours in SAME[profile].items()
    }
    scores = _scored(profile, case)
    tolerance = SINGLE_PRECISION.get(profile, 1e-9)
    circumstances = _circumstances(CASES[case])
    for theirs, ours in same.items():
        if PROFILES.find(profile).exclusion(parse(ours).name, circumstances) and "error" not in answers[theirs]:
            continue
        _compare(answers[theirs], scores, ours, tolerance)


@pytest.mark.parametrize("profile", SAME)
def test_most_of_a_library_is_compared(profile: str) -> None:
    """An exclusion is an exception: it never swallows a case whole, but for ties and repeated items."""
    compared = [
        (case, theirs)
        for case in CASES
        for theirs, ours in SAME[profile].items()
        if not PROFILES.find(profile).exclusion(parse(ours.format(k=5)).name, _circumstances(CASES[case]))
        and "error" not in _recorded(LIBRARY.get(profile, profile))[case][theirs.format(k=CASES[case]["k"])]
    ]
    assert len(compared) >= 0.7 * len(CASES) * len(SAME[profile])


@pytest.mark.parametrize("profile", [name for name, one in PROFILES.kinds.items() if one.excludes])
def test_what_is_excluded_does_differ(profile: str) -> None:
    """An exclusion that no case needs would only hide an error to come."""
    for exclusion in PROFILES.find(profile).excludes:
        if exclusion.when == "always":
            assert not set(exclusion.metrics) & set(PROFILES.find(profile).metrics)
            continue
        if exclusion.when == "scores of 0 or less":  # no case has them; the test below does
            continue
        assert any(
            _differs(profile, case, theirs, ours)
            for case in CASES
            if exclusion.when in _circumstances(CASES[case])
            for theirs, ours in SAME[profile].items()
            if exclusion.covers(parse(ours.format(k=5)).name, {exclusion.when})
        ), exclusion


def _compare(answer: dict[str, Any], scores: ra.Scores, metric: str, tolerance: float) -> None:
    """Every user the library gives a value to has it here, every other user is left out, and the mean is the same.

    Where the library raises an error there is no mean, and some users may have no answer.
    """
    ours = dict(zip(scores.units.to_list(), scores.values("mine", metric).tolist(), strict=True))
    theirs = answer.get("per_user")
    if theirs is not None:
        users = [user for user in ours if "error" not in answer or user in theirs]
        expected = {user: math.nan if theirs.get(user) is None else theirs[user] for user in users}
        assert {user: ours[user] for user in users} == pytest.approx(expected, abs=tolerance, rel=0, nan_ok=True), (
            metric
        )
    if "error" not in answer:
        assert scores.row("mine", metric).mean == pytest.approx(answer["mean"], abs=tolerance, rel=0), metric


def _differs(profile: str, case: str, theirs: str, ours: str) -> bool:
    k = CASES[case]["k"]
    answer = _recorded(LIBRARY.get(profile, profile))[case][theirs.format(k=k)]
    if "error" in answer:
        return True
    try:
        _compare(answer, _scored(profile, case), ours.format(k=k), SINGLE_PRECISION.get(profile, 1e-9))
    except (AssertionError, ra.UsageError):
        return True
    return False


def _circumstances(case: Case) -> set[str]:
    """What about a case a profile may make an exception of."""
    found = {"users without truth"} if set(case["run"]) - set(case["truth"]) else set()
    without = [user for user, judged in case["truth"].items() if 0 not in judged.values()]
    found |= {"few judged non-relevant items"} if 2 * len(without) > len(case["truth"]) else set()
    for user, judged in case["truth"].items():
        wanted = {item for item, gain in judged.items() if gain > 0}
        if wanted and not wanted & {item for item, _ in case["run"].get(user, [])}:
            found.add("users without a hit")
    for ranked in case["run"].values():
        items, scores = zip(*ranked, strict=True)
        found |= {"tied scores"} if len(set(scores)) < len(scores) else set()
        found |= {"repeated items"} if len(set(items)) < len(items) else set()
    return found


@functools.cache
def _scored(profile: str, case: str) -> ra.Scores:
    """All metrics of a profile on a case: a table with rank and score, as a file would have them."""
    given = CASES[case]
    run = [
        (user, item, rank, score)
        for user, ranked in given["run"].items()
        for rank, (item, score) in enumerate(ranked, 1)
    ]
    truth = [(user, item, gain) for user, judged in given["truth"].items() for item, gain in judged.items()]
    metrics = list(dict.fromkeys(ours.format(k=given["k"]) for ours in SAME[profile].values()))
    metrics = [
        metric
        for metric in metrics
        if metric != "bpref" or "few judged non-relevant items" not in _circumstances(given)
    ]
    return ra.score(
        {"mine": pl.DataFrame(run, ["user_id", "item_id", "rank", "score"], orient="row")},
        pl.DataFrame(truth, ["user_id", "item_id", "gain"], orient="row"),
        metrics,
        profile=profile,
        interval=None,
    )


@functools.cache
def _recorded(library: str) -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads((GOLDEN / f"{library}.json").read_text(encoding="utf-8"))["cases"]
    return recorded


@pytest.mark.peers
def test_a_shift_of_all_scores_changes_torchmetrics_and_not_us() -> None:
    def case(*scores: float) -> Case:
        return {
            "k": 5,
            "truth": {"u": {"a": 1, "c": 1}},
            "run": {"u": [list(row) for row in zip("bac", scores, strict=True)]},
        }

    assert (excluded := PROFILES.find("torchmetrics").exclusion("precision", {"scores of 0 or less"}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch
        peer = pytest.importorskip("peers.torchmetrics", reason="torchmetrics is not installed", exc_type=ImportError)
        before, after = peer.answers(case(3, 2, 1)), peer.answers(case(-1, -2, -3))
    for theirs, ours in SAME["torchmetrics"].items():
        name = theirs.format(k=5)
        moved = after[name]["mean"] != pytest.approx(before[name]["mean"], abs=1e-6)
        assert moved is (parse(ours.format(k=5)).name in excluded.metrics), name


def test_a_metric_the_profile_leaves_out_says_why() -> None:
    with pytest.raises(ra.UsageError, match="whole catalogue"):
        PROFILES.find("cornac").build(parse("map@5"), {})
    assert isinstance(PROFILES.find("cornac"), Profile)
