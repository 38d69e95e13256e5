"""Contests of runs and of streams, against the worked example SD1 and by hand."""

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.io.manifest import recording
from recassay.data.synthetic import log as synthetic
from recassay.results.first_hits import FirstHits
from recassay.results.outcomes import Outcomes

from ....refusals import refused

TRUTH = {
    "u1": {1: 1.0, 2: 1.0},
    "u2": {5: 1.0},
    "u3": {7: 1.0, 8: 1.0},
    "u4": {3: 1.0},
    "u5": {99: 0.0},  # judged, and not relevant
}
RUNS = {
    "A": {"u1": [1, 9, 2], "u2": [6, 5, 4], "u3": [4, 6, 9], "u4": [9, 8, 3], "u5": [1, 2, 3]},
    "B": {"u1": [9, 1, 2], "u2": [5, 6, 4], "u3": [9, 7, 8], "u4": [8, 9, 3], "u5": [3, 2, 1]},
    "C": {"u1": [2, 9, 4], "u2": [4, 6, 5], "u3": [6, 8, 7], "u4": [7, 6, 5], "u5": [9, 8, 7]},
}


def contest(at=3, runs=RUNS, **options):
    return ra.sudden_death(runs, TRUTH, at, **options)


class TestWorkedExample:
    """SD1 of the specification, to six decimals."""

    @pytest.mark.parametrize(
        ("at", "options", "wanted"),
        [
            (1, {}, (0.25, 0.25, 0.25)),
            (2, {}, (0.25, 0.5, 0.5)),
            (3, {}, (0.5, 0.75, 0.5)),
            (3, {"users": "all"}, (0.4, 0.6, 0.4)),
            (3, {"users": "all", "loop": "printed"}, (0.2, 0.4, 0.4)),
            (1, {"users": "all", "loop": "printed"}, (0, 0, 0)),
            (3, {"users": "all", "ties": "split"}, (0.2, 0.4, 0.2)),
        ],
    )
    def test_wins_match_hand_computed_ones(self, at, options, wanted):
        if (at, options) == (3, {"users": "all", "loop": "printed"}):
            assert ra.sudden_death(RUNS, TRUTH, 2, users="all").summary()[:, 2].to_list() == pytest.approx(wanted)
        made = contest(at, **options)
        assert [made.share(name) for name in "ABC"] == pytest.approx(wanted, abs=1e-6)
        assert [np.nanmean(made.values(name)) for name in "ABC"] == pytest.approx(wanted, abs=1e-6)
        assert made.summary()["sudden_death"].to_list() == pytest.approx(wanted, abs=1e-6)

    def test_hits_and_wins_at_smaller_cutoffs_match_hand_computed_ones(self):
        made = contest(users="all")
        assert [made.hit(name, 3) for name in "ABC"] == pytest.approx((0.6, 0.8, 0.6))
        assert [made.hit(name, 2) for name in "ABC"] == pytest.approx((0.4, 0.6, 0.4))
        assert made.share("C", 2) == made.share("B", 2) > made.share("A", 2)

    def test_users_and_lists_are_counted(self):
        made = contest(users="all")
        assert (made.n, made.nobody(), made.nobody(1)) == (5, 1, 3)
        assert (contest().n, contest().nobody()) == (4, 0)
        assert [made.outright(name) for name in "ABC"] == pytest.approx((0, 0.2, 0))
        assert made.summary()["shared"].to_list() == pytest.approx([0.4, 0.4, 0.4])
        assert contest(users="all", ties="split").summary()["shared"].to_list() == pytest.approx([0.4, 0.4, 0.4])

    def test_pairwise_wins_match_hand_computed_ones(self):
        table = contest().duels()
        rows = {(row["system"], row["against"]): row for row in table.to_dicts()}
        wins = {pair: row["wins"] for pair, row in rows.items()}
        assert wins == {
            ("A", "B"): 0.25, ("A", "C"): 0.5, ("B", "A"): 0.5, ("B", "C"): 0.5, ("C", "A"): 0.25, ("C", "B"): 0.25
        }  # fmt: skip
        assert rows["A", "B"]["together"] == 0.25
        assert contest(1).duels().filter(pl.col("system") == "A")["neither"].to_list() == [0.5, 0.75]


