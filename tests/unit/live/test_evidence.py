"""Bounds and tests that are valid at any time."""

import numpy as np
import pytest

import recassay as ra
from recassay.live.evidence import Evidence
from recassay.live.settings import Rule, parse_rule, read_rules
from recassay.stats.anytime import anytime_bounds, boundary
from recassay.stats.exact_sums import GroupSums

LIMITS = {"hit@10": (0.0, 1.0)}


def sums(values):
    values = np.asarray(values, np.float64).reshape(-1, 1)
    return GroupSums.of(np.zeros(len(values), np.int64), values, 1)


def fed(old, new, **options):
    """Evidence after periods of units."""
    evidence = Evidence(LIMITS, **options)
    for end, (a, b) in enumerate(zip(old, new, strict=True)):
        evidence.update(end, {"old": sums(a), "new": sums(b)}, ["hit@10"])
        evidence.assign({"old": len(a), "new": len(b)})
    return evidence


def test_the_first_period_by_hand():
    evidence = fed([[0, 1]], [[1, 1, 0]])
    # the guess is 0 before anything is known: d = +x / 0.5 or -x / 0.5, divided by 2
    found = evidence.difference("new", "old", "hit@10")
    radius = float(boundary(np.array([3.0]), 0.025)[0])
    assert found.n == 5
    assert found.adjusted == pytest.approx(2 * (2 - 1) / 5)
    assert found.difference == pytest.approx(2 / 3 - 1 / 2)
    assert found.high - found.low == pytest.approx(min(1, 0.4 + 2 * radius / 5) - max(-1, 0.4 - 2 * radius / 5))
    turned = evidence.difference("old", "new", "hit@10")
    assert (turned.low, turned.high) == (-found.high, -found.low)


def test_both_differences_agree_where_the_arms_get_their_shares():
    found = fed([[0, 1, 1]], [[1, 1, 0.5]]).difference("new", "old", "hit@10")
    assert found.adjusted == pytest.approx(found.difference)


def test_a_difference_is_never_outside_what_is_possible():
    evidence = fed([[0.0]], [[1.0, 1.0]])  # twice as many units of one arm as its share
    found = evidence.difference("new", "old", "hit@10")
    running = evidence.pair["new", "old", "hit@10"]
    assert 2 * running.total / running.n == pytest.approx(4 / 3)
    assert (found.difference, found.adjusted, found.high) == (1, 1, 1)


def test_a_control_arm_is_what_the_others_are_compared_with():
    evidence = Evidence(LIMITS)
    for end in range(3):
        arms = {"a": sums([0, 1]), "b": sums([1, 1]), "c": sums([0, 0])}
        evidence.update(end, arms, ["hit@10"])
    rows = evidence.comparisons("b")
    assert [(row["a"], row["b"]) for row in rows] == [("a", "b"), ("c", "b")]
    assert [row["difference"] for row in rows] == [-0.5, -1]
    every = {(row["a"], row["b"]): row for row in evidence.comparisons()}
    assert rows[1]["low"] == -every["b", "c"]["high"]
    assert rows[1]["p_adjusted"] == min(1, 2 * rows[1]["p"])  # Holm over two rows, not three
    assert evidence.comparisons("d") == []


def test_units_that_a_rule_needs_decide_it():
    rng = np.random.default_rng(5)
    periods = [(rng.random(20) < 0.2, rng.random(20) < 0.6) for _ in range(40)]
    rule = Rule("hit@10", ("new", "old"))
    few = fed(*zip(*periods[:3], strict=True), rules=(rule,))
    needed = few.units_needed(rule)
    assert few.pair["new", "old", "hit@10"].n == 120 < needed
    decided = fed(*zip(*periods, strict=True), rules=(rule,)).decisions[str(rule)]["n"]
    assert needed / 2 < decided < needed * 2


def test_one_arm_has_the_bounds_of_the_library_where_nothing_is_guessed():
    values = np.array([1.0, 0, 0, 1, 1, 0, 0, 0])
    evidence = Evidence(LIMITS)
    evidence.update(0, {"a": sums(values)}, ["hit@10"])
    found, expected = evidence.mean("a", "hit@10"), anytime_bounds(values)
    assert found.estimate == expected.mean[-1]
    assert found.high == pytest.approx(min(1, expected.high[-1]))


def test_limits_scale_the_bounds():
    one, other = Evidence({"m": (0.0, 1.0)}), Evidence({"m": (-2.0, 2.0)})
    values = [0.0, 0.25, 1.0, 0.5]
    for evidence, scaled in ((one, values), (other, [4 * value - 2 for value in values])):
        for end in (0, 1):
            evidence.update(end, {"a": sums(scaled), "b": sums(scaled[:2])}, ["m"])
    for a, b in ((one.mean("a", "m"), other.mean("a", "m")),):
        assert b.low == pytest.approx(4 * a.low - 2)
        assert b.high == pytest.approx(4 * a.high - 2)
    for name in ("difference", "adjusted"):
        scaled, plain = (getattr(evidence.difference("a", "b", "m"), name) for evidence in (other, one))
        assert scaled == pytest.approx(4 * plain)


def test_a_difference_is_found_and_a_broken_assignment_too():
    rng = np.random.default_rng(1)
    old = [rng.random(200) < 0.2 for _ in range(30)]
    new = [rng.random(170) < 0.3 for _ in range(30)]
    rule = Rule("hit@10", ("new", "old"))
    evidence = fed(old, new, rules=(rule,))
    decided = evidence.decisions[str(rule)]
    assert decided["low"] > 0
    assert decided["n"] < 370 * 30
    assert evidence.mismatch_p < 1e-6
    assert fed(old, [values[:170] for values in old], shares={"old": 200, "new": 170}).mismatch_p > 0.5


def test_rules():
    assert parse_rule("ndcg@10: new < old") == Rule("ndcg@10", ("old", "new"))
    assert read_rules([{"metric": "hit@5", "arms": ["b", "a"], "margin": 0.01, "alpha": 0.1}])[0].margin == 0.01
    for wrong in ("ndcg@10 new > old", {"metric": "hit@5"}, {"metric": "hit@5", "arms": ["a", "b"], "margn": 1}):
        with pytest.raises(ra.UsageError, match="U255"):
            read_rules([wrong])
