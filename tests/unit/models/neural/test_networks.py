"""The networks compute what their formulas say, place by place in NumPy, and learn by the gradients of their losses."""

import numpy as np
import pytest
from scipy.special import erf

from recassay.data.histories import Histories
from recassay.models import GRU, NARM, BERT4Rec, SASRec
from recassay.models.neural import layers, narm
from recassay.models.neural.fitted import FittedNeural
from recassay.rng import derive

torch = pytest.importorskip("torch")

ITEMS = NOTHING = 30
SMALL = {"dim": 8, "length": 6, "device": "cpu"}
MODELS = {
    "gru": GRU(**SMALL, hidden=5),
    "deep_gru": GRU(**SMALL, hidden=5, depth=3),
    "narm": NARM(**SMALL, hidden=5),
    "sasrec": SASRec(**SMALL, heads=2),
    "bert4rec": BERT4Rec(**SMALL, heads=2, inner=12),
}
LISTS = [[4], [1, 2, 3], [], [9, 8, 7, 6, 5, 4], [9, 8, 7, 1, 5, 9, 3, 0]]


def sig(x):
    return 1 / (1 + np.exp(-x))


def norm(x, weights):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * weights[0] + weights[1]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gru_states(weights, name, rows):
    """h_1, h_2, ... for embeddings e_1, e_2, ..."""
    reset, update, new = np.split(weights[f"{name}.in"], 3)
    reset_on, update_on, new_on = np.split(weights[f"{name}.on"], 3)
    h, states = np.zeros(reset_on.shape[1]), []
    for e in rows:
        r = sig(reset @ e + reset_on @ h)
        z = sig(update @ e + update_on @ h)
        h = z * h + (1 - z) * np.tanh(new @ e + r * (new_on @ h))
        states.append(h)
    return np.array(states)


def gru_twin(model, weights, items):
    """Scores after each item."""
    rows = weights["items"][items]
    for name in ("gru", "gru2", "gru3")[: model.depth]:
        rows = gru_states(weights, name, rows)
    return rows @ weights["outputs"].T


deep_gru_twin = gru_twin


def narm_twin(model, weights, items):
    """Scores after each item."""
    led, meant = (gru_states(weights, name, weights["items"][items]) for name in ("global", "local"))
    scores = []
    for t in range(len(items)):
        share = [
            weights["weighing"] @ sig(weights["asking"].T @ meant[t] + weights["asked"].T @ meant[j])
            for j in range(t + 1)
        ]
        both = np.concatenate([led[t], sum(a * h for a, h in zip(share, meant, strict=False))])
        scores.append(weights["items"][:-1] @ (weights["bridge"].T @ both))
    return np.array(scores)


def transformer(model, weights, x, seen, activation):
    """States of all places, each of which looks at the places seen (t, t)."""
    d = model.dim
    for number in range(model.blocks):
        name = f"block{number}."
        own = {key.removeprefix(name): one for key, one in weights.items() if key.startswith(name)}
        queries, keys, values = np.split(norm(x, own["attention.norm"]) @ own["attention.in"], 3, axis=1)
        heads = []
        for part in np.split(np.arange(d), model.heads):
            fit = queries[:, part] @ keys[:, part].T / np.sqrt(d / model.heads)
            heads.append(softmax(np.where(seen, fit, -np.inf)) @ values[:, part])
        x = x + np.concatenate(heads, axis=1) @ own["attention.out"]
        inner = activation(norm(x, own["forward.norm"]) @ own["forward.in"] + own["forward.in.bias"])
        x = x + inner @ own["forward.out"] + own["forward.out.bias"]
    return norm(x, weights["norm"]) @ weights["items"][:-1].T


def sasrec_twin(model, weights, items):
    """Scores after each item: the last of them stands in the last place."""
    t = len(items)
    x = weights["items"][items] + weights["places"][model.length - t :]
    return transformer(model, weights, x, np.tri(t, dtype=bool), lambda y: np.maximum(y, 0))


def bert4rec_twin(model, weights, items):
    """Scores in each place of a sequence that has its masks."""
    t = len(items)
    x = weights["items"][items] + weights["places"][model.length - t :]
    return transformer(model, weights, x, np.ones((t, t), bool), lambda y: y * (1 + erf(y / np.sqrt(2))) / 2)


def histories(lists):
    items = [item for one in lists for item in one]
    return Histories(np.append(0, np.cumsum([len(one) for one in lists])), np.array(items, np.int32))


def drawn(model):
    """Weights far from where learning begins, where much is 0 or 1."""
    rng = derive(1, "weights")
    return {key: one + 0.3 * layers.normal(rng, *one.shape, sd=1.0) for key, one in model.initial(ITEMS, rng).items()}


@pytest.fixture(params=MODELS)
def made(request):
    """A network, its twin, and weights for both."""
    model = MODELS[request.param]
    return model, globals()[f"{request.param}_twin"], drawn(model)


def test_scores_are_those_of_the_formulas(made):
    model, twin, weights = made
    scores = FittedNeural(None, model, weights).next_scores(histories(LISTS))
    for row, items in zip(scores, LISTS, strict=True):
        read = items[-model.length :] or [NOTHING]
        if model.name == "BERT4Rec":
            read = [*items[1 - model.length :], NOTHING]
        assert np.allclose(row, twin(model, weights, read)[-1], atol=1e-5)


