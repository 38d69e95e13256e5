"""What `score` takes, and how its options reach the lists and the metrics."""

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.engine.lists import job as local
from recassay.errors import UsageError

from ....refusals import refused
from ....scoring import score

TRUTH = {"ann": ["x", "y"], "bob": ["z"]}
LISTS = {"ann": ["y", "q"], "bob": ["q", "z"]}


def mean(metric="recall@1", runs=None, truth=TRUTH, **more):
    return score({"m": LISTS if runs is None else runs}, truth, metric, interval=None, **more).rows[0].mean


class TestConventions:
    """Every policy of the conventions does what it says."""

    TIED = pl.DataFrame({"user_id": ["ann"] * 3, "item_id": ["q", "x", "a"], "score": [0.5, 0.5, 0.5]})
    BOTH = pl.DataFrame({"user_id": ["ann"] * 2, "item_id": ["q", "x"], "rank": [1, 2], "score": [0.1, 0.9]})
    AGAIN = pl.DataFrame({"user_id": ["ann"] * 3, "item_id": ["q", "q", "x"], "rank": [1, 2, 3]})
    ONE = {"ann": ["x"]}  # noqa: RUF012

    @pytest.mark.parametrize(
        ("ties", "value"),
        [
            ("id", 0),
            ("id_descending", 1),
            ("trec", 1),
            ("row", 0),
            ("ranx", 0),
            ("expected", 1 / 3),
            ("optimistic", 1),
            ("pessimistic", 0),
        ],
    )
    def test_ties(self, ties, value):
        assert mean(runs=self.TIED, truth=self.ONE, ties=ties) == pytest.approx(value)

    @pytest.mark.parametrize(("order", "value"), [("given", 0), ("score", 1)])
    def test_order(self, order, value):
        assert mean(runs=self.BOTH, truth=self.ONE, order=order) == value

    def test_order_by_scores_that_are_not_there(self):
        with refused("U107", match="no score column"):
            mean(order="score")

    @pytest.mark.parametrize(("duplicates", "value"), [("first", 1), ("keep", 0)])
    def test_duplicates(self, duplicates, value):
        assert mean("recall@2", self.AGAIN, self.ONE, duplicates=duplicates) == value

    def test_pairs_of_items_that_are_repeated_cannot_be_counted(self):
        run, truth = {"ann": ["n", "n", "n", "x"]}, {"ann": {"x": 1, "n": 0}}
        for metric in ("auc(negatives='judged')", "auc(targets=3)"):
            with refused("U102", match="a list repeats items"):
                mean(metric, run, truth, duplicates="keep")
            assert mean(metric, run, truth, duplicates="first") < 1

    def test_duplicates_refused(self):
        with refused("I305", match="1 rows of 1 lists"):
            mean(runs=self.AGAIN, truth=self.ONE, duplicates="error")

    @pytest.mark.parametrize(("precision", "value"), [("double", 0), ("single", 1)])
    def test_precision(self, precision, value):
        run = pl.DataFrame({"user_id": ["ann"] * 2, "item_id": ["z", "x"], "score": [0.1 + 1e-12, 0.1]})
        assert mean(runs=run, truth=self.ONE, precision=precision) == value

    @pytest.mark.parametrize(("missing", "value"), [(None, 0.25), ("zero", 0.25), ("skip", 0.5)])
    def test_missing(self, missing, value):
        assert mean(runs={"ann": ["x"]}, missing=missing) == value

    def test_missing_refused(self):
        with refused("I404", match="1 of 2 queries have no list, the first 'bob'"):
            mean(runs={"ann": ["x"]}, missing="error")
        assert mean(missing="error") == 0.25

    @pytest.mark.parametrize(("no_relevant", "value"), [(None, 0.5), ("undefined", 0.5), ("zero", 0.25)])
    def test_no_relevant(self, no_relevant, value):
        truth = {"ann": {"x": 1, "y": 1}, "bob": {"z": 0}}
        assert mean("recall@2", truth=truth, no_relevant=no_relevant) == value

    def test_a_metric_that_states_its_own_policy_keeps_it(self):
        scores = ra.score(
            {"m": {"ann": ["x"]}},
            TRUTH,
            ["recall(missing='zero')@1", "recall@1"],
            conventions=ra.options.ConventionOptions(missing="skip"),
        )
        assert [row.mean for row in scores.rows] == [0.25, 0.5]

    @pytest.mark.parametrize("option", ["order", "ties", "precision", "duplicates", "missing", "no_relevant"])
    def test_a_policy_that_does_not_exist(self, option):
        with pytest.raises(UsageError, match="nonsense") as caught:
            mean(**{option: "nonsense"})
        assert caught.value.code in ("U107", "U102")

    def test_relevant_from(self):
        truth = {"ann": {"x": 1, "y": 3}, "bob": {"z": 2}}
        assert mean("recall@2", truth=truth, relevant_from=2) == 1.0
        assert mean("recall(relevant_from=3.0)@2", truth=truth, relevant_from=2) == 1.0


