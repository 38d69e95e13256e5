"""Re-rankers as values and as models, their counts and errors, and the choice of a weight."""

import functools
import math

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.synthetic import item_features, log
from recassay.errors import InputError, UsageError
from recassay.models.rerank.aspects import popularity_classes
from recassay.models.rerank.runs import METHODS

from ....refusals import refused

FOLD = ra.split.random(test=0.25, seed=1)(log(users=120, items=60, events=2_500, seed=3))[0]
ITEMS = ra.read_items(item_features(items=60, seed=3))
USERS = np.arange(FOLD.train.n_users, dtype=np.int32)


def features(table):
    """Return a table of items and features, from texts with features separated by bars."""
    return pl.DataFrame(
        {"item_id": list(table), "genres": [names.split("|") if names else [] for names in table.values()]}
    )


class TestValues:
    @pytest.mark.parametrize(
        "text",
        [
            "MMR(of='ALS(factors=8)', weight=0.3)",
            "xQuAD(weight=0.25, places=5, candidates=50, norm='none', relevance='graded')",
            "SPAD(of='UserKNN(neighbours=7)', k1=5, k2=20, liked_from=4.0)",
            "MMR(of='mf', form='max', distance='training', bare='skip')",
        ],
    )
    def test_a_method_parses_from_its_own_text(self, text):
        assert str(ra.models.parse(text)) == text
        assert METHODS.parse(str(METHODS.parse(text))) == METHODS.parse(text)

    def test_a_model_and_its_text_are_equal_parameters(self):
        assert ra.models.MMR(ra.models.PureSVD(factors=3)) == ra.models.parse("MMR(of='PureSVD(factors=3)')")
        assert ra.models.MMR(ra.models.PureSVD(factors=3)).base_model() == ra.models.PureSVD(factors=3)

    def test_a_table_is_shown_as_given(self):
        table = ra.models.MMR(distance=np.zeros((2, 2)), items=ITEMS)
        assert str(table) == "MMR(distance='given')"
        assert ra.rerank({1: {7: 0.5}}, table, train=[(1, 7), (2, 8)]).to_dict()["parameters"]["distance"] == "given"

    @pytest.mark.parametrize(
        "parameters",
        [
            {"weight": -0.1},
            {"weight": 1.01},
            {"weight": math.nan},
            {"places": 0},
            {"places": 30, "candidates": 29},
            {"norm": "zscore"},
            {"form": "median"},
            {"distance": "euclid"},
        ],
    )
    def test_parameters_out_of_range_are_an_error(self, parameters):
        with pytest.raises(UsageError, match="U102"):
            ra.models.MMR(**parameters)

    def test_results_state_the_default_number_of_candidates(self):
        assert ra.rerank({1: {7: 0.5}}, "MMR", items=features({7: "x"})).to_dict()["parameters"]["candidates"] == 100


