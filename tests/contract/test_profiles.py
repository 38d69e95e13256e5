"""What every profile must keep to."""

import pytest

import recassay as ra
from recassay.metrics.align import Conventions
from recassay.metrics.registry import METRICS, parse_metric
from recassay.naming.grammar import parse
from recassay.profiles import PROFILES

from ..refusals import refused

EACH = pytest.mark.parametrize("profile", PROFILES.kinds.values(), ids=list(PROFILES.kinds))
TRUTH = {"ann": {"x": 2, "y": 1, "n": 0}, "bob": {"z": 1, "n": 0}}
RUN = {"ann": {"y": 0.9, "q": 0.5, "n": 0.4, "x": 0.2}, "bob": {"q": 0.8, "z": 0.3}}
TRAIN = [("ann", "q"), ("ann", "n"), ("bob", "x"), ("cat", "y"), ("cat", "z"), ("bob", "y")]
ITEMS = [{"item_id": one, "genre": genre} for one, genre in zip("xyznq", ["a|b", "b", "a", "c", "a|c"], strict=True)]


def example_of(name):
    """A metric as a user would ask for it."""
    return name if METRICS.find(name).cutoff == "none" else f"{name}@3"


@EACH
def test_facts(profile):
    assert PROFILES.find(profile.name) is profile
    assert profile.title
    assert profile.version
    assert profile.metrics
    assert all(sentence == sentence.strip() for sentence in profile.differs)


@EACH
def test_conventions_exist(profile):
    assert set(profile.conventions) <= set(Conventions.__dataclass_fields__)
    Conventions(**profile.conventions)


@EACH
def test_every_metric_of_a_profile_parses_and_builds(profile):
    for name in profile.metrics:
        assert METRICS.find(name).name == name, "a profile uses our canonical names"
        metric = profile.build(parse(example_of(name)), {})
        assert parse_metric(repr(metric)) == metric


@EACH
def test_every_metric_of_a_profile_scores(profile):
    extra = {"auc": "auc(targets=9)", "err": "err(scale=2.0)@3"}
    texts = [extra.get(name, example_of(name)) for name in profile.metrics]
    items = ra.read_items({one["item_id"]: {"genre": one["genre"]} for one in ITEMS})
    options = {"train": TRAIN, "items": items, "interval": None, "profile": profile.name}
    scores = ra.score({"m": RUN}, TRUTH, texts, **options)
    assert scores.settings["profile"] == profile.name
    assert all(row.n for row in scores.rows)


@EACH
def test_what_is_stated_wins_over_the_profile(profile):
    scores = ra.score({"m": RUN}, TRUTH, example_of(next(iter(profile.metrics))), profile=profile.name, train=TRAIN,
                      conventions=ra.options.ConventionOptions(ties="row"), interval=None)  # fmt: skip
    assert scores.settings["conventions"]["ties"] == "row"


@EACH
def test_a_metric_that_a_library_does_not_have_is_refused(profile):
    with refused("U115"):
        ra.score({"m": RUN}, TRUTH, "stratified_recall@3", profile=profile.name, train=TRAIN)


def test_a_profile_that_does_not_exist():
    with refused("U115", match="did you mean 'lenskit'"):
        PROFILES.find("lensket")
