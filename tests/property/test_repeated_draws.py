"""Designs with replacement: an item has one position among its ties, and all its drawn copies are there.

Results are compared with enumerations of all samples and orders on catalogues of seven items, with means over positions
on large ones, and with systems that order at random.
"""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from numpy.polynomial.legendre import leggauss
from scipy import stats

import recassay as ra
from recassay import designs
from recassay.checks import diagnose
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.standings import Standings
from recassay.data.synthetic import log
from recassay.designs import random_order
from recassay.metrics.registry import parse_metrics

METRICS = "precision@1 precision@2 recall@2 hit@1 hit@2 mrr mrr@2 map map@3 ndcg ndcg@2 dcg@2 rprec auc"
PARSED = parse_metrics(METRICS.replace("dcg@2 rprec", "dcg@2 hit(form='count')@3 rprec"))
DESIGNS = [
    f"{base}-{relevant}-{draw}"
    for base, relevant in itertools.product(("AI", "TI"), ("AR", "1R"))
    for draw in ("NN(2)", "NN(3, replace=True)", "NN(3, by='popularity')")
] + ["P1R(bins=2, n=1)", "PAR(bins=2, n=1)"]
ITEMS = "abcdefg"


def mass_row(masses):
    """Return the row that standings store for masses: their number, then up to seven masses, or sums of powers."""
    masses = np.asarray(masses, float)
    kept = masses if masses.size <= 7 else [(masses**power).sum() for power in (1, 2, 3, 4)]
    return np.pad([masses.size, *kept], (0, 7 - len(kept)))


def test_one_target_two_tied_candidates_two_draws():
    """At its three positions none, one or both candidates are above: (1 + 1/4 + 0) / 3, not 1/3."""
    one = standings_of(above=[0], tied=[2], pool=[2])
    (outcome,) = designs.expect(
        one, designs.parse("AI-1R-NN(2, replace=True)"), parse_metrics("hit@1")
    ).outcomes.values()
    assert outcome.mean == pytest.approx(5 / 12, abs=1e-15)
    assert outcome.random == pytest.approx(5 / 12, abs=1e-15)
    assert outcome.variance == pytest.approx(5 / 12 * 7 / 12, abs=1e-15)  # 0 or 1
    assert outcome.corrected == pytest.approx(0, abs=1e-15)
    curve = ra.sampling_curve([one], [2], metric="hit@1", replace=True, resamples=2)
    assert curve.points["mean"][0] == pytest.approx(5 / 12, abs=1e-12)


def test_a_random_order_of_ten_candidates_and_five_draws():
    """(1/11) sum over w = 0..10 of (1 - w/10)^5 = 220,825 / 1,100,000."""
    one = standings_of(above=[3], tied=[0], pool=[10])
    judged = designs.expect(one, designs.parse("AI-1R-NN(5, replace=True)"), parse_metrics("precision@1"))
    assert judged.outcomes["precision@1"].random == pytest.approx(220_825 / 1_100_000, abs=1e-15)


def test_systems_that_answer_the_same_queries_share_the_values_of_a_random_order(monkeypatch):
    """Metrics in several groups (two depths, the first hit) are each computed once, for the first system."""
    computed = []
    real = random_order._with_replacement
    monkeypatch.setattr(random_order, "_with_replacement", lambda *given: computed.append(given) or real(*given))
    design, metrics = designs.parse("AI-1R-NN(5, replace=True)"), parse_metrics("precision@2 ndcg@3 mrr")
    shared, found = random_order.RandomOrders(), []
    for above in (3, 7):
        one = standings_of(above=[above], tied=[0], pool=[10])
        found.append(designs.expect(one, design, metrics, random_orders=shared).outcomes)
    assert len(computed) == 3
    alone = designs.expect(one, design, metrics).outcomes
    assert len(computed) == 6
    assert [alone[name].random for name in metrics] == [found[1][name].random for name in metrics]
    assert [found[0][name].mean for name in metrics] != [found[1][name].mean for name in metrics]


