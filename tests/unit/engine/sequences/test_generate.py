"""Generation: equality with the plain loop, ways to generate, determinism, custom systems, and refused input."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.sequences import Histories, SequenceFold, Sequences
from recassay.data.synthetic import log
from recassay.engine.sequences import predictors
from recassay.engine.sequences.generate import uniform_draws
from recassay.models.sequence import MostPopular, NGram, Uniform, Unigram
from recassay.protocols import sequence
from recassay.rng import derive

from ....refusals import refused

LISTS = ["ab", "acd", "cbb", "abc", "cddab", "deb"]
EVERY = [Uniform(), Unigram(), NGram(), NGram(order=3)]


@pytest.fixture(scope="module")
def example():
    """Training ab, acd, cbb; test abc, cddab, deb."""
    rows = [(number, item) for number, items in enumerate(LISTS) for item in items]
    made = Sequences.from_frame(pl.DataFrame(rows, ["sequence_id", "item_id"], orient="row"))
    return SequenceFold(made.take(np.arange(3)), made.take(np.arange(3, 6)))


@pytest.fixture(scope="module")
def fold():
    made = ra.split.sessions(gap=2e6)(log(users=120, items=40, events=1800, seed=4))
    return ra.split.random_sequences(test=0.4)(made)[0]


class Rows:
    """A fitted model with only next_probabilities, which counts its queries."""

    reads_items_only = True

    def __init__(self, fitted):
        self.fitted, self.n_queries = fitted, 0

    def next_probabilities(self, histories):
        self.n_queries += len(histories)
        return self.fitted.next_probabilities(histories)


def loop(fitted, fold, lots, how):
    """Return what generation must return, computed one sequence after the other."""
    items, chances = [], []
    for seed, own in zip(fold.test.seeds.tolist(), lots, strict=True):
        said, sure = [seed], []
        for lot in own:
            p = fitted.next_probabilities(Histories(np.array([0, len(said)]), np.array(said, np.int32)))[0]
            q = p.copy()
            if how == "sample_without_repeats":
                q[said] = 0
            item = int(p.argmax() if how == "argmax" else (q.cumsum() > lot * q.sum()).argmax())
            said.append(item)
            sure.append(p[item])
        items.append(said[1:])
        chances.append(sure)
    return np.array(items), np.array(chances)


@pytest.mark.parametrize(
    ("model", "how"),
    [
        *((model, how) for model in EVERY for how in ("sample", "argmax", "sample_without_repeats")),
        *((MostPopular(), how) for how in ("sample", "argmax")),
    ],
    ids=str,
)
def test_generation_equals_the_plain_loop_for_both_predictors(model, how, fold):
    fitted, protocol = model.fit(fold.train), sequence(k=4, how=how, seed=3)
    (short,) = ra.sequences.generate(model, fold, protocol)
    (rows,) = ra.sequences.generate(Rows(fitted), fold, protocol, name="rows")
    items, chances = loop(fitted, fold, uniform_draws(fold.test, protocol, 3), how)
    for found in (short, rows):
        assert (found.items == items).all()
        assert found.chances == pytest.approx(chances, abs=1e-12)
    assert rows.surprise == pytest.approx(short.surprise)
    assert (short.name, short.seed, short.k, rows.name) == (str(model), 3, 4, "rows")


# --- the same bits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", ["short", "rows", "network"])
@pytest.mark.parametrize("how", ["sample", "beam", "sample_without_repeats"])
def test_order_threads_and_block_sizes_change_no_bit(system, how, fold, monkeypatch):
    protocol = sequence(k=3, how=how, beam=3)
    model = {"short": NGram().fit(fold.train), "rows": Rows(NGram().fit(fold.train))}.get(system)
    if model is None:
        pytest.importorskip("torch")
        model = fitted_network(fold)
    (one,) = ra.sequences.generate(model, fold, protocol, threads=1)
    order = derive(1, "order").permutation(len(fold.test))
    shuffled = SequenceFold(fold.train, fold.test.take(order), fold.how)
    (other,) = ra.sequences.generate(model, shuffled, protocol, threads=3)
    assert (other.items == one.items[order]).all()
    assert (other.chances == one.chances[order]).all()
    assert (other.surprise == one.surprise[order]).all()
    if system != "network":  # which rounds by what it reads together
        monkeypatch.setattr(predictors, "NUMBERS", 100)
        monkeypatch.setattr(predictors, "HISTORIES", 7)
        (blocks,) = ra.sequences.generate(model, fold, protocol, threads=3)
        assert (blocks.items == one.items).all()
        assert (blocks.chances == one.chances).all()


_networks = {}


def fitted_network(fold):
    """A small network, fitted once."""
    if fold.fingerprint not in _networks:
        small = ra.models.GRU.preset("sequeval", dim=8, hidden=8, epochs=2, device="cpu")
        _networks[fold.fingerprint] = ra.models.sequence.base.fitted_on_sequences(small, fold.train)
    return _networks[fold.fingerprint]


def test_seeds_give_different_sequences_and_one_seed_always_the_same(fold):
    one, two = ra.sequences.generate(NGram(), fold, sequence(seed=5, seeds=2))
    (again,) = ra.sequences.generate(NGram(), fold, sequence(seed=6))
    assert (one.seed, two.seed) == (5, 6)
    assert (two.items == again.items).all()
    assert (one.items != two.items).any()
    assert (one.surprise == two.surprise).all()


def test_sequences_that_begin_alike_differ_unless_cached_by_seed():
    frame = pl.DataFrame({"sequence_id": [*range(40)] * 2, "user_id": [1] * 80, "item_id": [0] * 40 + [*range(40)]})
    made = Sequences.from_frame(frame)
    fold = SequenceFold(made, made)
    (apart,) = ra.sequences.generate(Uniform(), fold, sequence(k=3))
    assert len({*map(tuple, apart.items.tolist())}) > 30
    (shared,) = ra.sequences.generate(Uniform(), fold, sequence(k=3, cache_by_seed=True))
    assert len({*map(tuple, shared.items.tolist())}) == 1
    timed = Sequences.from_frame(frame.with_columns(timestamp=pl.Series([*range(40), *range(100, 140)])))
    (later,) = ra.sequences.generate(Uniform(), SequenceFold(timed, timed), sequence(k=3, cache_by_seed=True))
    assert len({*map(tuple, later.items.tolist())}) > 30


# --- ways to generate -------------------------------------------------------------------------------------------------


def test_sampling_without_repeats_never_repeats_and_ends_when_no_item_is_left(example):
    (made,) = ra.sequences.generate(NGram(), example, sequence(k=4, how="sample_without_repeats"))
    for seed, row in zip(example.test.seeds.tolist(), made.items.tolist(), strict=True):
        assert len({seed, *row}) == 5
    plain = NGram(smoothing=0)
    with refused("U172", match=r"gives all remaining items probability 0 for"):
        ra.sequences.generate(plain, example, sequence(k=4, how="sample_without_repeats"))
    with pytest.raises(ra.UsageError, match=r"k=5 distinct items.*\n.*\n.*k of at most 4"):
        ra.sequences.generate(plain, example, sequence(k=5, how="sample_without_repeats"))
    (short,) = ra.sequences.generate(plain, example, sequence(k=5, how="sample_without_repeats", allow_short=True))
    assert (short.lengths < 5).all()
    assert (np.isnan(short.chances) == (short.items == -1)).all()
    with refused("U172", match="k=6 distinct items are impossible"):
        ra.sequences.generate(NGram(), example, sequence(k=6, how="sample_without_repeats", allow_short=True))
    with pytest.raises(ra.UsageError, match="U172"):
        ra.sequences.generate(MostPopular(), example, sequence(k=6))


def test_a_custom_generator_replaces_the_protocol(example):
    def rising(fitted, histories, k, lots):
        assert lots.shape == (3, k)
        return (histories.items[:, None] + 1 + np.arange(k)) % 5

    (made,) = ra.sequences.generate(Unigram(), example, sequence(k=3), generator=rising)
    assert made.items.tolist() == [[1, 2, 3], [3, 4, 0], [4, 0, 1]]
    assert made.chances[0] == pytest.approx(np.array([4, 3, 2]) / 13)
    (blind,) = ra.sequences.generate(SimpleNamespace(), example, sequence(k=3), generator=rising, name="blind")
    assert (blind.items == made.items).all()
    assert np.isnan(blind.chances).all()
    assert np.isnan(blind.surprise).all()
    (short,) = ra.sequences.generate(Unigram(), example, sequence(k=2), generator=lambda *args: np.array([[1, -1]] * 3))
    assert np.isnan(short.chances[:, 1]).all()
    assert short.lengths.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "items", [np.zeros((3, 1), int), np.zeros((3, 2)), np.full((3, 2), 5), np.array([[-1, 0]] * 3), np.full((3, 2), -2)]
)
def test_a_generator_that_returns_no_table_of_items_is_refused(items, example):
    with pytest.raises(ra.InputError, match="I354"):
        ra.sequences.generate(Unigram(), example, sequence(k=2), generator=lambda *args: items)


def test_models_for_logs_are_fitted_on_a_log_with_a_user_per_sequence(fold):
    (made,) = ra.sequences.generate(ra.models.Markov(smoothing=1), fold, sequence(k=2))
    assert made.name == "Markov"
    assert np.isfinite(made.surprise).all()
    pytest.importorskip("torch")
    (made,) = ra.sequences.generate(fitted_network(fold), fold, sequence(k=2), name="rnn")
    assert ((made.chances > 0) & (made.chances < 1)).all()


def test_equal_histories_are_queried_once(fold):
    rows = Rows(Unigram().fit(fold.train))
    transitions = int((fold.test.lengths - 1).sum())
    ra.sequences.generate(rows, fold, sequence(k=1), name="mine")
    assert rows.n_queries == transitions + np.unique(fold.test.seeds).size


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ([0.5, 0.5, 0.1, 0, 0], r"sum to 1\.1"),
        ([0.5, 0.6, -0.1, 0, 0], r"one is -0\.1"),
        ([0.5, np.nan, 0.5, 0, 0], "one is NaN"),
        ([0.5, 0.5], r"shape \(4, 2\) for 4 histories and 5 items"),
        ([0.5, 0.5, 0.00001, 0, 0], "sum to"),
        (list("aaaaa"), "no table of numbers"),
    ],
)
def test_invalid_probabilities_are_refused_with_model_and_history(row, why, example):
    mine = SimpleNamespace(next_probabilities=lambda histories: np.tile(row, (len(histories), 1)))
    with refused("I354", match=why) as caught:
        ra.sequences.generate(mine, SequenceFold(example.train, example.test.take(np.array([0, 2]))), name="mine")
    assert "mine" in caught.value.what


def test_the_error_shows_the_ids_of_the_history(example):
    def wrong(histories):
        table = np.full((len(histories), 5), 0.2)
        table[(histories.lengths == 2) & (histories.items[histories.offsets[:-1]] == 3)] = 1
        return table

    with pytest.raises(
        ra.InputError, match=r"mine gave no probabilities in 1 of 8 rows .* after \['d', 'e'\] they sum to 5"
    ):
        ra.sequences.generate(SimpleNamespace(next_probabilities=wrong), example, name="mine")


def test_a_deviation_of_a_millionth_is_accepted(example):
    mine = SimpleNamespace(next_probabilities=lambda histories: np.full((len(histories), 5), 0.2 + 1.5e-7))
    (made,) = ra.sequences.generate(mine, example, sequence(k=2), name="mine")
    assert (made.items >= 0).all()


def test_a_system_without_probabilities_needs_a_generator(example):
    with refused("U173", match="next_probabilities"):
        ra.sequences.generate(ra.models.Popular(), example)


def test_a_fold_without_test_sequences_is_refused(example):
    with pytest.raises(ra.InputError, match="I351"):
        ra.sequences.generate(Uniform(), SequenceFold(example.train, example.test.take(np.arange(0))))


@pytest.mark.parametrize("parameter", ["k", "beam", "seeds"])
def test_parameters_that_count_must_be_positive_whole_numbers(parameter):
    with pytest.raises(ra.UsageError, match="U102"):
        sequence(**{parameter: 0})


def test_progress_counts_every_test_sequence(fold):
    heard = []
    ra.sequences.generate(Uniform(), fold, sequence(seeds=2), progress=heard.append)
    assert heard == [len(fold.test)] * 2
