"""Draws by weight without replacement: the integral over arrival times, compared with all ordered draws."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recassay as ra
from recassay.columnar.layout import readonly
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.sampled.weighted import count_probabilities

from ..examples import examples


def enumerated(above, level, below, q):
    """Return the distribution of the number above over all ordered draws; positions among ties are equally likely."""
    weights, kinds = [*above, *level, *below], [0] * len(above) + [1] * len(level) + [2] * len(below)
    law = np.zeros(q + 1)
    for draw in itertools.permutations(range(len(weights)), q):
        chance, left = 1.0, sum(weights)
        for place in draw:
            chance *= weights[place] / left
            left -= weights[place]
        x, y = (sum(kinds[place] == kind for place in draw) for kind in (0, 1))
        law[x : x + y + 1] += chance / (y + 1)
    return law


def law_of(above, level, below, q, size=None):
    weights = [readonly(np.sort(np.array(some, float))) for some in (above, level, below)]
    return count_probabilities(weights, q, q + 1 if size is None else size)


@pytest.mark.parametrize(
    ("q", "law"),
    [
        (2, [0.132143, 0.634349, 0.233508]),
        (3, [0.019868, 0.390783, 0.543691, 0.045659]),
        (4, [0, 0.114472, 0.678666, 0.206863, 0]),
    ],
)
def test_the_distribution_for_six_candidates(q, law):
    """The weights are 5, 3 and 1 above, and 1, 2 and 4 below."""
    assert law_of([5, 3, 1], [], [1, 2, 4], q) == pytest.approx(law, abs=5e-7)
    assert law_of([5, 3, 1], [], [1, 2, 4], q) == pytest.approx(enumerated([5, 3, 1], [], [1, 2, 4], q), abs=1e-13)


@given(st.lists(st.tuples(st.sampled_from([1, 2, 3, 7, 50, 1000, 30_000]), st.integers(0, 2)), min_size=2, max_size=6),
       st.data())  # fmt: skip
@settings(max_examples=examples(60), deadline=None)
def test_the_distribution_equals_the_enumeration_of_ordered_draws(items, data):
    q = data.draw(st.integers(1, len(items) - 1))
    parts = [[weight for weight, kind in items if kind == wanted] for wanted in range(3)]
    wanted = enumerated(*parts, q)
    assert law_of(*parts, q) == pytest.approx(wanted, abs=1e-12)
    assert law_of(*parts, q, size=1) == pytest.approx(wanted[:1], abs=1e-12)  # the first ranks alone are the same


@pytest.mark.parametrize("q", [1, 9, 60, 119])
def test_equal_weights_give_the_hypergeometric_distribution(q):
    from scipy.stats import hypergeom

    law = law_of([3.0] * 20, [], [3.0] * 100, q)
    assert law == pytest.approx(hypergeom.pmf(np.arange(q + 1), 120, 20, q), abs=1e-12)


def run_of(weights, scores):
    """Return a run with one user's target t among candidates with given numbers of training users and scores."""
    train = [(f"x{n}", item) for item, weight in weights.items() for n in range(weight)] + [("me", "seen"), ("y", "t")]
    rows = [*train, ("me", "t")]
    log = Interactions.from_frame(pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row"))
    at = np.arange(len(rows))
    fold = Fold(log.take(at[:-1]), log.take(at[-1:]), "global", {})
    row = [{"seen": 0.0, **scores}[item] for item in log.item_vocabulary.ids.to_list()]
    table = np.tile(row, (log.user_vocabulary.size, 1))
    return ra.play(SimpleNamespace(scores=lambda codes: table[codes]), fold, ra.protocols.next_item(), name="made")


RUN = run_of(
    dict(zip("abcdef", (5, 1, 3, 2, 4, 1), strict=True)), dict(zip("abcdeft", (9, 1, 8, 2, 3, 7, 5.0), strict=True))
)
BY_WEIGHT = {"by": "popularity", "replace": False, "resamples": 2}


class TestCurve:
    @pytest.mark.parametrize(
        ("size", "expected"),
        [
            (2, (0.132143, 0.766492, 0.532373, 0.527153, 0.449317)),
            (3, (0.019868, 0.410650, 0.266424, 0.407904, 0.461620)),
            (4, (0.0, 0.114472, 0.072224, 0.335173, 0.476902)),
        ],
    )
    def test_runs_are_measured_exactly_from_their_scores(self, size, expected):
        curve = ra.sampling_curve([RUN], [size], metric="hit@1 hit@2 ndcg@2 mrr auc", **BY_WEIGHT)
        assert curve.points.drop_nulls("size")["mean"].to_list() == pytest.approx(expected, abs=5e-7)
        assert not curve.findings
        assert curve.settings["approximate"] == []

    def test_sd_draws_is_the_standard_deviation_of_one_draw(self):
        (deviation,) = ra.sampling_curve([RUN], [2], metric="hit@2", **BY_WEIGHT).points.drop_nulls("size")["sd_draws"]
        assert deviation == pytest.approx(np.sqrt(0.766491841 * (1 - 0.766491841)), abs=1e-8)

    def test_positions_among_ties_are_equally_likely(self):
        tied = run_of({"a": 4, "b": 2, "c": 1}, {"a": 5.0, "b": 5.0, "c": 1.0, "t": 5.0})
        curve = ra.sampling_curve([tied], [1, 2, 3], metric="hit@1", **BY_WEIGHT)
        # one draw: c is below (1/7), otherwise half; two draws of a, b, c; three draws: first of three positions
        two = enumerated([], [4, 2], [1], 2)[0]
        assert curve.points.drop_nulls("size")["mean"].to_list() == pytest.approx(
            [1 / 7 + 3 / 7, two, 1 / 3], abs=1e-12
        )

    def test_standings_without_a_model_are_approximated_with_a_finding(self):
        curve = ra.sampling_curve([RUN.standings], [2], metric="hit@2", **BY_WEIGHT)
        (finding,) = curve.findings
        assert (finding.code, finding.severity) == ("S004", "info")
        assert "the scores of 'made' cannot be computed again" in finding.detail
        assert curve.to_dict()["findings"][0]["code"] == "S004"
        assert curve.settings["approximate"] == ["popularity, without replacement"]
        exact = ra.sampling_curve([RUN], [2], metric="hit@2", **BY_WEIGHT)
        assert abs(curve.points["mean"][0] - exact.points["mean"][0]) > 0.05

    def test_many_candidates_are_approximated_with_a_finding(self, monkeypatch):
        monkeypatch.setattr("recassay.sampled.weighted.MOST", 5)
        (finding,) = ra.sampling_curve([RUN], [2], metric="hit@2", **BY_WEIGHT).findings
        assert "there are up to 6 candidates, more than 5" in finding.detail
