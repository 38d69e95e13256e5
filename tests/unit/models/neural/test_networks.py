"""Networks compare with readable NumPy versions of their formulas, and losses with their gradients by hand."""

import numpy as np
import pytest
from scipy.special import erf

from recassay.data.sequences import Histories
from recassay.models import GRU, NARM, BERT4Rec, SASRec
from recassay.models.neural import recurrent
from recassay.models.neural.base import FittedNeural, initial_weights, network_of, no_dropout, on_device
from recassay.models.neural.training import dropout
from recassay.rng import derive

torch = pytest.importorskip("torch")

ITEMS = PADDING = 30
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


def norm(x, weights, name):
    standardised = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return standardised * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gru_states(weights, name, rows):
    """Return h_1, h_2, ... for embeddings e_1, e_2, ..."""
    reset, update, new = np.split(weights[f"{name}.weight_ih_l0"], 3)
    reset_on, update_on, new_on = np.split(weights[f"{name}.weight_hh_l0"], 3)
    h, states = np.zeros(reset_on.shape[1]), []
    for e in rows:
        r = sig(reset @ e + reset_on @ h)
        z = sig(update @ e + update_on @ h)
        h = z * h + (1 - z) * np.tanh(new @ e + r * (new_on @ h))
        states.append(h)
    return np.array(states)


def gru_reference(model, weights, items):
    """Return the scores after each item."""
    rows = weights["embeddings.weight"][items]
    for number in range(model.depth):
        rows = gru_states(weights, f"gru{number}", rows)
    return rows @ weights["outputs.weight"].T


def narm_reference(model, weights, items):
    """Return the scores after each item."""
    embeddings = weights["embeddings.weight"]
    global_states, local_states = (gru_states(weights, name, embeddings[items]) for name in ("gru", "local"))
    scores = []
    for t in range(len(items)):
        share = [
            weights["value.weight"][0]
            @ sig(weights["query.weight"] @ local_states[t] + weights["key.weight"] @ local_states[j])
            for j in range(t + 1)
        ]
        both = np.concatenate([global_states[t], sum(a * h for a, h in zip(share, local_states, strict=False))])
        scores.append(embeddings[:-1] @ (weights["bridge.weight"] @ both))
    return np.array(scores)


def transformer(model, weights, x, seen, activation):
    """Return the scores at all places, each attending to the places ``seen`` (t, t)."""
    d = model.dim
    for number in range(model.blocks):
        name = f"block{number}."
        own = {key.removeprefix(name): one for key, one in weights.items() if key.startswith(name)}
        queries, keys, values = np.split(norm(x, own, "attention_norm") @ own["mix.weight"].T, 3, axis=1)
        heads = []
        for part in np.split(np.arange(d), model.heads):
            fit = queries[:, part] @ keys[:, part].T / np.sqrt(d / model.heads)
            heads.append(softmax(np.where(seen, fit, -np.inf)) @ values[:, part])
        x = x + np.concatenate(heads, axis=1) @ own["join.weight"].T
        inner = activation(norm(x, own, "forward_norm") @ own["widen.weight"].T + own["widen.bias"])
        x = x + inner @ own["narrow.weight"].T + own["narrow.bias"]
    return norm(x, weights, "norm") @ weights["embeddings.weight"][:-1].T


def sasrec_reference(model, weights, items):
    """Return the scores after each item; the last item has the last position."""
    t = len(items)
    x = weights["embeddings.weight"][items] + weights["places.weight"][model.length - t :]
    return transformer(model, weights, x, np.tri(t, dtype=bool), lambda y: np.maximum(y, 0))


def bert4rec_reference(model, weights, items):
    """Return the scores at each place of a sequence with masks."""
    t = len(items)
    x = weights["embeddings.weight"][items] + weights["places.weight"][model.length - t :]
    return transformer(model, weights, x, np.ones((t, t), bool), lambda y: y * (1 + erf(y / np.sqrt(2))) / 2)


def histories(lists):
    items = [item for one in lists for item in one]
    return Histories(np.append(0, np.cumsum([len(one) for one in lists])), np.array(items, np.int32))


def random_weights(model):
    """Return weights away from their initial values, many of which are 0 or 1."""
    rng = derive(1, "weights")
    initial = initial_weights(model, ITEMS, rng)
    return {
        key: weight + np.float32(0.3) * rng.standard_normal(weight.shape, np.float32) for key, weight in initial.items()
    }


def random_network(model):
    return network_of(model, on_device(random_weights(model), "cpu"))


@pytest.fixture(params=MODELS)
def made(request):
    """Return a network, its readable version, and weights for both."""
    model = MODELS[request.param]
    reference = f"{request.param.removeprefix('deep_').split('_')[0]}_reference"
    return model, globals()[reference], random_weights(model)


