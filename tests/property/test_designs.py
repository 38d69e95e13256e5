"""Closed forms of designs, compared with enumerations of all samples and orders of ties, and with many draws."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln

from recassay import designs
from recassay.columnar.layout import readonly
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.standings import Standings
from recassay.designs import _single, moments
from recassay.metrics.registry import parse_metrics

from ..examples import examples

METRICS = (
    "precision@1 precision@2 recall@2 recall(divide_by='reachable')@2 hit@2 hit(form='count')@3 mrr mrr@2 map map@2 "
    "map(divide_by='k')@3 ndcg ndcg@2 ndcg(discount='jk')@3 dcg@2 rprec auc"
)
PARSED = parse_metrics(METRICS)


def log2(rank):
    return 1 / math.log2(rank + 1)


def jk(rank):
    return 1 / max(1.0, math.log2(rank)) if rank > 1 else 1.0


def by_hand(heading, ranks, sampled):
    """Return one metric of one target set from the ranks of its relevant items."""
    return all_by_hand(tuple(ranks), sampled)[heading]


@lru_cache(maxsize=1000)
def all_by_hand(ranks, sampled):
    """Return every metric of one target set, by its heading."""
    R = len(ranks)
    within = {k: sum(r <= k for r in ranks) for k in (1, 2, 3, R)}
    first = min(ranks)
    precision = [(i / r, r) for i, r in enumerate(sorted(ranks), start=1)]
    return {
        "precision@1": within[1],
        "precision@2": within[2] / 2,
        "recall@2": within[2] / R,
        "recall(divide_by='reachable')@2": within[2] / min(R, 2),
        "hit@2": float(within[2] > 0),
        "hit(form='count')@3": within[3],
        "mrr": 1 / first,
        "mrr@2": 1 / first if first <= 2 else 0.0,
        "map": sum(p for p, _ in precision) / R,
        "map@2": sum(p for p, r in precision if r <= 2) / R,
        "map(divide_by='k')@3": sum(p for p, r in precision if r <= 3) / 3,
        "ndcg": sum(map(log2, ranks)) / sum(log2(i) for i in range(1, R + 1)),
        "ndcg@2": sum(log2(r) for r in ranks if r <= 2) / sum(log2(i) for i in range(1, min(R, 2) + 1)),
        "ndcg(discount='jk')@3": sum(jk(r) for r in ranks if r <= 3) / sum(jk(i) for i in range(1, min(R, 3) + 1)),
        "dcg@2": sum(log2(r) for r in ranks if r <= 2),
        "rprec": within[R] / R,
        "auc": 1 - sum(r - i for i, r in enumerate(sorted(ranks), start=1)) / (R * sampled) if sampled else math.nan,
    }


def orders(scores):
    """Yield all orders of positions with higher scores first, and ties in every order."""
    levels = sorted(set(scores), reverse=True)
    groups = [[place for place, score in enumerate(scores) if score == level] for level in levels]
    for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [place for part in parts for place in part]


def samples(others, weights, n, by, replace):
    """Yield all draws of the others, as positions, with their probabilities."""
    if n is None:
        yield tuple(range(len(others))), 1.0
    elif replace:
        weight = np.array(weights, float) if by == "popularity" else np.ones(len(others))
        for draw in itertools.product(range(len(others)), repeat=n):
            chance = float(np.prod(weight[list(draw)] / weight.sum()))
            if chance:
                yield draw, chance
    else:
        subsets = list(itertools.combinations(range(len(others)), n))
        for draw in subsets:
            yield draw, 1 / len(subsets)


def enumerated(user, design, heading):
    """Return mean and variance of a user's value over all samples and all orders of the sampled items.

    An item has one position in an order; if it was drawn several times, all its copies are there.
    """
    relevant, others, weights = user
    first = second = 0.0
    for draw, chance in samples(others, weights, design.n, design.by, design.with_replacement):
        items = sorted(set(draw))
        scores = [*relevant, *(others[place] for place in items)]
        copies = [1] * len(relevant) + [draw.count(place) for place in items]
        ways = list(orders(scores))
        for way in ways:
            last = np.cumsum([copies[place] for place in way])
            rank = {place: int(at) for place, at in zip(way, last, strict=True)}
            mine = [rank[place] for place in range(len(relevant))]
            if design.relevant == "AR":
                value = by_hand(heading, mine, len(draw))
            else:
                alone = [r - sum(other < r for other in mine) for r in mine]
                value = sum(by_hand(heading, [r], len(draw)) for r in alone) / len(alone)
            first += chance * value / len(ways)
            second += chance * value**2 / len(ways)
    return first, second - first**2


def mass_row(masses):
    """Return the row that standings store for masses: their number, then up to seven masses, or sums of powers."""
    masses = np.array([mass for mass in masses if mass], float)
    kept = masses if masses.size <= 7 else [(masses**power).sum() for power in (1, 2, 3, 4)]
    return np.pad([masses.size, *kept], (0, 7 - len(kept)))


def standings_of(users, total=None):
    """Return the standings of users given as (scores of relevant items, scores of others, weights of others)."""
    tied_masses, pool_masses = [], [mass_row(weights) for _, _, weights in users]
    rows, offsets, ties = {"above": [], "tied": [], "mass_above": [], "mass_tied": []}, [0], []
    for relevant, others, weights in users:
        scores, mass = np.array(others, float), np.array(weights, float)
        for score in sorted(relevant, reverse=True):
            rows["above"].append(int((scores > score).sum()))
            rows["tied"].append(int((scores == score).sum()))
            rows["mass_above"].append(int(mass[scores > score].sum()))
            rows["mass_tied"].append(int(mass[scores == score].sum()))
            ties.append(relevant.count(score) - 1)
            tied_masses.append(mass_row(mass[scores == score]))
        offsets.append(len(ties))
    both = {name: {"TI": np.array(values, np.int64)} for name, values in rows.items()}
    return Standings(
        name="made", queries=pl.Series(range(len(users))), offsets=np.array(offsets),
        item=np.zeros(len(ties), np.int32), vocabulary=Vocabulary(pl.Series([0])),
        tie_relevant=np.array(ties, np.int32), **both,
        pool={"TI": np.array([len(others) for _, others, _ in users])},
        mass={"TI": np.array([sum(weights) for _, _, weights in users])},
        tied_masses={"TI": np.array(tied_masses)}, pool_masses={"TI": np.array(pool_masses)},
        users=total or len(users), popularity=np.array([3]),
    )  # fmt: skip


@st.composite
def users(draw, most_others=4):
    score = st.integers(0, 3)
    relevant = draw(st.lists(score, min_size=1, max_size=3))
    others = draw(st.lists(score, min_size=1, max_size=most_others))
    weights = [draw(st.integers(1, 4)) for _ in others]
    return relevant, others, weights


KINDS = ["TI-AR-AN", "TI-1R-AN", "TI-AR-NN({n})", "TI-1R-NN({n})", "TI-AR-NN({n}, replace=True)",
         "TI-1R-NN({n}, replace=True)", "TI-AR-NN({n}, by='popularity')", "TI-1R-NN({n}, by='popularity')"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@given(user=users(), n=st.integers(1, 3))
@settings(max_examples=examples(25), deadline=None)
def test_every_metric_equals_the_enumeration_of_all_samples_and_orders(kind, user, n):
    design = designs.parse(kind.format(n=min(n, len(user[1]))))
    judged = designs.expect(standings_of([user]), design, PARSED)
    for heading in PARSED:
        mean, variance = enumerated(user, design, heading)
        outcome = judged.outcomes[heading]
        assert outcome.mean == pytest.approx(mean, abs=1e-12), heading
        assert outcome.variance == pytest.approx(variance, abs=1e-12), heading


@pytest.mark.parametrize("kind", KINDS)
@given(user=users(), n=st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_the_random_column_equals_a_system_that_ties_all_items(kind, user, n):
    relevant, others, weights = user
    design = designs.parse(kind.format(n=min(n, len(others))))
    tied = standings_of([([0] * len(relevant), [0] * len(others), weights)])
    whole = designs.expect(standings_of([user]), design, PARSED)
    chance = designs.expect(tied, design, PARSED)
    for heading in PARSED:
        assert whole.outcomes[heading].random == pytest.approx(chance.outcomes[heading].mean, abs=1e-12), heading
    if design.with_replacement:  # an item may be drawn twice, so the first rank has higher precision than others
        assert chance.outcomes["precision@1"].mean >= chance.rho - 1e-12
        return
    size = 1 + (design.n or len(others)) if design.relevant == "1R" else len(relevant) + (design.n or len(others))
    if size >= 2:
        assert chance.outcomes["precision@2"].mean == pytest.approx(chance.rho, abs=1e-12)
    assert chance.outcomes["precision@1"].mean == pytest.approx(chance.rho, abs=1e-12)


@given(st.lists(users(), min_size=1, max_size=4), st.booleans())
@settings(max_examples=examples(30), deadline=None)
def test_the_best_column_equals_a_system_that_ranks_relevant_items_first(people, apart):
    design = designs.parse("TI-1R-AN" if apart else "TI-AR-AN")
    first = standings_of([([9] * len(relevant), others, weights) for relevant, others, weights in people])
    judged, best = (designs.expect(one, design, PARSED) for one in (standings_of(people), first))
    for heading in PARSED:
        assert judged.outcomes[heading].best == pytest.approx(best.outcomes[heading].mean, abs=1e-12), heading


@given(st.lists(users(), min_size=2, max_size=5), st.integers(0, 3))
@settings(max_examples=examples(30), deadline=None)
def test_means_are_over_users_or_over_sets_and_users_without_relevant_items_count_zero(people, more):
    made = standings_of(people, total=len(people) + more)
    together = designs.expect(made, designs.parse("TI-AR-NN(1)"), PARSED)
    alone = designs.expect(made, designs.parse("TI-1R-NN(1)"), PARSED)
    only = designs.expect(made, designs.parse("TI-AR-NN(1)"), PARSED, users="with_relevant")
    sizes = np.array([len(relevant) for relevant, _, _ in people])
    for heading in PARSED:
        parts = [enumerated(user, designs.parse("TI-AR-NN(1)"), heading) for user in people]
        each = [enumerated(user, designs.parse("TI-1R-NN(1)"), heading) for user in people]
        means, spreads = np.array(parts).T
        assert together.outcomes[heading].mean == pytest.approx(means.sum() / (len(people) + more), abs=1e-12)
        assert together.outcomes[heading].variance == pytest.approx(
            spreads.sum() / (len(people) + more) ** 2, abs=1e-12
        )
        assert only.outcomes[heading].mean == pytest.approx(means.mean(), abs=1e-12)
        wanted = (sizes * np.array(each)[:, 0]).sum() / sizes.sum()
        assert alone.outcomes[heading].mean == pytest.approx(wanted, abs=1e-12)
    assert (together.users, only.users, alone.sets) == (len(people) + more, len(people), sizes.sum())


@pytest.mark.parametrize(("rest", "gap", "q"), [(50, 7, 20), (3000, 40, 99), (3000, 2990, 99), (12, 5, 12), (9, 9, 4)])
@pytest.mark.parametrize("replace", [True, False])
def test_hit_probabilities_agree_with_scipy(rest, gap, q, replace):
    logs, law = gammaln(np.arange(max(rest, q) + 2) + 1.0), np.zeros(q + 2)
    first, last = _single.hit_probabilities(float(gap), float(rest), q, replace, q, readonly(logs), law)
    found = np.zeros(q + 1)
    found[first : last + 1] = law[: last - first + 1]
    y = np.arange(q + 1)
    wanted = stats.binom.pmf(y, q, gap / rest) if replace else stats.hypergeom.pmf(y, rest, gap, q)
    np.testing.assert_allclose(found, wanted, rtol=2e-10, atol=1e-20)


@pytest.mark.parametrize(("rest", "gap", "q"), [(50, 7, 20), (3000, 40, 99), (3000, 2990, 99), (12, 5, 12), (90, 0, 4)])
@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("most", [1, 10, 200])
def test_few_hits_agree_with_scipy(rest, gap, q, replace, most):
    whole = np.arange(max(rest, q) + 4.0)
    logs, parts, law, found = gammaln(whole + 1), 1 / np.maximum(whole, 1), np.zeros(q + 3), np.zeros(most + 1)
    first, last = _single.few_hits(float(gap), float(rest), q, replace, most, readonly(logs), readonly(parts), law)
    found[first : last + 1] = law[: last - first + 1]
    y = np.arange(most + 1)
    wanted = stats.binom.pmf(y, q, gap / rest) if replace else stats.hypergeom.pmf(y, rest, gap, q)
    np.testing.assert_allclose(found, wanted, rtol=2e-10, atol=1e-20)


@pytest.mark.parametrize("kind", [kind.format(n=20) for kind in KINDS])
def test_items_computed_separately_have_the_means_of_the_joint_walk(kind, monkeypatch):
    rng = np.random.default_rng(11)
    people = [
        (rng.integers(0, top, 1 + u).tolist(), rng.integers(0, top, 60).tolist(), rng.integers(1, 9, 60).tolist())
        for u, top in itertools.product(range(4), (2, 5, 50))
    ]
    made, design = standings_of(people), designs.parse(kind)
    together = designs.expect(made, design, PARSED)
    monkeypatch.setattr("recassay.designs.moments.SHALLOW", 0)
    monkeypatch.setattr("recassay.designs.moments.STEPS", -1)
    alone = designs.expect(made, design, PARSED)
    for heading, outcome in together.outcomes.items():
        np.testing.assert_allclose(
            alone.outcomes[heading].values, outcome.values, rtol=1e-10, atol=1e-12, err_msg=heading
        )
    single = designs.expect(standings_of(people[:3]), design, PARSED)  # one relevant item each: no covariances
    monkeypatch.undo()
    joint = designs.expect(standings_of(people[:3]), design, PARSED)
    for heading, outcome in joint.outcomes.items():
        assert single.outcomes[heading].variance == pytest.approx(outcome.variance, rel=1e-9, abs=1e-13), heading
    if design.relevant == "AR":
        assert alone.outcomes["mrr"].variance == pytest.approx(together.outcomes["mrr"].variance, rel=1e-9, abs=1e-13)
        assert math.isnan(alone.outcomes["map"].variance)


@pytest.mark.parametrize("kind", [kind.format(n=40) for kind in KINDS])
def test_means_without_variances_are_the_same_however_ties_are_passed(kind, monkeypatch):
    """Groups with short ties are computed item by item, and those with long ones by the joint walk."""
    rng, long = np.random.default_rng(5), []
    people = [
        (rng.integers(0, top, 1 + 2 * u).tolist(), rng.integers(0, top, 80).tolist(), rng.integers(1, 9, 80).tolist())
        for u, top in itertools.product(range(4), (1, 4, 60))
    ]
    made, design = standings_of(people), designs.parse(kind)
    together = designs.expect(made, design, PARSED)
    chosen = moments._ties_are_long
    monkeypatch.setattr(moments, "_ties_are_long", lambda *given: long.append(chosen(*given)) or long[-1])
    alone = designs.expect(made, design, PARSED, variance=False)
    for heading, outcome in together.outcomes.items():
        wanted = outcome.values
        np.testing.assert_allclose(alone.outcomes[heading].values, wanted, rtol=1e-10, atol=1e-12, err_msg=heading)
    if "(" in kind and design.n and not design.with_replacement:
        assert {True, False} <= set(np.concatenate(long).tolist())


def test_many_tied_items_have_an_exact_mean_and_no_variance():
    """Above a limit of work, tied items are placed separately: the mean is the same and the variance NaN."""
    people = [([1] * 3 + [4], [1] * 900 + [5] * 30 + [0] * 50, [1] * 980)] * 2
    metrics = parse_metrics("precision@5 map ndcg mrr")
    made = standings_of(people)
    for text in ("TI-AR-AN", "TI-1R-AN"):
        judged = designs.expect(made, designs.parse(text), metrics)
        assert not math.isnan(judged.outcomes["precision@5"].variance)
    big = standings_of([([1] * 3 + [4], [1] * 2900 + [5] * 30 + [0] * 50, [1] * 2980)])
    exact = designs.expect(big, designs.parse("TI-AR-AN"), metrics)
    assert math.isnan(exact.outcomes["map"].variance)
    total = 2900 + 3
    ranks = np.arange(1, total + 1)
    mean = 1 / 31  # the item with score 4 is below thirty others
    for i in (1, 2, 3):  # rank of the i-th of three relevant items among the tied
        log = gammaln(ranks) - gammaln(i) - gammaln(np.maximum(ranks - i + 1, 1))
        ok = (ranks >= i) & (total - ranks >= 3 - i)
        below = total - ranks[ok]
        ways = np.exp(
            log[ok] + gammaln(below + 1) - gammaln(4 - i) - gammaln(below - 3 + i + 1)
            - gammaln(total + 1) + gammaln(4) + gammaln(total - 2)
        )  # fmt: skip
        mean += ((i + 1) / (31 + ranks[ok]) * ways).sum()
    assert exact.outcomes["map"].mean == pytest.approx(mean / 4, rel=1e-9)
