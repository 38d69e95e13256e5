"""Prequential evaluation: worked examples, identities with the other protocols, and refused input."""

from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.synthetic import log as synthetic
from recassay.engine.streams.result import StreamError
from recassay.errors import InputError, UsageError
from recassay.models.incremental import ISGD, StreamBiasedMF, StreamPopular
from recassay.protocols import prequential
from recassay.testing import check_recommender

from ....refusals import refused

Q1 = [*zip(["u1", "u1", "u2", "u2", "u1", "u3", "u2", "u1", "u3", "u3", "u2", "u3"], "ababcacabcdd", strict=True)]


def log_of(rows, *more):
    """Return a log whose rows are in event order; rows without times are numbered."""
    frame = pl.DataFrame(rows, ["user_id", "item_id", *more], orient="row")
    if "timestamp" in frame.columns:
        return ra.Interactions.from_frame(frame)
    return ra.Interactions.from_frame(frame.with_row_index("timestamp"), times="global")


class TestWorkedExamples:
    def test_ratings_match_the_hand_computed_errors(self):
        class ItemMean:
            def __init__(self):
                self.sums = {}

            def learn(self, users, items, values):
                for item, value in zip(items.tolist(), values.tolist(), strict=True):
                    for key in (item, None):
                        n, total = self.sums.get(key, (0, 0.0))
                        self.sums[key] = (n + 1, total + value)

            def predict(self, user, item):
                n, total = self.sums.get(item, self.sums.get(None, (0, 0.0)))
                return total / n if n else None

        rows = [
            (user, item, value) for user, (item, value) in enumerate([*zip("aabbab", [4, 5, 2, 3, 3, 1], strict=True)])
        ]
        stream = ra.play(ItemMean(), log_of(rows, "rating"), prequential(predict="ratings"), name="means")
        assert stream.outcomes.of("absolute_error").tolist() == [1, 2.5, 1, 1.5, 1.5]
        assert dict(stream.summary().select("metric", "mean").rows()) == pytest.approx({"mae": 1.5, "rmse": 1.596872})
        assert (stream.counts["unpredicted"], stream.counts["scored"]) == (1, 5)
        clipped = ra.play(ItemMean(), log_of(rows, "rating"), prequential(predict="ratings", clip=True), name="means")
        assert clipped.outcomes.of("absolute_error").tolist() == [1, 2.5, 1, 1.5, 1.5]


class TestIdentities:
    """The other protocols are streams with a single window."""

    MODEL = ISGD(factors=4, rate=0.1)

    def positions(self, fold, protocol):
        stream = ra.play(self.MODEL, fold, protocol, metrics="mrr")
        users = stream.outcomes.users.to_list()
        return dict(zip(users, (1 / stream.outcomes.of("mrr")).round().astype(int).tolist(), strict=True))

    def test_ranking_is_a_stream_with_one_window(self):
        fold = ra.split.last(n=1)(synthetic(users=60, items=40, events=900, seed=4))[0]
        run = ra.play(self.MODEL, fold, ra.protocols.ranking(bins=0))
        ranks = dict(zip(run.standings.queries.to_list(), (run.standings.above["AI"] + 1).tolist(), strict=True))
        assert not run.standings.tied["AI"].any()
        assert self.positions(fold, prequential(batch=10_000, candidates="all")) == ranks

    def test_next_item_is_a_stream_without_learning(self):
        fold = ra.split.last(n=1)(synthetic(users=60, items=40, events=900, seed=4))[0]
        run = ra.play(self.MODEL, fold, ra.protocols.next_item())
        ranks = dict(zip(run.standings.queries.to_list(), (run.standings.above["AI"] + 1).tolist(), strict=True))
        assert not run.standings.tied["AI"].any()
        assert self.positions(fold, prequential(learn_until=0, candidates="all")) == ranks


