"""Every metric in every place that computes metrics: lists, target-set designs, sampling curves and streams.

A metric declares its formula once (``Metric.rank_formula``). In each place it gives the same value as everywhere else,
or the error with the metric's own reason why it cannot.
"""

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay import designs
from recassay.data.generated import Generated
from recassay.data.sequences import SequenceFold, Sequences
from recassay.data.synthetic import log
from recassay.engine.sequences.score import score_sequences
from recassay.engine.streams.values import StreamMetrics
from recassay.errors import UsageError
from recassay.metrics.base import Accuracy, UnitMetric
from recassay.metrics.credit import Credit, JudgedFormula, NoFormula, PairFormula
from recassay.metrics.registry import METRICS, parse_metric, parse_metrics
from recassay.metrics.sequence.base import SequenceMetric
from recassay.models.incremental._walk import WalkOutput
from recassay.sampled.measure import measure_system, user_groups

from ..refusals import refused
from .test_metrics import LISTED, variants

EVERY = [text for kind in METRICS.kinds.values() for text in variants(kind)]
RANKED = [text for kind in LISTED for text in variants(kind)]
N_ITEMS = 30


def formula(text):
    return parse_metric(text).rank_formula()


def of_kind(*kinds):
    return [text for text in RANKED if isinstance(formula(text), kinds)]


WITHOUT_CREDIT = [text for text in EVERY if isinstance(formula(text), NoFormula | JudgedFormula)]


def is_exact_in_lists(text):
    """Return whether a list of all items is judged by the formula alone."""
    metric = parse_metric(text)
    return metric.parameters.get("unlisted", "absent") == "absent" and formula(text).weight is None


def queries(ranks):
    """Return what a stream reports of queries whose items have these ranks among N_ITEMS candidates."""
    shown = WalkOutput.empty(ranks.size, 0, 0)
    shown.position[:], shown.above[:], shown.candidates[:] = ranks, ranks - 1, N_ITEMS
    return shown


def value_in_stream(text):
    """Return the value of an event by the rank 1..N_ITEMS of its item."""
    ask = ra.protocols.prequential(at=N_ITEMS)
    (values,) = StreamMetrics.of(text, ask, lists_only=False)(queries(np.arange(1, N_ITEMS + 1))).values()
    return values


def value_in_lists(text):
    """Return the value of a list of N_ITEMS items with one relevant item, by the rank 1..N_ITEMS of that item."""
    items = list(range(N_ITEMS))
    run = dict.fromkeys(range(1, N_ITEMS + 1), items)
    truth = {rank: {rank - 1: 1.0} for rank in range(1, N_ITEMS + 1)}
    train = [(900 + user, item) for item in items for user in range(2)]
    return ra.score({"run": run}, truth, text, train=train, interval=None).values("run", text)


@pytest.fixture(scope="module")
def played():
    """Return a run with one relevant item per user, and the rank of each among all candidates."""
    fold = ra.split.last(n=1)(log(users=60, items=N_ITEMS + 5, events=900, seed=4))[0]
    run = ra.play(ra.models.Random(seed=2), fold, ra.protocols.next_item())
    standings = run.standings
    assert (standings.relevant == 1).all()
    assert not standings.tied["AI"].any()
    return run, standings.above["AI"] + 1, standings.pool["AI"]


class TestDeclarations:
    def test_a_metric_has_a_formula_or_says_why_not_in_one_line(self):
        for text in EVERY:
            found = formula(text)
            assert isinstance(found, Credit | PairFormula | JudgedFormula | NoFormula)
            if isinstance(found, NoFormula):
                assert 10 < len(found.why) < 110
                assert found.why[0].islower()
                assert not found.why.endswith(".")

    def test_every_kind_of_formula_has_a_metric(self):
        assert all(of_kind(kind) for kind in (Credit, PairFormula, JudgedFormula, NoFormula))

    def test_a_metric_judges_lists_or_sequences_but_not_both(self):
        for text in EVERY:
            metric = parse_metric(text)
            if isinstance(metric, SequenceMetric):
                with refused("U181"):
                    ra.score({"run": {"u": ["x"]}}, {"u": ["x"]}, text)
            elif isinstance(metric, UnitMetric):
                with refused("U181"):
                    score_sequences(*sequences(), text)

    def test_a_credit_is_all_that_an_accuracy_metric_needs_for_lists(self):
        for text in of_kind(Credit):
            assert isinstance(parse_metric(text), Accuracy)


def sequences():
    rows = {"sequence_id": [1, 1, 2, 2], "item_id": [5, 6, 5, 6]}
    made = Sequences.from_frame(pl.DataFrame(rows))
    fold = SequenceFold(made.take(np.array([0])), made.take(np.array([1])))
    nan = np.full((1, 1), np.nan)
    return fold, Generated("x", np.array([[1]], np.int32), nan, nan[0], 0)


