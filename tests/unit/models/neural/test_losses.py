"""Losses of networks: values by hand, gradients against PyTorch's and the full softmax, and the memory they take."""

import math
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from recassay.data.interactions import Interactions
from recassay.models import GRU, NARM, BERT4Rec, SASRec
from recassay.models.neural import losses
from recassay.models.neural.batches import CandidateSampler
from recassay.rng import derive

from ....refusals import refused

torch = pytest.importorskip("torch")

TARGETS = torch.tensor([0, 8, 3, 3, 1, 2, 0])
FREQUENT = Interactions.from_frame(
    pl.DataFrame({"user_id": [*range(100)] + [0] * 8, "item_id": [*([0] * 60 + [1] * 25 + [2] * 15), *range(1, 9)]})
)


def tables(items=9):
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(n, 4, generator=generator, dtype=torch.float64, requires_grad=True) for n in (7, items)]


def candidates(items, counts=None):
    counts = [1.0] * len(items) if counts is None else counts
    return torch.tensor(items), torch.tensor(counts, dtype=torch.float64)


def gradients(loss, *leaves):
    return [one.to_dense() for one in torch.autograd.grad(loss, leaves)]


@pytest.fixture(params=[1, 20, 1 << 20])
def block(request, monkeypatch):
    """Run a test with blocks of one state, of a few and of all."""
    monkeypatch.setattr(losses, "SCORES_PER_BLOCK", request.param)


@pytest.mark.usefixtures("block")
@pytest.mark.usefixtures("block")
def test_the_blockwise_softmax_loss_equals_that_of_pytorch():
    states, items = tables()
    ours = losses.softmax_loss(2 * states, items, TARGETS)
    theirs = torch.nn.functional.cross_entropy(2 * states @ items.T, TARGETS, reduction="sum")
    assert torch.isclose(ours, theirs, rtol=1e-12)
    for mine, wanted in zip(*(gradients(one, states, items) for one in (ours, theirs)), strict=True):
        assert torch.allclose(mine, wanted, atol=1e-12)


@pytest.mark.usefixtures("block")
@pytest.mark.usefixtures("block")
def test_the_sampled_softmax_of_all_items_equals_the_full_softmax():
    states, items = tables()
    ours = losses.sampled_softmax_loss(states, items, TARGETS, *candidates(range(9)))
    full = losses.softmax_loss(states, items, TARGETS)
    assert torch.isclose(ours, full, rtol=1e-12)
    for mine, wanted in zip(*(gradients(one, states, items) for one in (ours, full)), strict=True):
        assert torch.allclose(mine, wanted, atol=1e-12)


@pytest.mark.usefixtures("block")
def test_the_sampled_softmax_equals_a_value_by_hand():
    """The target scores 1; items score 0 (counts 1/2) and -1 (counts 2); the target among candidates is ignored."""
    states, items = torch.tensor([[1.0]]), torch.tensor([[1.0], [0.0], [-1.0], [5.0]])
    loss = losses.sampled_softmax_loss(states, items, torch.tensor([0]), *candidates([0, 1, 2], [7.0, 0.5, 2.0]))
    assert math.isclose(loss.item(), -math.log(math.e / (math.e + 0.5 + 2 * math.exp(-1))), rel_tol=1e-6)


def test_candidates_are_drawn_as_often_as_expected():
    for uniform in (False, True):
        sampler, rng, drawn = CandidateSampler(FREQUENT, 5, uniform=uniform), derive(3, "often"), np.zeros(9)
        for _ in range(2_000):
            items, weights = sampler.draw(rng)
            times = weights if uniform else weights * sampler.expected[items]
            assert times.sum() == pytest.approx(5)
            drawn[items] += times
        assert sampler.expected.sum() == pytest.approx(5)
        assert np.allclose(drawn / 2_000, sampler.expected, atol=0.06)
    assert CandidateSampler(FREQUENT, 9, uniform=False).draw(rng)[0].tolist() == [*range(9)]


