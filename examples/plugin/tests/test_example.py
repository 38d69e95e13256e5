"""The example keeps every promise that recassay's own metrics, models, splits, checks, profiles and formats keep."""

from recassay_example.check import few_users
from recassay_example.format import ARROWS
from recassay_example.metric import RootGain
from recassay_example.model import Blend
from recassay_example.profile import PROFILE
from recassay_example.split import SecondHalf

from recassay import testing


def test_the_metric_keeps_what_metrics_promise():
    testing.check_metric(RootGain(k=5))


def test_the_model_keeps_what_models_promise():
    testing.check_recommender(Blend())


def test_the_split_keeps_what_splits_promise():
    testing.check_split(SecondHalf())


def test_the_check_keeps_what_checks_promise():
    testing.check_check(few_users)


def test_the_profile_keeps_what_profiles_promise():
    testing.check_profile(PROFILE)


def test_the_format_reads_what_it_recognises(tmp_path):
    path = tmp_path / "log.arrows"
    path.write_text("x <- ann\ny <- ann\nx <- bob\n")
    testing.check_format(ARROWS, path, [("ann", "x"), ("ann", "y"), ("bob", "x")])
