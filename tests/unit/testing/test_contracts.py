"""The contract checks pass recassay's own things, and say what is wrong with broken ones."""

from dataclasses import dataclass

import numpy as np
import pytest

from recassay import split, testing
from recassay.checks.base import CHECKS, check
from recassay.data.io.formats import FORMATS, Format
from recassay.data.io.table import table_of_frame
from recassay.metrics.base import Accuracy
from recassay.metrics.credit import Credit
from recassay.metrics.registry import METRICS, parse_metric
from recassay.profiles.base import PROFILES, Profile
from recassay.split.base import RowAssignment, Split

METRICS_OF_EACH_FAMILY = [
    "recall@5",
    "ndcg",
    "map@10",
    "rprec",
    "stratified_recall@5",
    "ips@5",
    "ild@5",
    "coverage@5",
    "rmse",
]


@dataclass(frozen=True, repr=False)
class Odd(Accuracy):
    """Something odd.

    Formula: a.

    Edges: b.

    Libraries: c.

    Reference: d.
    """

    def rank_formula(self):
        return Credit("each", self.k, lambda ranks: 1 / ranks, lambda relevant: relevant.astype(float))

    def judge(self, lists):
        return lists.hits(self.k, self.relevant_from) / np.maximum(lists.relevant(self.relevant_from), 1)


@dataclass(frozen=True, repr=False)
class TooHigh(Odd):
    """Hits.

    Formula: a.

    Edges: b.

    Libraries: c.

    Reference: d.
    """

    def judge(self, lists):
        return 2.0 + lists.hits(self.k, self.relevant_from)


@dataclass(frozen=True, repr=False)
class Silent(Odd):
    """Something odd without an explanation."""


@dataclass(frozen=True, repr=False)
class LastRows(Split):
    """Test on the last rows of the file."""

    def cuts(self, log, facts):
        yield RowAssignment(np.arange(len(log)) >= 0.8 * len(log))


@pytest.fixture
def named(monkeypatch):
    """Give a class a name for the length of a test: without one, no registry knows it."""

    def give(kind, name):
        monkeypatch.setattr(kind, "name", name)
        return kind

    return give


@pytest.mark.parametrize("text", METRICS_OF_EACH_FAMILY)
def test_metrics_of_recassay_pass(text):
    testing.check_metric(parse_metric(text))


@pytest.mark.parametrize("text", ["random(test=0.2)", "last", "global_time(quantile=0.8)", "k_folds(k=3, by='user')"])
def test_splits_of_recassay_pass(text):
    testing.check_split(split.parse(text))


@pytest.mark.parametrize("name", ["lenskit", "torchmetrics"])
def test_profiles_of_recassay_pass(name):
    testing.check_profile(PROFILES.kinds[name])


@pytest.mark.parametrize("code", ["C001", "T002"])
def test_checks_of_recassay_pass(code):
    testing.check_check(CHECKS.kinds[code])


def test_a_metric_without_an_explanation_is_refused(named):
    with pytest.raises(AssertionError, match="has no paragraph Formula: and no Edges:"):
        testing.check_metric(named(Silent, "silent")(k=5))


def test_a_metric_whose_lists_and_formula_disagree_is_refused(named):
    with pytest.raises(AssertionError, match=r"rank 2 is .*1\.0.*, its formula by rank gives .*0\.5"):
        testing.check_metric(named(Odd, "odd")(k=5))


def test_a_metric_outside_its_bounds_is_refused(named):
    with pytest.raises(AssertionError, match="outside its bounds"):
        testing.check_metric(named(TooHigh, "too_high")(k=5))


def test_a_split_that_looks_at_the_order_of_rows_is_refused(named):
    with pytest.raises(AssertionError, match="the order of rows changes the folds of last_rows"):
        testing.check_split(named(LastRows, "last_rows")())


def test_a_check_without_an_explanation_is_refused():
    try:

        @check("ZZ001", "Something", "warning")
        def silent(facts):
            return None

        with pytest.raises(AssertionError, match="no docstring"):
            testing.check_check(silent)
    finally:
        from recassay.checks.base import CHECKS

        CHECKS._added.pop("ZZ001")


def test_a_profile_that_nobody_registered_is_refused():
    with pytest.raises(AssertionError, match=r"register it with ra\.register"):
        testing.check_profile(Profile("nobody", "Nobody", "1", {"recall": "recall"}))


def test_a_profile_with_an_unknown_metric_is_refused():
    try:
        broken = PROFILES.add(Profile("broken", "Broken", "1", {"recal": "recall"}))
        with pytest.raises(AssertionError, match="recal of broken cannot be used"):
            testing.check_profile(broken)
    finally:
        PROFILES._added.pop("broken")


def test_a_format_that_reads_other_rows_is_refused(tmp_path):
    import polars as pl

    path = tmp_path / "log.odd"
    path.write_text("ann x\n")
    try:
        table = pl.DataFrame({"user_id": ["ann"], "item_id": ["y"]})
        odd = FORMATS.add(
            Format("odd", "odd", lambda head: ".odd" in head.suffixes, lambda head, role: table_of_frame(table, ""))
        )
        with pytest.raises(AssertionError, match="odd reads 1 rows"):
            testing.check_format(odd, path, [("ann", "x")])
    finally:
        FORMATS._added.pop("odd")


def test_a_class_of_this_process_is_known_at_once_and_says_where_it_is_from(named):
    assert "brand_new" not in METRICS.kinds
    named(Odd, "brand_new")
    assert METRICS.find("Brand_New") is Odd
    assert METRICS.source("brand_new") == "test_contracts.py"
    assert METRICS.source("ndcg") == "recassay"