class TestModels:
    LOG = synthetic(users=40, items=30, events=500, seed=2)

    def test_a_refitted_model_equals_one_that_learns_in_batches(self):
        """Counts forget nothing, so counting anew and counting on are the same."""
        anew = ra.play(StreamPopular(), self.LOG, prequential(refit=50))
        on = ra.play(StreamPopular(), self.LOG, prequential(batch=50))
        assert anew.outcomes.values.keys() == on.outcomes.values.keys()
        assert all((anew.outcomes.of(one) == on.outcomes.of(one)).all() for one in ("recall@10", "mrr@10", "ndcg@10"))

    @pytest.mark.parametrize(
        "model", [ra.models.Popular(), ra.models.ALS(factors=3, iterations=2), ra.models.Markov()], ids=str
    )
    def test_batch_models_can_be_played(self, model):
        stream = ra.play(model, self.LOG, prequential(refit=200))
        assert stream.counts["scored"] > 150
        assert 0 < stream.outcomes.mean("ndcg@10") < 1
        once = ra.play(model, self.LOG, prequential(warmup=300, learn_until=300))
        assert once.counts["learnt"] == 300

    def test_a_model_can_return_lists_without_scores(self):
        class Newest:
            def __init__(self):
                self.items = []

            def learn(self, users, items, values):
                for item in items.tolist():
                    self.items = [item, *(one for one in self.items if one != item)]

            def recommend(self, user, n, consumed):
                return [one for one in self.items if one not in set(consumed.tolist())][:n]

        lists = ra.play(Newest(), self.LOG, prequential(at=5), name="newest", lists=True)
        scores = ra.play(ra.models.incremental.Recent(), self.LOG, prequential(at=5), name="newest", lists=True)
        assert lists.lists.equals(scores.lists)
        assert lists.outcomes.metrics == ("recall@5", "mrr@5", "ndcg@5")
        assert (lists.outcomes.of("ndcg@5") == scores.outcomes.of("ndcg@5")).all()

    def test_the_given_model_is_not_changed(self):
        mine = SimpleNamespace(learn=lambda *events: None, scores=lambda user: np.zeros(99), met=[])
        ra.play(mine, self.LOG, prequential(), name="mine")
        assert mine.met == []

    def test_raisgd_learns(self):
        check_recommender(ISGD(factors=100, rate=0.05, reg_user=1.0, reg_item=1.0, negatives=1), learns=False)

    def test_presets(self):
        assert ISGD.preset("ml-1m", factors=20) == ISGD(factors=20, iterations=8, rate=0.1, reg_user=0.4, reg_item=0.4)
        with pytest.raises(UsageError, match="U107"):
            ISGD.preset("ml-1b")


class TestTimes:
    def test_every_query_and_every_event_is_timed(self):
        log = synthetic(users=40, items=30, events=500, seed=2)
        timing = ra.play(StreamPopular(), log, prequential()).outcomes.timing
        scored = ra.play(StreamPopular(), log, prequential()).counts["scored"]
        assert (timing.recommend.calls, timing.update.calls) == (scored, 500)
        assert timing.recommend.total > 0

    def test_rows_are_sorted_by_time(self):
        rows = [(user, item, -place) for place, (user, item) in enumerate(Q1)]
        turned = ra.play(StreamPopular(), log_of(rows, "timestamp"), prequential(at=2))
        straight = ra.play(StreamPopular(), log_of(Q1[::-1]), prequential(at=2))
        assert (turned.outcomes.of("recall@2") == straight.outcomes.of("recall@2")).all()
        assert turned.counts["moved"] == 11


