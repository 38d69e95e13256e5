"""Drift alarms while a stream is played: how they change the model, and how they are reported."""

from __future__ import annotations

import numpy as np
import pytest

import recassay as ra
from recassay.data.synthetic import change_points, drifting
from recassay.engine.streams.run import play_stream
from recassay.errors import InputError
from recassay.models.incremental import BPRMF, ISGD, UKNN, Recent, StreamItemKNN, StreamPopular
from recassay.protocols.prequential import Prequential

from ....refusals import refused

EVENTS = 12_000
[CHANGE] = change_points(EVENTS, 1)
LATE = "PageHinkley(threshold=15)"


@pytest.fixture(scope="module")
def changing():
    return drifting(users=300, items=200, events=EVENTS, changes=1, seed=2)


def late(stream):
    """Return the mean after the change."""
    outcomes = stream.outcomes
    return outcomes.of("recall@10")[outcomes.event >= CHANGE].mean()


class TestAlarms:
    def test_logged_alarms_equal_alarms_found_in_the_outcomes_later(self, changing):
        silent = ra.play(StreamPopular(), changing, Prequential(), metrics="recall@10")
        noted = ra.play(StreamPopular(), changing, Prequential(detector=LATE), metrics="recall@10")
        assert noted.alarms == ra.drift.alarms(silent, "recall@10", ra.drift.parse(LATE))
        assert noted.counts["alarms"] == len(noted.alarms) > 0
        assert noted.outcomes.settings["alarms"] == [alarm.event for alarm in noted.alarms]
        assert noted.outcomes.values["recall@10"].tolist() == silent.outcomes.values["recall@10"].tolist()
        assert noted.counts["renewed"] == noted.counts["forgotten"] == 0
        assert silent.alarms == ()
        assert "alarms" not in silent.counts
        assert silent.findings == ()

    @pytest.mark.parametrize("options", [{"on_alarm": "reset"}, {"on_alarm": "refit", "keep": 300}])
    def test_a_reset_model_is_better_after_a_change(self, changing, options):
        plain = ra.play(StreamPopular(), changing, Prequential(), metrics="recall@10")
        anew = ra.play(StreamPopular(), changing, Prequential(detector=LATE, **options), metrics="recall@10")
        assert any(CHANGE < alarm.event < CHANGE + 1000 for alarm in anew.alarms)
        assert late(anew) > late(plain) + 0.02
        assert anew.outcomes.event.tolist() == plain.outcomes.event.tolist()
        assert 0 < anew.counts["forgotten"] < anew.counts["scored"]
        assert anew.counts["relearnt"] == anew.counts["renewed"] * options.get("keep", 0)

    def test_alarms_are_marked_on_the_curve_and_reported_as_a_finding(self, changing):
        stream = ra.play(StreamPopular(), changing, Prequential(detector=LATE, on_alarm="reset"), metrics="recall@10")
        curve = stream.over_time("recall@10", window=500)
        assert [event for event, _ in curve.marks] == [alarm.event for alarm in stream.alarms]
        [found] = stream.findings
        assert found.code == "V001"
        assert found.severity == "warning"
        assert found.system == "StreamPopular"

    @pytest.mark.parametrize("model", [ISGD(), BPRMF(iterations=2), UKNN(), StreamItemKNN(), Recent()])
    def test_the_block_size_does_not_change_the_result(self, changing, model):
        protocol = Prequential(detector="PageHinkley(threshold=4)", on_alarm="refit", keep=200)
        log = changing.take(np.arange(CHANGE - 2000, CHANGE + 2000))
        whole, *others = (play_stream(model, log, protocol, lists=True, block=size) for size in (8192, 1000, 77))
        assert whole.counts["renewed"] > 0
        assert [one.outcomes.fingerprint for one in others] == [whole.outcomes.fingerprint] * 2
        assert all(one.lists.equals(whole.lists) and one.alarms == whole.alarms for one in others)

    def test_a_batch_model_is_refitted_only_after_alarms(self, changing):
        once = {"warmup": 2000, "learn_until": 2000}
        log = changing.take(np.arange(CHANGE - 3000, CHANGE + 3000))
        plain = ra.play(ra.models.Popular(), log, Prequential(**once), metrics="recall@10")
        guarded = Prequential(**once, detector=LATE, on_alarm="refit", keep=500)
        anew = ra.play(ra.models.Popular(), log, guarded, metrics="recall@10")
        assert anew.counts["renewed"] > 0
        assert anew.counts["learnt"] == 2000
        assert anew.outcomes.mean("recall@10") > plain.outcomes.mean("recall@10")

    def test_the_detector_reads_rating_errors(self):
        class Mean:
            total = n = 0.0

            def learn(self, users, items, values):
                self.total, self.n = self.total + values.sum(), self.n + values.size

            def predict(self, user, item):
                return self.total / self.n if self.n else None

        rows = [{"user_id": n % 7, "item_id": n, "timestamp": n, "rating": 1.0 if n < 300 else 5.0} for n in range(600)]
        ask = Prequential(predict="ratings", detector="PageHinkley(threshold=5)", on_alarm="refit", keep=1)
        stream = ra.play(Mean(), rows, ask, name="mean")
        [alarm] = stream.alarms
        assert alarm.event == 301
        assert alarm.since == 300
        errors = stream.outcomes.of("absolute_error")
        assert errors[: 300 - 1].sum() == errors[301:].sum() == 0

    def test_a_failure_after_an_alarm_that_resets_the_model_is_discarded(self):
        class Tired:
            """A learner that is right for 20 events, wrong afterwards, and raises after 40."""

            def __init__(self):
                self.learnt = self.met = self.last = 0

            def learn(self, users, items, values):
                self.learnt += users.size
                self.met = max(self.met, int(items.max()) + 1)
                self.last = items[-1]
                if self.learnt > 40:
                    raise RuntimeError("tired")

            def scores(self, user):
                right = np.arange(self.met) == (self.last + 1) % 3
                return np.where(right if self.learnt < 20 else ~right, 1.0, 0.0)

        rows = [{"user_id": 1, "item_id": "abc"[n % 3], "timestamp": n} for n in range(100)]
        with pytest.raises(InputError, match=r"event 40 of the stream.*tired"):
            ra.play(Tired(), rows, Prequential(at=1, repeats="allow"))
        ask = Prequential(at=1, repeats="allow", detector="PageHinkley(threshold=2, least=5)", on_alarm="reset")
        assert ra.play(Tired(), rows, ask, name="tired").counts["renewed"] >= 2

    @pytest.mark.parametrize(
        ("options", "code"),
        [
            ({"on_alarm": "reset"}, "U102"),
            ({"detector": "ADWIN", "keep": 0}, "U102"),
            ({"detector": "ADVIN"}, "U115"),
            ({"detector": "ADWIN(delta=2)"}, "U102"),
        ],
    )
    def test_invalid_detector_options_are_refused(self, options, code):
        with refused(code):
            Prequential(**options)

    def test_each_copy_has_its_own_alarms(self, changing):
        ask = Prequential(detector=LATE, on_alarm="reset", folds="split", copies=2)
        stream = ra.play(StreamPopular(), changing, ask, metrics="recall@10")
        assert [len(alarms) for alarms in stream.alarms_by_copy] == [one.counts["alarms"] for one in stream.copies]
        assert len(stream.alarms_by_copy) == 2
        assert all(stream.alarms_by_copy)
