"""Drift detectors: worked examples, the content of alarms, restarts and invalid parameters."""

from types import SimpleNamespace

import numpy as np
import pytest

from recassay import drift
from recassay.drift import ADWIN, PageHinkley, alarms
from recassay.errors import UsageError
from recassay.results.outcomes import Outcomes

from ...refusals import refused

RISING = [0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1]


def watched(detector, losses):
    return detector.start().on_scores(np.arange(len(losses)), np.asarray(losses, float))


def test_only_the_cusum_form_raises_an_alarm_exactly_at_the_threshold():
    losses = [0.0, 1.0]  # 1 - 1/2 - 0 = 0.5 above the minimum
    parameters = {"delta": 0.0, "threshold": 0.5, "least": 1}
    assert watched(PageHinkley(**parameters), losses) == []
    assert [alarm.event for alarm in watched(PageHinkley(**parameters, form="cusum"), losses)] == [1]


def test_page_hinkley_restarts_after_an_alarm_and_ignores_falls():
    losses = np.repeat([0.0, 1.0, 0.0, 1.0], 100)
    found = watched(PageHinkley(threshold=5), losses)
    assert [alarm.since for alarm in found] == [100, 300]
    assert found[0].worse
    assert watched(PageHinkley(threshold=5), 1 - losses[:200]) == []


def test_page_hinkley_warns_once_before_an_alarm():
    found = watched(PageHinkley(threshold=5, warn_at=2), np.repeat([0.0, 1.0], 100))
    assert [alarm.kind for alarm in found] == ["warning", "drift"]
    assert found[0].event < found[1].event
    assert found[0].mark[1].startswith("PageHinkley(threshold=5, warn_at=2) warns: loss 0.000 to 1.000")


def test_adwin_in_buckets_raises_the_alarm_at_most_20_events_later():
    losses = np.repeat([0.0, 1.0], 500)
    (exact, *_), (bucketed, *_) = (watched(ADWIN(buckets=most), losses) for most in (2000, 5))
    assert exact.event <= bucketed.event <= exact.event + 20
    (clocked, *_) = watched(ADWIN(clock=32), losses)
    assert (clocked.event + 1) % 32 == 0


def test_adwin_reports_falls_unless_it_sees_only_rises():
    losses = np.repeat([1.0, 0.0, 1.0], 200)
    assert [alarm.worse for alarm in watched(ADWIN(buckets=1000), losses)] == [False, True]
    assert [alarm.worse for alarm in watched(ADWIN(buckets=1000, sees="rise"), losses)] == [True]


def test_losses_one_by_one_give_the_alarms_of_a_block():
    watch = PageHinkley(delta=0.05, threshold=1, least=1).start()
    single = [watch.on_score(event, loss) for event, loss in enumerate(RISING)]
    assert [alarm for alarm in single if alarm] == watched(PageHinkley(delta=0.05, threshold=1, least=1), RISING)


def test_alarms_of_outcomes_have_the_event_numbers_of_the_stream():
    hits = np.repeat([1.0, np.nan, 0.0], [100, 5, 100])
    outcomes = Outcomes("mine", np.arange(205) * 3, {"hit@10": hits, "absolute_error": 1 - hits}, events=615)
    found = alarms(SimpleNamespace(outcomes=outcomes), "hit@10", [PageHinkley(threshold=5), ADWIN(buckets=500)])
    assert [alarm.event % 3 for alarm in found] == [0, 0]
    assert {alarm.since for alarm in found} == {315}
    assert alarms(outcomes, "absolute_error", PageHinkley(threshold=5))[0] == found[0]


def test_detectors_are_parsed_by_name():
    assert drift.parse("PageHinkley(threshold=10, form='cusum')") == PageHinkley(threshold=10, form="cusum")
    assert list(drift.REGISTRY.built_in) == ["ADWIN", "PageHinkley"]
    with pytest.raises(UsageError, match="no drift detector 'adwim'"):
        drift.parse("adwim")


@pytest.mark.parametrize(
    "text",
    [
        "PageHinkley(threshold=0)", "PageHinkley(fading=1.5)", "PageHinkley(fading=0)", "PageHinkley(warn_at=60)",
        "ADWIN(delta=0)", "ADWIN(delta=1)", "ADWIN(buckets=0)", "ADWIN(clock=0)", "ADWIN(bound='chernoff')",
    ],
)  # fmt: skip
def test_invalid_parameters_are_rejected(text):
    with refused("U102"):
        drift.parse(text)


def test_a_state_of_another_detector_is_rejected():
    with refused("U141", match=r"cannot continue from a state of PageHinkley"):
        ADWIN().start(PageHinkley().start().state())
    with pytest.raises(UsageError, match="a state of no detector"):
        ADWIN().start({})
