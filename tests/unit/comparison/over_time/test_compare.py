"""Head to head on a stream: worked examples, stretches, the family of final tests, and what cannot be compared."""

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.comparison.over_time.windows import signed_mcnemar, windows
from recassay.errors import UsageError
from recassay.results.outcomes import Outcomes
from recassay.rng import derive
from recassay.stats.significance import mcnemar_p, mcnemar_signed

from ....refusals import refused

A = np.array([1.0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0])
B = np.array([0.0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1])


def outcomes(system, values, event=None, events=None, metric="hit@10", **more):
    event = np.arange(len(values)) if event is None else np.asarray(event)
    return Outcomes(system, event, {metric: np.asarray(values, float)}, events=events or int(event[-1]) + 1, **more)


def two(a=A, b=B, **more):
    return ra.compare_over_time(outcomes("a", a), outcomes("b", b), metric="hit@10", **more)


def series(column, **more):
    return two(**more).curve[column].round(6).to_list()


def test_signed_mcnemar_of_the_worked_example():
    options = {"window": 6}
    assert series("only_a", **options) == [1, 1, 1, 2, 3, 3, 2, 3, 3, 3, 3, 3]
    assert series("only_b", **options) == [0] * 11 + [1]
    assert series("mcnemar", **options) == [1, 1, 1, 2, 3, 3, 2, 3, 3, 3, 3, 1]
    expected = [0, 0, 0, 0.5, 1.333333, 1.333333, 0.5, 1.333333, 1.333333, 1.333333, 1.333333, 0.25]
    assert series("mcnemar", continuity=True, **options) == expected
    assert series("mcnemar", how="fading", fading=0.9) == [
        1, 0.9, 0.81, 1.729, 2.5561, 2.30049, 2.070441, 2.863397, 2.577057, 3.319351, 3.987416, 1.460386,
    ]  # fmt: skip
    assert two(window=6).curve["partial"].sum() == 5
    assert two(window=6).curve["better"].null_count() == 12  # fewer than 10 tell the two apart


def test_signed_mcnemar_turns_with_the_pair():
    swapped = ra.compare_over_time(outcomes("b", B), outcomes("a", A), metric="hit@10", window=6).curve
    assert swapped["mcnemar"].to_list() == (-two(window=6).curve["mcnemar"]).to_list()


@pytest.mark.parametrize(
    ("only_a", "only_b", "signed", "corrected", "chi_square", "exact"),
    [
        (20, 6, 7.538462, 6.5, 0.006040, 0.009355),
        (6, 20, -7.538462, -6.5, 0.006040, 0.009355),
        (35, 10, 13.888889, 12.8, 0.000194, 0.000247),
        (8, 0, 8.0, 6.125, 0.004678, 0.007812),
        (9, 1, 6.4, 4.9, 0.011412, 0.021484),
        (0, 0, 0.0, 0.0, 1.0, 1.0),
    ],
)
def test_one_window(only_a, only_b, signed, corrected, chi_square, exact):
    counts = np.array([float(only_a)]), np.array([float(only_b)])
    assert mcnemar_signed(*counts).round(6).tolist() == [signed]
    assert mcnemar_signed(*counts, correction=True).round(6).tolist() == [corrected]
    assert mcnemar_p(*counts, exact=False).round(6).tolist() == [chi_square]
    assert mcnemar_p(*counts, exact=True).round(6).tolist() == [exact]
    automatic = exact if only_a + only_b < 25 else chi_square
    assert mcnemar_p(*counts).round(6).tolist() == [automatic]


def claims(only_a, only_b, **more):
    a, b = np.repeat([1.0, 0.0], [only_a, only_b]), np.repeat([0.0, 1.0], [only_a, only_b])
    m = a.size
    behind = windows("cumulative", scored=m, events=m).over(np.arange(m))
    return int(signed_mcnemar(a, b, behind, **more).claim[-1])