class TestSources:
    LOG = synthetic(users=40, items=30, events=500, seed=2)

    def test_a_file_is_read_in_chunks(self, tmp_path, monkeypatch):
        monkeypatch.setattr("recassay.engine.streams.source.ROWS", 130)
        frame = self.LOG.frame().sort("timestamp", maintain_order=True)
        frame.write_parquet(tmp_path / "log.parquet")
        frame.write_csv(tmp_path / "log.csv")
        for protocol in (prequential(), prequential(candidates="all"), prequential(folds="split", copies=2)):
            whole = ra.play(ISGD(), self.LOG, protocol)
            for name in ("log.parquet", "log.csv"):
                parts = ra.play(ISGD(), str(tmp_path / name), protocol)
                assert [(one.of("mrr@10")).tolist() for one in parts.copies] == [
                    one.of("mrr@10").tolist() for one in whole.copies
                ]

    def test_a_fold_is_asked_about_its_test_part(self):
        fold = ra.split.global_time(quantile=0.7)(self.LOG)[0]
        stream = ra.play(ISGD(), fold, prequential())
        assert stream.counts["warmup"] == len(fold.train)
        assert stream.outcomes.event.min() >= len(fold.train)
        assert stream.counts["learnt"] == stream.outcomes.events == len(fold.train) + len(fold.test)

    def test_the_summary_of_copies_has_mean_deviation_and_range(self):
        stream = ra.play(ISGD(), self.LOG, prequential(folds="cv", copies=4))
        table = stream.summary()
        assert table.columns == ["system", "metric", "mean", "sd", "low", "high", "n"]
        assert (table["low"] <= table["mean"]).all()
        assert table["n"][0] == sum(len(one) for one in stream.copies)
        with pytest.raises(UsageError, match="4 copies"):
            stream.outcomes  # noqa: B018

    def test_the_summary_can_average_user_means(self):
        stream = ra.play(ISGD(), self.LOG, prequential())
        frame = stream.outcomes.frame()
        by_user = frame.group_by("user_id").agg(pl.col("recall@10").mean())["recall@10"].mean()
        assert stream.summary(per_user=True)["mean"][0] == pytest.approx(by_user)


class TestRatingsOfKnownUsers:
    ROWS: ClassVar = [(f"u{n % 20}", n * 7 % 13, 1.0 + n % 5) for n in range(600)]

    def play(self, **options):
        return ra.play(StreamBiasedMF(), log_of(self.ROWS, "rating"), prequential(predict="ratings", **options)).counts

    def test_every_event_is_scored_that_the_model_predicts(self):
        counts = self.play()
        assert (counts["scored"], counts["unpredicted"], counts["first"]) == (599, 1, 0)
        assert self.play(known="any") == counts

    def test_known_users_only_are_scored_as_in_the_paper(self):
        counts = self.play(known="model")
        assert (counts["scored"], counts["unpredicted"], counts["first"]) == (580, 0, 20)
        items = ra.play(StreamPopular(), log_of(self.ROWS, "rating"), prequential(repeats="allow")).counts
        assert items["scored"] == 580

    def test_a_batch_makes_users_known_at_its_end(self):
        counts = self.play(known="model", batch=50)
        assert (counts["scored"], counts["first"]) == (550, 50)

    @pytest.mark.parametrize(("predict", "known"), [("ratings", "stream"), ("items", "any")])
    def test_a_rule_that_does_not_go_with_the_task_is_refused(self, predict, known):
        with pytest.raises(UsageError, match="known"):
            prequential(predict=predict, known=known)


