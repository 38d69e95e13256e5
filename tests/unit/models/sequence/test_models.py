"""Models of sequences: worked examples, common properties, and errors."""

import pickle
import shutil

import numpy as np
import polars as pl
import pycrfsuite
import pytest

from recassay import models
from recassay.data.sequences import Histories, SequenceFold, Sequences
from recassay.errors import UsageError
from recassay.models.base.capabilities import NextProbabilities
from recassay.models.sequence import (
    CRF,
    REGISTRY,
    MostPopular,
    NGram,
    Uniform,
    Unigram,
    UserNGram,
    parse,
    special,
)
from recassay.models.sequence.base import fitted_on_sequences, sequences_as_log
from recassay.naming.system_names import system_name

from ....refusals import refused

LISTS = ["ab", "acd", "cbb", "abc", "cddab", "deb"]
ALL_MODELS = [
    MostPopular(),
    Uniform(),
    Unigram(),
    Unigram(smoothing=0),
    NGram(),
    NGram(order=3),
    UserNGram(),
    NGram(smoothing=0),
    CRF(),
]


def made(lists=LISTS):
    rows = [(number, item) for number, items in enumerate(lists) for item in items]
    return Sequences.from_frame(pl.DataFrame(rows, ["sequence_id", "item_id"], orient="row"))


def after(*texts):
    """Return histories from texts, a letter per item."""
    items = np.array(["abcde".index(letter) for letter in "".join(texts)], np.int32)
    return Histories(np.append(0, np.cumsum([len(text) for text in texts])), items)


@pytest.fixture(scope="module")
def fold():
    """Return a fold with training ab, acd, cbb; the item e is only in test."""
    sequences = made()
    return SequenceFold(sequences.take(np.arange(3)), sequences.take(np.arange(3, 6)))


def test_all_registered_models_are_tested():
    assert {model.name for model in ALL_MODELS} == set(REGISTRY.built_in)


@pytest.mark.parametrize("model", ALL_MODELS, ids=str)
def test_rows_are_probabilities_and_descriptions_parse_from_their_text(model, fold):
    assert parse(str(model)) == model
    fitted = fitted_on_sequences(model, fold.train)
    assert isinstance(fitted, NextProbabilities)
    table = fitted.next_probabilities(after("a", "b", "ab", "ba", "e", "de"))
    assert table.shape == (6, 5)
    assert table.sum(axis=1) == pytest.approx(np.ones(6), abs=1e-12)
    assert (table >= 0).all()
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.next_probabilities(after("a", "ab")) == table[[0, 2]]).all()
    assert system_name(fitted) == str(model)


def test_most_popular_orders_items_by_count_and_id_and_ends_after_the_last(fold):
    fitted = MostPopular().fit(fold.train)
    assert fitted.order.tolist() == [1, 0, 2, 3, 4]
    table = fitted.next_probabilities(after("e", "eb", "eba"))
    assert table.argmax(axis=1).tolist() == [1, 0, 2]
    with refused("U172", match="item 6 of a list of 5"):
        fitted.next_probabilities(after("aaaaaa"))
    steps = np.array([0, 4, 5, 9])
    assert fitted.probability(np.empty((4, 0), np.int32), steps, np.array([1, 4, 1, 0], np.int32)).tolist() == [
        1,
        1,
        0,
        0,
    ]


def test_ngrams_back_off_to_the_longest_known_context():
    fitted = NGram(order=4, smoothing=0).fit(made(["abc", "abd", "cbd", "xabe"]))
    codes = {item: code for code, item in enumerate("abcdex")}

    def row(text):
        items = np.array([codes[item] for item in text], np.int32)
        found = fitted.next_probabilities(Histories(np.array([0, items.size]), items))[0]
        return {
            item: probability
            for item, probability in zip("abcdex", found.round(3).tolist(), strict=True)
            if probability
        }

    assert row("b") == {"c": 0.25, "d": 0.5, "e": 0.25}
    assert row("ab") == {"c": 0.333, "d": 0.333, "e": 0.333}
    assert row("xab") == {"e": 1.0}
    assert row("cab") == row("ab")
    assert row("db") == row("b")
    assert row("cb") == {"d": 1.0}
    assert row("e") == dict.fromkeys("abcdex", 0.167)
    assert row("") == row("e")