def test_scores_equal_those_of_the_formulas(made):
    model, reference, weights = made
    scores = FittedNeural(None, model, weights).next_scores(histories(LISTS))
    for row, items in zip(scores, LISTS, strict=True):
        tokens = items[-model.length :] or [PADDING]
        if model.name == "BERT4Rec":
            tokens = [*items[1 - model.length :], PADDING]
        assert np.allclose(row, reference(model, weights, tokens)[-1], atol=1e-5)


def test_training_computes_the_same_scores_at_every_place(made):
    """In a padded table, the tokens after the end of a history must not matter."""
    model, reference, weights = made
    network = network_of(model, on_device(weights, "cpu"))
    rows = [[3, 1, 2, 0, 8], [5, 6, 29, 29, 29], [7, 7, 7, 29, 29]]
    lengths = [5, 2, 3]
    places = torch.tensor([5 * row + place for row in range(3) for place in range(lengths[row])])
    states = model.states(network, torch.tensor(rows), torch.tensor(lengths), places, lambda x, rate: x)
    scores = (states @ model.table(network)[:ITEMS].T).detach().numpy()
    wanted = [reference(model, weights, row[:length]) for row, length in zip(rows, lengths, strict=True)]
    assert np.allclose(scores, np.concatenate(wanted), atol=1e-5)
    few = model.states(network, torch.tensor(rows), torch.tensor(lengths), places[[4, 6, 9]], no_dropout)
    assert torch.allclose(few, states[[4, 6, 9]], atol=1e-5)


@pytest.mark.parametrize("name", ["gru", "narm", "sasrec"])
def test_later_items_do_not_change_earlier_states(name):
    model = MODELS[name]
    network = random_network(model)
    one, other = torch.tensor([[1, 2, 3, 4, 5]]), torch.tensor([[1, 2, 3, 9, 0]])
    of_one, of_other = (
        model.states(network, tokens, torch.tensor([5]), torch.arange(5), no_dropout) for tokens in (one, other)
    )
    assert torch.equal(of_one[:3], of_other[:3])
    assert not torch.allclose(of_one[3], of_other[3])


def test_gradients_reach_only_the_items_a_state_depends_on():
    """The first state depends on the whole history in BERT4Rec, and on the first item only in SASRec."""
    for name, depends in (("bert4rec", [1, 2, 3]), ("sasrec", [1])):
        network = random_network(MODELS[name])
        inputs = torch.tensor([[1, 2, 3, 4]]), torch.tensor([3]), torch.tensor([0])
        MODELS[name].states(network, *inputs, no_dropout)[0, 0].backward()
        assert network["embeddings"].weight.grad.abs().sum(1).nonzero().flatten().tolist() == depends


def test_narm_does_not_depend_on_the_chunk_size_of_attention(monkeypatch):
    model = MODELS["narm"]
    found = []
    for size in (1, 2, 5):
        monkeypatch.setattr(recurrent, "PLACES_PER_CHUNK", size)
        network = random_network(model)
        inputs = torch.tensor([[1, 2, 3, 4, 5], [9, 8, 7, 6, 5]]), torch.tensor([5, 5]), torch.arange(10)
        states = model.states(network, *inputs, no_dropout)
        found.append([states, *torch.autograd.grad((states**2).sum(), [*network.parameters()])])
    for several in zip(*found, strict=True):
        assert all(torch.allclose(one, several[0], atol=1e-4) for one in several)


def test_dropout_drops_the_given_share_and_keeps_the_mean():
    x = torch.ones(200_003)
    for rate in (0.2, 0.5, 0.75):
        dropped = dropout(torch.Generator().manual_seed(5))(x, rate)
        assert set(dropped.unique().tolist()) == {0.0, float(torch.tensor(1.0).div(1 - rate))}
        assert abs((dropped == 0).double().mean() - rate) < 4 * np.sqrt(rate * (1 - rate) / x.numel())
        assert torch.equal(dropped, dropout(torch.Generator().manual_seed(5))(x, rate))
    assert dropout(torch.Generator())(x, 0) is x


@pytest.mark.parametrize("kind", [GRU, NARM])
@pytest.mark.parametrize("windows", ["last", "all"])
def test_no_length_reads_whole_histories(kind, windows):
    """A window that no history exceeds changes nothing; a shorter one cuts the longest history."""
    lengths = np.array([len(row) for row in LISTS])
    histories = Histories(np.append(0, lengths.cumsum()), np.array([i for row in LISTS for i in row], np.int32))
    whole, wide, short = (kind(length=length, windows=windows) for length in (None, 100, 6))
    for name in ("offsets", "items", "users"):
        assert getattr(whole.windows_of(histories), name).tolist() == getattr(wide.windows_of(histories), name).tolist()
    tokens = [model.query_tokens(histories, PADDING)[0] for model in (whole, wide, short)]
    assert tokens[0].tolist() == tokens[1].tolist()
    assert [table.shape[1] for table in tokens] == [8, 8, 6]
    assert whole.windows_of(histories).lengths.max() == 8
    assert short.windows_of(histories).lengths.max() == 7


def test_the_network_of_sequeval_has_no_window():
    assert GRU.preset("sequeval").length is None