class TestAllUsers:
    """``users="all"`` counts users without a row in the truth, whom some run has a list for."""

    def test_users_without_a_truth_row_are_counted(self):
        truth = {user: items for user, items in TRUTH.items() if user != "u5"}
        made = ra.sudden_death(RUNS, truth, at=3, users="all")
        assert [made.share(name) for name in "ABC"] == pytest.approx((0.4, 0.6, 0.4), abs=1e-6)
        assert (made.n, made.nobody(), made.units.to_list()) == (5, 1, ["u1", "u2", "u3", "u4", "u5"])
        assert "C004" not in {one.code for one in made.findings}
        assert ra.sudden_death(RUNS, truth, at=3).n == 4

    def test_users_of_any_run_count_once(self):
        runs = {"a": {1: [9], 2: [8], 4: [8]}, "b": {1: [9], 3: [8], 4: [9]}}
        made = ra.sudden_death(runs, {1: [9], 7: [9]}, at=1, users="all")
        assert (made.units.to_list(), made.share("a")) == ([1, 7, 2, 3, 4], 0.2)


class TestScoredLists:
    """Scores that kept first hits need neither runs nor truth, and have the conventions of the scores."""

    LOG = ra.split.random(test=0.2, seed=7)(synthetic(users=80, items=40, events=1200, seed=2))[0]

    def test_they_give_what_runs_and_truth_give(self):
        models = {"pop": ra.models.Popular(), "svd": ra.models.PureSVD(factors=4)}
        runs = [ra.play(model, self.LOG, ra.protocols.ranking(k=20), name=name) for name, model in models.items()]
        rows = self.LOG.test.frame().select("user_id", "item_id").with_row_index("gain")
        truth = ra.read_truth(rows.select("user_id", "item_id", gain=pl.col("gain") % 5 + 1.0))
        scored = ra.score(runs, truth, "ndcg@5", relevant_from=3, first_hits=True, interval=None)
        kept, read = ra.sudden_death(scored, at=(5, 20)), ra.sudden_death(runs, truth, at=(5, 20), relevant_from=3)
        assert kept.rules == read.rules
        assert kept.summary().equals(read.summary())
        assert kept.n > 40

    def test_another_threshold_and_scores_without_hits_are_refused(self):
        scored = ra.score(RUNS, TRUTH, "mrr", first_hits=True, interval=None)
        assert ra.sudden_death(scored, at=3).share("B") == 0.75
        for ask in (
            lambda: ra.sudden_death(scored, relevant_from=2),
            lambda: ra.sudden_death(ra.score(RUNS, TRUTH, "mrr", interval=None)),
        ):
            with refused("U205"):
                ask()

    def test_all_users_need_the_runs_if_some_are_not_in_the_truth(self):
        truth = {user: items for user, items in TRUTH.items() if user != "u5"}
        scored = ra.score(RUNS, truth, "mrr", first_hits=True, interval=None)
        with pytest.raises(ra.UsageError, match="row with gain 0"):
            ra.sudden_death(scored, users="all")
        scored = ra.score(RUNS, {**truth, "u5": {1: 0.0}}, "mrr", first_hits=True, interval=None)
        from_runs = ra.sudden_death(RUNS, truth, at=3, users="all").summary()
        columns = ["system", "sudden_death", "low", "high", "outright", "nobody", "n"]
        assert ra.sudden_death(scored, at=3, users="all").summary().select(columns).equals(from_runs.select(columns))

    def test_hits_survive_writing_and_reading(self, tmp_path):
        scored = ra.score(RUNS, {**TRUTH, "u6": {1: 1.0}}, "mrr", first_hits=True, interval=None)
        with recording(tmp_path):
            scored.first_hits.write(tmp_path)
        back = FirstHits.read(tmp_path)
        assert back.frame().equals(scored.first_hits.frame())
        assert ra.sudden_death(back, at=3).summary().equals(ra.sudden_death(scored, at=3).summary())
        assert ra.sudden_death(back, at=3).missing == {"A": 1, "B": 1, "C": 1}

    def test_chunks_of_files_give_the_same_hits(self, tmp_path):
        rows = [(user, item) for user, items in RUNS["A"].items() for item in items]
        pl.DataFrame(rows, ["user_id", "item_id"], orient="row").with_columns(
            score=-pl.int_range(pl.len())
        ).write_parquet(tmp_path / "A.parquet")
        made = [
            ra.score(
                {"A": tmp_path / "A.parquet"},
                TRUTH,
                "mrr",
                first_hits=True,
                interval=None,
                execution=ra.options.Execution(memory=memory),
            )
            for memory in (None, "8GB")
        ]
        assert made[0].first_hits.frame().equals(made[1].first_hits.frame())