def test_a_log_model_is_fitted_on_sequences_as_a_log():
    sequences = made()
    log = sequences_as_log(sequences)
    assert Histories.of(log).rows() == sequences.histories.rows()
    assert log.item_vocabulary is sequences.item_vocabulary
    markov = fitted_on_sequences(models.Markov(smoothing=0), sequences)
    assert markov.next_probabilities(after("d"))[0] == pytest.approx([1 / 3, 0, 0, 1 / 3, 1 / 3])


def test_the_crf_learns_transitions_and_gives_unseen_labels_probability_zero(fold):
    rows = [[(start + step) % 6 for step in range(5)] for start in [0, 1, 2, 3, 4, 5] * 5]
    frame = pl.DataFrame([(s, i) for s, row in enumerate(rows) for i in row], ["sequence_id", "item_id"], orient="row")
    sequences = Sequences.from_frame(frame)
    fitted = CRF().fit(sequences)
    histories = Histories(np.arange(0, 14, 2), np.array([[i, (i + 1) % 6] for i in range(6)], np.int32).ravel())
    assert fitted.next_probabilities(histories).argmax(axis=1).tolist() == [2, 3, 4, 5, 0, 1]
    shuffled = CRF().fit(sequences.take(np.random.default_rng(1).permutation(len(sequences))))
    assert (shuffled.next_probabilities(histories) == fitted.next_probabilities(histories)).all()
    never = CRF().fit(fold.train).next_probabilities(after("a"))[0]
    assert never[[0, 4]].tolist() == [0, 0]
    mixed = CRF(mix_uniform=0.1).fit(fold.train).next_probabilities(after("a"))[0]
    assert mixed == pytest.approx(0.9 * never + 0.02)


@pytest.mark.parametrize("iterations", [2, 100])
def test_the_crf_equals_the_tagger_of_crfsuite(iterations, monkeypatch, tmp_path):
    """Items 8 and 9 are in no training sequence; item 7 only comes first."""
    rng = np.random.default_rng(0)
    rows = [[rng.integers(8), *rng.integers(7, size=rng.integers(1, 6))] for _ in range(60)]
    frame = pl.DataFrame(
        [(s, i) for s, row in enumerate([*rows, [8, 9]]) for i in row], ["sequence_id", "item_id"], orient="row"
    )
    read = special._read
    monkeypatch.setattr(
        special, "_read", lambda path, *more: (shutil.copy(path, tmp_path / "kept"), read(path, *more))[1]
    )
    fitted = CRF(iterations=iterations).fit(Sequences.from_frame(frame).take(np.arange(60)))
    lengths = rng.integers(1, 9, size=700)
    histories = Histories(np.append(0, lengths.cumsum()), rng.integers(10, size=lengths.sum()).astype(np.int32))
    predicted = fitted.next_probabilities(histories)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "kept"))
    for row, found in zip(histories.rows(), predicted, strict=True):
        tagger.set([[str(item)] for item in row])
        expected = [tagger.marginal(str(item), len(row) - 1) if item < 7 else 0 for item in range(10)]
        assert found == pytest.approx(expected, rel=1e-9)
    assert (fitted.next_probabilities(histories.take(np.arange(256, 512))) == predicted[256:512]).all()


def test_a_crf_with_too_many_items_is_an_error(fold):
    with refused("U171", match="50 weights for 5 items, but at most 4 items are allowed"):
        CRF(most_items=4).fit(fold.train)


@pytest.mark.parametrize(
    "make",
    [lambda: NGram(order=1), lambda: NGram(smoothing=-1), lambda: Unigram(smoothing=-0.5), lambda: CRF(c2=-1),
     lambda: CRF(mix_uniform=1), lambda: CRF(iterations=0)],
)  # fmt: skip
def test_parameters_out_of_range_are_an_error(make):
    with pytest.raises(UsageError, match="U102"):
        make()
