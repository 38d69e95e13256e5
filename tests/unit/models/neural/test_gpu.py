"""Networks train on a GPU and predict what they predict on a processor; skipped where PyTorch finds no GPU."""

import numpy as np
import pytest

from recassay.data.sequences import Histories
from recassay.data.synthetic import log
from recassay.errors import UsageError
from recassay.models import GRU, NARM, BERT4Rec, SASRec
from recassay.models.base.capabilities import Training
from recassay.models.neural.base import FittedNeural

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU")

SMALL = {"dim": 16, "length": 6, "epochs": 4, "batch": 64, "dropout": 0.0}
LOG = log(users=200, items=60, events=3_000, seed=4)


@pytest.mark.parametrize("loss", ["softmax", "sampled", "gbce", "binary"])
@pytest.mark.parametrize("kind", [GRU, NARM, SASRec, BERT4Rec], ids=lambda kind: kind.name)
def test_a_network_learns_on_a_gpu_and_predicts_what_it_predicts_on_a_processor(kind, loss):
    fitted = kind(**SMALL, loss=loss, device="cuda").fit(LOG)
    losses = [loss for loss, _ in fitted.epoch_results]
    assert losses[-1] < losses[0]
    histories = Histories.of(LOG)
    there = fitted.next_scores(histories)
    here = FittedNeural(LOG, kind(**SMALL, loss=loss, device="cpu"), fitted.weights).next_scores(histories)
    # a GPU's recurrent kernels round factors to ten bits (TF32), as PyTorch lets them
    assert np.abs(there - here).max() <= (1e-3 if kind in (GRU, NARM) else 1e-5) * np.abs(here).max()


def test_a_training_on_a_gpu_resumes_from_its_checkpoint(tmp_path):
    model, path = GRU(**SMALL, device="cuda"), tmp_path / "gru.checkpoint"
    model.fit(LOG, training=Training(checkpoint=path, max_epochs=2))
    lines = []
    fitted = model.fit(LOG, training=Training(checkpoint=path, listener=lambda text, *_: lines.append(text)))
    assert [line.partition(":")[0] for line in lines] == ["epoch 3", "epoch 4"]
    assert len(fitted.epoch_results) == 4


def test_too_little_memory_of_a_gpu_is_a_coded_error():
    free, _ = torch.cuda.mem_get_info()
    torch.cuda.set_per_process_memory_fraction(64 * 2**20 / free)
    try:
        with pytest.raises(UsageError, match="U143"):
            SASRec(dim=2048, length=500, batch=512, epochs=1, device="cuda").fit(
                log(users=600, items=5_000, events=9_000, seed=1)
            )
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
