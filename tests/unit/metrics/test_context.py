"""Lookups from a run to a training log and to item features, and the errors if they share no id."""

import polars as pl
import pytest

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.data.truth import Truth, TruthStatistics
from recassay.errors import UsageError
from recassay.metrics.align import Conventions, align
from recassay.metrics.base import CatalogueMetric
from recassay.metrics.catalogue import exposure_of
from recassay.metrics.context import Context, ContextLookup, bind
from recassay.metrics.registry import METRICS, parse_metric

from ...refusals import refused

RUN = Run.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": [10, 20, 30]}), "mine")
TRUTH = Truth.from_frame(pl.DataFrame({"user_id": [1, 2, 3], "item_id": [20, 30, 40]}))
LOG = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 3, 9], "item_id": [10, 20, 20, 40]}))
TABLE = Features.from_frame(pl.DataFrame({"item_id": [10, 30, 50], "genres": [["x"], ["y"], ["x", "y"]]}))
FACTS = TruthStatistics.of(TRUTH, [1.0])


def test_the_lookup_translates_items_and_users():
    lookup = ContextLookup(align(RUN, TRUTH), Context(LOG, TABLE))
    assert lookup.train_items(RUN.items).tolist() == [0, 1, -1]
    assert lookup.train_users.tolist() == [0, -1, 1]
    assert lookup.truth_train_items.tolist() == [1, -1, 2]
    assert lookup.feature_rows(RUN.items).tolist() == [0, -1, 1]
    assert lookup.truth_feature_rows.tolist() == [-1, 1, -1]
    assert lookup.train_feature_rows.tolist() == [0, -1, -1]


@pytest.mark.parametrize("name", sorted(one for one, kind in METRICS.kinds.items() if kind.family != "sequence"))
def test_a_metric_without_its_data_raises_in_prepare(name):
    kind = METRICS.kinds[name]
    metric = kind(k=3) if kind.cutoff != "none" else kind(**({"targets": 9} if name == "auc" else {}))
    needs = kind.needs | ({"train"} if isinstance(metric, CatalogueMetric) else set())
    if not needs:
        assert name not in ("epc", "ild", "coverage")
        return
    with refused("U105") as caught:
        metric.prepare(FACTS, Context())
    assert all(f"--{need}" in caught.value.hint for need in needs)
    metric.prepare(FACTS, Context(LOG, TABLE))


def test_a_catalogue_metric_needs_only_its_catalogue():
    parse_metric("coverage(catalogue='truth')@3").prepare(FACTS, Context())
    with pytest.raises(UsageError, match=r"needs the .*items"):
        parse_metric("coverage(catalogue='items')@3").prepare(FACTS, Context(LOG))


@pytest.mark.parametrize(("name", "code"), [("epc", "I406"), ("ild", "I407")])
def test_files_without_a_shared_id_are_an_error(name, code):
    log = Interactions.from_frame(pl.DataFrame({"user_id": [1], "item_id": [77]}))
    table = Features.from_frame(pl.DataFrame({"item_id": [77], "genres": [["x"]]}))
    with refused(code):
        bind([parse_metric(name)], align(RUN, TRUTH), Context(log, table))
    with refused(code) as caught:
        exposure_of(align(RUN, TRUTH), Context(log, table), "train" if code == "I406" else "items", 3)
    assert "77" in caught.value.what
    assert "10" in caught.value.what


def test_files_with_ids_of_another_type_are_an_error():
    log = Interactions.from_frame(pl.DataFrame({"user_id": [1], "item_id": ["i10"]}))
    with refused("I403"):
        bind([parse_metric("epc")], align(RUN, TRUTH), Context(log))
    people = Interactions.from_frame(pl.DataFrame({"user_id": ["u1"], "item_id": [10]}))
    with refused("I403"):
        bind([parse_metric("unexpectedness@1")], align(RUN, TRUTH), Context(people))


def test_rating_errors_need_scores():
    with refused("U105", match="mine has no scores"):
        bind([parse_metric("mae")], align(RUN, TRUTH), Context())


@pytest.mark.parametrize(
    "name",
    [
        "aplt(head_mass=1.5)",
        "aplt(head_share=-0.1)",
        "unexpectedness(m=-1)@3",
        "serendipity(m=-1)@3",
        "calibration(alpha=0.0)",
        "user_coverage(min_items=0)",
        "user_coverage(min_items=4)@3",
        "snips(p_min=0.0)",
        "snips(credit='auc')",
        "ips(credit='auc', targets=9)@3",
        "stratified_recall(b=1.5)",
        "subtopic_recall(relevant_only=False, denominator='relevant')",
        "ild(distance='euclid')",
    ],
)
def test_unusable_parameters_are_an_error(name):
    with refused("U102"):
        parse_metric(name)


def test_gini_is_better_high_as_equality_and_low_as_inequality():
    assert parse_metric("gini@3").higher_is_better is False
    assert parse_metric("gini(form='equality')@3").higher_is_better is True


@pytest.mark.parametrize("ties", ["id", "optimistic", "pessimistic", "expected"])
def test_marks_know_their_row_in_the_run_under_every_tie_policy(ties):
    items, scores = [5, 6, 7, 8], [0.5, 0.9, 0.5, 0.5]
    run = Run.from_frame(pl.DataFrame({"user_id": 1, "item_id": items, "score": scores}), "tied")
    truth = Truth.from_frame(pl.DataFrame({"user_id": 1, "item_id": [8, 5, 6], "gain": [3.0, 0.0, 1.0]}))
    alignment = align(run, truth, Conventions(ties=ties))
    block = alignment.block(0, 1)
    assert alignment.run.items[block.rows].tolist() == truth.items[block.judged].tolist()
