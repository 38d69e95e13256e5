"""The fingerprint of the truth is computed when the settings of scores are read, and copies have it."""

import copy
import json
import pickle

import polars as pl
import pytest

import recassay as ra
from recassay.data.truth import Truth
from recassay.engine.lists import score as score_module

RUN = {"u": {"a": 2.0, "b": 1.0}, "v": {"b": 1.0}}
TRUTH = pl.DataFrame({"user_id": ["u", "v"], "item_id": ["a", "c"]})


@pytest.fixture
def computed(monkeypatch):
    """Return a list that grows by an entry when a fingerprint is computed."""
    times = []
    whole = Truth.about.fget
    monkeypatch.setattr(Truth, "about", property(lambda truth: times.append(truth) or whole(truth)))
    return times


def test_the_fingerprint_of_the_truth_is_computed_once_when_it_is_read(computed):
    scores = ra.score({"run": RUN}, TRUTH, "mrr")
    assert (scores.rows[0].mean, computed) == (0.5, [])
    expected = Truth.from_frame(TRUTH).fingerprint
    assert [scores.settings["truth"]["fingerprint"] for _ in range(2)] == [expected] * 2
    assert len(computed) == 1


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda scores: pickle.loads(pickle.dumps(scores))])
def test_copies_of_scores_have_the_fingerprint(computed, copied):
    scores = ra.score({"run": RUN}, TRUTH, "mrr")
    settings = copied(scores).settings
    assert type(settings) is dict
    assert json.dumps(settings) == json.dumps(dict(scores.settings))


def test_a_large_truth_is_not_kept_for_its_fingerprint(computed, monkeypatch):
    monkeypatch.setattr(score_module, "MOST_DEFERRED", 1)
    assert type(ra.score({"run": RUN}, TRUTH, "mrr").settings) is dict
    assert len(computed) == 1