class TestCompetitors:
    def test_a_part_of_the_systems_can_compete(self):
        made = contest(users="all", competitors=["A", "B"])
        assert made.competitors == ("A", "B")
        assert [made.share(name) for name in "AB"] == pytest.approx((0.4, 0.6))
        with refused("U108"):
            contest(competitors=["A", "D"])

    def test_copies_are_a_finding(self):
        runs = {"a": {user: [1, 2] for user in range(20)}, "b": {user: [2, 1] for user in range(20)}}
        truth = {user: [1] for user in range(20)}
        found = ra.sudden_death({**runs, "copy": runs["a"]}, truth, at=2).findings
        assert [(one.code, "a and copy" in one.detail) for one in found] == [("C012", True)]
        assert ra.sudden_death(runs, truth, at=2).findings == ()


class TestScores:
    def test_scores_carry_the_competitors_and_the_rules(self):
        scores = contest((1, 3), users="all", ties="split").scores()
        assert scores.metrics == tuple(f"sudden_death(ties='split', users='all')@{at}" for at in (1, 3))
        assert scores.settings["competitors"] == ["A", "B", "C"]
        assert scores.row("B", scores.metrics[1]).accompanying == pytest.approx(
            {"outright": 0.2, "hit": 0.8, "nobody": 1.0}
        )

    def test_users_without_relevant_items_are_undefined_and_counted(self):
        row = contest().scores().row("A", "sudden_death@3")
        assert (row.n, row.undefined, row.missing, row.short, row.duplicate) == (4, 1, 0, 0, 0)
        assert np.isnan(contest().scores().values("A", "sudden_death@3")).tolist() == [False] * 4 + [True]

    def test_pairs_are_tested_by_mcnemar_with_holm(self):
        made = contest()
        assert made.compare().rows == ra.compare(made.scores(), test="mcnemar").rows
        assert {row.test for row in contest(ties="split").compare().rows} == {"permutation"}
        assert made.compare(baseline="A").baseline == "A"