class TestModels:
    def test_wrapping_a_model_equals_reranking_its_run(self):
        base = ra.models.UserKNN(neighbours=10)
        ask = ra.protocols.ranking(k=30, bins=0)
        run = ra.play(base, FOLD, ask)
        for method in ("MMR(weight=0.4)", "xQuAD(weight=0.4)", "SPAD(weight=0.4)"):
            found = ra.rerank(run, method, items=ITEMS, train=FOLD.train)
            parsed = METHODS.parse(method)
            wrapped = type(parsed)(base, weight=0.4, items=ITEMS, candidates=30)
            shown = ra.play(wrapped, FOLD, ask).frame()
            # A list of the run ends after 30 items, as 30 candidates do.
            assert shown.select("user_id", "item_id", "rank").equals(
                found.run.frame().select("user_id", "item_id", "rank")
            )

    def test_lists_may_be_shorter_or_longer_than_candidates(self):
        fitted = ra.models.MMR("UserKNN(neighbours=10)", items=ITEMS, places=4, candidates=9).fit(FOLD.train)
        items, scores = fitted.recommend(USERS, 60)
        for k in (1, 4, 7, 20):
            assert (fitted.recommend(USERS, k)[0] == items[:, :k]).all()
        assert (np.isneginf(scores) == (items < 0)).all()
        assert (scores[:, 0] == -1).all()

    def test_models_with_only_scores_or_only_factors_can_be_wrapped(self):
        plsa = ra.models.PLSA(factors=4, iterations=20).fit(FOLD.train)

        class OnlyFactors:
            log, user_factors, item_factors = plsa.log, plsa.user_factors, plsa.item_factors

        class OnlyScores:
            log, scores = plsa.log, staticmethod(plsa.scores)

        expected = ra.models.MMR(plsa, items=ITEMS).fit(FOLD.train).recommend(USERS, 10)[0]
        for other in (OnlyFactors(), OnlyScores()):
            assert (ra.models.MMR(other, items=ITEMS).fit(FOLD.train).recommend(USERS, 10)[0] == expected).all()

    def test_the_distance_of_factors_is_half_of_1_minus_their_cosine(self):
        model = ra.models.MMR("PLSA(factors=4, iterations=20)", distance="factors", form="mean")
        fitted = model.fit(FOLD.train)
        vectors = fitted.fitted.item_factors.astype(float)
        lengths = np.linalg.norm(vectors, axis=1)
        table = (1 - (vectors @ vectors.T) / np.outer(lengths, lengths)) / 2
        table = np.clip((table + table.T) / 2, 0, 1)
        given = ra.models.MMR(fitted.fitted, distance=table, form="mean").fit(FOLD.train)
        assert (given.recommend(USERS, 10)[0] == fitted.recommend(USERS, 10)[0]).all()

    def test_a_wrapped_network_is_trained_as_without_a_reranker(self, tmp_path):
        pytest.importorskip("torch")
        fold = ra.split.last(n=1, validation=1)(log(users=60, items=30, events=900, seed=1))[0]
        ask = ra.protocols.next_item(k=10)
        network = ra.models.GRU(dim=6, hidden=6, epochs=2)
        alone = ra.play(network, fold, ask)
        kept = ra.play(ra.models.SPAD(network, weight=0.0), fold, ask)
        assert kept.frame()["item_id"].equals(alone.frame()["item_id"])

    def test_each_reranker_is_listed_and_explained(self):
        from recassay.report.listing import entries, explain

        assert {"MMR", "SPAD", "xQuAD"} <= {entry.name for entry in entries("models")}
        assert [parameter["name"] for parameter in explain("MMR").parameters][:3] == ["of", "weight", "places"]