class TestRefusals:
    LOG = log_of([("ann", "x"), ("bob", "y"), ("ann", "y"), ("bob", "x")])

    @pytest.mark.parametrize(
        ("protocol", "options", "code"),
        [
            (prequential(), {"metrics": "bpref"}, "U192"),
            (prequential(), {"metrics": "ndcg(missing='skip')@10"}, "U192"),
            (prequential(), {"metrics": "precision"}, "U103"),
            (prequential(match="future"), {"metrics": "mrr@10"}, "U192"),
            (prequential(match="future"), {"metrics": "recall@20"}, "U192"),
            (prequential(batch="1d"), {}, "I385"),
            (prequential(predict="ratings"), {}, "U191"),
            (prequential(predict="ratings", refit=2), {}, "U191"),
        ],
        ids=str,
    )
    def test_unsupported_metrics_and_protocols_are_refused(self, protocol, options, code):
        with refused(code):
            ra.play(ISGD(), self.LOG, protocol, **options)

    @pytest.mark.parametrize(
        "protocol",
        [prequential(match="window", reach=2), prequential(candidates="all"), prequential(folds="cv")],
        ids=str,
    )
    def test_an_iterator_is_refused_where_the_stream_is_read_twice(self, protocol):
        with pytest.raises(UsageError, match="U192"):
            ra.play(ISGD(), iter([self.LOG]), protocol)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"at": 0},
            {"batch": 0},
            {"batch": "soon"},
            {"batch": 3, "delay": 3},
            {"learn_until": 3, "warmup": 4},
            {"score_every": 0.0},
            {"credit": "share"},
            {"batch": "0d"},
        ],
        ids=str,
    )
    def test_invalid_protocol_options_are_refused(self, wrong):
        with pytest.raises(UsageError, match="U102"):
            prequential(**wrong)

    def test_a_protocol_parses_what_it_prints(self):
        protocol = prequential(at=5, delay="7d", repeats="allow", folds="bootstrap")
        assert ra.protocols.parse(str(protocol)) == protocol

    @pytest.mark.parametrize(
        ("answers", "code", "message"),
        [
            (
                {"recommend": lambda user, n, consumed: [0]},
                "I372",
                "items the user has already consumed: 1 of 1 items, such as 0",
            ),
            ({"recommend": lambda user, n, consumed: [1, 7]}, "I372", "recommends 7, which is not one of the 2 items"),
            ({"recommend": lambda user, n, consumed: [-1]}, "I372", "recommends -1"),
            ({"recommend": lambda user, n, consumed: [0.5]}, "I372", "recommends 0.5"),
            ({"recommend": lambda user, n, consumed: [1, 1]}, "I372", "an item twice"),
            ({"scores": lambda user: [1.0]}, "I308", r"scores of shape \(1,\), but it has learned 2 items"),
            ({"scores": lambda user: [1.0, float("nan")]}, "I308", "1 NaN among 2 scores"),
            ({"scores": lambda user: 1 / 0}, "I374", "could not answer: ZeroDivisionError"),
        ],
    )
    def test_unusable_answers_of_a_model_are_refused(self, answers, code, message):
        mine = SimpleNamespace(learn=lambda *events: None, **answers)
        with pytest.raises(StreamError, match=f"event 2 of the stream: mine .*{message}") as caught:
            ra.play(mine, self.LOG, prequential(), name="mine")
        assert caught.value.code == code
        assert len(caught.value.stream.outcomes) == 0

    def test_a_model_with_nan_scores_is_stopped(self):
        log = synthetic(users=40, items=30, events=500, seed=3)
        with pytest.raises(StreamError, match=r"I308.*gave NaN scores") as caught:
            ra.play(ISGD(rate=20.0), log, prequential())
        outcomes = caught.value.stream.outcomes
        assert len(outcomes) == outcomes.counts["scored"] > 0
        assert outcomes.event[-1] < int(str(caught.value).split()[2])

    @pytest.mark.parametrize("last", [400, 500])
    def test_results_before_a_failure_are_kept(self, last):
        class Tired:
            learnt = 0

            def learn(self, users, items, values):
                self.learnt += users.size
                if self.learnt == last:
                    raise ValueError("enough")

            def scores(self, user):
                return np.arange(30.0)

        log = synthetic(users=40, items=30, events=500, seed=2)
        with pytest.raises(
            InputError, match=f"event {last - 1} of the stream: tired could not learn: ValueError: enough"
        ) as caught:
            ra.play(Tired(), log, prequential(), name="tired")
        outcomes = caught.value.stream.outcomes
        assert caught.value.code == "I374"
        whole = ra.play(
            SimpleNamespace(learn=lambda *events: None, scores=lambda user: np.arange(30.0)),
            log,
            prequential(),
            name="tired",
        )
        before = whole.outcomes.event < last
        assert outcomes.event.tolist() == whole.outcomes.event[before].tolist()
        assert outcomes.of("ndcg@10").tolist() == whole.outcomes.of("ndcg@10")[before].tolist()

    def test_time_that_goes_backwards_is_refused(self):
        rows = [("ann", "x", 5), ("ann", "y", 3)]
        with pytest.raises(InputError, match=r"I383.*event 1 is at 3, and an earlier one at 5"):
            ra.play(ISGD(), log_of(rows, "timestamp"), prequential(order="error"))
        with pytest.raises(InputError, match="a table begins before the last one ends"):
            ra.play(ISGD(), [log_of(rows[:1], "timestamp"), log_of(rows[1:], "timestamp")], prequential())

    def test_the_checkpoint_of_another_stream_is_refused(self, tmp_path):
        path, log = tmp_path / "c", synthetic(users=40, items=30, events=500, seed=2)

        def stop(events):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            ra.play(ISGD(), log, prequential(), checkpoint=path, checkpoint_seconds=0, progress=stop, block=100)
        with pytest.raises(UsageError, match=r"U141.*the events it has read are not those"):
            ra.play(ISGD(), synthetic(users=40, items=30, events=500, seed=3), prequential(), checkpoint=path)
        with pytest.raises(UsageError, match=r"U141.*it has read 100 events, but this stream has only 60"):
            ra.play(ISGD(), log.take(np.arange(60)), prequential(), checkpoint=path)
        with pytest.raises(UsageError, match=r"U141.*protocol is"):
            ra.play(ISGD(), log, prequential(at=5), checkpoint=path)
        path.write_bytes(b"nothing of the kind")
        with pytest.raises(InputError, match="I104"):
            ra.play(ISGD(), log, prequential(), checkpoint=path)

    def test_stream_options_are_refused_for_other_protocols(self):
        fold = ra.split.random(test=0.2)(synthetic(users=40, items=30, events=500))[0]
        with pytest.raises(UsageError, match="lists= is for streams"):
            ra.play(StreamPopular(), fold, ra.protocols.ranking(), lists=True)