class TestPolicies:
    def test_missing_and_short_lists_are_counted_and_reported(self):
        runs = {"A": {"u1": [1]}, "B": RUNS["B"]}
        made = contest(runs=runs)
        row = made.scores().row("A", "sudden_death@3")
        assert (row.missing, row.short) == (4, 1)
        assert {(one.code, one.system) for one in made.findings} >= {("C001", "A"), ("C002", "A")}
        assert made.share("A") == 0.25

    def test_an_item_twice_in_a_list_is_refused(self):
        with refused("I305"):
            contest(runs={"A": {"u1": [9, 9, 1]}})

    @pytest.mark.parametrize("at", [0, 1.5, True, (), (3, 0)])
    def test_an_invalid_cutoff_is_refused(self, at):
        with refused("U103"):
            contest(at)

    @pytest.mark.parametrize("option", [{"ties": "half"}, {"users": "some"}, {"loop": "for"}, {"by": "week"}])
    def test_an_unknown_option_value_is_refused(self, option):
        runs = STREAMS if "by" in option else RUNS
        with refused("U107"):
            ra.sudden_death(runs, TRUTH, **option)

    def test_duplicate_names_are_refused(self):
        run = ra.read_run(RUNS["A"], "A")
        with refused("U109"):
            contest(runs=[run, run])

    def test_runs_need_a_truth(self):
        with refused("U205"):
            ra.sudden_death(RUNS)

    def test_a_deeper_cutoff_or_an_unknown_system_is_refused(self):
        for ask, code in ((lambda: contest().share("A", 4), "U103"), (lambda: contest().share("D"), "U108")):
            with refused(code):
                ask()

    def test_relevant_from_sets_the_threshold_of_relevance(self):
        truth = {"u1": {1: 5.0, 2: 3.0}}
        made = ra.sudden_death({"A": {"u1": [2, 1]}, "B": {"u1": [1, 2]}}, truth, at=2, relevant_from=4)
        assert (made.share("A"), made.share("B")) == (0, 1)


class TestPlayedRuns:
    FOLD = ra.split.random(test=0.2, seed=7)(synthetic(users=60, items=40, events=900, seed=2))[0]

    def played(self, fold=FOLD, **options):
        models = (ra.models.Popular(), ra.models.Random(), ra.models.PureSVD(factors=4))
        return [ra.play(model, fold, ra.protocols.ranking(**options)) for model in models]

    def test_played_runs_need_no_truth(self):
        runs = self.played()
        truth = ra.read_truth(self.FOLD.test.frame().select("user_id", "item_id"))
        stated, known = (ra.sudden_death(runs, given, at=5, interval=None) for given in (truth, None))
        assert known.n == stated.n > 40
        assert [known.share(name) for name in known.competitors] == [stated.share(name) for name in stated.competitors]

    def test_played_runs_must_all_be_of_the_same_fold(self):
        runs = self.played()
        other = ra.split.random(test=0.2, seed=8)(synthetic(users=60, items=40, events=900, seed=2))[0]
        for field, code in (([*runs, ra.read_run({1: [1]}, "x")], "U205"), ([runs[0], self.played(other)[1]], "I311")):
            with refused(code):
                ra.sudden_death(field)


class TestFieldsOfCompetitors:
    def test_folds_with_the_same_systems_are_pooled_in_any_order(self):
        one, other = contest(), contest(runs=dict(reversed(RUNS.items())))
        pooled = one.pooled(other)
        assert pooled.n == 8
        assert [pooled.share(name) for name in "ABC"] == [one.share(name) for name in "ABC"]
        assert one.change(other)["change"].to_list() == [0, 0, 0]

    def test_a_user_of_several_folds_is_counted_as_one_user(self):
        ann, bob = ({"A": {user: [1]}, "B": {user: [2, 1]}} for user in ("ann", "bob"))
        one, other = ra.sudden_death(ann, {"ann": [1]}), ra.sudden_death(bob, {"bob": [1]})
        both = one.pooled(other)
        assert both.summary()["low"].to_list() == [1, 0]
        assert both.over() == "2 users in 2 folds (2 pairs of user and fold)"
        twice = one.pooled(other, one)
        assert (twice.n, twice.n_distinct, twice.folds) == (3, 2, 3)
        assert twice.scores().units.to_list() == ["ann", "bob"]
        assert twice.scores().weights("A", "sudden_death@10").tolist() == [2, 1]

    def test_pooling_refuses_other_systems_and_rules(self):
        pair = contest(runs={name: RUNS[name] for name in "AB"})
        for ask in (
            lambda: contest().pooled(pair),
            lambda: contest().change(pair),
            lambda: contest().pooled(contest(ties="split")),
            lambda: contest(1).pooled(contest(2)),
        ):
            with refused("U204"):
                ask()
        with pytest.raises(ra.UsageError, match="C competed in one only"):
            contest().pooled(pair)


