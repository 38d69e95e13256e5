"""What must hold for generated sequences whatever they are: bounds between metrics, symmetries, the same bits."""

import math
import tracemalloc

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.columnar.vocabulary import Vocabulary
from recassay.data.generated import Generated
from recassay.data.sequences import SequenceFold, Sequences
from recassay.engine.sequences import score as engine
from recassay.engine.sequences.score import score_sequences, sequeval
from recassay.metrics.registry import parse_metric
from recassay.metrics.sequence import similarity
from recassay.metrics.sequence.base import PerSequence, SequenceBlock, SequenceContext

from ..examples import examples

K = 4
MORE = "seq_recall@4 seq_ndcg@4 seq_mrr@4 seq_lcs@4 seq_kendall@4 seq_surprise seq_ndpm(identical_pairs='irrelevant')@3"
EVERYTHING = f"{sequeval(K)} {MORE} seq_diversity(printed_norm=True)@2 seq_novelty(unseen='max')@1"


def world(seed, n=60, items=12, k=K, repeats=True):
    """A fold in which some items are in no training sequence, and lists that are short here and there."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 8, 2 * n)
    chosen = np.minimum(rng.geometric(0.25, lengths.sum()) - 1, items - 1)
    made = Sequences.from_frame(pl.DataFrame({"sequence_id": np.repeat(np.arange(2 * n), lengths), "item_id": chosen}))
    fold = SequenceFold(made.take(np.arange(n // 3)), made.take(np.arange(n, 2 * n)))
    lists = rng.integers(0, made.n_items, (n, k))
    if not repeats:
        lists = rng.permuted(np.tile(np.arange(made.n_items), (n, 1)), axis=1)[:, :k]
    lists = lists.astype(np.int32)
    return fold, Generated("x", lists, rng.random((n, k)), rng.exponential(2, n), 0)


def changed(made, items):
    return Generated(made.name, np.asarray(items, np.int32), made.chances, made.surprise, made.seed)


def columns(fold, made, metrics):
    scores = score_sequences(fold, made, metrics, interval=None)
    return [scores.values("x", metric) for metric in scores.metrics]


@given(st.integers(0, 10**6))
@settings(max_examples=examples(30), deadline=None)
def test_bounds_between_metrics(seed):
    fold, made = world(seed)
    precision, serendipity, lcs, recall = columns(
        fold, made, "seq_precision@4 seq_serendipity@4 seq_lcs@4 seq_recall@4"
    )
    assert (serendipity <= precision).all()
    assert (lcs <= precision).all()
    assert (recall <= precision).all()
    plain, irrelevant = columns(fold, made, "seq_ndpm@4 seq_ndpm(identical_pairs='irrelevant')@4")
    assert (plain <= irrelevant).all()
    default, halved = columns(fold, made, "seq_diversity@4 seq_diversity(printed_norm=True)@4")
    np.testing.assert_array_equal(default, 2 * halved)
    zero, most = columns(fold, made, "seq_novelty@4 seq_novelty(unseen='max')@4")
    assert (zero >= 0).all()
    assert (zero <= most).all()


@given(st.integers(0, 10**6))
@settings(max_examples=examples(30), deadline=None)
def test_a_reversed_list_is_in_the_other_order(seed):
    fold, made = world(seed, repeats=False)
    back = changed(made, made.items[:, ::-1])
    forwards, backwards = columns(fold, made, "seq_ndpm@4")[0], columns(fold, back, "seq_ndpm@4")[0]
    np.testing.assert_allclose(forwards, 1 - backwards)
    forwards, backwards = columns(fold, made, "seq_kendall@4")[0], columns(fold, back, "seq_kendall@4")[0]
    np.testing.assert_allclose(forwards, 1 - backwards)


@given(st.integers(0, 10**6))
@settings(max_examples=examples(30), deadline=None)
def test_precision_and_diversity_do_not_look_at_order(seed):
    fold, made = world(seed)
    mixed = changed(made, np.random.default_rng(seed).permuted(made.items, axis=1))
    for metrics in ("seq_precision@4 seq_recall@4 seq_serendipity@4", "seq_diversity@4 seq_novelty@4"):
        for one, other in zip(columns(fold, made, metrics), columns(fold, mixed, metrics), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 12))
@settings(max_examples=examples(30), deadline=None)
def test_a_fixed_list_and_chance(seed, k):
    fold, _ = world(seed)
    n, items = len(fold.test), fold.n_items
    k = min(k, items)
    popular = np.argsort(-fold.counts, kind="stable")[:k]
    fixed = Generated("x", np.tile(popular, (n, 1)), np.ones((n, k)), np.full(n, np.inf), 0)
    scores = score_sequences(fold, fixed, interval=None)
    assert scores.row("x", f"seq_coverage@{k}").mean == k / items
    assert scores.row("x", f"seq_serendipity@{k}").mean == 0
    assert scores.row("x", f"seq_confidence@{k}").mean == 1
    assert scores.row("x", "seq_perplexity").mean == math.inf
    bits = (np.diff(fold.test.offsets) - 1) * np.log2(items)
    random = Generated("x", fixed.items, np.full((n, k), 1 / items), bits, 0)
    scores = score_sequences(fold, random, interval=None)
    assert scores.row("x", f"seq_confidence@{k}").mean == pytest.approx(1 / items, rel=1e-12)
    assert scores.row("x", "seq_perplexity").mean == pytest.approx(items, rel=1e-12)


def test_the_reference_itself_is_perfect():
    fold, _ = world(3)
    references = fold.test.references.rows()
    longest = max(map(len, references))
    lists = [one + [-1] * (longest - len(one)) for one in references]
    whole = Generated("x", np.array(lists), np.ones((len(lists), longest)), np.zeros(len(lists)), 0)
    for name, best in {"precision": 1, "recall": 1, "ndcg": 1, "lcs": 1, "mrr": 1, "kendall": 0}.items():
        (values,) = columns(fold, whole, f"seq_{name}@{longest}")
        assert np.nanmin(values) == np.nanmax(values) == best
    assert columns(fold, whole, "seq_surprise")[0].tolist() == [0] * len(lists)


def test_diversity_is_one_minus_the_mean_cosine():
    fold, made = world(8)
    counts = np.zeros((fold.n_items, len(fold.train)))
    for s, one in enumerate(fold.train.histories.rows()):
        np.add.at(counts[:, s], one, 1)
    norms = np.linalg.norm(counts, axis=1)
    with np.errstate(invalid="ignore"):
        like = np.nan_to_num(counts @ counts.T / np.outer(norms, norms))
    assert (norms == 0).any()
    upper = np.triu_indices(K, 1)
    wanted = [1 - like[np.ix_(one, one)][upper].mean() for one in made.items]
    np.testing.assert_allclose(columns(fold, made, "seq_diversity@4")[0], wanted)


def bits(scores):
    rows = [
        (row.system, row.metric, *map(repr, (row.mean, row.low, row.high, row.n, row.short))) for row in scores.rows
    ]
    return {key: column.tobytes() for key, column in scores.per_unit.items()}, rows


@pytest.fixture(scope="module")
def short():
    """A fold and lists of which some are short."""
    fold, made = world(5)
    return fold, changed(made, np.where(np.arange(K) < np.arange(60)[:, None] % 7, made.items, -1))


@pytest.fixture(scope="module")
def reference(short):
    return score_sequences(*short, EVERYTHING, resamples=200, threads=1)


class TestSameBits:
    @pytest.mark.parametrize("threads", [2, 4])
    @pytest.mark.parametrize("size", [1, 7, 60])
    def test_any_threads_and_blocks(self, short, reference, threads, size, monkeypatch):
        monkeypatch.setattr(engine, "SEQUENCES_PER_BLOCK", size)
        monkeypatch.setattr(similarity, "OWNERS_PER_BLOCK", size)
        monkeypatch.setattr(similarity, "FIRST_TABLE", 2)
        scores = score_sequences(*short, EVERYTHING, resamples=200, threads=threads)
        assert bits(scores) == bits(reference)

    def test_other_systems_before_it_change_nothing(self, short, reference):
        _, other = world(5)
        both = score_sequences(short[0], {"other": other, "x": short[1]}, EVERYTHING, resamples=200)
        assert [one for one in bits(both)[1] if one[0] == "x"] == bits(reference)[1]

    def test_the_loop_over_sequences_one_by_one(self, short, reference):
        known = SequenceContext(short[0])
        for heading in reference.unit_metrics:
            metric = parse_metric(heading)
            metric.ready(known, short[1])
            values = [metric.checked(SequenceBlock(known, short[1], s, s + 1))[0] for s in range(60)]
            assert np.array(values).tobytes() == reference.values("x", heading).tobytes()
            assert isinstance(metric, PerSequence)


def test_two_hundred_thousand_items_take_the_memory_of_the_lists():
    rng, n, items = np.random.default_rng(0), 20_000, 200_000
    vocabulary = Vocabulary(pl.Series(np.arange(items)))
    offsets = np.arange(0, 3 * n + 1, 3)
    parts = [
        Sequences(
            offsets, rng.integers(0, items, 3 * n).astype(np.int32), np.zeros(n, np.int32), None, vocabulary, vocabulary
        )
        for _ in range(2)
    ]
    lists = rng.integers(0, items, (n, 5)).astype(np.int32)
    made = Generated("x", lists, np.full((n, 5), 1 / items), np.full(n, 2 * np.log2(items)), 0)
    fold = SequenceFold(*parts)
    score_sequences(fold, made, interval=None, threads=2)
    tracemalloc.start()
    scores = score_sequences(fold, made, interval=None, threads=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert scores.row("x", "seq_diversity@5").mean == pytest.approx(1, abs=1e-3)
    assert peak < 60e6  # a table of all pairs would be 320 GB
