"""A worked example, also computed with Sequeval 1.1.2: every metric to six decimals."""

import itertools

import numpy as np
import polars as pl
import pytest

from recassay.data.generated import Generated
from recassay.data.sequences import SequenceFold, Sequences
from recassay.engine.sequences.score import score_sequences, sequeval

NAN = float("nan")
CODE = dict(zip("abcde", range(5), strict=True))
TRAIN, TEST = ("ab", "acd", "cbb"), ("abc", "cddab", "deb")
LISTS = ("bbd", "add", "bea")
BIGRAM = np.array([[1, 2, 2, 1, 1], [1, 2, 1, 1, 1], [1, 2, 1, 2, 1], [1] * 5, [1] * 5]) * 1.0
BIGRAM /= BIGRAM.sum(axis=1, keepdims=True)
UNIGRAM, UNSMOOTHED = np.array([3, 4, 3, 2, 1]) / 13, np.array([2, 3, 2, 1, 0]) / 8


def folded(train=TRAIN, test=TEST):
    rows = [(s, item) for s, items in enumerate((*train, *test)) for item in items]
    made = Sequences.from_frame(pl.DataFrame(rows, ["sequence_id", "item_id"], orient="row"))
    return SequenceFold(made.take(np.arange(len(train))), made.take(np.arange(len(train), len(train) + len(test))))


def generated(name, lists, chance=lambda before, item: NAN, seed=0):
    """Return generated lists of letters, with the system's probability of an item after another."""

    def bits(s):
        with np.errstate(divide="ignore"):
            return -sum(np.log2(chance(CODE[one], CODE[other])) for one, other in itertools.pairwise(s))

    items = np.array([[CODE[item] for item in one] for one in lists], np.int32)
    befores = np.column_stack([[CODE[s[0]] for s in TEST], items[:, :-1]])
    chances = np.array(
        [[chance(b, i) for b, i in zip(*row, strict=True)] for row in zip(befores, items, strict=True)], np.float64
    )
    return Generated(name, items, chances, np.array([bits(s) for s in TEST]), seed)


def cut(k):
    return tuple(one[:k] for one in LISTS)


def values(made, metric, **options):
    scores = score_sequences(folded(), made, metric, interval=None, **options)
    column = scores.values("x", metric).tolist() if metric in scores.unit_metrics else None
    return column, scores.row("x", metric).mean


M1 = {
    "seq_coverage@3": (None, 0.8),
    "seq_precision@3": ((0.5, 1.0, 1.0), 0.833333),
    "seq_ndpm@3": ((0.333333, 0.5, 0.666667), 0.5),
    "seq_ndpm(identical_pairs='irrelevant')@3": ((0.5, 0.5, 0.666667), 0.555556),
    "seq_diversity@3": ((0.666667, 0.195262, 0.894591), 0.585507),
    "seq_diversity(printed_norm=True)@3": ((0.333333, 0.097631, 0.447295), 0.292753),
    "seq_novelty@3": ((1.943358, 2.666667, 1.138346), 1.916124),
    "seq_serendipity@3": ((0.0, 0.666667, 0.5), 0.388889),
    "seq_serendipity(k_p=1)@3": ((0.0, 1.0, 0.5), 0.5),
}
M2 = {
    "seq_coverage@2": (None, 0.8),
    "seq_precision@2": (None, 0.833333),
    "seq_ndpm@2": ((0, 0.5, 1), 0.5),
    "seq_diversity@2": (None, 0.430964),
    "seq_novelty@2": (None, 1.540852),
    "seq_serendipity@2": (None, 0.333333),
}