class TestAgreement:
    def test_a_rank_on_a_stream_is_a_list_with_one_hit(self):
        for text in [text for text in of_kind(Credit) if is_exact_in_lists(text)]:
            plain = parse_metric(text)
            if any(
                plain.parameters[name] != plain.defaults()[name]
                for name in plain.list_parameters & set(plain.parameters)
            ):
                continue  # refused on streams, see below
            np.testing.assert_allclose(value_in_stream(text), value_in_lists(text), rtol=0, atol=1e-15)

    def test_a_credit_is_a_list_with_one_hit(self):
        for text in of_kind(Credit):
            ranks = np.arange(1.0, N_ITEMS + 1)
            in_lists = value_in_lists(text)
            if parse_metric(text).parameters.get("unlisted") != "tied":
                np.testing.assert_allclose(formula(text).of_one(ranks), in_lists, rtol=0, atol=1e-15)

    def test_a_credit_is_a_design_with_one_relevant_item(self, played):
        for text in of_kind(Credit):
            run, ranks, _ = played
            if formula(text).weight is not None:
                found = designs.expect(run.standings, designs.parse("AI-1R-AN"), parse_metrics(text)).outcomes[text]
            else:
                found = designs.expect(run.standings, designs.parse("AI-AR-AN"), parse_metrics(text)).outcomes[text]
            values = found.values[run.standings.relevant > 0]
            np.testing.assert_allclose(values, formula(text).of_one(ranks.astype(np.float64)), rtol=0, atol=1e-12)

    def test_the_end_of_a_sampling_curve_is_the_design_of_all_candidates(self, played):
        for text in of_kind(Credit, PairFormula):
            run, ranks, pool = played
            users, law = user_groups(run.standings), ra.designs.parse("AI-1R-NN(1)")
            sizes, metrics = [10 * N_ITEMS], parse_metrics(text)
            (mean,) = measure_system(run.standings, users, law, sizes, metrics).mean[0]
            found = formula(text)
            if isinstance(found, Credit):
                wanted = found.of_one(ranks.astype(np.float64)).mean()
            else:
                wanted = found.share((ranks - 1.0), pool).mean()
            assert mean == pytest.approx(wanted, abs=1e-12)

    def test_auc_is_the_same_everywhere(self, played):
        run, ranks, pool = played
        wanted = (pool - (ranks - 1)) / pool
        in_design = designs.expect(run.standings, designs.parse("AI-AR-AN"), parse_metrics("auc")).outcomes["auc"]
        np.testing.assert_allclose(in_design.values[run.standings.relevant > 0], wanted, rtol=0, atol=1e-15)
        in_lists = value_in_lists(f"auc(targets={N_ITEMS})")
        np.testing.assert_array_equal(value_in_stream("auc"), in_lists)
        ranked = np.arange(1, N_ITEMS + 1)
        np.testing.assert_allclose(in_lists, formula("auc").share(ranked - 1.0, float(N_ITEMS - 1)), rtol=0, atol=0)

    @pytest.mark.parametrize("text", of_kind(JudgedFormula))
    def test_a_metric_of_judged_items_is_the_same_in_a_design_as_in_full_lists(self, text):
        made = log(users=40, items=80, events=900, seed=6).frame()
        rated = made.with_columns(rating=pl.Series((np.arange(made.height) * 7) % 5 + 1.0))
        fold = ra.split.random(test=0.4, seed=7)(ra.read_interactions(rated))[0]
        survey = ra.protocols.ranking(relevant_from=4, k=80)
        run = ra.play(ra.models.Random(seed=2), fold, survey)
        in_design = designs.expect(run.standings, designs.parse("AI-AR-AN"), parse_metrics(text)).outcomes[text]
        relevance = parse_metric(text).name + "(" + ", ".join(
            [f"{name}={value!r}" for name, value in parse_metric(text).parameters.items() if value is not None
             and name not in ("relevant_from", "targets")] + ["relevant_from=4.0"]) + ")"  # fmt: skip
        truth = fold.test.frame().rename({"rating": "gain"}).select("user_id", "item_id", "gain")
        in_lists = ra.score({"run": run}, truth, relevance, interval=None)
        values = dict(zip(in_lists.units, in_lists.values(in_lists.systems[0], in_lists.metrics[0]), strict=True))
        wanted = np.array([values[user] for user in run.standings.queries])
        has_relevant = run.standings.relevant > 0
        np.testing.assert_allclose(in_design.values[has_relevant], wanted[has_relevant], rtol=0, atol=1e-12)


def reason(text):
    found = formula(text)
    return found.why if isinstance(found, NoFormula) else "judged items that are not relevant"


class TestRefusals:
    def test_a_design_gives_the_reason_of_a_metric_without_a_formula(self, played):
        for text in [text for text in EVERY if isinstance(formula(text), NoFormula)]:
            with refused("U110") as caught:
                designs.expect(played[0].standings, designs.parse("AI-AR-AN"), parse_metrics(text))
            assert reason(text) in str(caught.value)

    def test_a_sampling_curve_gives_the_reason_of_a_metric_that_it_cannot_compute(self, played):
        for text in WITHOUT_CREDIT:
            standings, law = played[0].standings, ra.designs.parse("AI-1R-NN(1)")
            with refused("U110") as caught:
                measure_system(standings, user_groups(standings), law, [5], parse_metrics(text))
            assert reason(text) in str(caught.value)

    def test_a_stream_computes_a_metric_of_lists_or_says_why_not(self):
        for text in WITHOUT_CREDIT:
            refused = None
            try:
                taken = StreamMetrics.of(text, ra.protocols.prequential(at=5), lists_only=False)
            except UsageError as error:
                refused = error
            if refused is None:
                assert len(taken.metrics) == 1
            else:
                said = {"U192": "has no value for a single event: ", "U105": "needs features of items"}
                assert said[refused.code] in str(refused) or reason(text) in str(refused)

    @pytest.mark.parametrize("text", ["recall(missing='skip')@5", "ndcg(relevant_from=4.0)@5", "auc(targets=9)"])
    def test_a_stream_refuses_parameters_that_it_would_ignore(self, text):
        with refused("U192", match="has no meaning"):
            StreamMetrics.of(text, ra.protocols.prequential(), lists_only=False)

    def test_a_stream_refuses_weights_by_training_users(self):
        with refused("U192", match="training users"):
            StreamMetrics.of("stratified_recall(weighting='equal')@5", ra.protocols.prequential(), lists_only=False)
