"""Drift detectors beside river's, on streams that river 0.26.1 was run on (record_river.py)."""

from __future__ import annotations

import json

import numpy as np
import pytest
from record_river import GOLDEN, PAGE_HINKLEY, STREAMS, losses

from recassay.drift import ADWIN, PageHinkley

ANSWERS = json.loads(GOLDEN.read_text())


def events(detector, stream):
    return [alarm.event for alarm in detector.start().on_scores(np.arange(len(stream)), stream)]


@pytest.mark.parametrize("name", STREAMS)
def test_page_hinkley_raises_the_same_alarms(name):
    stream = losses(STREAMS[name])
    found = [events(PageHinkley(**settings), stream) for settings in PAGE_HINKLEY]
    assert found == ANSWERS[name]["PageHinkley"]
    assert any(found) or name == "still"


@pytest.mark.parametrize("name", STREAMS)
def test_adwin_sees_the_same_changes_at_most_two_looks_apart(name):
    """River corrects by the logarithm of the length, and recassay by the length (Bifet and Gavalda's theorem)."""
    found, expected = events(ADWIN(clock=32), losses(STREAMS[name])), ANSWERS[name]["ADWIN"][0]
    assert len(found) == len(expected)
    assert all(0 <= mine - theirs <= 64 for mine, theirs in zip(found, expected, strict=True))