def standings_of(above, tied, pool, *, ties=None, masses=None, pool_masses=None):
    """Return standings of users with one relevant item each, with masses of tied candidates and of all candidates."""
    n = len(above)
    above, tied, pool = (np.array(counts, np.int64) for counts in (above, tied, pool))
    masses = [np.ones(count) for count in tied] if masses is None else masses
    pool_masses = [np.ones(count) for count in pool] if pool_masses is None else pool_masses
    heavy = np.array(
        [(whole.sum() - own.sum()) * (many > 0) for own, whole, many in zip(masses, pool_masses, above, strict=True)]
    )
    return Standings(
        "made", pl.Series(range(n)), np.arange(n + 1), np.zeros(n, np.int32), Vocabulary.dense(pl.Series([0]))[0],
        np.zeros(n, np.int32), {"AI": above}, {"AI": tied}, {"AI": pool}, {"AI": heavy.astype(np.int64)},
        {"AI": np.array([int(own.sum()) for own in masses])}, {"AI": np.array([int(one.sum()) for one in pool_masses])},
        tied_masses={"AI": np.array([mass_row(own) for own in masses])},
        pool_masses={"AI": np.array([mass_row(own) for own in pool_masses])}, users=n, popularity=np.array([1]),
    )  # fmt: skip


@pytest.mark.parametrize(("above", "tied", "pool", "q"), [
    (0, 60, 60, 5), (0, 300, 300, 100), (20, 3000, 3400, 100), (0, 13_000, 13_000, 20), (5, 40, 90, 500),
    (0, 100_000, 100_000, 1), (2, 1, 900, 50), (7, 129, 140, 3),
])  # fmt: skip
def test_many_tied_candidates_give_a_mean_over_all_positions(above, tied, pool, q):
    one = standings_of([above], [tied], [pool])
    metrics = parse_metrics("hit@1 hit@10 ndcg@10 mrr")
    judged = designs.expect(one, designs.parse(f"AI-1R-NN({q}, replace=True)"), metrics)
    share = np.arange(above, above + tied + 1) / pool
    law = np.array([stats.binom.pmf(x, q, share).mean() for x in range(q + 1)])
    for outcome, credit in zip(judged.outcomes.values(), (1, 10, "ndcg", "mrr"), strict=True):
        x = np.arange(q + 1)
        value = 1 / (x + 1) if credit == "mrr" else (x < 10) / np.log2(x + 2) if credit == "ndcg" else x < credit
        assert outcome.mean == pytest.approx(float(law @ value), rel=1e-11)
        assert outcome.variance == pytest.approx(float(law @ value**2 - (law @ value) ** 2), abs=1e-11)
    curve = ra.sampling_curve([one], [q], metric="hit@1 hit@10 ndcg@10 mrr", replace=True, resamples=2)
    for heading, outcome in judged.outcomes.items():
        (point,) = curve.points.filter(pl.col("size").is_not_null(), metric=heading)["mean"]
        assert point == pytest.approx(outcome.mean, abs=2e-12)


