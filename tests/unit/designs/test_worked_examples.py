"""Examples computed by hand: three users and eight items under four designs, and two popularity bins."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from recassay import designs, protocols
from recassay.api.play import play
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.errors import UsageError
from recassay.experiments import target_sets
from recassay.experiments.target_sets import precision_bounds
from recassay.metrics.registry import parse_metrics

from ...refusals import refused

TRAIN = [("u1", "A", 5), ("u1", "B", 2), ("u2", "B", 4), ("u2", "C", 5), ("u2", "D", 3), ("u3", "A", 3), ("u3", "D", 4)]
TEST = [("u1", "C", 5), ("u1", "D", 2), ("u1", "E", 4), ("u2", "A", 4), ("u2", "E", 1),
        ("u3", "B", 5), ("u3", "F", 4), ("u3", "C", 2)]  # fmt: skip
EVERYBODY = "EACDBFGH"


def fold_of(train, test, extra=()):
    """Return a fold of (user, item, rating) rows; ``extra`` only adds items to the catalogue."""
    rows = [*train, *test, *extra]
    log = Interactions.from_frame(pl.DataFrame(rows, schema=["user_id", "item_id", "rating"], orient="row"))
    places = np.arange(len(rows))
    cut = len(train)
    return Fold(log.take(places[:cut]), log.take(places[cut : cut + len(test)]), "global", {})


def ranked(fold, rankings):
    """Return a system that ranks items for each user in the order ``rankings(user)``."""
    ids = fold.train.item_vocabulary.ids.to_list()
    users = fold.train.user_vocabulary.ids.to_list()
    table = np.array([[-rankings(user).index(item) for item in ids] for user in users], float)
    return SimpleNamespace(scores=lambda codes: table[codes])


@pytest.fixture(scope="module")
def standings():
    fold = fold_of(TRAIN, TEST, [("u1", "G", 1), ("u1", "H", 1)])
    system = ranked(fold, lambda user: EVERYBODY)
    return play(system, fold, protocols.ranking(relevant_from=4, bins=0), name="everybody").standings


def judged(standings, design, metrics="precision@1 precision@2 precision@3"):
    return designs.expect(standings, designs.parse(design), parse_metrics(metrics))


def means(found):
    return [round(outcome.mean, 6) for outcome in found.outcomes.values()]


class TestThreeUsers:
    def test_the_user_values_and_means_of_all_relevant_items(self, standings):
        for design in ("TI-AR-AN", "AI-AR-AN"):  # G and H are ranked last
            found = judged(standings, design)
            assert means(found) == [0.333333, 0.5, 0.444444]
            values = [outcome.values.round(6).tolist() for outcome in found.outcomes.values()]
            assert values == [[1, 0, 0], [1, 0.5, 0], [0.666667, 0.333333, 0.333333]]

    def test_one_relevant_item_at_a_time(self, standings):
        for design in ("TI-1R-AN", "AI-1R-AN"):
            assert means(judged(standings, design)) == [0.4, 0.3, 0.333333]

    def test_the_share_of_relevant_items_and_the_size_of_the_sets(self, standings):
        found = {design: judged(standings, design) for design in ("TI-AR-AN", "AI-AR-AN", "TI-1R-AN", "AI-1R-AN")}
        assert [round(result.rho, 6) for result in found.values()] == [0.444444, 0.288889, 0.333333, 0.2]
        assert [round(result.t, 6) for result in found.values()] == [3.6, 5.625, 3.0, 5.0]
        assert [result.outcomes["precision@1"].random for result in found.values()] == pytest.approx(
            [result.rho for result in found.values()]
        )
        assert [result.sets for result in found.values()] == [3, 3, 5, 5]

    def test_users_without_relevant_items_have_a_set_of_non_relevant_ones(self):
        """rho and t are over the same users: u4 is a test user without relevant items, u5 is no test user.

        TI candidates A..F. |T| is 4, 3 and 4 for u1, u2 and u3; u4 had A and leaves B..F (E is rated low), 5; u5 had A
        and B, 4. t = 5 / (1/4 + 1/3 + 1/4 + 1/5 + 1/4) = 5 / (77/60). With two drawn candidates |T| is 4, 3, 4, 2, 2.
        """
        more = [("u1", "G", 1), ("u1", "H", 1), ("u4", "A", 3), ("u5", "A", 3), ("u5", "B", 1)]
        fold = fold_of([*TRAIN, *more], [*TEST, ("u4", "E", 1)])
        system = ranked(fold, lambda user: EVERYBODY)
        one = play(system, fold, protocols.ranking(relevant_from=4, bins=0), name="everybody").standings
        found = judged(one, "TI-AR-AN")
        assert (found.users, found.zeros) == (5, 2)
        assert found.rho == pytest.approx((2 / 4 + 1 / 3 + 2 / 4) / 5)
        assert found.t == pytest.approx(5 / (77 / 60))
        assert judged(one, "TI-AR-NN(2)").t == pytest.approx(5 / (1 / 4 + 1 / 3 + 1 / 4 + 1 / 2 + 1 / 2))
        alone = designs.expect(one, designs.parse("TI-AR-AN"), parse_metrics("precision@1"), users="with_relevant")
        assert alone.t == pytest.approx(3.6)
        assert judged(one, "TI-1R-AN").t == pytest.approx(3.0)  # nobody else has a set with a relevant item

    @pytest.mark.parametrize(
        ("n", "lower", "value", "upper"), [(1, 0.2, 0.4, 0.4), (2, 0.3, 0.3, 0.4), (3, 0.266667, 0.333333, 0.333333)]
    )
    def test_precision_bounds(self, standings, n, lower, value, upper):
        bounds = precision_bounds(standings, designs.parse("TI-1R-AN"), n)
        assert bounds == pytest.approx({"mean": value, "low": lower, "high": upper}, abs=1e-6)

    @pytest.mark.parametrize("design", ["TI-1R-NN(1{})", "AI-1R-NN(2{})", "TI-1R-NN(1, replace=True{})"])
    def test_sets_of_their_own_keep_the_mean_and_lower_the_variance(self, standings, design):
        shared, own = (judged(standings, design.format(more)) for more in ("", ", resample='per_rating'"))
        for heading, outcome in shared.outcomes.items():
            assert own.outcomes[heading].mean == pytest.approx(outcome.mean, abs=1e-12)
            assert own.outcomes[heading].values.tolist() == pytest.approx(outcome.values.tolist(), nan_ok=True)
            assert own.outcomes[heading].variance <= outcome.variance + 1e-12
        assert (own.sets, own.users, own.t, own.rho) == (shared.sets, shared.users, shared.t, shared.rho)

    def test_a_value_outside_the_bounds_raises_an_internal_error(self, standings, monkeypatch):
        monkeypatch.setattr(target_sets, "credit_sums", lambda *_: (np.zeros(1), None))
        with refused("X102"):
            precision_bounds(standings, designs.parse("TI-1R-AN"), 2)

    def test_rated_only_ranks_against_low_rated_items(self, standings):
        found = judged(standings, "rated_only")
        # u1: E above C above D; u2: E above A; u3: C above B above F
        assert found.outcomes["precision@1"].values.tolist() == [1, 0, 0]
        assert found.rho == pytest.approx((2 / 3 + 1 / 2 + 2 / 3) / 3)
        assert judged(standings, "TI-AR-AN", "bpref").outcomes["bpref"].values.tolist() == [1, 0, 0]


BIN_TRAIN = [("u1", 2), ("u1", 3), ("u2", 1), ("u2", 8), ("u3", 4), ("u4", 1), ("u4", 2)]
BIN_TEST = [("u1", 1), ("u1", 6), ("u2", 2), ("u2", 5), ("u3", 1), ("u3", 3), ("u3", 8), ("u4", 7)]
PERSONAL = {
    "u1": [6, 1, 4, 5, 7, 8, 2, 3],
    "u2": [5, 7, 2, 6, 3, 4, 1, 8],
    "u3": [8, 5, 6, 7, 3, 2, 1, 4],
    "u4": [7, 8, 5, 6, 3, 4, 1, 2],
}


class TestTwoBins:
    @pytest.fixture
    def systems(self):
        # Item 4 has no test rating, so an unrated user makes it a candidate; more training users fix the bins.
        crowd = [(f"x{i}", item, 1) for item in range(1, 9) for i in range(9 - item)]
        liked = [[(user, item, 1) for user, item in rows] for rows in (BIN_TRAIN, BIN_TEST)]
        fold = fold_of(liked[0] + crowd, [*liked[1], ("y", 4, 0)])
        protocol = protocols.ranking(relevant_from=1, bins=2)
        popular = play(ranked(fold, lambda user: [*range(1, 9)]), fold, protocol, name="popularity")
        personal = play(ranked(fold, lambda user: PERSONAL.get(user, [*range(1, 9)])), fold, protocol, name="personal")
        return {"popularity": popular.standings, "personal": personal.standings}

    @pytest.mark.parametrize(
        ("system", "n", "alone", "first", "second", "p1r"),
        [
            ("popularity", 1, 0.375, 0.75, 0.25, 0.5),
            ("personal", 1, 0.625, 0.75, 1.0, 0.875),
            ("popularity", 2, 0.25, 0.5, 0.25, 0.375),
            ("personal", 2, 0.375, 0.5, 0.5, 0.5),
        ],
    )
    def test_bins_have_equal_weight(self, systems, system, n, alone, first, second, p1r):
        heading = f"precision@{n}"
        assert judged(systems[system], "TI-1R-AN", heading).outcomes[heading].mean == pytest.approx(alone)
        found = judged(systems[system], "P1R(bins=2)", heading)
        assert found.outcomes[heading].by_bin == pytest.approx({0: first, 1: second})
        assert found.outcomes[heading].mean == pytest.approx(p1r)
        assert found.bins["sets"].to_list() == [4, 4]


class TestSizes:
    def test_the_size_of_a_set_is_one_more_than_its_sample(self):
        assert designs.parse("TI-1R-NN(t=100)") == designs.parse("TI-1R-NN(99)")
        assert str(designs.parse("P1R(t=11, bins=5)")) == "P1R(bins=5, n=10)"
        assert str(designs.parse("U1R(t=50, resample='per_rating')")) == "U1R(n=49, resample='per_rating')"

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("TI-AR-NN(t=100)", "one relevant item"),
            ("TI-1R-NN(99, t=100)", "both say how many"),
            ("TI-1R-NN(t=1)", "t must be at least 2"),
            ("PAR(n=9, resample='per_rating')", "one relevant item"),
            ("P1R(resample='per_rating')", "takes all of them"),
            ("TI-1R-AN(t=3)", "no parameter 't'"),
        ],
    )
    def test_sizes_that_make_no_sense_are_refused(self, text, words):
        with refused("U118", match=words):
            designs.parse(text)

    def test_all_items_are_no_candidates_after_a_uniform_split(self, standings):
        after = replace(standings, how={**standings.how, "name": "uniform_items"})
        with refused("U122", match="use test items as candidates"):
            judged(after, "AI-1R-AN")


class TestErrors:
    @pytest.mark.parametrize(
        ("design", "code", "words"),
        [
            ("TI-1R-NN(99)", "U120", "fewer than 99"),
            ("P1R(bins=3)", "U122", "3 popularity bins"),
            ("U1R", "U122", "same number of ratings"),
            ("TI-1R-NN(2, by='popularity', replace=False)", "U122", "no closed form"),
        ],
    )
    def test_unsupported_designs_raise_an_error_with_the_reason(self, standings, design, code, words):
        with refused(code, match=words):
            judged(standings, design)

    @pytest.mark.parametrize(
        "metric", ["err", "f1(divide_by='list')", "ndcg(ideal='retrieved')@3", "map(divide_by='hits')@3", "snips@3"]
    )
    def test_metrics_that_are_not_sums_by_rank_are_rejected(self, standings, metric):
        with refused("U110"):
            judged(standings, "TI-AR-AN", metric)

    def test_metrics_of_low_ratings_need_all_candidates(self, standings):
        with refused("U110"):
            judged(standings, "TI-1R-AN", "bpref")

    def test_with_short_all_every_candidate_is_taken_and_short_sets_are_counted(self, standings):
        found = designs.expect(standings, designs.parse("TI-1R-NN(99)"), parse_metrics("precision@1"), short="all")
        whole = judged(standings, "TI-1R-AN", "precision@1")
        assert found.short == found.sets == 5
        assert found.outcomes["precision@1"].mean == whole.outcomes["precision@1"].mean


@pytest.mark.parametrize(
    "text",
    ["TI-AR-AN", "AI-1R-NN(99)", "TI-1R-NN(99, by='popularity')", "AI-AR-NN(5, replace=True)", "P1R", "PAR(bins=5)",
     "P1R(bins=20, n=10)", "U1R(n=49)", "UAR", "rated_only", "U1R(n=9, by='popularity')"],
)  # fmt: skip
def test_the_text_of_a_design_parses_back_to_it(text):
    assert str(designs.parse(text)) == text
    assert designs.parse(designs.parse(text)) == designs.parse(text.replace("TI", "ti").replace("P1R", "p1r"))


@pytest.mark.parametrize(
    "text",
    ["1R-TI-NN", "TI-1R-NN", "TI-1R-NN(0)", "TI-AR-AN(5)", "P1R(bins=1)", "PIR", "TI-1R-NN(99, times=3)",
     "rated_only(3)", "TI-1R-NN(99%)"],
)  # fmt: skip
def test_invalid_designs_are_rejected(text):
    with pytest.raises(UsageError) as caught:
        designs.parse(text)
    assert caught.value.code in ("U118", "U104")
