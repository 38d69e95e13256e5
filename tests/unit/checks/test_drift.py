"""Findings of drift say when and how far, tell worse from better, and are silent where nothing changed."""

import numpy as np

from recassay.checks import diagnose
from recassay.checks.streams import drift_findings
from recassay.drift import ADWIN, Alarm, PageHinkley
from recassay.results.outcomes import Outcomes


def found(hits, *detectors):
    outcomes = Outcomes("mine", np.arange(hits.size) * 2, {"recall@10": hits}, events=2 * hits.size)
    findings = drift_findings(outcomes, "recall@10", detectors)
    return {one.code: one for one in findings}


FALLING = np.repeat([1.0, 0.0], 500)


def test_a_rise_of_the_loss_is_a_warning():
    findings = found(FALLING, PageHinkley(threshold=20))
    assert list(findings) == ["V001"]
    assert (findings["V001"].severity, findings["V001"].system) == ("warning", "mine")
    assert "raised 1 alarm on the loss by recall@10 of 1,000 events, 1 of a rise" in findings["V001"].detail
    assert "0.000 to 1.000 since about event 1,000" in findings["V001"].detail


def test_a_fall_of_the_loss_is_info():
    findings = found(1 - FALLING, ADWIN(buckets=1000))
    assert findings["V001"].severity == "info"
    assert "the first change was detected at event" in findings["V001"].detail


def test_two_detectors_of_one_rise_agree():
    rise = found(FALLING, PageHinkley(threshold=20), ADWIN())["V002"].detail
    assert "PageHinkley(threshold=20) and ADWIN detected a rise" in rise or "ADWIN and Page" in rise


def test_alarms_of_one_detector_or_of_different_changes_do_not_agree():
    assert "V002" not in found(FALLING, PageHinkley(threshold=20), PageHinkley(threshold=20))
    early = Alarm(90, "drift", "ADWIN", since=40, before=0.1, after=0.9)
    late = Alarm(400, "drift", "PageHinkley", since=300, before=0.1, after=0.9)
    better = Alarm(420, "drift", "ADWIN", since=310, before=0.9, after=0.1)
    assert [one.code for one in diagnose("drift", metric="mrr", scored=500, alarms=[early, late, better])] == ["V001"]


def test_warnings_and_stable_streams_are_no_findings():
    assert found(FALLING[:520], PageHinkley(threshold=1000, warn_at=5)) == {}
    assert found(np.ones(1000), PageHinkley(), ADWIN()) == {}
