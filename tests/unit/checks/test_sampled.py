"""S001 fires where sampled ranks do not settle the order, says what it saw, and is silent where they do."""

import numpy as np

from recassay.checks import diagnose
from recassay.checks.base import CHECKS
from recassay.checks.designs import UNSURE
from recassay.sampled.corrections import correct

POOL, SAMPLE = 1_000, 100


def order(sampled, resampled, corrected=None):
    """The order of one metric from {system: number} and {system: numbers in resamples}."""
    return {
        "sampled": {(name, "hit@10"): value for name, value in sampled.items()},
        "corrected": {(name, "hit@10"): value for name, value in (corrected or sampled).items()},
        "resampled": {(name, "hit@10"): np.array(values, float) for name, values in resampled.items()},
    }  # fmt: skip


def findings(known):
    return diagnose("sampled ranks", **known, estimator="bias_variance(gamma=0.01)", users=50)


def test_probabilities_by_hand():
    """b leads in one of four resamples, c in none; a and d are level."""
    known = order(
        {"a": 0.4, "b": 0.3, "c": 0.1, "d": 0.4}, {"a": [3, 3, 3, 3], "b": [2, 2, 4, 3], "c": [1] * 4, "d": [3] * 4}
    )
    (finding,) = findings(known)
    assert (finding.code, finding.severity, finding.system) == ("S001", "warning", "")
    assert "2 of 5 pairs of systems" in finding.detail
    assert "by hit@10 a leads b by 0.1000, after correction by 0.1000" in finding.detail
    assert "b leads in 25 % of resamples of 50 users" in finding.detail


def test_certain_orders_are_no_finding():
    assert findings(order({"a": 0.4, "b": 0.3}, {"a": [3.0] * 100, "b": [2.0] * 96 + [4.0] * 4})) == ()
    assert findings(order({"a": 0.4, "b": 0.4}, {"a": [3.0], "b": [4.0]})) == ()


def ranks(above, seed):
    return 1 + np.random.default_rng(seed).hypergeometric(above, POOL - above, SAMPLE)


def found(a, b):
    """The findings on two systems whose full ranks are these, over and over."""
    systems = {"a": ranks(np.repeat(a, 1_000) - 1, 1), "b": ranks(np.repeat(b, 1_000) - 1, 2)}
    return correct(systems, pool=POOL, sample=SAMPLE, metrics="hit@10", resamples=50).findings


def test_an_order_that_sampling_swaps_is_reported():
    """Full ranks 30, 30 against 2, 300: sampled hit@10 is 1.0 and 0.5, full hit@10 is 0 and 0.5."""
    assert "b leads in 100 % of resamples of 2,000 users" in found([30, 30], [2, 300])[0].detail
    assert "a leads in 100 % of resamples of 2,000 users" in found([2, 300], [30, 30])[0].detail


def test_an_order_that_sampling_keeps_is_not_reported():
    assert found([1, 1], [2, 300]) == ()


def test_unreported_orders_are_right():
    """Pairs of systems with ranks of many shapes, within 0.1 of each other by sampled hit@10; 2,000 users."""
    rng = np.random.default_rng(11)
    silent = wrong = turned = 0
    for _ in range(200):
        full = {}
        for name in "ab":
            top, tail, share = rng.uniform(0.15, 1.2), rng.uniform(1, 8), rng.random()
            spread = np.where(rng.random(2_000) < share, rng.beta(top, tail, 2_000), rng.random(2_000) ** 1.5)
            full[name] = np.floor(spread * (POOL + 1)).astype(int)
        seen = {name: ranks(above, seed) for seed, (name, above) in enumerate(full.items())}
        lead = (full["a"] < 10).mean() - (full["b"] < 10).mean()
        sampled = (seen["a"] <= 10).mean() - (seen["b"] <= 10).mean()
        if abs(sampled) > 0.1:
            continue
        result = correct(seen, pool=POOL, sample=SAMPLE, metrics="hit@10", interval=None)
        turned += lead * sampled < 0
        silent += not result.findings
        wrong += not result.findings and lead * sampled < 0
    assert (turned >= 10, silent >= 20) == (True, True)
    assert wrong / silent <= UNSURE


def test_one_system_has_no_order():
    assert correct([1, 2], pool=POOL, sample=SAMPLE, interval=None).findings == ()


def test_the_check_is_about_sampled_ranks():
    assert CHECKS.kinds["S001"].about == "sampled ranks"
