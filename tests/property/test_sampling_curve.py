"""Sampled metrics for every size, compared with worked examples, the closed forms of designs, and random draws."""

import functools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

import recassay as ra
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.standings import Standings
from recassay.data.synthetic import log
from recassay.designs.expect import expect
from recassay.designs.grammar import Design, parse
from recassay.metrics.registry import parse_metrics
from recassay.sampled import measure
from recassay.sampled.measure import user_groups

from ..examples import examples
from ..refusals import refused

PLAIN, AGAIN, TWO, HEAVY = (
    Design("AI", "1R", 1, by, replace) for by in ("uniform", "popularity") for replace in (False, True)
)


def standings(above, pool, *, tied=0, heavy=None, equal=0, mass=None, offsets=None):
    """Return standings of users with one relevant item each, or with numbers of items given by ``offsets``."""
    above = np.atleast_1d(np.asarray(above, np.int64))
    n = above.size
    offsets = np.arange(n + 1) if offsets is None else offsets
    queries = offsets.size - 1

    def each(values, size):
        return np.broadcast_to(np.asarray(values, np.int64), (size,)).copy()

    heavy, mass = above if heavy is None else heavy, pool if mass is None else mass
    return Standings(
        "one", pl.Series(np.arange(queries)), offsets, np.zeros(n, np.int32), Vocabulary.dense(pl.Series([0]))[0],
        np.zeros(n, np.int32), {"AI": above}, {"AI": each(tied, n)}, {"AI": each(pool, queries)},
        {"AI": each(heavy, n)}, {"AI": each(equal, n)}, {"AI": each(mass, queries)}, users=queries,
        popularity=np.ones(1, np.int64),
    )  # fmt: skip


def measured(one, law, sizes, metrics):
    of_law = measure.measure_system if law.has_formula else measure.measure_approximately
    return of_law(one, user_groups(one), law, sizes, metrics)


def means(one, law, sizes, metrics):
    return measured(one, law, sizes, parse_metrics(metrics)).mean


class TestWorkedExamples:
    @pytest.mark.parametrize(
        ("pool", "rank", "size", "law", "expected"),
        [
            (10, 4, 3, PLAIN, (0.291667, 0.816667, 0.622905, 0.614583, 0.7)),
            (10, 4, 3, AGAIN, (0.343, 0.784, 0.621240, 0.633250, 0.7)),
            (10, 1, 3, PLAIN, (1, 1, 1, 1, 1)),
            (10, 1, 3, AGAIN, (1, 1, 1, 1, 1)),
            (10, 11, 3, PLAIN, (0, 0, 0, 0.25, 0)),
            (10, 11, 3, AGAIN, (0, 0, 0, 0.25, 0)),
        ],
    )
    def test_small_uniform(self, pool, rank, size, law, expected):
        found = means(standings(rank - 1, pool), law, [size], "hit@1 hit@2 ndcg@2 mrr auc")
        assert found[0] == pytest.approx(expected, abs=5e-7)

    WEIGHTS = (5, 1, 3, 2, 4, 1)
    ABOVE = (0, 2, 5)

    @pytest.mark.parametrize(
        ("size", "expected"),
        [
            (2, (0.191406, 0.683594, 0.501942, 0.542969, 0.4375)),
            (3, (0.083740, 0.406738, 0.287529, 0.428162, 0.4375)),
            (4, (0.036636, 0.225052, 0.155513, 0.349857, 0.4375)),
        ],
    )
    def test_weights_with_replacement(self, size, expected):
        one = standings(3, 6, heavy=9, mass=16)
        assert means(one, HEAVY, [size], "hit@1 hit@2 ndcg@2 mrr auc")[0] == pytest.approx(expected, abs=5e-7)

    @pytest.mark.parametrize(
        ("size", "expected"),
        [
            (2, (0.132143, 0.766492, 0.532373, 0.527153, 0.449317)),
            (3, (0.019868, 0.410650, 0.266424, 0.407904, 0.461620)),
            (4, (0.0, 0.114472, 0.072224, 0.335173, 0.476902)),
        ],
    )
    def test_weights_without_replacement(self, size, expected):
        """Six candidates are few for the approximation: its error is below 0.1, and that of AUC below 0.012."""
        found = means(standings(3, 6, heavy=9, mass=16), TWO, [size], "hit@1 hit@2 ndcg@2 mrr auc")[0]
        assert found == pytest.approx(expected, abs=0.1)
        assert found[-1] == pytest.approx(expected[-1], abs=0.012)


@st.composite
def many(draw, most=3):
    """Return standings of users with up to ``most`` relevant items, some of them tied; candidates weigh 1 to 9."""
    weights = np.array(draw(st.lists(st.integers(1, 9), min_size=1, max_size=40)))
    pool, reach = weights.size, np.append(0, np.cumsum(weights))
    above, tied, relevant = [], [], draw(st.lists(st.integers(1, most), min_size=1, max_size=6))
    for number in relevant:
        stops = sorted(draw(st.lists(st.integers(0, pool), min_size=2 * number, max_size=2 * number)))
        above += stops[::2]
        tied += [end - begin for begin, end in zip(stops[::2], stops[1::2], strict=True)]
    above, tied = np.array(above), np.array(tied)
    heavy, equal = reach[above], reach[above + tied] - reach[above]
    offsets = np.append(0, np.cumsum(relevant))
    return standings(above, pool, tied=tied, heavy=heavy, equal=equal, mass=reach[-1], offsets=offsets), pool


