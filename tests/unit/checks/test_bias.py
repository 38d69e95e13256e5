"""Checks of a judging fire on made cases, say what they saw, and are silent where all is well."""

from types import SimpleNamespace

import numpy as np
import pytest

import recassay as ra
from recassay.checks.base import CHECKS
from recassay.checks.designs import (
    POPULAR,
    catalogue_ties,
    design_swaps,
    mean_lead,
    popularity_effect,
    value_is_popularity,
    value_is_sparsity,
)
from recassay.data.standings import TEST
from recassay.data.synthetic import log

ASK = ra.protocols.ranking()


def runs(events=7_000, users=300, *models):
    fold = ra.split.random(test=0.2, seed=7)(log(users=users, items=90, events=events, seed=2))[0]
    return [ra.play(one, fold, ASK) for one in models or (ra.models.Popular(), ra.models.Random())]


def by_code(assay):
    return {one.code: one for one in assay.findings}


def test_swapped_systems_are_reported_with_both_leads():
    assay = ra.judge(runs(), "TI-AR-AN P1R", "ndcg@5", interval=None)
    found = by_code(assay)["B001"]
    assert found.severity == "warning"
    lost = assay.row("Random", "P1R", "ndcg@5").mean - assay.row("Popular", "P1R", "ndcg@5").mean
    assert f"Random leads Popular by {lost:.4f} under P1R" in found.detail
    assert "1 pair of systems swaps places between designs (1 with" in found.detail
    assert assay.agreement("ndcg@5")["tau"].item() == pytest.approx(-1)


def test_equal_orders_are_no_finding():
    assay = ra.judge(runs(), "TI-AR-AN TI-1R-NN(20)", "precision@10", interval=None)
    assert "B001" not in by_code(assay)
    assert design_swaps(assay) == []


def scores_of(a, b, weights=None):
    """What :func:`mean_lead` reads of scores."""
    values = {"a": np.array(a, float), "b": np.array(b, float)}
    weight = None if weights is None else np.array(weights, float)
    return SimpleNamespace(values=lambda system, _: values[system], weights=lambda *_: weight)


@pytest.mark.parametrize(
    ("a", "b", "weights", "expected", "sure"),
    [
        ([1, 1, 1, 0], [0, 0, 0, 1], None, 0.5, False),  # 2 of 4 with a standard error of 0.433
        ([1] * 30 + [0], [0] * 31, None, 30 / 31, True),
        ([1, 0, np.nan], [0, 1, 1], [3, 1, 5], 0.5, False),  # an undefined user is left out
        ([1], [0], None, 1.0, False),  # one user proves nothing
    ],
)
def test_the_mean_lead_and_its_significance(a, b, weights, expected, sure):
    assert mean_lead(scores_of(a, b, weights), "m", "a", "b") == (pytest.approx(expected), sure)


def made_standings(above, users, pool=20):
    """Standings of one query with these many candidates above its relevant items, which have these many users."""
    many = len(above)
    return SimpleNamespace(
        pool={TEST: np.array([pool])}, above={TEST: np.array(above)}, tied={TEST: np.zeros(many, int)},
        relevant=np.array([many]), item=np.arange(many), popularity=np.array(users),
    )  # fmt: skip


def test_popularity_effect_by_hand():
    """Ten items in the order of their users: correlation 1; nine of them within the top 10."""
    found = popularity_effect(made_standings([0, 1, 2, 3, 4, 5, 6, 7, 8, 15], range(10, 0, -1)))
    assert found == (pytest.approx(1.0), 10, 1, 9, 1)
    assert popularity_effect(
        made_standings([0, 1, 2, 3, 4, 5, 6, 7, 8, 15], range(1, 11))
    ).correlation == pytest.approx(-1)
    assert popularity_effect(made_standings([0, 1, 2], [3, 2, 1])) is None  # too few
    assert popularity_effect(made_standings([5] * 10, range(10))) is None  # all alike
    assert popularity_effect(made_standings(range(10), range(10), pool=0)) is None


@pytest.mark.parametrize(("noise", "fires"), [(0, True), (1, False)])
def test_the_threshold_of_popularity(noise, fires):
    """Half of the items in the order of popularity and half against it is no popularity."""
    above = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] if not noise else [0, 9, 1, 8, 2, 7, 3, 6, 4, 5]
    made = made_standings(above, range(10, 0, -1))
    assert (popularity_effect(made).correlation >= POPULAR) == fires
    assert (value_is_popularity({"standings": {"it": made}}) is not None) == fires


def test_only_the_popularity_baseline_reflects_popularity():
    found = by_code(ra.judge(runs(), "TI-1R-NN(20)", "mrr", interval=None))["B002"]
    assert found.severity == "warning"
    assert "Popular ranks relevant items by popularity" in found.detail
    assert "; also" not in found.detail


def test_few_relevant_items_limit_the_mean():
    assay = ra.judge(runs(2_000), "TI-AR-AN TI-1R-NN(20)", "precision@10", resamples=300)
    found = by_code(assay)["B003"]
    ceiling = assay.row("Popular", "TI-AR-AN", "precision@10").best
    assert f"precision@10 under TI-AR-AN cannot exceed {ceiling:.4f}" in found.detail
    assert found.severity == "info"  # popularity leads by more than its interval
    close = ra.judge(runs(2_000, 300, ra.models.Random(seed=1), ra.models.Random(seed=2)), "TI-AR-AN", "precision@10",
                     resamples=300)  # fmt: skip
    assert by_code(close)["B003"].severity == "warning"


@pytest.mark.parametrize(("designs", "metric"), [("TI-1R-NN(20) P1R", "precision@10"), ("TI-AR-AN", "mrr")])
def test_sparsity_is_not_reported_if_the_mean_can_reach_one(designs, metric):
    assert "B003" not in by_code(ra.judge(runs(7_000), designs, metric, interval=None))
    assert CHECKS.kinds["B003"].ask is value_is_sparsity.ask


def test_designs_with_sampled_candidates_only_are_reported():
    found = by_code(ra.judge(runs(), "TI-1R-NN(9) TI-AR-NN(5)", "mrr", interval=None))
    assert "TI-1R-NN(9), TI-AR-NN(5): no design uses all candidates" in found["S002"].detail
    assert "S002" not in by_code(ra.judge(runs(), "TI-1R-NN(9) TI-AR-AN", "mrr", interval=None))


def test_small_target_sets_are_counted():
    assay = ra.judge(runs(), "AI-1R-NN(80)", "mrr", short="all", interval=None)
    row = assay.row("Popular", "AI-1R-NN(80)", "mrr")
    assert f"{row.short:,} of {row.sets:,}" in by_code(assay)["S003"].detail
    assert "S003" not in by_code(ra.judge(runs(), "TI-1R-NN(9)", "mrr", interval=None))


def test_ties_around_the_first_ten_are_reported():
    played = runs(7_000, 300, ra.models.Popular())
    blunt = SimpleNamespace(above={TEST: np.array([0, 3, 11])}, tied={TEST: np.array([5, 9, 20])}, pairs=3)
    found = catalogue_ties({"standings": {"blunt": blunt, "fine": played[0].standings}})
    assert "for 1 of 3 (33 %) relevant items ties decide whether blunt" in found.detail
    assert "fine" not in found.detail
    assert "T002" not in by_code(ra.judge(played, "TI-AR-AN", "mrr", interval=None))
