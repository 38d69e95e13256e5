"""Comparisons: which pairs, which units, which family, and the record they leave."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import FrozenInstanceError, dataclass, field

import numpy as np
import pytest

import recassay as ra
from recassay.api.compare import compare
from recassay.errors import UsageError
from recassay.report.content import wording
from recassay.stats.differences import Differences
from recassay.stats.intervals import intervals
from recassay.stats.significance import adjust, run_test

from ...refusals import refused

A = np.array([0.50, 0.62, 0.30, 0.81, 0.45, 0.70, 0.55, 0.40])
B = np.array([0.45, 0.60, 0.35, 0.70, 0.40, 0.62, 0.55, 0.33])


@dataclass
class Table:
    """Scores as a comparison sees them."""

    columns: dict  # (system, metric) -> one value per unit
    unit_weights: dict = field(default_factory=dict)

    @property
    def systems(self):
        return tuple(dict.fromkeys(system for system, _ in self.columns))

    @property
    def unit_metrics(self):
        return tuple(dict.fromkeys(metric for _, metric in self.columns))

    def values(self, system, metric):
        return self.columns[system, metric]

    def weights(self, system, metric):
        return self.unit_weights.get((system, metric))


def systems(n=300, names=("x", "y", "z"), metrics=("ndcg@10", "recall@10"), seed=1):
    random = np.random.default_rng(seed)
    base = random.random((len(metrics), n))
    noise = {(s, m): random.normal(0.01 * i, 0.1, n) for i, s in enumerate(names) for m in metrics}
    return Table({(s, m): base[j] + noise[s, m] for s in names for j, m in enumerate(metrics)})


def test_worked_pair():
    (row,) = compare(Table({("a", "m"): A, ("b", "m"): B})).rows
    assert (row.metric, row.a, row.b, row.n, row.dropped) == ("m", "a", "b", 8, 0)
    assert (row.difference, row.p, row.p_adjusted) == pytest.approx((0.04125, 0.078125, 0.078125))
    assert row.effect == pytest.approx(0.820616, abs=5e-7)
    assert (row.test, row.correction, row.resamples, row.significant) == ("permutation", "holm", 256, False)
    low, high = intervals((A - B)[:, None])
    assert (row.low, row.high) == (low[0], high[0])
    assert "only 8 units" in row.note


def test_all_pairs_come_in_the_order_of_the_systems_metric_by_metric():
    rows = compare(systems(), resamples=500).rows
    assert [(r.metric, r.a, r.b) for r in rows] == [
        (metric, a, b) for metric in ("ndcg@10", "recall@10") for a, b in (("x", "y"), ("x", "z"), ("y", "z"))
    ]


def test_against_a_baseline_every_difference_is_system_less_baseline():
    table = systems()
    rows = compare(table, baseline="y", resamples=500).rows
    assert [(r.a, r.b) for r in rows] == [("x", "y"), ("z", "y")] * 2
    for row in rows:
        assert row.difference == pytest.approx(
            table.values(row.a, row.metric).mean() - table.values("y", row.metric).mean()
        )
        assert row.low < row.difference < row.high


@pytest.mark.parametrize(("family", "size"), [("metric", 3), ("all", 6)])
def test_p_values_are_corrected_within_their_family(family, size):
    rows = compare(systems(), family=family, resamples=500, correction="bonferroni").rows
    for row in rows:
        assert row.p_adjusted == min(1.0, size * row.p)
        assert row.significant == (row.p_adjusted <= 0.05)
    p = np.array([row.p for row in rows])
    holm = [row.p_adjusted for row in compare(systems(), family=family, resamples=500).rows]
    assert np.array_equal(holm, np.concatenate([adjust(part) for part in np.split(p, 6 // size)]))


def test_units_undefined_for_one_system_are_dropped_for_both_and_counted():
    table = systems(n=200)
    hole = table.columns["x", "ndcg@10"]
    hole[:30] = np.nan
    rows = {(r.metric, r.a, r.b): r for r in compare(table, resamples=500).rows}
    assert {key: row.dropped for key, row in rows.items()} == {
        key: 30 if key[0] == "ndcg@10" and key[1] == "x" else 0 for key in rows
    }
    row, y = rows["ndcg@10", "x", "y"], table.columns["y", "ndcg@10"]
    assert row.n == 170
    assert row.difference == pytest.approx(hole[30:].mean() - y[30:].mean())


def test_no_common_unit_is_undefined_and_said():
    row = compare(Table({("a", "m"): np.array([1.0, np.nan]), ("b", "m"): np.array([np.nan, 1.0])})).rows[0]
    assert all(np.isnan(v) for v in (row.difference, row.low, row.high, row.p, row.p_adjusted, row.effect))
    assert (row.n, row.dropped, row.significant) == (0, 2, False)
    assert "no unit" in row.note


def test_an_undefined_pair_is_no_question_of_the_family():
    table = systems(n=50, metrics=("m",))
    table.columns["z", "m"][:] = np.nan
    first = compare(table, resamples=500).rows[0]
    assert first.p_adjusted == first.p


def test_weighted_metrics_compare_their_weighted_means():
    table = systems(n=120, names=("x", "y"), metrics=("m",))
    weights = np.random.default_rng(3).integers(1, 9, 120).astype(float)
    table.unit_weights = {("x", "m"): weights, ("y", "m"): weights}
    row = compare(table).rows[0]
    x, y = table.values("x", "m"), table.values("y", "m")
    assert row.difference == pytest.approx(np.average(x, weights=weights) - np.average(y, weights=weights))
    low, high = intervals((x - y)[:, None], weights[:, None])
    assert (row.low, row.high) == (low[0], high[0])
    assert row.p == run_test("permutation", (weights * (x - y) / weights.mean())[:, None]).p[0]


def test_weights_of_the_systems_may_differ():
    table = systems(n=120, names=("x", "y"), metrics=("m",))
    random = np.random.default_rng(3)
    table.unit_weights = {key: random.integers(1, 9, 120).astype(float) for key in table.columns}
    row = compare(table).rows[0]
    x, y = (np.average(table.values(s, "m"), weights=table.weights(s, "m")) for s in ("x", "y"))
    assert row.difference == pytest.approx(x - y)
    assert row.low < row.difference < row.high


def test_shared_unlike_and_absent_weights_can_meet_in_one_comparison():
    table = systems(n=120, names=("x", "y", "z"), metrics=("m",))
    random = np.random.default_rng(3)
    common, own = random.random(120) + 0.5, random.random(120) + 0.5
    table.unit_weights = {("x", "m"): common, ("y", "m"): common, ("z", "m"): own}
    together = {(r.a, r.b): r for r in compare(table, resamples=500).rows}
    for a, b in (("x", "y"), ("x", "z"), ("y", "z")):
        pair = Table({key: column for key, column in table.columns.items() if key[0] in {a, b}}, table.unit_weights)
        alone, row = compare(pair, resamples=500).rows[0], together[a, b]
        assert (row.low, row.high, row.p) == (alone.low, alone.high, alone.p)
    table.unit_weights.pop(("z", "m"))
    row = compare(table, resamples=500).rows[1]
    expected = np.average(table.values("x", "m"), weights=common) - table.values("z", "m").mean()
    assert row.difference == pytest.approx(expected)


def test_a_constant_difference_is_flagged():
    table = Table({("a", "m"): np.full(40, 0.75), ("b", "m"): np.full(40, 0.5)})
    row = compare(table, test="t").rows[0]
    assert (row.low, row.difference, row.high, row.effect) == (0.25, 0.25, 0.25, np.inf)
    assert 0 < row.p < 1e-300
    assert "no variance" in row.note


def test_only_metrics_with_units_are_compared():
    class CatalogueOnly(Table):
        unit_metrics = ()

    with pytest.raises(UsageError, match="U113"):
        compare(CatalogueOnly({("a", "coverage"): A, ("b", "coverage"): B}))


def test_one_system_is_no_comparison():
    with pytest.raises(UsageError, match="U113"):
        compare(Table({("a", "m"): A}))


@pytest.mark.parametrize(
    ("options", "code", "hint"),
    [
        ({"baseline": "popp"}, "U108", "did you mean 'pop'"),
        ({"baseline": "42"}, "U108", "pop"),
        ({"test": "permutatoin"}, "U107", "did you mean 'permutation'"),
        ({"correction": "home"}, "U107", "did you mean 'holm'"),
        ({"effect": "dz"}, "U107", "did you mean 'd_z'"),
        ({"family": "pair"}, "U107", "choose one of: all, metric"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(options, code, hint):
    with refused(code, match=hint):
        compare(Table({("pop", "m"): A, ("als", "m"): B}), **options)


def test_a_comparison_is_immutable():
    comparison = compare(Table({("a", "m"): A, ("b", "m"): B}))
    with pytest.raises(FrozenInstanceError):
        comparison.seed = 2
    with pytest.raises(FrozenInstanceError):
        comparison.rows[0].p = 0.01


def test_frame_and_dictionaries_carry_every_field():
    comparison = compare(systems(), resamples=500)
    frame, dicts = comparison.frame(), comparison.to_dicts()
    assert frame.to_dicts() == dicts
    assert frame.columns[:8] == ["metric", "a", "b", "difference", "low", "high", "p", "p_adjusted"]
    assert {"test", "effect", "n", "dropped", "correction", "resamples", "significant", "note"} <= set(frame.columns)


def test_dictionaries_are_strict_json_whatever_is_undefined():
    nothing = Table({("a", "m"): np.array([1.0, np.nan]), ("b", "m"): np.array([np.nan, 1.0])})
    (row,) = json.loads(json.dumps(compare(nothing).to_dicts(), allow_nan=False))
    assert row["p"] is None


@pytest.mark.parametrize("test", ["permutation", "bootstrap", "t", "wilcoxon"])
def test_a_row_does_not_depend_on_the_other_systems(test):
    three, two = (
        systems(metrics=("m",)),
        systems(metrics=("m",)),
    )  # three columns and one: sums take other paths in NumPy
    two.columns = {key: column for key, column in two.columns.items() if key[0] != "y"}
    wanted = {
        (r.metric, r.a, r.b): (r.difference, r.low, r.high, r.p) for r in compare(three, test=test, resamples=500).rows
    }
    for row in compare(two, test=test, resamples=500).rows:
        assert wanted[row.metric, row.a, row.b] == (row.difference, row.low, row.high, row.p)


def test_more_questions_than_a_batch(monkeypatch):
    table = systems(names=tuple("uvwxyz"))
    whole = compare(table, resamples=500)
    for limit in ({"BATCH": 4}, {"BATCH_VALUES": 700}, {"BATCH_VALUES": 1}):
        for name, value in limit.items():
            monkeypatch.setattr(f"recassay.comparison.compare.{name}", value)
        assert compare(table, resamples=500) == whole


class TestInfiniteValues:
    """A system that held something that happened to be impossible is infinitely surprised: its mean is infinite."""

    @pytest.fixture
    def table(self):
        found = systems(n=60, metrics=("m", "n"))
        found.columns["x", "m"][[3, 7]] = np.inf
        found.columns["y", "m"][7] = np.inf
        return found

    @pytest.mark.parametrize("test", ["permutation", "bootstrap", "t", "wilcoxon", "wilcoxon-pratt", "sign"])
    @pytest.mark.parametrize("n", [12, 60])
    def test_a_difference_is_infinite_and_nothing_is_said_that_is_made_of_means(self, table, test, n):
        table.columns = {key: column[:n] for key, column in table.columns.items()}
        rows = {(row.metric, row.a, row.b): row for row in compare(table, test=test, resamples=300).rows}
        row = rows["m", "x", "z"]
        assert (row.difference, row.infinite, row.n) == (np.inf, 2, n)
        assert np.isnan([row.low, row.high, row.effect]).all()
        assert np.isnan(row.p) == (test in ("permutation", "bootstrap", "t"))
        assert "2 units have an infinite value" in row.note
        both = rows["m", "x", "y"]  # infinity less infinity
        assert np.isnan([both.difference, both.p, both.effect]).all()
        assert both.infinite == 2
        assert rows["n", "x", "z"].infinite == 0

    def test_other_pairs_and_metrics_are_as_they_would_be_without(self, table):
        found = {row[:3]: row[3:8] for row in map(dataclasses.astuple, compare(table, resamples=300).rows)}
        table.columns = {key: column for key, column in table.columns.items() if key[1] == "n"}
        alone = {row[:3]: row[3:8] for row in map(dataclasses.astuple, compare(table, resamples=300).rows)}
        assert {key: row for key, row in found.items() if key[0] == "n"} == alone

    @pytest.mark.parametrize(("effect", "known"), [("d_z", False), ("hedges", False), ("d_av", False),
                                                   ("relative", False), ("cliff", True), ("a12", True),
                                                   ("rank_biserial", True)])  # fmt: skip
    def test_effects_that_look_at_the_order_alone_are_known(self, table, effect, known):
        row = next(row for row in compare(table, effect=effect, resamples=300).rows if (row.a, row.b) == ("x", "z"))
        assert np.isfinite(row.effect) == known

    def test_an_infinite_difference_ranks_above_all_others(self):
        a, b = np.array([np.inf, 0.1, 0.3, 0.1]), np.array([0.0, 0.2, 0.1, 0.1])
        # Ranks of sizes 0.1, 0.2, infinite: 1, 2, 3; signs -, +, +; of 8 patterns 4 are as far from 0 as 4.
        row = compare(Table({("a", "m"): a, ("b", "m"): b}), test="wilcoxon", effect="rank_biserial").rows[0]
        assert (row.p, row.effect) == (pytest.approx(0.5), pytest.approx(4 / 6))

    def test_weighted_means_count_the_infinite_too_but_not_without_weight(self):
        a, b = np.array([np.inf, 0.5, 0.7]), np.array([0.1, 0.2, 0.3])
        table = Table({("a", "m"): a, ("b", "m"): b})
        for weights, infinite in ((np.ones(3), 1), (np.array([0.0, 1.0, 1.0]), 0)):
            table.unit_weights = {("a", "m"): weights, ("b", "m"): weights.copy()}
            row = compare(table, resamples=100).rows[0]
            assert row.infinite == infinite
            assert row.difference == (np.inf if infinite else pytest.approx(0.35))


class TestRounding:
    def test_a_difference_that_is_the_same_for_all_but_for_rounding_has_no_spread(self):
        a = np.array([0.3, 0.2, 0.7, 0.9] * 5)
        b = np.array([0.2, 0.1, 0.6, 0.8] * 5)  # 0.1 less, each in its own rounding
        assert np.unique(a - b).size > 1
        for test in ("t", "permutation"):
            row = compare(Table({("a", "m"): a, ("b", "m"): b}), test=test, resamples=200).rows[0]
            assert row.effect == np.inf
            assert "same amount" in row.note
        assert run_test("t", Differences(np.column_stack([a, b]), np.array([[0, 1]]))).p[0] < 1e-300

    def test_what_is_equal_but_for_rounding_is_no_difference(self):
        a = np.array([0.1 + 0.2, 0.7 + 0.1, 0.5] * 4)
        b = np.array([0.3, 0.8, 0.5] * 4)
        assert (a != b).any()
        for test in ("t", "sign", "wilcoxon", "permutation"):
            row = compare(Table({("a", "m"): a, ("b", "m"): b}), test=test).rows[0]
            assert row.p == 1.0
            assert np.isnan(row.effect)

    @pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
    def test_the_size_of_values_changes_no_rank_test(self, size):
        table = systems(n=40, metrics=("m",))
        plain = compare(table, test="wilcoxon", effect="rank_biserial").rows
        table.columns = {key: size * column for key, column in table.columns.items()}
        sized = compare(table, test="wilcoxon", effect="rank_biserial").rows
        assert [row.p for row in sized] == pytest.approx([row.p for row in plain])
        assert [row.effect for row in sized] == pytest.approx([row.effect for row in plain])


def many_scores(systems):
    runs = {f"r{n:02}": {user: [(user + n) % 9, user] for user in range(12)} for n in range(systems)}
    return ra.score(runs, {user: [user] for user in range(12)}, "hit@1 mrr", interval=None)


def test_many_systems_are_compared_with_the_best_alone_and_a_warning_says_so():
    scores = many_scores(51)
    with pytest.warns(UserWarning, match=r"51 systems have 1,275 pairs, so each is compared with 'r00' alone"):
        compared = ra.compare(scores, correction="bonferroni", resamples=500)
    assert compared.baseline == "r00"
    assert wording.test_phrase(compared) == "paired permutation test, Bonferroni over 1,275 pairs per metric"
    assert [(row.metric, row.b) for row in compared.rows] == [("hit@1", "r00")] * 50 + [("mrr", "r00")] * 50
    assert {row.p_adjusted for row in compared.rows} == {min(1.0, row.p * 1275) for row in compared.rows}
    assert [(lead.row.a, lead.pairs) for lead in compared.leads] == [("r00", 1275)] * 2
    named = ra.compare(scores, baseline="r07", correction="bonferroni", resamples=500)  # no warning
    assert {row.b for row in named.rows} == {"r07"}
    assert {row.p_adjusted for row in named.rows} == {min(1.0, row.p * 50) for row in named.rows}
    assert repr(named.leads) == repr(compared.leads)
