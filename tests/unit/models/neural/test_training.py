"""How networks are trained: stopped and gone on with, the same on any number of threads, and refused where it fails."""

import numpy as np
import polars as pl
import pytest

from recassay.data.interactions import Interactions
from recassay.errors import InputError, RecassayError, UsageError
from recassay.models import GRU, NARM, BERT4Rec, SASRec
from recassay.models.training import Training

SMALL = {"dim": 8, "length": 6, "batch": 16, "epochs": 3, "rate": 0.01, "dropout": 0.2, "device": "cpu"}
MODELS = [
    GRU(**SMALL, hidden=8),
    NARM(**SMALL, hidden=8),
    SASRec(**SMALL),
    SASRec(**SMALL, loss="softmax", heads=2),
    BERT4Rec(**SMALL, copies=2, inner=16),
]


def cyclic(users=70, items=20, length=9):
    """Item i is followed by i + 1, and the last by the first: nothing is left to chance but where a user begins."""
    user, step = np.divmod(np.arange(users * length), length)
    frame = {"user_id": user, "item_id": (user * 7 + step) % items, "timestamp": step}
    return Interactions.from_frame(pl.DataFrame(frame))


LOG = cyclic()
TRAIN, VALIDATION = LOG.take(LOG.timestamps.to_numpy() < 8), LOG.take(LOG.timestamps.to_numpy() == 8)


def same(one, other):
    assert one.course == other.course
    assert one.weights.keys() == other.weights.keys()
    for name, weights in one.weights.items():
        assert weights.tobytes() == other.weights[name].tobytes(), name


class StopError(Exception):
    pass


def stop_after(epochs):
    def listener(text, done, of):
        assert text.startswith(f"epoch {done}: loss ")
        if done == epochs:
            raise StopError

    return listener


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_training_that_was_stopped_ends_with_the_same_bits(model, tmp_path):
    path = tmp_path / "checkpoint"
    whole = model.fit(TRAIN, training=Training(VALIDATION))
    for epoch in (1, 2):
        with pytest.raises(StopError):
            model.fit(TRAIN, training=Training(VALIDATION, path, stop_after(epoch)))
    same(model.fit(TRAIN, training=Training(VALIDATION, path)), whole)
    same(model.fit(TRAIN, training=Training(VALIDATION, path, stop_after(1))), whole)  # nothing is left to do


def test_a_checkpoint_of_another_training_is_refused_with_what_differs(tmp_path):
    path = tmp_path / "checkpoint"
    MODELS[0].fit(TRAIN, training=Training(VALIDATION, path, most=1))
    for model, training, words in (
        (GRU(**{**SMALL, "dim": 9}, hidden=8), Training(VALIDATION, path), "dim is 8 in it and 9 here"),
        (SASRec(**SMALL), Training(VALIDATION, path), "model is 'GRU' in it and 'SASRec' here"),
        (MODELS[0], Training(None, path), "validation is '70 events .* in it and 'none' here"),
    ):
        with pytest.raises(UsageError, match=words) as caught:
            model.fit(TRAIN, training=training)
        assert caught.value.code == "U141"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match="delete it") as caught:
        MODELS[0].fit(TRAIN, training=Training(VALIDATION, path))
    assert caught.value.code == "I104"


def refused(code, words, make):
    with pytest.raises(RecassayError, match=words) as caught:
        make()
    assert caught.value.code == code


def test_what_cannot_be_learnt_from_is_refused():
    first = LOG.take(LOG.timestamps.to_numpy() == 0)
    refused("I321", "none of 70 users", lambda: MODELS[0].fit(first))
    fitted, other = MODELS[0].fit(TRAIN), cyclic(items=21)
    refused("I322", "has 21 items", lambda: fitted.told(other))
    refused("I322", "has 21 items", lambda: MODELS[0].fit(TRAIN, training=Training(other)))
    refused("I322", "has 71 users", lambda: MODELS[0].fit(TRAIN, training=Training(cyclic(users=71))))


def test_a_training_that_fails_says_what_to_change():
    refused("U142", "smaller rate than 1e.30", lambda: SASRec(rate=1e30, device="cpu").fit(TRAIN))
    refused("U143", "a smaller batch", lambda: GRU(dim=10**14, device="cpu").fit(TRAIN))
