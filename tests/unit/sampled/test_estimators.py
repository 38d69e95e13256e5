"""Estimators: worked examples, the objectives they minimise, and their properties on average."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom

from recassay.metrics.registry import parse_metric
from recassay.sampled.estimators import REGISTRY, BiasVariance, MinimalBias, Rank, Target, metric_at_rank
from recassay.sampled.joint import joint_ranks

from ...examples import examples
from ...refusals import refused

# Six full ranks (N = 5), three draws with replacement, every rank equally likely: fhat(1..4).
WORKED = [
    ("hit@2", "minimal_bias", (1.087302, 0.533951, -0.581570, 0.055556)),
    ("hit@2", "bias_variance(gamma=0.01)", (1.088939, 0.485994, -0.521821, 0.046057)),
    ("hit@2", "bias_variance", (1.068908, 0.327863, -0.272817, 0.005506)),
    ("hit@2", "bias_variance(gamma=1.0)", (0.84, 0.32, 0.08, 0.004444)),
    ("ndcg@2", "bias_variance", (0.980803, 0.020987, -0.145397, 0.008209)),
    ("ndcg@2", "minimal_bias", (1.040436, -0.061313, -0.175234, 0.023335)),
    ("map", "bias_variance", (0.930237, 0.157670, 0.230862, 0.171852)),
    ("mrr", "bias_variance", (0.930237, 0.157670, 0.230862, 0.171852)),
    ("map", "rank", (1, 0.375, 0.230769, 0.166667)),
    ("hit@2", "rank", (1, 0, 0, 0)),
    ("hit@2", "constrained(by='box')", (1, 0.175676, 0, 0)),
    ("hit@2", "constrained", (1.132934, 0.079269, 0, 0)),
]


def estimates(metric, estimator, joint):
    return REGISTRY.parse(estimator).estimates(Target(parse_metric(metric), joint)).values


def rank_probabilities(pool, sample, replace):
    """Return P(q | r), with q in columns."""
    above, seen = np.arange(pool + 1)[:, None], np.arange(sample + 1)[None, :]
    return binom.pmf(seen, sample, above / pool) if replace else hypergeom.pmf(seen, pool, above, sample)


@pytest.mark.parametrize(("metric", "estimator", "expected"), WORKED)
def test_worked_examples(metric, estimator, expected):
    assert estimates(metric, estimator, joint_ranks(5, 3, replace=True)) == pytest.approx(expected, abs=5.1e-7)


def test_a_worked_example_without_replacement():
    found = estimates("hit@2", "bias_variance", joint_ranks(5, 3, replace=False))
    assert found == pytest.approx((1.072637, 0.426081, -0.200915, 0.035530), abs=5.1e-7)


def test_expectation_of_the_minimal_bias_estimator_at_each_full_rank():
    found = rank_probabilities(5, 3, True) @ estimates("hit@2", "minimal_bias", joint_ranks(5, 3, replace=True))
    assert found == pytest.approx((1.087302, 0.706349, 0.301587, -0.015873, -0.134921, 0.055556), abs=5.1e-7)


METRICS = ["hit@1", "hit@3", "ndcg@5", "mrr", "map", "auc", "recall@4"]
CASES = st.tuples(
    st.integers(2, 40), st.integers(1, 25), st.booleans(), st.sampled_from(METRICS), st.integers(0, 9999)
).filter(lambda case: case[2] or case[1] <= case[0])  # fmt: skip


def made(case):
    """Return the pairs for a random prior, P(q | r), the prior, the metric at every full rank and the generator."""
    pool, sample, replace, metric, seed = case
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(pool + 1))
    joint = joint_ranks(pool, sample, replace=replace, prior=prior)
    return (
        joint,
        rank_probabilities(pool, sample, replace),
        prior,
        metric_at_rank(parse_metric(metric), np.arange(1.0, pool + 2), pool),
        rng,
    )


@given(CASES)
@settings(max_examples=examples(40), deadline=None)
def test_gamma_1_gives_the_posterior_mean(case):
    joint, chance, prior, metric, _ = made(case)
    posterior = prior[:, None] * chance / (prior @ chance)
    assert BiasVariance(1.0).estimates(Target(parse_metric(case[3]), joint)).values == pytest.approx(
        metric @ posterior, abs=1e-7
    )


@given(CASES, st.sampled_from([0.003, 0.01, 0.1, 0.5, 1.0]))
@settings(max_examples=examples(40), deadline=None)
def test_bias_variance_solves_the_published_equations(case, gamma):
    """((1 - gamma) A'A + gamma diag(c)) fhat = A'b, with A = sqrt(p) P, b = sqrt(p) f, c = p P."""
    joint, chance, prior, metric, _ = made(case)
    found = BiasVariance(gamma).estimates(Target(parse_metric(case[3]), joint)).values
    left = (1 - gamma) * (chance.T * prior) @ chance + gamma * np.diag(prior @ chance)
    assert left @ found == pytest.approx(chance.T @ (prior * metric), abs=1e-12)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("estimator", ["rank", "minimal_bias"])
def test_auc_needs_no_correction(estimator, replace):
    """The sampled AUC is unbiased, and the minimal-bias estimator equals it."""
    found = estimates("auc", estimator, joint_ranks(500, 20, replace=replace))
    assert found == pytest.approx(1 - np.arange(21) / 20, abs=1e-6)


@pytest.mark.parametrize("pool", [60, 1_200])
@pytest.mark.parametrize("metric", ["hit@10", "ndcg@10", "mrr"])
def test_estimates_from_a_sample_of_all_candidates_equal_the_metric(metric, pool):
    expected = metric_at_rank(parse_metric(metric), np.arange(1.0, pool + 2), pool)
    for estimator in ("rank", "minimal_bias", "bias_variance"):
        found = estimates(metric, estimator, joint_ranks(pool, pool, replace=False))
        assert found == pytest.approx(expected, abs=1e-9), estimator


def test_directions_beyond_the_condition_are_left_out_and_counted():
    """With 100 of 3,416 the condition number of the equations is 10^58; 52 of 101 directions stay below 10^12."""
    joint = joint_ranks(3_416, 100, replace=False)
    found = MinimalBias().estimates(Target(parse_metric("hit@10"), joint))
    assert found.left_out == 101 - np.count_nonzero(joint.kept**2 >= 1e-12) == 49
    assert MinimalBias(1.0).estimates(Target(parse_metric("hit@10"), joint)).left_out == 100
    assert MinimalBias(1.0).estimates(Target(parse_metric("hit@10"), joint)).values == pytest.approx(
        np.full(101, 10 / 3417)
    )
    assert MinimalBias().estimates(Target(parse_metric("hit@2"), joint_ranks(5, 3, replace=False))).left_out == 0
    assert BiasVariance().estimates(Target(parse_metric("hit@10"), joint)).left_out == 0


def test_metric_at_fractional_ranks():
    assert metric_at_rank(parse_metric("hit@2"), np.array([1, 2, 2.01]), 9).tolist() == [1, 1, 0]
    assert metric_at_rank(parse_metric("mrr"), np.array([2.5]), 9).tolist() == [0.4]
    assert metric_at_rank(parse_metric("rprec"), np.array([1, 1.5]), 9).tolist() == [1, 0]
    assert metric_at_rank(parse_metric("precision@5"), np.array([5.0, 6.0]), 9).tolist() == [0.2, 0]
    assert metric_at_rank(parse_metric("hit@20"), np.array([10.0]), 9).tolist() == [1]
    assert Rank().estimates(Target(parse_metric("ndcg@2"), joint_ranks(4, 8, replace=True))).values[
        :3
    ] == pytest.approx([1, 1 / np.log2(2.5), 1 / np.log2(3)])


@pytest.mark.parametrize("metric", ["err", "stratified_recall@5", "bpref"])
def test_metrics_that_are_not_a_function_of_the_rank_are_rejected(metric):
    with refused("U110"):
        metric_at_rank(parse_metric(metric), np.ones(1), 9)


@pytest.mark.parametrize("text", ["bias_variance(gamma=0)", "bias_variance(gamma=1.5)", "minimal_bias(condition=0.5)",
                                  "constrained(by='sense')"])  # fmt: skip
def test_invalid_parameters_are_rejected(text):
    with refused("U102"):
        REGISTRY.parse(text)