class TestInput:
    def test_a_user_who_liked_nothing_keeps_the_order_and_is_counted(self):
        run = {"ann": {1: 0.9, 2: 0.8, 3: 0.1}, "new": {3: 0.9, 2: 0.8, 1: 0.1}}
        train = pl.DataFrame([("ann", 1, 5), ("ann", 3, 5), ("bob", 1, 5), ("bob", 2, 1), ("bob", 3, 4)],
                             schema=["user_id", "item_id", "rating"], orient="row")  # fmt: skip
        found = ra.rerank(run, ra.models.SPAD(weight=1.0, liked_from=4), train=train)
        assert found.counts["without_liked"] == 1
        assert found.run.frame().filter(pl.col("user_id") == "new")["item_id"].to_list() == [3, 2, 1]

    def test_a_user_without_a_profile_has_uniform_feature_shares(self):
        items = features({1: "x", 2: "x", 3: "y"})
        run = {"new": {1: 0.5, 2: 0.5, 3: 0.4}}
        found = ra.rerank(run, ra.models.XQuAD(weight=1.0, places=1), items=items, train=[("bob", 1), ("bob", 2)])
        assert found.counts["without_profile"] == 1
        assert found.run.frame()["item_id"].to_list() == [3, 1, 2]  # the only item with its feature

    @pytest.mark.parametrize("method", ["xQuAD(weight=0.6)", "SPAD(weight=0.6)"])
    def test_negative_scores_are_shifted_up_and_counted(self, method):
        train = [("ann", 1), ("ann", 2), ("bob", 1), ("bob", 3), ("bob", 2)]
        items = features({1: "x", 2: "x|y", 3: "y"})
        scores = {1: 0.75, 2: 0.5, 3: 0.25}
        low = {item: score - 1.0 for item, score in scores.items()}
        at_0 = {item: score - 0.25 for item, score in scores.items()}
        moved = ra.rerank({"ann": low}, method, items=items, train=train)
        assert moved.counts["shifted"] == 1
        assert ra.rerank({"ann": at_0}, method, items=items, train=train).counts["shifted"] == 0
        assert moved.pick_values == pytest.approx(
            ra.rerank({"ann": at_0}, method, items=items, train=train).pick_values, nan_ok=True
        )

    def test_items_without_features_are_distant_from_all_and_counted(self):
        found = ra.rerank({1: {7: 0.9, 8: 0.8, 9: 0.7}}, "MMR(weight=1.0)", items=features({7: "x", 8: "x", 6: None}))
        assert found.counts["bare"] == 1
        assert found.run.items.tolist() == [7, 9, 8]

    def test_items_that_nobody_has_in_training_are_in_the_long_tail(self):
        train = [("ann", "a"), ("bob", "a"), ("cyd", "a"), ("cyd", "b")]
        method = ra.models.LongTail(weight=1.0, norm="none")
        for rare in ("b", "z"):  # z is not in the log; b is, once
            found = ra.rerank({"cyd": {"a": 1.0, rare: 0.9}}, method, train=train)
            assert found.pick_values[0, :2].tolist() == [0.5, 0.5]
            assert found.counts["bare"] == 0

    def test_items_that_a_fold_keeps_for_testing_only_are_in_the_long_tail(self):
        rows = [("ann", "a", 1), ("bob", "a", 2), ("ann", "b", 3), ("bob", "z", 9)]
        log = ra.read_interactions(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
        train = ra.split.global_time(at=5)(log)[0].train
        classes = popularity_classes(train, 0.9, pl.Series([], dtype=pl.String))
        assert train.item_users.tolist() == [2, 1, 0]
        assert classes.names.gather(classes.codes).to_list() == ["head", "head", "tail"]

    def test_repeated_items_are_kept_once_and_counted(self):
        rows = pl.DataFrame({"user_id": [1] * 4, "item_id": [7, 8, 7, 9], "score": [0.9, 0.8, 0.7, 0.6]})
        found = ra.rerank(rows, "MMR(weight=0.0)", items=features({7: "x"}))
        assert found.counts["duplicate"] == 1
        assert found.run.items.tolist() == [7, 8, 9]

    def test_ties_of_the_run_are_ordered_by_id_before_reranking(self):
        found = ra.rerank({1: {9: 0.5, 7: 0.5, 8: 0.5}}, "MMR(weight=0.5)", items=features({7: "x", 8: "x", 9: "x"}))
        assert found.run.items.tolist() == [7, 8, 9]
        assert found.counts["moved"] == 0

    def test_equal_scores_with_a_rounded_mean_have_no_effect(self):
        # 0.1 + 0.1 + 0.1 is not 0.3, so the deviations from the mean are not exactly 0.
        items = features({7: "x", 8: "x", 9: "y"})
        found = ra.rerank({1: {7: 0.1, 8: 0.1, 9: 0.1}}, "MMR(weight=0.01)", items=items)
        assert found.pick_values[0, 0] == 0.0
        assert found.run.items.tolist() == [7, 9, 8]

    @pytest.mark.parametrize("form", ["mean", "ranksys"])
    @pytest.mark.parametrize("norm", ["zscore_step", "minmax", "none"])
    def test_equal_distances_with_rounded_sums_have_no_effect(self, form, norm):
        # After 0, 1 and 2 the distances of 3 are 1/2 + 1/2 + 2/3 and those of 4 are 2/3 + 2/3 + 1/3: as floats
        # they differ by 2e-16, which must not put the worse item first.
        items = features({0: "u", 1: "v", 2: "v|w", 3: "u|v", 4: "u|v|w"})
        run = {1: {0: 1.0, 1: 0.9, 2: 0.8, 3: 0.7, 4: 0.6}}
        method = ra.models.MMR(weight=0.9, form=form, norm=norm, places=5, candidates=5)
        assert ra.rerank(run, method, items=items).run.items.tolist() == [0, 1, 2, 3, 4]

    @pytest.mark.parametrize("norm", ["zscore_step", "minmax", "none"])
    def test_values_equal_up_to_rounding_keep_the_order(self, norm):
        # Items 3 and 4 have equal scores and distances of 5/9, so they tie and the better rank goes first.
        items = features({0: "u", 1: "v", 2: "v|w", 3: "u|v", 4: "u|v|w"})
        run = {1: {0: 1.0, 1: 0.9, 2: 0.8, 3: 0.7, 4: 0.7}}
        method = ra.models.MMR(weight=0.9, form="mean", norm=norm, places=5, candidates=5)
        assert ra.rerank(run, method, items=items).run.items.tolist() == [0, 1, 2, 3, 4]

    def test_equal_aspect_shares_with_rounded_sums_have_no_effect(self):
        # Each item is the only one with its aspects, so p(i | u, a) = 1. p(a | u) is 1/12, 2/12, 3/12 for the aspects
        # of 7, and 3/12, 2/12 and 1/12 for those of 8. Both diversities are 1/2, but floats add up in different orders.
        names = {7: "a1|b2|c3", 8: "a6|b5|c4"}
        profile = {11: "a1", 12: "b2", 13: "b2", 14: "c3", 15: "c3", 16: "c3"}
        profile |= {21: "a6", 22: "a6", 23: "a6", 24: "b5", 25: "b5", 26: "c4"}
        train = [("ann", item) for item in profile] + [("bob", 7), ("bob", 8)]
        run = {"ann": {8: 0.6, 7: 0.5}}
        method = ra.models.XQuAD(weight=0.95, places=2, candidates=2)
        assert ra.rerank(run, method, items=features(names | profile), train=train).run.items.tolist() == [8, 7]

    @pytest.mark.parametrize("norm", ["zscore_step", "minmax"])
    @pytest.mark.parametrize("size", [1e-180, 1e-9, 1e9, 1e180])
    def test_scaling_all_scores_does_not_change_the_order(self, norm, size):
        items = features({1: "x", 2: "x|y", 3: "y", 4: "x", 5: "z", 6: "y|z"})
        scores = {1: 1.0, 4: 0.9, 2: 0.8, 3: 0.5, 6: 0.4, 5: 0.2}
        method = ra.models.MMR(weight=0.5, form="mean", norm=norm, places=6, candidates=6)
        plain = ra.rerank({1: scores}, method, items=items)
        sized = ra.rerank({1: {item: size * score for item, score in scores.items()}}, method, items=items)
        assert sized.run.items.tolist() == plain.run.items.tolist()
        assert sized.pick_values == pytest.approx(plain.pick_values, rel=1e-9)

    def test_an_extremely_low_score_does_not_hide_differences_of_the_others(self):
        items = features({7: "x", 8: "x", 9: "x"})
        run = {1: {7: 0.9, 8: 0.8, 9: -1e9}}
        method = ra.models.MMR(weight=0.01, norm="none", form="max")
        assert ra.rerank(run, method, items=items).run.items.tolist() == [7, 8, 9]

    @pytest.mark.parametrize(
        ("code", "run", "method", "given"),
        [
            ("I301", ra.read_run({1: {7: math.nan, 8: 0.3}}, nan="last"), "MMR", {"items": features({7: "x"})}),
            ("I301", {1: {7: 0.5, 8: math.nan}}, "MMR", {"items": features({7: "x"})}),
            ("I301", {1: {7: math.inf, 8: 0.3}}, "MMR", {"items": features({7: "x"})}),
            ("I201", {1: [7, 8]}, "MMR", {"items": features({7: "x"})}),
            ("I362", {1: {7: 0.5}}, ra.models.MMR(distance=np.zeros((3, 3))), {"train": [(1, 7)]}),
            ("I362", {1: {7: 0.5}}, ra.models.MMR(distance=[[0, 0.2], [0.3, 0]]), {"train": [(1, 7), (1, 8)]}),
            ("I362", {1: {7: 0.5}}, ra.models.MMR(distance=[[math.nan]]), {"train": [(1, 7)]}),
            ("I362", {1: {7: 0.5, 9: 0.4}}, ra.models.MMR(distance=[[0.0]]), {"train": [(1, 7)]}),
            ("I406", {1: {7: 0.5}}, "SPAD", {"train": [(1, 8)]}),
            ("I407", {1: {7: 0.5}}, "MMR", {"items": features({8: "x"})}),
            ("I403", {1: {7: 0.5}}, "MMR", {"items": features({"i7": "x"})}),
            ("I307", {1: {7: 0.5}}, "SPAD(liked_from=4.0)", {"train": [(1, 7)]}),
            ("U201", {1: {7: 0.5}}, "MMR", {}),
            ("U201", {1: {7: 0.5}}, "xQuAD", {"items": features({7: "x"})}),
            ("U201", {1: {7: 0.5}}, "SPAD", {}),
            ("U201", {1: {7: 0.5}}, "MMR(distance='factors')", {"train": [(1, 7)]}),
            ("U201", {1: {7: 0.5}}, "MMR(of='Popular')", {"items": features({7: "x"})}),
            ("U115", {1: {7: 0.5}}, "Popular", {}),
        ],
    )
    def test_unusable_input_is_an_error(self, code, run, method, given):
        with refused(code):
            ra.rerank(run, method, **given)

    def test_infinite_scores_and_a_missing_model_are_errors(self):
        wild = ra.models.RecommendFunction(lambda user, k: [(1, math.inf), (2, 0.5)])
        with pytest.raises(InputError, match="I301"):
            ra.play(ra.models.SPAD(wild), FOLD, ra.protocols.ranking(k=5, bins=0))
        with pytest.raises(UsageError, match="U201"):
            ra.models.SPAD().fit(FOLD.train)


class TestWeights:
    TRUTH = FOLD.test.frame().select("user_id", "item_id")

    @functools.cached_property
    def run(self):
        return ra.play(ra.models.UserKNN(neighbours=10), FOLD, ra.protocols.ranking(k=30, bins=0))

    def table(self, grid, metrics):
        rows = []
        for weight in grid:
            made = ra.rerank(self.run, ra.models.MMR(weight=weight), items=ITEMS).run
            scores = ra.score(made, self.TRUTH, metrics, items=ITEMS, interval=None)
            rows.append([scores.row(scores.systems[0], metric).mean for metric in metrics])
        return rows

    def test_the_best_weight_is_chosen_and_the_whole_grid_is_reported(self):
        found = ra.choose_weight(self.run, "MMR", self.TRUTH, "ndcg@5", items=ITEMS)
        grid = [step / 10 for step in range(11)]
        expected = [row[0] for row in self.table(grid, ["ndcg@5"])]
        assert found.table["weight"].to_list() == grid
        assert found.table["ndcg@5"].to_list() == expected
        assert found.weight == grid[expected.index(max(expected))]
        assert found.table.filter("chosen")["weight"].to_list() == [found.weight]
        assert found.criterion == "best ndcg@5"

    def test_the_most_diverse_weight_within_a_loss_is_chosen(self):
        grid = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
        rows = self.table(grid, ["ild@5", "ndcg@5"])
        kept = [place for place, row in enumerate(rows) if row[1] >= 0.99 * rows[0][1]]
        found = ra.choose_weight(
            self.run, "MMR", self.TRUTH, "ild@5", keep="ndcg@5", loss=0.01, grid=grid[::-1], items=ITEMS
        )
        assert found.weight == grid[max(kept, key=lambda place: rows[place][0])]
        assert found.table["within"].to_list() == [place in kept for place in range(6)]
        assert 0 < len(kept) < 6
        assert found.criterion == "best ild@5, losing at most 1 % of ndcg@5"
        assert found.method == ra.models.MMR(weight=found.weight)

    def test_the_smallest_value_wins_where_lower_is_better(self):
        found = ra.choose_weight(
            self.run, "MMR", self.TRUTH, "calibration@5", items=ITEMS, train=FOLD.train, grid=[0, 0.9]
        )
        less, more = sorted(found.table["calibration@5"].to_list())
        assert found.table.filter("chosen")["calibration@5"].item() == less < more

    def test_the_smallest_of_equally_good_weights_is_chosen(self):
        assert ra.choose_weight(self.run, "MMR", self.TRUTH, "recall@30", items=ITEMS).weight == 0

    def test_means_that_differ_by_rounding_are_ties(self):
        from recassay.api.weight import _first_best

        assert _first_best([0.3, 0.1 + 0.2, 0.2], [True] * 3, "ndcg@5") == 0
        assert _first_best([0.3, 0.1 + 0.2, 0.31], [True] * 3, "ndcg@5") == 2
        assert _first_best([-math.inf, math.inf], [True, True], "ndcg@5") == 1

    def test_every_combination_of_parameters_is_tried(self):
        grid = {"candidates": [25, 30], "weight": [0.0, 0.5], "places": [5, 20]}
        found = ra.choose_weight(self.run, "MMR", self.TRUTH, "ild@5", items=ITEMS, grid=grid)
        tried = [(candidates, places, weight) for candidates in (25, 30) for places in (5, 20) for weight in (0, 0.5)]
        assert found.table.select("candidates", "places", "weight").rows() == tried
        means = []
        for candidates, places, weight in tried:
            made = ra.rerank(self.run, ra.models.MMR(weight=weight, candidates=candidates, places=places), items=ITEMS)
            means.append(ra.score(made.run, self.TRUTH, "ild@5", items=ITEMS, interval=None).rows[0].mean)
        assert found.table["ild@5"].to_list() == means
        assert found.table["chosen"].arg_max() == means.index(max(means))
        best = tried[means.index(max(means))]
        assert found.method == ra.models.MMR(candidates=best[0], places=best[1], weight=best[2])

    def test_sudden_death_is_a_criterion(self):
        """Outright wins minus losses against the unranked list, user by user."""
        grid = [0.0, 0.4, 0.8]
        found = ra.choose_weight(self.run, "MMR", self.TRUTH, "sudden_death@10", items=ITEMS, grid=grid)
        truth = {user: set(part["item_id"]) for (user,), part in self.TRUTH.group_by("user_id")}

        def first_hits(weight):
            listed = ra.rerank(self.run, ra.models.MMR(weight=weight), items=ITEMS).run.frame()
            hits = dict.fromkeys(truth, 99)
            for user, item, rank in listed.select("user_id", "item_id", "rank").iter_rows():
                if rank <= 10 and item in truth.get(user, ()):
                    hits[user] = min(hits[user], rank)
            return hits

        unranked, expected = first_hits(0.0), []
        for weight in grid:
            own = first_hits(weight)
            won = sum(own[user] < unranked[user] for user in truth) - sum(own[user] > unranked[user] for user in truth)
            expected.append(won / len(truth))
        assert found.table["sudden_death@10"].to_list() == pytest.approx(expected, abs=1e-12)
        assert found.weight == grid[expected.index(max(expected))]
        kept = ra.choose_weight(
            self.run, "MMR", self.TRUTH, "ild@5", keep="sudden_death@10", items=ITEMS, grid=grid
        )  # fmt: skip
        assert kept.table["within"].to_list() == [value >= 0 for value in expected]

    @pytest.mark.parametrize(
        ("code", "options"),
        [
            ("U203", {"grid": []}),
            ("U203", {"grid": {"candidates": []}}),
            ("U102", {"grid": {"neighbours": [3]}}),
            ("U203", {"keep": "ndcg@5", "grid": [0.1, 0.5]}),
            ("U203", {"best": "rbp_residual@5"}),
            ("U102", {"keep": "ndcg@5", "loss": 2}),
            ("U102", {"grid": [0, 1.5]}),
            ("U101", {"best": "ildd@5"}),
        ],
    )
    def test_a_criterion_without_a_choice_is_an_error(self, code, options):
        given = {"best": "ild@5", "items": ITEMS, "train": FOLD.train, **options}
        with refused(code):
            ra.choose_weight(self.run, "MMR", self.TRUTH, given.pop("best"), **given)

    def test_a_metric_that_is_undefined_at_every_weight_is_an_error(self):
        with pytest.raises(UsageError, match="undefined at every weight"):
            ra.choose_weight({1: {7: 0.5}}, "MMR", {1: [7]}, "ild@1", items=features({7: "x"}), grid=[0.5])


@pytest.mark.parametrize("grid", [{1.0: [[np.array([2, 2])]]}, {"weight": ["much"]}, ["much"], {"places": [[1]]}])
def test_a_grid_of_other_things_is_refused(grid):
    items = {"x": ["a"], "y": ["a", "b"]}
    with pytest.raises(ra.UsageError, match="U102"):
        ra.choose_weight({"ann": {"x": 0.5, "y": 0.2}}, "MMR", {"ann": ["x"]}, "ndcg@2", items=items, grid=grid)