class TestClosedForms:
    """A curve is the design in which each relevant item has draws of its own, whatever draws are shared there."""

    @pytest.mark.parametrize(
        ("most", "metrics"), [(3, "hit@1 hit@3 ndcg@5 mrr map recall@2 ndcg"), (1, "hit@2 ndcg mrr@3 auc")]
    )
    @given(data=st.data(), size=st.integers(1, 50))
    @settings(max_examples=examples(100), deadline=None)
    def test_means_and_variances_equal_those_of_the_design(self, most, metrics, data, size):
        (one, pool), metrics = data.draw(many(most)), parse_metrics(metrics)
        for law, design in (
            (PLAIN, f"AI-1R-NN({min(size, pool)})"),
            (AGAIN, f"AI-1R-NN({size}, replace=True)"),
            (HEAVY, f"AI-1R-NN({size}, by='popularity')"),
        ):
            found = measured(one, law, [min(size, pool) if law is PLAIN else size], metrics)
            judged = expect(one, parse(design), metrics)
            for column, outcome in enumerate(judged.outcomes.values()):
                assert found.mean[0, column] == pytest.approx(outcome.mean, abs=1e-12)
                if most == 1:  # a design draws once for all relevant items of a user
                    assert found.deviation[0, column] == pytest.approx(math.sqrt(outcome.variance), abs=1e-7)

    @given(st.integers(0, 13_000), st.sampled_from([0, 3, 500]), st.integers(1, 13_000))
    @settings(max_examples=examples(150), deadline=None)
    def test_means_at_deep_ranks_agree_with_scipy(self, above, tied, size):
        tied = min(tied, 13_000 - above)
        found = means(standings(above, 13_000, tied=tied), PLAIN, [size], "hit@10 ndcg@10")
        law = np.mean([hypergeom.pmf(np.arange(10), 13_000, above + w, size) for w in range(tied + 1)], axis=0)
        assert found[0] == pytest.approx([law.sum(), (law / np.log2(np.arange(10) + 2)).sum()], abs=1e-9)

    @given(many(1))
    @settings(max_examples=examples(60), deadline=None)
    def test_a_sample_of_all_candidates_equals_the_full_ranking(self, made):
        one, pool = made
        metrics = parse_metrics("hit@3 ndcg@5 mrr auc")
        judged = expect(one, parse("AI-1R-AN"), metrics)
        for law in (PLAIN, TWO):
            for size in (pool, 10**12):
                found = measured(one, law, [size], metrics)
                assert found.mean[0] == pytest.approx([row.mean for row in judged.outcomes.values()], abs=1e-12)

    @given(many(), st.integers(1, 50))
    @settings(max_examples=examples(60), deadline=None)
    def test_the_approximation_stays_within_the_range_of_metrics(self, made, size):
        one, pool = made
        found = measured(one, TWO, [min(size, pool)], parse_metrics("hit@3 ndcg mrr auc"))
        assert ((found.mean >= -1e-12) & (found.mean <= 1 + 1e-12)).all()
        assert (found.deviation >= 0).all()


def successive(weights, above, sizes, draws, seed):
    """Return, for each size, the share of successive draws by weight with fewer than ten candidates above."""
    keys = np.random.default_rng(seed).exponential(size=(draws, weights.size)) / weights
    reached = np.cumsum(above[np.argsort(keys, axis=1)], axis=1)
    return (reached[:, np.array(sizes) - 1] < 10).mean(axis=0)


@pytest.mark.parametrize("taste", [0.5, 1.0, 2.0])
def test_the_approximation_is_close_to_successive_draws(taste):
    """Simulate 400 candidates with a long tail and 120 users with 0 to 80 candidates above, popular ones more often.

    The mean over users has an error below 0.06. Draws with replacement have an error of up to 0.2.
    """
    rng = np.random.default_rng(7)
    weights = np.maximum(1, 2000 / (np.arange(400) + 5.0)).astype(np.int64)
    sizes = [5, 20, 50, 100, 200, 350]
    many = (80 * rng.random(120) ** 2).astype(np.int64)
    above = np.zeros((120, 400), np.int64)
    for row, number in zip(above, many, strict=True):
        row[np.argsort(-taste * np.log(weights) - rng.gumbel(size=400))[:number]] = 1
    drawn = np.mean([successive(weights, row, sizes, 400, seed) for seed, row in enumerate(above)], axis=0)
    one = standings(many, 400, heavy=above @ weights, mass=int(weights.sum()))
    near, far = (np.abs(means(one, law, sizes, "hit@10")[:, 0] - drawn) for law in (TWO, HEAVY))
    assert near.max() < 0.06
    assert near.max() < far.max()