def test_given_n_and_all_but_n_score_the_last_events_of_users():
    rows = [("u", item) for item in "abcde"] + [("v", item) for item in "ab"]
    given, but = (
        ra.play(StreamPopular(), ra.read_interactions(rows), prequential(at=2, order="row", **how), metrics="recall@2")
        for how in ({"given": 3}, {"all_but": 1})
    )
    assert (given.outcomes.event.tolist(), given.counts["given"]) == ([3, 4], 5)
    assert (but.outcomes.event.tolist(), but.counts["given"]) == ([4, 6], 5)


def test_the_papers_form_of_given_n_hides_the_events_from_the_model():
    rows = [("u", item) for item in "abcde"] + [("v", item) for item in "abc"]
    frame = pl.DataFrame([(*row, n) for n, row in enumerate(rows)], ["user_id", "item_id", "timestamp"], orient="row")
    fold = ra.split.given(n=2, by="time")(ra.read_interactions(frame))[0]
    hidden = ra.play(StreamPopular(), fold, prequential(at=2, learn_until=0), metrics="recall@2")
    assert (hidden.counts["scored"], hidden.counts["learnt"]) == (4, 4)


@pytest.mark.parametrize("wrong", [{"given": -1}, {"all_but": 0}, {"given": 1, "all_but": 1}])
def test_given_n_needs_a_number_of_events(wrong):
    with pytest.raises(UsageError, match="U102"):
        prequential(**wrong)


def test_all_but_n_needs_the_whole_stream():
    frame = pl.DataFrame({"user_id": ["u", "u"], "item_id": ["a", "b"], "timestamp": [1, 2]})
    with pytest.raises(UsageError, match="U192"):
        ra.play(StreamPopular(), iter([frame]), prequential(all_but=1))