def test_a_claim_needs_ten_events_and_a_small_p():
    assert claims(9, 0, alpha=0.05) == 0  # p is 0.0039, and nine events are too few
    assert claims(10, 0, alpha=0.05) == 1
    assert claims(0, 10, alpha=0.05) == -1
    assert (claims(9, 1, alpha=0.05), claims(9, 1, alpha=0.02)) == (1, 0)  # exact p 0.0215
    assert claims(9, 1, alpha=0.02, exact=False) == 1  # chi-square p 0.0114
    assert (claims(20, 6), claims(20, 6, correction=True)) == (1, 0)  # M 7.54 and 6.5 against 6.635


def test_with_fewest_0_a_window_of_eight_against_none_is_claimed_as_in_the_paper():
    assert claims(8, 0) == 0
    assert claims(8, 0, fewest=8) == claims(8, 0, fewest=0) == 1  # Q is 8, above 6.635; exact p 0.0078
    assert (claims(7, 0, fewest=0), claims(7, 0, fewest=0, exact=False)) == (0, 1)  # Q is 7, exact p 0.0156
    a, b = [1.0] * 8 + [0.0] * 4, [0.0] * 12
    assert two(a, b, window=12).curve["better"].null_count() == 12
    found = two(a, b, window=12, fewest=0)
    assert found.curve["better"].to_list() == [None] * 7 + ["a"] * 5
    caption = "Nothing is claimed of windows where fewer than 10"
    signed, others = (next(one for one in compared.exhibits() if one.y == "mcnemar") for compared in (two(), found))
    assert (caption in signed.caption, "fewer than" in others.caption) == (True, False)
    with pytest.raises(UsageError, match="fewest"):
        two(fewest=-1)


def test_counts_that_fade_have_no_exact_p():
    m = 40
    behind = windows("fading", fading=0.99, scored=m, events=m).over(np.arange(m))
    found = signed_mcnemar(np.ones(m), np.zeros(m), behind, exact=True)
    assert found.p[-1] == pytest.approx(mcnemar_p(found.only_a, found.only_b, exact=False)[-1])
    assert found.claim[-1] == 1
    assert found.claim[8] == 0


def test_stretches_have_their_bounds_and_who_is_better():
    a = np.repeat([1.0, 0.0, 0.0], [40, 40, 40])
    b = np.repeat([0.0, 0.0, 1.0], [40, 40, 40])
    times = pl.Series(range(1000, 1120))
    event = np.arange(120) * 2
    first, second = outcomes("a", a, event, times=times), outcomes("b", b, event, times=times)
    found = ra.compare_over_time(first, second, metric="hit@10", window=20, alpha=0.01)
    assert found.stretches.drop("strongest").rows() == [
        ("a", "b", "a", 18, 98, 1009, 1049, 41),  # ten of the last events from row 9 to row 49
        ("a", "b", "b", 178, 238, 1089, 1119, 31),
    ]
    assert found.stretches["strongest"].to_list() == [20.0, -20.0]
    assert "a better from event 18 to 98, b better from event 178 to 238" in " ".join(str(found).split())


def test_summary_has_the_final_test_and_the_bounds():
    rng = derive(3, "streams")
    a, b = (rng.random(4000) < 0.3) * 1.0, (rng.random(4000) < 0.2) * 1.0
    found = two(a, b, window=500, alpha=0.05)
    row = found.summary().row(0, named=True)
    only_a, only_b = int(((a == 1) & (b == 0)).sum()), int(((a == 0) & (b == 1)).sum())
    assert (row["only_a"], row["only_b"], row["n"], row["dropped"]) == (only_a, only_b, 4000, 0)
    assert row["p"] == pytest.approx(mcnemar_p(np.array([only_a]), np.array([only_b]))[0])
    assert row["difference"] == pytest.approx(a.mean() - b.mean())
    assert row["low"] < row["difference"] < row["high"]
    assert (row["for"], row["significant"]) == ("a", True)
    curve = found.curve
    first = curve.filter((pl.col("low") > 0) | (pl.col("high") < 0))["event"][0]
    assert first == row["decided"]
    assert f"exclude 0 at event {first:,} and at the last, with a better" in " ".join(str(found).split())
    assert "is not a test" in " ".join(str(found).split())