FOLD = ra.split.last(n=1, validation=1)(log(users=260, items=150, events=7_000, seed=5))[0]
PROTOCOL = ra.protocols.next_item()
MODELS = (ra.models.Popular(), ra.models.UserKNN(20), ra.models.PureSVD(4))


@functools.cache
def played():
    return [ra.play(model, FOLD, PROTOCOL) for model in MODELS]


class TestCurve:
    def test_grouping_users_does_not_change_means(self, monkeypatch):
        whole = ra.sampling_curve(played(), [30], metric="ndcg@5 auc", resamples=200)
        monkeypatch.setattr(measure, "GROUPS", 64)
        grouped = ra.sampling_curve(played(), [30], metric="ndcg@5 auc", resamples=200)
        assert grouped.points["mean"].to_numpy() == pytest.approx(whole.points["mean"].to_numpy(), abs=1e-12)
        widths = [(curve.points["high"] - curve.points["low"]).to_numpy() for curve in (grouped, whole)]
        assert widths[0] == pytest.approx(widths[1], rel=0.35)

    def test_stable_is_the_size_found_by_trying_every_size(self):
        """The order is the same from this size on."""
        models = {f"knn {n}": ra.models.UserKNN(n) for n in (3, 8, 60)}
        runs = {name: ra.play(model, FOLD, PROTOCOL) for name, model in models.items()}
        every = ra.sampling_curve(runs, range(1, 76), metric="hit@3", resamples=5)
        wrong = [size for size, same in every.orders.select("size", "same").rows() if not same]
        (found,) = every.stable["size"]
        assert found == (1 if not wrong else max(wrong) + 1 if max(wrong) < 75 else None)
        assert (every.orders.filter(pl.col("same"))["tau_a"] == 1).all()
        assert (every.orders["swaps"].list.len() == 0).to_list() == every.orders["same"].to_list()

    def test_default_sizes_ascend_to_the_full_ranking(self):
        curve = ra.sampling_curve(played()[:2], resamples=5)
        least = int(played()[0].standings.pool["AI"].min())
        sizes = curve.points["size"].unique().sort(nulls_last=True).to_list()
        assert sizes[:4] == [1, 2, 5, 10]
        assert sizes[-1] is None
        assert max(sizes[:-1]) < least
        assert [exhibit.name for exhibit in curve.exhibits()] == [
            "sampling-curve",
            "sampling-ranks",
            "sampling-agreement",
        ]
        assert "tau_a" in str(curve)

    def test_the_rank_chart_has_uniform_samples_all_candidates_and_samples_by_popularity(self):
        curve = ra.sampling_curve(played(), [5, 60], ["popularity", "uniform"], metric="hit@3 mrr@3", resamples=5)
        chart = curve.exhibits()[-1]
        assert chart.name == "rank-chart"
        (hits, _) = chart.table.partition_by("metric", maintain_order=True)
        order = ["60 uniform", "all", "60 popularity"]
        assert hits["candidates"].unique(maintain_order=True).to_list() == order
        for candidates, (by, size) in zip(order, [("uniform", 60), ("uniform", None), ("popularity", 60)], strict=True):
            points = curve.points.filter(pl.col("size").eq_missing(pl.lit(size, pl.Int64)), by=by, metric="hit@3")
            best = points.sort("mean", descending=True, maintain_order=True)["system"].to_list()
            ranked = hits.filter(candidates=candidates)
            assert sorted(best, key=dict(ranked.select("system", "rank").rows()).__getitem__) == best
        assert set(curve.rank_chart(7).table["candidates"]) == {"5 uniform", "all", "5 popularity"}

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            ({"sizes": [0]}, "U102"),
            ({"sizes": []}, "U102"),
            ({"sizes": [149]}, "U120"),
            ({"by": "popular"}, "U102"),
            ({"metric": "err(scale=1)"}, "U110"),
            ({"base": "XI"}, "U107"),
            ({"replace": "foo"}, "U102"),
        ],
    )
    def test_invalid_arguments_are_rejected(self, arguments, code):
        with refused(code):
            ra.sampling_curve(played(), **{"resamples": 2, **arguments})

    def test_systems_that_always_hit_are_equal(self):
        """With fewer than k candidates every system always hits; rounding must not create an order."""
        curve = ra.sampling_curve(played(), [1, 4, 7], metric="hit@10", replace=(False, True), resamples=20)
        assert (curve.points.drop_nulls("size")["mean"] == 1).all()
        assert (curve.orders["tau_a"] == 0).all()


def test_systems_that_never_swap_have_exhibits():
    runs = {"one": standings([0, 2, 3], 40), "other": standings([15, 18, 30], 40)}
    curve = ra.sampling_curve(runs, [20, 30], "uniform", "hit@10", replace=False, resamples=20)
    assert curve.orders["swaps"].to_list() == [[], []]
    assert len(curve.exhibits()) > 0
    assert "hit@10" in str(curve)
