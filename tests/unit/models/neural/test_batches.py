"""Training batches of networks: windows, targets and negative samples."""

import itertools

import numpy as np
import polars as pl
import pytest

from recassay.data.interactions import Interactions
from recassay.data.sequences import Histories
from recassay.data.synthetic import log
from recassay.models import GRU, BERT4Rec, SASRec
from recassay.models.neural.base import last_items
from recassay.models.neural.batches import NegativeSampler, cut_windows, shuffled_batches
from recassay.rng import derive

LOG = log(users=60, items=40, events=700, seed=3)
HISTORIES = Histories.of(LOG)


class FixedGenerator:
    """A random generator that returns given numbers."""

    def __init__(self, numbers):
        self.numbers = np.array(numbers)

    def random(self, size):
        return self.numbers.reshape(size)


def test_the_negative_sampler_can_draw_every_item_a_user_lacks():
    sampler = NegativeSampler(LOG)
    for user in range(LOG.n_users):
        lacking = sorted({*range(LOG.n_items)} - {*LOG.items[LOG.users == user]})
        numbers = (np.arange(len(lacking)) + 0.5) / len(lacking)
        drawn = sampler.draw(np.full(len(lacking), user), FixedGenerator(numbers))
        assert drawn.tolist() == lacking


def test_a_user_who_had_all_items_gets_the_padding_code_as_negative():
    made = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 2, 2], "item_id": [0, 1, 0, 1, 2]}))
    assert NegativeSampler(made).draw(np.array([1, 1]), derive(0, "x")).tolist() == [3, 3]


@pytest.mark.parametrize("length", [2, 3, 7, 50])
def test_windows_predict_every_item_after_the_first_once(length):
    """With ``windows="last"`` only the last ``length`` items of each history are targets."""
    for kept in ("all", "last"):
        model = GRU(length=length, windows=kept)
        windows = model.windows_of(HISTORIES)
        padded, passes = last_items(windows, 99, 99, least=1), np.zeros(len(windows), int)
        tokens, lengths, places, targets = model.training_batch(*padded, passes, 40, derive(0, "x"))
        most = (1 << 30) if kept == "all" else length
        counts = np.minimum(HISTORIES.lengths - 1, most)
        users = windows.users[places // tokens.shape[1]]
        assert np.bincount(users, minlength=LOG.n_users).tolist() == counts.tolist()
        assert model.n_targets(windows.lengths, passes).sum() == places.size == counts.sum()
        before = tokens.ravel()[places]
        rows = HISTORIES.rows()
        pairs = {(u, a, b) for u, row in enumerate(rows) for a, b in itertools.pairwise(row)}
        assert {*zip(users.tolist(), before.tolist(), targets.tolist(), strict=True)} <= pairs
        assert (tokens[np.arange(tokens.shape[1]) >= windows.lengths[:, None]] == 99).all()
        assert lengths.max() <= length


def test_histories_of_one_item_give_no_window():
    windows = cut_windows(Histories(np.array([0, 1, 1, 3]), np.array([5, 6, 7], np.int32)), 3, 2)
    assert (windows.users.tolist(), windows.lengths.tolist()) == ([2], [2])


def test_batches_contain_every_window_once_with_similar_lengths():
    lengths = derive(1, "lengths").integers(2, 90, 1_000)
    batches = [*shuffled_batches(lengths, 32, derive(0, "deal"))]
    assert sorted(np.concatenate(batches).tolist()) == [*range(1_000)]
    assert sorted(batch.size for batch in batches) == [8] + [32] * 31
    assert np.mean([np.ptp(lengths[batch]) for batch in batches]) < 15  # random batches would have about 80
    again = [*shuffled_batches(lengths, 32, derive(0, "deal"))]
    assert all(np.array_equal(one, other) for one, other in zip(batches, again, strict=True))


def test_targets_are_items_the_user_had_and_negatives_items_the_user_never_had():
    model = SASRec(length=5)
    windows = model.windows_of(HISTORIES)
    padded, passes = last_items(windows, 6, 40, least=1), np.zeros(len(windows), int)
    tokens, _, places, targets = model.training_batch(*padded, passes, 40, derive(0, "x"))
    users = windows.users[places // tokens.shape[1]]
    had = {(u, i) for u, row in enumerate(HISTORIES.rows()) for i in row}
    assert {*zip(users.tolist(), targets.tolist(), strict=True)} <= had
    negatives = NegativeSampler(LOG).draw(users, derive(0, "x"))
    assert not {*zip(users.tolist(), negatives.tolist(), strict=True)} & had


def test_bert4rec_masks_random_items_and_once_the_last_item():
    model = BERT4Rec(length=10, mask=0.4, predictions=3, copies=2)
    windows = model.windows_of(HISTORIES)
    assert (windows.lengths <= 10).all()
    passes, number = np.divmod(np.arange(3 * len(windows)), len(windows))
    padded, lengths = last_items(windows.take(number), 10, 40, least=1)
    tokens, _, places, targets = model.training_batch(padded, lengths, passes, 40, derive(0, "x"))
    n, t = tokens.shape
    masked = np.zeros(n * t, bool)
    masked[places] = True
    masked = masked.reshape(n, t)
    assert (tokens[masked] == 40).all()
    assert (padded[masked] == targets).all()
    assert (tokens[~masked] == padded[~masked]).all()
    counts = masked.sum(axis=1)
    for length, pass_number, row, n_masked in zip(lengths, passes, masked, counts, strict=True):
        assert not row[length:].any()
        assert n_masked == (1 if pass_number == 2 else max(1, min(3, round(0.4 * length))))
        assert pass_number < 2 or row[length - 1]
    assert counts.tolist() == model.n_targets(lengths, passes).tolist()
    # random masks hit every place of the windows of ten about equally often
    full = (lengths == 10) & (passes < 2)
    assert masked[full].mean() == pytest.approx(0.3)
    assert (masked[full].sum(axis=0) > 0.1 * full.sum()).all()