@pytest.mark.parametrize("metric", M1 | M2)
def test_fixed_lists_give_the_worked_values(metric):
    wanted, wanted_mean = (M1 | M2)[metric]
    for k in (int(metric[-1]), 3):  # items after the first k places do not matter
        column, mean = values(generated("x", cut(k)), metric)
        assert mean == pytest.approx(wanted_mean, abs=1e-6)
        if wanted is not None:
            assert column == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("chance", "three", "two", "perplexity"),
    [
        (lambda before, item: BIGRAM[before, item], 0.204233, 0.211905, 4.474860),
        (lambda before, item: UNIGRAM[item], 0.213675, 0.230769, 4.938932),
        (lambda before, item: UNSMOOTHED[item], 0.222222, None, float("inf")),
        (lambda before, item: 0.2, 0.2, 0.2, 5.0),
    ],
    ids=["bigram", "unigram", "unigram unsmoothed", "random"],
)
def test_probabilities_give_confidence_and_perplexity(chance, three, two, perplexity):
    made = generated("x", LISTS, chance)
    assert values(made, "seq_confidence@3")[1] == pytest.approx(three, abs=1e-6)
    if two is not None:
        assert values(made, "seq_confidence@2")[1] == pytest.approx(two, abs=1e-6)
    assert values(made, "seq_perplexity")[1] == pytest.approx(perplexity, abs=1e-6)
    assert values(made, "seq_surprise")[1] == pytest.approx(np.log2(perplexity), abs=1e-6)


def test_a_system_of_the_most_popular_items():
    made = generated("x", ("bac",) * 3, lambda before, item: 1.0)
    made = Generated("x", made.items, made.chances, np.array([np.inf, np.inf, np.inf]), 0)
    scores = score_sequences(folded(), made, interval=None)
    assert scores.metrics == tuple(sequeval(3).split())
    assert scores.values("x", "seq_precision@3") == pytest.approx([1, 0.666667, 0.5], abs=1e-6)
    assert scores.values("x", "seq_ndpm@3") == pytest.approx([0.333333, 0.666667, 0.5], abs=1e-6)
    means = {row.metric.partition("@")[0].removeprefix("seq_"): row.mean for row in scores.rows}
    wanted = {"coverage": 0.6, "precision": 0.722222, "ndpm": 0.5, "novelty": 1.805012, "serendipity": 0.0}
    wanted |= {"confidence": 1.0, "perplexity": float("inf")}
    assert {name: means[name] for name in wanted} == pytest.approx(wanted, abs=1e-6)
    two = {"seq_precision@2": 0.666667, "seq_coverage@2": 0.4, "seq_ndpm@2": 0.666667, "seq_novelty@2": 1.707519}
    for metric, mean in two.items():
        assert values(made, metric)[1] == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize("metric", ["seq_ndpm@1", "seq_diversity@1", "seq_kendall@1"])
def test_one_item_has_no_order_and_no_diversity(metric):
    column, mean = values(generated("x", cut(1)), metric)
    assert np.isnan([*column, mean]).all()
    row = score_sequences(folded(), generated("x", cut(1)), metric).rows[0]
    assert (row.n, row.undefined) == (0, 3)


# abc after a; ddab after c; eb after d
@pytest.mark.parametrize(
    ("metric", "wanted"),
    [
        ("seq_recall@3", (1 / 2, 3 / 4, 2 / 2)),  # b; a d d; b e
        ("seq_ndcg@3", (1 / (1 + 1 / np.log2(3)), 1.0, 1.0)),
        ("seq_mrr@3", (1.0, 1 / 2, 1 / 2)),  # b at 1; d at 2; e at 2
        ("seq_lcs@3", (1 / 2, 2 / 3, 1 / 2)),  # b; dd; b or e
        ("seq_kendall@3", (NAN, 1.0, 1.0)),  # b alone; a before d; b before e
        ("seq_novelty(unseen='max')@3", (1.943358, 2.666667, (1.415037 + np.log2(9) + 2) / 3)),
    ],
)
def test_metrics_that_the_paper_does_not_have(metric, wanted):
    column, mean = values(generated("x", LISTS), metric)
    assert column == pytest.approx(wanted, abs=1e-6, nan_ok=True)
    assert mean == pytest.approx(np.nanmean(wanted), abs=1e-6)