def copies_above(masses, q, ranks, nodes=40):
    """Return the distribution of the copies above an item that ties with all candidates, by Fourier inversion.

    Masses must be integers.
    """
    total = int(masses.sum())
    angle = 2 * np.pi * np.arange(total // 2 + 1) / (total + 1)
    kinds, counts = np.unique(masses, return_counts=True)
    turn, law = np.exp(-1j * np.outer(angle, kinds)), np.zeros(total + 1)
    for node, weight in zip(*leggauss(nodes), strict=True):
        u = (node + 1) / 2  # position of the item in 0..1: every candidate is above it with this probability
        law += weight / 2 * np.fft.irfft(np.exp(np.log(1 - u + u * turn) @ counts), total + 1)
    share = np.arange(total + 1) / total
    return np.array([stats.binom.pmf(x, q, share) @ law for x in range(ranks)])


@pytest.mark.parametrize(
    ("items", "q", "bound"), [(1_000, 100, 2e-3), (200, 20, 1e-4), (200, 99, 2e-2), (50, 10, 1e-3)]
)
def test_two_classes_approximate_many_masses(items, q, bound):
    """More than seven masses become two classes with the same sums of powers; the relative error of these cases.

    Giving each copy a position of its own, which gives 1 / (q + 1), would be wrong by 8 to 60 %.
    """
    masses = np.maximum(1, np.round(400 / (np.arange(items) + 5.0))).astype(int)
    one = standings_of([0], [items], [items], masses=[masses], pool_masses=[masses])
    metrics = parse_metrics("hit@1 hit@10")
    judged = designs.expect(one, designs.parse(f"AI-1R-NN({q}, by='popularity')"), metrics)
    law = copies_above(masses, q, 10)
    first, ten = (outcome.mean for outcome in judged.outcomes.values())
    assert first == pytest.approx(law[0], rel=bound)
    assert ten == pytest.approx(law.sum(), rel=bound)
    assert abs(1 / (q + 1) - law[0]) / law[0] > 4 * bound
    assert [outcome.random for outcome in judged.outcomes.values()] == pytest.approx([first, ten], rel=1e-12)


def one_tied(items, power):
    """Return standings of an item that ties with all candidates, and their masses, 400 / rank^power."""
    masses = np.maximum(1, np.round(400 / np.arange(1.0, items + 1) ** power)).astype(int)
    return standings_of([0], [items], [items], masses=[masses], pool_masses=[masses]), masses


def hit_at_1(standings, design):
    (outcome,) = designs.expect(standings, designs.parse(design), parse_metrics("hit@1")).outcomes.values()
    return outcome.mean


def repeated(standings, q):
    return diagnose("repeated draws", standings={"made": standings}, draws={"design": ("AI", q)})


@pytest.mark.parametrize(
    ("items", "power", "q", "exact", "approximate"),
    [(25, 1.0, 100, 0.04484, 0.06277), (200, 1.5, 99, 0.03077, 0.05657)],
)
def test_far_approximations_of_many_masses_are_a_warning(items, power, q, exact, approximate):
    standings, masses = one_tied(items, power)
    assert copies_above(masses, q, 1)[0] == pytest.approx(exact, abs=1e-5)
    assert hit_at_1(standings, f"AI-1R-NN({q}, by='popularity')") == pytest.approx(approximate, abs=1e-5)
    (finding,) = repeated(standings, q)
    assert (finding.code, finding.severity) == ("S005", "warning")
    assert "1 of 1 (100 %) relevant items of made tie with more than seven masses" in finding.detail
    assert "off by up to 153 %" in finding.detail
    assert approximate / exact - 1 < 1.53


@pytest.mark.parametrize(
    ("items", "power", "q"), [(9, 0.5, 9), (25, 1.0, 8), (60, 0.5, 40), (200, 1.5, 5), (200, 1.0, 11)]
)
def test_where_no_candidate_is_drawn_twice_the_error_is_below_one_percent(items, power, q):
    standings, masses = one_tied(items, power)
    assert repeated(standings, q) == ()
    found = hit_at_1(standings, f"AI-1R-NN({q}, by='popularity')")
    assert found == pytest.approx(copies_above(masses, q, 1)[0], rel=0.01)


def test_where_only_a_random_order_ties_the_approximation_is_information():
    _, masses = one_tied(25, 1.0)
    standings = standings_of([3], [0], [25], masses=[np.zeros(0)], pool_masses=[masses])
    (finding,) = repeated(standings, 100)
    assert finding.severity == "info"
    assert "chance values (`random`) are approximate" in finding.detail


@pytest.mark.parametrize("masses", [np.full(60, 4), np.array([90, 40, 20, 9, 3, 2, 1])])
def test_equal_masses_and_few_masses_are_exact_and_no_finding(masses):
    standings = standings_of([0], [masses.size], [masses.size], masses=[masses], pool_masses=[masses])
    assert repeated(standings, 300) == ()
    found = hit_at_1(standings, "AI-1R-NN(300, by='popularity')")
    assert found == pytest.approx(copies_above(masses, 300, 1)[0], rel=1e-9)


FOLD = ra.split.random(test=0.2, seed=3)(log(users=120, items=40, events=2_400, seed=4))[0]


def test_judging_and_curves_report_repeated_draws_by_popularity_alone():
    run = ra.play(ra.models.Random(1), FOLD, ra.protocols.ranking(bins=0))
    designs_of = {"AI-1R-NN(60, by='popularity')": 1, "AI-1R-NN(60, replace=True)": 0, "AI-1R-NN(15)": 0}
    for design, findings in designs_of.items():
        judged = ra.judge(run, design, "hit@1", interval=None)
        assert [one.severity for one in judged.findings if one.code == "S005"] == ["info"] * findings
    curve = ra.sampling_curve([run], [2, 60], by="popularity", metric="hit@1", resamples=2)
    (finding,) = (one for one in curve.findings if one.code == "S005")
    assert finding.detail.startswith("popularity, with replacement, 60 candidates: ")
