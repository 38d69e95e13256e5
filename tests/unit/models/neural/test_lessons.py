"""What networks learn from: every window, every place, and items that a user never had."""

import itertools

import numpy as np
import polars as pl
import pytest

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.data.synthetic import log
from recassay.models import GRU, BERT4Rec, SASRec
from recassay.models.neural.lessons import Strangers, Windows, deal
from recassay.rng import derive

LOG = log(users=60, items=40, events=700, seed=3)
HISTORIES = Histories.of(LOG)


class Lots:
    """A generator that draws what it is told."""

    def __init__(self, lots):
        self.lots = np.array(lots)

    def random(self, size):
        return self.lots.reshape(size)


def test_strangers_are_each_item_a_user_lacks_once():
    strangers = Strangers(LOG)
    for user in range(LOG.n_users):
        lacking = sorted({*range(LOG.n_items)} - {*LOG.items[LOG.users == user]})
        lots = (np.arange(len(lacking)) + 0.5) / len(lacking)
        drawn = strangers.draw(np.full(len(lacking), user), Lots(lots))
        assert drawn.tolist() == lacking


def test_who_had_everything_has_no_strangers_and_learns_from_none():
    made = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 2, 2], "item_id": [0, 1, 0, 1, 2]}))
    assert Strangers(made).draw(np.array([1, 1]), derive(0, "x")).tolist() == [3, 3]


@pytest.mark.parametrize("length", [2, 3, 7, 50])
def test_windows_ask_for_every_item_once(length):
    """But for first items; or for the last ``length`` of each history."""
    for kept in ("all", "last"):
        model = GRU(length=length, windows=kept)
        windows = model.cut(HISTORIES)
        read = windows.excerpts(np.arange(len(windows)), pad=99)
        lesson = model.lesson(read, Strangers(LOG), derive(0, "x"))
        most = (1 << 30) if kept == "all" else length
        counts = np.minimum(HISTORIES.lengths - 1, most)
        users = read.users[lesson.places // lesson.tokens.shape[1]]
        assert np.bincount(users, minlength=LOG.n_users).tolist() == counts.tolist()
        assert model.questions(windows.lengths, read.reading).sum() == lesson.places.size == counts.sum()
        before = lesson.tokens.ravel()[lesson.places]
        rows = HISTORIES.rows()
        pairs = {(u, a, b) for u, row in enumerate(rows) for a, b in itertools.pairwise(row)}
        assert {*zip(users.tolist(), before.tolist(), lesson.targets.tolist(), strict=True)} <= pairs
        assert (lesson.tokens[np.arange(lesson.tokens.shape[1]) >= read.lengths[:, None]] == 99).all()
        assert lesson.lengths.max() <= length


def test_histories_of_one_item_teach_nothing():
    windows = Windows.cut(Histories(np.array([0, 1, 1, 3]), np.array([5, 6, 7], np.int32)), 3, 2)
    assert (windows.users.tolist(), windows.lengths.tolist()) == ([2], [2])


def test_deals_hold_every_window_once_and_like_lengths_together():
    lengths = derive(1, "lengths").integers(2, 90, 1_000)
    batches = [*deal(lengths, 32, derive(0, "deal"))]
    assert sorted(np.concatenate(batches).tolist()) == [*range(1_000)]
    assert sorted(batch.size for batch in batches) == [8] + [32] * 31
    assert np.mean([np.ptp(lengths[batch]) for batch in batches]) < 15  # by chance it would be about 80
    again = [*deal(lengths, 32, derive(0, "deal"))]
    assert all(np.array_equal(one, other) for one, other in zip(batches, again, strict=True))


def test_pairs_of_sasrec_hold_what_came_and_what_never_did():
    model = SASRec(length=5)
    windows = model.cut(HISTORIES)
    read = windows.excerpts(np.arange(len(windows)), pad=40)
    lesson = model.lesson(read, Strangers(LOG), derive(0, "x"))
    users = read.users[lesson.places // lesson.tokens.shape[1]]
    had = {(u, i) for u, row in enumerate(HISTORIES.rows()) for i in row}
    assert {*zip(users.tolist(), lesson.targets.tolist(), strict=True)} <= had
    assert not {*zip(users.tolist(), lesson.others.tolist(), strict=True)} & had


def test_masks_of_bert4rec():
    model = BERT4Rec(length=10, mask=0.4, predictions=3, copies=2)
    windows = model.cut(HISTORIES)
    assert (windows.lengths <= 10).all()
    which = np.arange(3 * len(windows))
    read = windows.excerpts(which, pad=40)
    assert read.reading.tolist() == [0] * len(windows) + [1] * len(windows) + [2] * len(windows)
    lesson = model.lesson(read, Strangers(LOG), derive(0, "x"))
    n, t = lesson.tokens.shape
    masked = np.zeros(n * t, bool)
    masked[lesson.places] = True
    masked = masked.reshape(n, t)
    assert (lesson.tokens[masked] == 40).all()
    assert (read.tokens[masked] == lesson.targets).all()
    assert (lesson.tokens[~masked] == read.tokens[~masked]).all()
    counts = masked.sum(axis=1)
    for length, reading, row, many in zip(read.lengths, read.reading, masked, counts, strict=True):
        assert not row[length:].any()
        assert many == (1 if reading == 2 else max(1, min(3, round(0.4 * length))))
        assert reading < 2 or row[length - 1]
    assert counts.tolist() == model.questions(read.lengths, read.reading).tolist()
    # chance masks every place of the windows of ten about as often
    whole = (read.lengths == 10) & (read.reading < 2)
    assert masked[whole].mean() == pytest.approx(0.3)
    assert (masked[whole].sum(axis=0) > 0.1 * whole.sum()).all()


def test_the_rate_of_bert4rec_grows_over_the_first_steps():
    model = BERT4Rec(rate=0.5, warmup=4)
    assert [model.rate_at(step) for step in (1, 2, 4, 5, 900)] == [0.125, 0.25, 0.5, 0.5, 0.5]
    assert BERT4Rec(rate=0.5, warmup=0).rate_at(1) == 0.5
    assert SASRec(rate=0.5).rate_at(1) == 0.5