class TestInputs:
    FRAME = pl.DataFrame([(u, i) for u, items in LISTS.items() for i in items], ["user_id", "item_id"], orient="row")

    @pytest.mark.parametrize(
        "runs",
        [
            {"m": LISTS},
            {"m": FRAME},
            {"m": FRAME.to_pandas()},
            {"m": FRAME.to_arrow()},
            ra.read_run(LISTS, "m"),
            [ra.read_run(LISTS, "m")],
            {"m": {user: {item: -place for place, item in enumerate(items)} for user, items in LISTS.items()}},
        ],
        ids=["lists", "polars", "pandas", "arrow", "run", "runs", "scores"],
    )
    def test_every_form_of_a_run(self, runs):
        scores = ra.score(runs, TRUTH, "recall@1 mrr", interval=None)
        assert scores.systems == ("m",)
        assert [row.mean for row in scores.rows] == [0.25, 0.75]

    def test_metrics_as_text_as_values_and_mixed(self):
        one = ra.metrics.parse_metric("recall@1")
        for metrics in ("recall@1", one, ["recall@1"], [one], ["R@1", one]):
            assert ra.score({"m": LISTS}, TRUTH, metrics, interval=None).metrics == ("recall@1",)
        assert ra.score({"m": LISTS}, TRUTH, ["mrr recall@1", one], interval=None).metrics == ("mrr", "recall@1")

    def test_two_runs_of_one_name(self):
        run = ra.read_run(LISTS, "m")
        with refused("U109", match="runs have the name 'm'"):
            ra.score([run, run], TRUTH, "mrr")

    def test_users_that_the_truth_does_not_have_change_nothing(self):
        more = LISTS | {"zoe": ["x"]}
        assert mean(runs=more) == mean()

    def test_progress_is_told_of_every_user_once(self, monkeypatch):
        monkeypatch.setattr(local, "USERS_PER_BLOCK", 1)
        heard = []
        ra.score(
            {"m": LISTS},
            TRUTH,
            "mrr",
            interval=None,
            execution=ra.options.Execution(progress=lambda *report: heard.append(report)),
        )
        assert heard == [("judging m", 1, 2), ("judging m", 2, 2)]

    def test_inputs_are_not_changed(self):
        frame = pl.DataFrame({"user_id": ["b", "a"], "item_id": ["x", "x"], "score": [0.1, 0.2]})
        before = frame.clone()
        ra.score({"m": frame}, frame.rename({"score": "gain"}), "mrr ndcg(relevant_from=0.1)@3", interval=None)
        assert frame.equals(before)

    def test_lists_may_be_longer_than_any_truth_and_shorter_than_any_cutoff(self):
        items = [f"i{number}" for number in range(3_000)]
        scores = ra.score({"m": {"ann": items}}, {"ann": items[-1:]}, "mrr recall@5000 hit@2999", interval=None)
        assert [row.mean for row in scores.rows] == [1 / 3_000, 1.0, 0.0]


class TestIntervals:
    def test_the_same_seed_has_the_same_bounds_and_another_has_others(self):
        rng = np.random.default_rng(1)
        truth = {user: {int(item): 1 for item in rng.integers(0, 20, 3)} for user in range(80)}
        runs = {"m": {user: [int(item) for item in rng.permutation(20)[:5]] for user in range(80)}}

        def bounds(seed, **more):
            row = score(runs, truth, "ndcg@5", resamples=500, seed=seed, **more).rows[0]
            assert row.low < row.mean < row.high
            return row.low, row.high

        assert bounds(1) == bounds(1)
        assert bounds(1, interval="percentile") != bounds(2, interval="percentile")
        assert bounds(1, level=0.99)[0] < bounds(1, level=0.8)[0]

    def test_bounds_of_a_root_mean_square_are_of_the_root(self):
        truth = {user: {"x": 1 + user % 5} for user in range(30)}
        row = ra.score({"m": {user: {"x": 3.0} for user in range(30)}}, truth, "rmse").rows[0]
        assert row.mean == pytest.approx(np.sqrt(2))
        assert 1.0 < row.low < np.sqrt(2) < row.high < 1.8


def test_the_docstring_has_the_loop_that_it_is_equal_to():
    assert "metric.checked(alignment.block(q, q + 1))" in local.__doc__


class TestExtremes:
    @pytest.mark.parametrize("k", [2**31 - 1, 10**6])
    def test_a_cutoff_beyond_every_list_is_that_of_the_whole_list(self, k):
        for name in ("ndcg", "recall", "mrr", "map", "rbp", "hit", "dcg"):
            assert mean(f"{name}@{k}") == mean(name)
        assert mean(f"precision@{k}") == pytest.approx(1 / k)
        assert mean(f"mean_precision@{k}") > 0

    @pytest.mark.parametrize("k", [2**31, 10**20])
    def test_a_cutoff_beyond_all_numbers(self, k):
        with refused("U103", match=str(k)):
            mean(f"ndcg@{k}")

    @pytest.mark.parametrize("metric", ["ndcg(gain='exp2')", "dcg(gain='exp2')", "err"])
    def test_grades_that_have_no_power_of_two(self, metric):
        with refused("U102", match="is too large"):
            mean(metric, truth={"ann": {"x": 5_000, "y": 1}})
        assert 0 <= mean(metric, truth={"ann": {"x": 900, "y": 1}}) < float("inf")

    def test_threads_below_one(self):
        with pytest.raises(UsageError, match="at least 1, got -1"):
            mean(threads=-1)

    @pytest.mark.parametrize("name", ["ann|", "a\nb", "", "Ünï", "x" * 300])
    def test_any_name_of_a_system(self, name):
        scores = ra.score({name: LISTS, "other": LISTS}, TRUTH, "mrr", interval=None)
        assert scores.systems == (name, "other")

    def test_one_user_one_item(self):
        row = ra.score({"m": {1: [5]}}, {1: [5]}, "ndcg@1").rows[0]
        assert (row.mean, row.n) == (1.0, 1)