def outcomes(system, places, users=None, events=None):
    """Outcomes of a stream from the place of each event's item; 0 is none."""
    places = np.array(places)
    values = np.divide(1.0, places, out=np.zeros(places.size), where=places > 0)
    events = np.arange(places.size) if events is None else np.array(events)
    users = None if users is None else pl.Series(users)
    return Outcomes(system, events, {"mrr@10": values, "hit@10": (places > 0) * 1.0}, users, events=99)


USERS = ["ann", "bob", "ann", "bob", "ann"]
STREAMS = [outcomes("a", [3, 0, 1, 0, 2], USERS), outcomes("b", [2, 0, 1, 9, 0], USERS)]


class TestStreams:
    def test_the_system_that_ranks_the_item_highest_wins_the_event(self):
        made = ra.sudden_death(STREAMS)
        assert made.unit == "event"
        assert made.values("a").tolist() == [0, 0, 1, 0, 1]
        assert made.values("b").tolist() == [1, 0, 1, 1, 0]
        assert made.share("b", 2) == 0.4
        assert ra.sudden_death(STREAMS, metric="hit@10").values("a").tolist() == [1, 0, 1, 0, 1]

    def test_played_streams_and_outcomes_give_the_same_result(self):
        made, online = synthetic(users=40, items=30, events=400, seed=1), ra.models.incremental
        ask = ra.protocols.prequential(at=5)
        played = [ra.play(model, made, ask) for model in (online.StreamPopular(), online.StreamRandom())]
        contest = ra.sudden_death(played)
        places = np.stack([one.outcomes.of("mrr@5") for one in played])
        first = (places == places.max(axis=0)) & (places > 0)
        assert contest.competitors == ("StreamPopular", "StreamRandom")
        assert [contest.share(name) for name in contest.competitors] == first.mean(axis=1).tolist()
        by_user = ra.sudden_death(played, by="user", at=3)
        assert set(by_user.units) == set(played[0].outcomes.users)
        copies = ra.play(online.StreamPopular(), made, ra.protocols.prequential(at=5, folds="split", copies=2))
        with refused("U192"):
            ra.sudden_death([copies])

    def test_the_first_system_in_time_wins_the_user(self):
        made = ra.sudden_death(STREAMS, by="user", at=3)
        assert made.units.to_list() == ["ann", "bob"]
        assert made.first.tolist() == [[1, np.iinfo(np.int32).max], [1, 2]]
        assert (made.share("a"), made.share("b"), made.share("b", 1)) == (0.5, 1, 0.5)

    def test_shares_can_be_plotted_over_time(self):
        table = ra.sudden_death(STREAMS).over_time(2).table
        assert table.filter(pl.col("system") == "a")["sudden_death"].to_list() == [0, 0.5, 0.5, 0.5]
        assert table["event"].to_list() == [1, 2, 3, 4] * 2
        with refused("U102"):
            ra.sudden_death(STREAMS).over_time(6)

    def test_systems_must_have_the_same_events(self):
        with refused("I311"):
            ra.sudden_death([STREAMS[0], outcomes("b", [1, 1, 1, 1, 1], events=[0, 1, 2, 3, 5])])

    def test_a_metric_that_is_no_reciprocal_rank_is_refused(self):
        graded = Outcomes("a", np.arange(2), {"ndcg@10": np.array([1.0, 0.63])}, events=2)
        for runs, options in ((graded, {}), (outcomes("a", [1]), {"by": "user"})):
            with refused("U205"):
                ra.sudden_death(runs, **options)