@pytest.mark.usefixtures("block")
def test_gbce_without_calibration_equals_binary_cross_entropy():
    states, items = tables()
    some = [4, 5, 6, 7]  # never targets
    beta = losses.gbce_exponent(4, 9, 0.0)
    ours = losses.gbce_loss(states, items, TARGETS, *candidates(some), beta)
    scores = torch.cat([(states * items[TARGETS]).sum(1, keepdim=True), states @ items[some].T], 1)
    truth = torch.tensor([1.0, 0, 0, 0, 0], dtype=torch.float64).expand_as(scores)
    theirs = torch.nn.functional.binary_cross_entropy_with_logits(scores, truth, reduction="sum")
    assert torch.isclose(ours, theirs, rtol=1e-12)
    for mine, wanted in zip(*(gradients(one, states, items) for one in (ours, theirs)), strict=True):
        assert torch.allclose(mine, wanted, atol=1e-12)
    one = losses.gbce_loss(states, items, TARGETS, *candidates([4]), 1.0)
    assert torch.isclose(one, losses.binary_loss(states, items, TARGETS, torch.full_like(TARGETS, 4), 9), rtol=1e-12)


@pytest.mark.usefixtures("block")
def test_gbce_equals_a_value_by_hand():
    """With 2 negatives of 5 items, alpha is 1/2, and t = 1/2 gives beta = 3/4; a target among candidates is ignored."""
    states, items = torch.tensor([[1.0]]), torch.tensor([[1.0], [0.0], [-2.0], [0.0], [0.0]])
    beta = losses.gbce_exponent(2, 5, 0.5)
    assert beta == 0.75
    loss = losses.gbce_loss(states, items, torch.tensor([0]), *candidates([1, 2]), beta)
    wanted = 0.75 * math.log(1 + math.exp(-1)) + math.log(2) + math.log(1 + math.exp(-2))
    assert math.isclose(loss.item(), wanted, rel_tol=1e-6)
    again = losses.gbce_loss(states, items, torch.tensor([0]), *candidates([0, 1]), 1.0)
    assert math.isclose(again.item(), math.log(1 + math.exp(-1)) + math.log(2), rel_tol=1e-6)


def test_the_binary_loss_equals_a_value_by_hand():
    """Targets score 1, 2 and 1, negatives 0 and -2; the last negative is none, and its row gets no gradient."""
    rows = torch.tensor([[1.0], [0.0], [-1.0], [7.0]], requires_grad=True)
    states = torch.tensor([[1.0], [2.0], [1.0]])
    right, other = torch.tensor([0, 0, 0]), torch.tensor([1, 2, 3])
    loss = losses.binary_loss(states, rows, right, other, 3)
    wanted = [math.log(1 + math.exp(-high)) + math.log(1 + math.exp(low)) for high, low in ((1, 0), (2, -2), (1, 0))]
    assert math.isclose(loss.item(), sum(wanted), rel_tol=1e-6)
    loss.backward()
    gradient = rows.grad.to_dense()
    assert gradient[3] == 0
    assert math.isclose(gradient[1].item(), 0.5)


def test_auto_is_softmax_for_small_catalogues_and_sampled_for_large_ones():
    for model in (GRU(), NARM(), SASRec(), BERT4Rec()):
        assert (model.loss_for(5_000), model.loss_for(5_001)) == ("softmax", "sampled")
    assert SASRec.preset("authors").loss_for(10) == "binary"
    assert {SASRec.preset(name).loss for name in SASRec.presets} == {"binary"}
    for model in (GRU, NARM, BERT4Rec):
        assert {model.preset(name).loss for name in model.presets} == {"softmax"}


@pytest.mark.parametrize("bad", [{"calibration": 1.5}, {"negatives": 0}, {"warmup": -1}])
def test_parameters_out_of_range_are_errors(bad):
    with refused("U102", match=next(iter(bad))):
        SASRec(**bad)


MEMORY = """
import resource, torch
from recassay.models.neural import losses
states, items = torch.randn(4000, 8, requires_grad=True), torch.randn(60000, 8, requires_grad=True)
targets = torch.randint(60000, (4000,))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
losses.softmax_loss(states, items, targets).backward()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_the_softmax_of_a_large_catalogue_keeps_no_matrix_of_scores():
    """All scores would take 4,000 x 60,000 x 4 bytes, 915 MB."""
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 200
