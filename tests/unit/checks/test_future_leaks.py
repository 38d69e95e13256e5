"""L002: reported for folds whose training is later than their test, and for no others."""

import pytest

from recassay import split
from recassay.checks.base import CHECKS
from recassay.checks.studies import fold_findings
from recassay.data.interactions import Interactions
from recassay.data.synthetic import log as made_up


@pytest.fixture(scope="module")
def log():
    return made_up(users=50, items=40, events=800, seed=1)


def test_l002_reports_a_fold_that_leaks(log):
    (found,) = fold_findings(split.random(test=0.2)(log)[0])
    assert (found.code, found.severity, found.title) == ("L002", "warning", CHECKS.kinds["L002"].title)
    counted = split.leaks(split.random(test=0.2)(log)[0])
    assert f"{counted.later} of {counted.train}" in found.detail
    assert f"{counted.later_of_user} of {counted.train}" in found.detail
    assert "0 of" in fold_findings(split.last()(log)[0])[0].detail


def test_l002_is_silent_without_leaks_or_times(log):
    assert fold_findings(split.global_time(quantile=0.8)(log)[0]) == ()
    timeless = Interactions.from_frame(log.frame().drop("timestamp"))
    assert fold_findings(split.random(test=0.2)(timeless)[0]) == ()