def test_what_is_learnt_from_are_the_same_scores_at_every_place(made):
    """A table of histories as training reads it: behind the end of each stands anything."""
    model, twin, weights = made
    tensors = {key: torch.from_numpy(one) for key, one in weights.items()}
    rows = [[3, 1, 2, 0, 8], [5, 6, 29, 29, 29], [7, 7, 7, 29, 29]]
    lengths = [5, 2, 3]
    places = torch.tensor([5 * row + place for row in range(3) for place in range(lengths[row])])
    states = model.states(tensors, torch.tensor(rows), torch.tensor(lengths), places, lambda x, rate: x)
    scores = (states @ model.outputs(tensors).T).numpy()
    wanted = [twin(model, weights, row[:length]) for row, length in zip(rows, lengths, strict=True)]
    assert np.allclose(scores, np.concatenate(wanted), atol=1e-5)
    few = model.states(tensors, torch.tensor(rows), torch.tensor(lengths), places[[4, 6, 9]], layers.keep)
    assert torch.allclose(few, states[[4, 6, 9]], atol=1e-5)


@pytest.mark.parametrize("name", ["gru", "narm", "sasrec"])
def test_what_comes_later_changes_nothing_before_it(name):
    model = MODELS[name]
    tensors = {key: torch.from_numpy(one) for key, one in drawn(model).items()}
    one, other = torch.tensor([[1, 2, 3, 4, 5]]), torch.tensor([[1, 2, 3, 9, 0]])
    of_one, of_other = (
        model.states(tensors, tokens, torch.tensor([5]), torch.arange(5), layers.keep) for tokens in (one, other)
    )
    assert torch.equal(of_one[:3], of_other[:3])
    assert not torch.allclose(of_one[3], of_other[3])


def test_what_a_network_does_not_look_at_is_told_by_no_gradient():
    """The state of the first place depends on all of a history for BERT4Rec, and on nothing behind it for SASRec."""
    for name, depends in (("bert4rec", [1, 2, 3]), ("sasrec", [1])):
        tensors = {key: torch.from_numpy(one).requires_grad_() for key, one in drawn(MODELS[name]).items()}
        asked = torch.tensor([[1, 2, 3, 4]]), torch.tensor([3]), torch.tensor([0])
        MODELS[name].states(tensors, *asked, layers.keep)[0, 0].backward()
        assert tensors["items"].grad.abs().sum(1).nonzero().flatten().tolist() == depends


def test_the_block_size_of_looking_back_changes_nothing(monkeypatch):
    model = MODELS["narm"]
    found = []
    for size in (1, 2, 5):
        monkeypatch.setattr(narm, "ASKING", size)
        tensors = {key: torch.from_numpy(one).requires_grad_() for key, one in drawn(model).items()}
        asked = torch.tensor([[1, 2, 3, 4, 5], [9, 8, 7, 6, 5]]), torch.tensor([5, 5]), torch.arange(10)
        states = model.states(tensors, *asked, layers.keep)
        found.append([states, *torch.autograd.grad((states**2).sum(), [*tensors.values()])])
    for several in zip(*found, strict=True):
        assert all(torch.allclose(one, several[0], atol=1e-4) for one in several)


@pytest.mark.parametrize("logits", [1, 1 << 20])
def test_the_softmax_and_its_gradient_are_those_of_the_whole_table(monkeypatch, logits):
    monkeypatch.setattr(layers, "LOGITS", logits)
    generator = torch.Generator().manual_seed(3)
    states, items = (torch.randn(many, 4, generator=generator, requires_grad=True) for many in (7, 9))
    targets = torch.tensor([0, 8, 3, 3, 1, 2, 0])
    ours = layers.softmax_loss(2 * states, items, targets)
    theirs = torch.nn.functional.cross_entropy(2 * states @ items.T, targets, reduction="sum")
    assert torch.isclose(ours.float(), theirs, rtol=1e-6)
    for mine, wanted in zip(*(torch.autograd.grad(one, [states, items]) for one in (ours, theirs)), strict=True):
        assert torch.allclose(mine, wanted, atol=1e-5)


def test_the_binary_loss_by_hand():
    """Scores 1 and 2 for what came, 0 and -1 for what did not; the last row is no item and learns nothing."""
    rows = torch.tensor([[1.0], [0.0], [-1.0], [0.0]], requires_grad=True)
    states = torch.tensor([[1.0], [2.0], [1.0]])
    right, other = torch.tensor([0, 0, 0]), torch.tensor([1, 2, 3])
    loss = layers.binary_loss(states, rows, right, other)
    wanted = [-np.log(sig(right)) - np.log(1 - sig(wrong)) for right, wrong in ((1, 0), (2, -2), (1, 0))]
    assert np.isclose(loss.item(), sum(wanted))
    loss.backward()
    assert rows.grad[3] == 0
    assert np.isclose(rows.grad[1].item(), sig(0))


def test_dropout_drops_its_share_and_keeps_the_mean():
    x = torch.ones(200_003)
    for rate in (0.2, 0.5, 0.75):
        dropped = layers.dropping(torch.Generator().manual_seed(5))(x, rate)
        assert set(dropped.unique().tolist()) == {0.0, float(torch.tensor(1.0).div(1 - rate))}
        assert abs((dropped == 0).double().mean() - rate) < 4 * np.sqrt(rate * (1 - rate) / x.numel())
        assert torch.equal(dropped, layers.dropping(torch.Generator().manual_seed(5))(x, rate))
    assert layers.dropping(torch.Generator())(x, 0) is x
