"""Promises that every metric of generated sequences keeps, a user's own too."""

import dataclasses
import typing
from typing import Literal

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.errors import InternalError, UsageError
from recassay.metrics.registry import METRICS
from recassay.metrics.sequence.base import PerSequence, SequenceBlock, SequenceContext, SequenceMetric
from recassay.naming.grammar import Expression
from recassay.naming.named import parameter_kinds

from ..refusals import refused

K, N, ITEMS = 4, 80, 15
KINDS = [kind for kind in METRICS.kinds.values() if issubclass(kind, SequenceMetric)]


def variants(kind):
    """The default of a metric and each choice of each parameter that has choices."""
    k = None if kind.cutoff == "none" else K
    yield str(Expression(kind.name, {}, k))
    for name, hint in parameter_kinds(kind).items():
        choices = typing.get_args(hint) if typing.get_origin(hint) is Literal else (True, False) if hint is bool else ()
        for choice in choices:
            yield str(Expression(kind.name, {name: choice}, k))


ALL = list(dict.fromkeys(text for kind in KINDS for text in variants(kind)))


def world(seed=4):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 8, 2 * N)
    rows = {"sequence_id": np.repeat(np.arange(2 * N), lengths), "item_id": rng.integers(0, ITEMS, lengths.sum())}
    made = ra.sequences.Sequences.from_frame(pl.DataFrame(rows))
    fold = ra.sequences.SequenceFold(made.take(np.arange(N)), made.take(np.arange(N, 2 * N)))
    items = rng.integers(0, made.n_items, (N, K)).astype(np.int32)
    items[::9, 2:] = -1
    similar = rng.uniform(-1, 1, (made.n_items, made.n_items))
    tags = [list(rng.choice([*"abcd"], rng.integers(0, 3), replace=False)) for _ in range(ITEMS)]
    beside = {
        "similarities": (similar + similar.T) / 2,
        "primitive": [3, 1, 2],
        "items": pl.DataFrame({"item_id": np.arange(ITEMS), "tags": tags}),
    }
    chances = np.where(items < 0, np.nan, rng.random((N, K)))
    return fold, ra.sequences.Generated("x", items, chances, rng.exponential(3, N), 0), beside


FOLD, MADE, BESIDE = world()


def asked_for(text):
    """What a metric asks for beside sequences; what it does not ask for is refused."""
    given = {
        "items": "similarity='features'", "similarities": "similarity='given'", "primitive": "primitive='given'"
    }  # fmt: skip
    return {name: one for name, one in BESIDE.items() if given[name] in text}


@pytest.fixture(scope="module")
def scores():
    return ra.sequences.score_sequences(FOLD, MADE, ALL, resamples=200, **BESIDE)


@pytest.mark.parametrize("text", ALL)
def test_values_are_in_bounds_and_all_sequences_are_accounted_for(scores, text):
    row, (low, high) = scores.row("x", text), ra.metrics.parse_metric(text).bounds
    assert low <= row.mean <= high
    assert row.n + row.undefined == N
    assert row.short == (0 if text in ("seq_surprise", "seq_perplexity") else len(range(0, N, 9)))
    if text in scores.unit_metrics:
        values = scores.values("x", text)
        assert np.unique(values[~np.isnan(values)]).size > 1
        assert np.isnan(values).sum() == row.undefined
        assert row.low < row.mean < row.high


@pytest.mark.parametrize("text", ALL)
def test_a_metric_does_not_depend_on_those_beside_it(scores, text):
    alone = ra.sequences.score_sequences(FOLD, MADE, text, resamples=200, **asked_for(text))
    assert repr(alone.row("x", text)) == repr(scores.row("x", text))


@pytest.mark.parametrize("text", ALL)
def test_what_comes_after_the_cutoff_does_not_matter(scores, text):
    more = np.where(MADE.items[:, -1:] < 0, -1, 0)
    chances = np.column_stack([MADE.chances, np.full(N, 0.5)])
    other = dataclasses.replace(MADE, items=np.column_stack([MADE.items, more]), chances=chances)
    longer = ra.sequences.score_sequences(FOLD, other, text, resamples=200, **asked_for(text))
    assert repr(longer.row("x", text)) == repr(scores.row("x", text))


@pytest.mark.parametrize("text", ALL)
def test_ranked_lists_are_refused(text):
    with refused("U181", match="evaluates generated sequences"):
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, text)


@dataclasses.dataclass(frozen=True, repr=False)
class Wrong(PerSequence):
    """Outside its range."""

    def evaluate(self, block):
        return np.full(block.end - block.begin, 1.5)


def test_a_value_outside_the_range_is_never_printed():
    block = SequenceBlock(SequenceContext(FOLD), MADE, 7, 9)
    with pytest.raises(UsageError, match=r"U243.*for test sequence 7 of x, outside \[0.0, 1.0\]"):
        Wrong(k=2).checked(block)
    Wrong.__module__ = "recassay.metrics.sequence.wrong"
    with pytest.raises(InternalError, match=r"X101.*for test sequence 7 of x, outside \[0.0, 1.0\]"):
        Wrong(k=2).checked(block)