@pytest.mark.parametrize(("last", "better"), [(0.9, "b"), (0.2, None), (0.0, "a")])
def test_who_is_better_at_the_end_is_named_with_the_first_event_at_which_the_bounds_say_so(last, better):
    rng = derive(5, "turns")
    a, b = (
        (rng.random(6000) < np.where(np.arange(6000) < 1000, *shares)) * 1.0 for shares in ((0.6, 0.1), (0.1, last))
    )
    found = two(a, b, window=500)
    row, curve = found.summary().row(0, named=True), found.curve
    assert curve.filter(pl.col("low") > 0)["event"][0] < 100, "the bounds exclude 0 early, with a better up to there"
    assert row["for"] == better
    if better is None:
        assert row["decided"] is None
        assert "include 0 at the last event" in " ".join(str(found).split())
    elif better == "a":
        assert row["decided"] == curve.filter(pl.col("low") > 0)["event"][0]
    else:
        assert row["decided"] == curve.filter(pl.col("high") < 0)["event"][0] > 1000


def test_a_lower_error_is_the_better_one():
    rng = derive(4, "errors")
    a, b = rng.random(2000) * 0.5, rng.random(2000)
    first, second = (outcomes(name, one, metric="absolute_error") for name, one in (("a", a), ("b", b)))
    found = ra.compare_over_time(first, second, metric="mae", window=100)
    row = found.summary().row(0, named=True)
    assert (row["for"], row["test"]) == ("a", "t")
    assert row["difference"] < 0
    assert "mcnemar" not in found.curve.columns
    assert [one.name for one in found.exhibits()] == ["means-over-time", "difference-over-time"]
    with pytest.raises(UsageError, match="rmse of a stream is not a mean"):
        ra.compare_over_time(first, second, metric="rmse")
    wide = ra.compare_over_time(first, second, metric="mae", largest=4)
    assert wide.summary()["high"][0] - wide.summary()["low"][0] > row["high"] - row["low"]


def test_many_against_a_baseline_are_one_family():
    rng = derive(5, "many")
    played = [outcomes(name, (rng.random(900) < rate) * 1.0) for name, rate in (("a", 0.3), ("b", 0.27), ("c", 0.2))]
    found = ra.compare_over_time(played, metric="hit@10", baseline="c", alpha=0.05)
    table = found.summary()
    assert table.select("a", "b").rows() == [("a", "c"), ("b", "c")]
    p = sorted(table["p"].to_list())
    assert sorted(table["p_adjusted"].to_list()) == pytest.approx([2 * p[0], max(2 * p[0], p[1])])
    assert found.curve.height == 1800
    alone = ra.compare_over_time(played[0], played[2], metric="hit@10", alpha=0.025)
    assert alone.summary()["low"][0] == table["low"][0]  # bounds of two pairs share alpha
    named = ra.compare_over_time({"x": played[0], "y": played[0]}, metric="hit@10")
    assert named.summary().select("a", "b", "p").rows() == [("x", "y", 1.0)]
    assert len(ra.compare_over_time(played, metric="hit@10").duels) == 3


def test_comparisons_declared_together_are_one_family():
    rng = derive(6, "declared")
    found = {
        name: two((rng.random(300) < 0.35) * 1.0, (rng.random(300) < 0.2) * 1.0, alpha=0.05)
        for name in ("first", "second", "third", "fourth")
    }
    table = ra.overall.declared(found)
    assert table["stream"].to_list() == list(found)
    assert table["p_adjusted"].min() == pytest.approx(4 * table["p"].min())
    assert (table["significant"] == (table["p_adjusted"] < 0.05)).all()


def test_pictures_have_the_level_the_stretches_and_the_bounds():
    rng = derive(7, "pictures")
    found = two((rng.random(3000) < 0.4) * 1.0, (rng.random(3000) < 0.2) * 1.0, window=300)
    means, windowed, bounds = found.exhibits()
    assert means.table["system"].unique(maintain_order=True).to_list() == ["a", "b"]
    levels = windowed.table.filter(pl.col("series").str.starts_with("level 0.01"))["mcnemar"].to_list()
    assert np.round(levels, 4).tolist() == [6.6349, 6.6349, -6.6349, -6.6349]
    assert set(windowed.table["band"].drop_nulls()) == {"a better"}
    assert "is not a test" in windowed.caption
    marked = bounds.table.drop_nulls("mark")
    assert marked["event"].to_list() == found.summary()["decided"].to_list()
    width = (bounds.table["high"] - bounds.table["low"]).drop_nulls().to_list()
    assert max(width) <= 10 * width[-1]
    assert found.to_dict()["summary"][0]["a"] == "a"


def test_any_metric_of_two_values_is_right_or_not():
    tenths = ra.compare_over_time(outcomes("a", A / 10), outcomes("b", B / 10), metric="hit@10", window=6)
    assert tenths.curve["mcnemar"].to_list() == two(window=6).curve["mcnemar"].to_list()
    graded = ra.compare_over_time(outcomes("a", A / 2), outcomes("b", B), metric="hit@10", window=6)
    assert "mcnemar" not in graded.curve.columns


def test_pairs_are_events_scored_for_both():
    a = outcomes("a", [1, 1, 0, 0], [1, 3, 5, 7], 9)
    b = outcomes("b", [0, 1, np.nan, 1], [1, 4, 5, 7], 9)
    found = ra.compare_over_time(a, b, metric="hit@10", window=1)
    assert found.curve["event"].to_list() == [1, 7]
    assert found.summary().select("only_a", "only_b", "dropped").rows() == [(1, 1, 3)]


@pytest.mark.parametrize(
    ("b", "what"),
    [
        (outcomes("b", B, events=99), "12 events and the other 99"),
        (
            outcomes("b", [1.0], [11], users=pl.Series(["eve"])),
            "1 of 1 events are of other users",
        ),
        (outcomes("b", np.full(12, np.nan)), "no event has a value of hit@10 for both"),
    ],
)
def test_outcomes_of_other_streams_are_refused(b, what):
    a = outcomes("a", A, users=pl.Series(["ann"] * 12))
    with refused("I311", match=what):
        ra.compare_over_time(a, b, metric="hit@10")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"alpha": 1}, "got 1"),
        ({"test": "anova"}, "test='anova' is not known"),
        ({"baseline": "pop"}, "no system 'pop'"),
        ({"correction": "holms"}, "correction='holms' is not known"),
        ({"tuned_for": 0}, "tuned_for must be above 0, and below 1e100, got 0"),
        ({"tuned_for": 1e308}, r"tuned_for must be above 0, and below 1e100, got 1e\+308"),
        ({"largest": -1}, "largest must be above 0, got -1"),
    ],
)
def test_what_makes_no_sense_is_refused(options, what):
    with pytest.raises(UsageError, match=what):
        two(**options).summary()


def test_names_must_differ_and_there_must_be_two():
    a = outcomes("a", A)
    with pytest.raises(UsageError, match="two systems are called 'a'"):
        ra.compare_over_time(a, a, metric="hit@10")
    with pytest.raises(UsageError, match="two systems, not 1"):
        ra.compare_over_time(a, metric="hit@10")
    graded = [outcomes("a", [0.5, 0.2]), outcomes("b", [0.1, 0.2])]
    with pytest.raises(UsageError, match="McNemar's test is for metrics of 0 or 1"):
        ra.compare_over_time(graded, metric="hit@10", test="mcnemar")
