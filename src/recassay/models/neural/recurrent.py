"""Recurrent networks: GRU, and NARM, which weights the states of a second GRU by attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from recassay.models.neural.base import Drop, Neural, whole_histories
from recassay.models.neural.compute import Network, Tensor, torch_module
from recassay.naming.grammar import Value
from recassay.naming.named import BELOW_1, COUNT, Departure
from recassay.threads import blocks

PLACES_PER_CHUNK = 8  # places that attend together: each needs (n, t, h) numbers
AUTHORS: Mapping[str, Value] = {"batch": 512, "loss": "softmax"}


@dataclass(frozen=True, repr=False)
class GRU(Neural):
    """Gated recurrent units that read a history item by item; a score is the last state times an output row.

    With e_t the embedding of item t (dropout is applied to it) and h_0 = 0, r_t = sig(W_R e_t + R_R h_{t-1}),
    z_t = sig(W_Z e_t + R_Z h_{t-1}) and h_t = z_t h_{t-1} + (1 - z_t) tanh(W_H e_t + r_t (R_H h_{t-1})). Then
    o_t = W_S h_t scores the item after t, trained at every t. This is PyTorch's form.
    Swapping z and 1 - z only changes the sign of W_Z and R_Z. With a ``depth`` above 1, further layers read the states
    of the layer before, also with dropout.

    Edges: an empty history is read as one item whose embedding is 0, so all scores are 0. ``windows="all"`` restarts
    from h_0 every ``length`` items. The paper is about sessions, so settings for long histories (presets "ml-1m",
    "ml-20m", "beauty", "games", "steam") are those of the models it is usually compared with. "sequeval" is the network
    that generates sequences in Monti et al., which reads whole sequences (``length=None``); its units, batch size and
    optimiser are not published.

    The paper's loss is ``loss="softmax"``, cross-entropy over all items. All presets use it, with batches of 512. The
    default ``"auto"`` is the same up to 5,000 items, and above it "sampled", a softmax over ``negatives`` sampled
    items. The default batch is smaller: an epoch takes as long and has four times as many steps.

    Reference: Tan, Xu and Liu, Improved recurrent neural networks for session-based recommendations, DLRS 2016. Monti,
    Palumbo, Rizzo and Morisio, Sequeval: an offline evaluation framework for sequence-based recommender systems,
    Information 2019.
    """

    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sampled-metrics",
            "The paper multiplies the state by the reset gate before the matrix product; recassay takes PyTorch's "
            "form, with the gate after the product, which has a fast kernel.",
        ),
        Departure(
            "sampled-metrics",
            "In the paper z is the share of the new state and in recassay that of the old state, which is the same "
            "network with the other sign of W_Z and R_Z.",
        ),
        Departure(
            "sampled-metrics",
            "The paper's loss is a cross-entropy over all items; above 5,000 items recassay takes a softmax over 1,024 "
            "sampled ones, which takes a fraction of the time.",
            literal="GRU(loss='softmax')",
        ),
        Departure(
            "sampled-metrics",
            "The paper takes the settings of Tan, Xu and Liu, in additional material that we do not have, and prints "
            "no dropout; recassay drops a quarter of the inputs and takes batches of 128 windows, which presets make "
            "512.",
            literal="GRU(batch=512, loss='softmax')",
        ),
        whole_histories("sampled-metrics", "GRU"),
        whole_histories("sequeval", "GRU"),
        Departure(
            "sequeval",
            "The paper does not name the cell, the batch size or the optimiser of its recurrent network; the preset "
            "sequeval takes gated recurrent units, batches of 64 and Adam.",
        ),
    )
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {
        "ml-1m": {"length": 200, **AUTHORS},
        "ml-20m": {"length": 200, **AUTHORS},
        "beauty": {**AUTHORS},
        "games": {**AUTHORS},
        "steam": {**AUTHORS},
        "sequeval": {
            "depth": 3,
            "length": None,
            "dim": 64,
            "hidden": 64,
            "windows": "last",
            "dropout": 0.2,
            "rate": 0.0001,
            "batch": 64,
            "epochs": 10,
            "loss": "softmax",
        },
    }

    hidden: Annotated[int, COUNT] = 100
    depth: Annotated[int, COUNT] = 1

    def network(self, items: int) -> Network:
        """Return embeddings, ``depth`` recurrent layers, and the vectors of items (items, h)."""
        nn = torch_module().nn
        widths = [self.dim, *[self.hidden] * (self.depth - 1)]
        layers = {f"gru{number}": recurrent_layer(width, self.hidden) for number, width in enumerate(widths)}
        embeddings = nn.Embedding(items + 1, self.dim, padding_idx=items)
        return nn.ModuleDict({"embeddings": embeddings, **layers, "outputs": nn.Linear(self.hidden, items, bias=False)})

    def states(self, network: Network, tokens: Tensor, lengths: Tensor, places: Tensor, drop: Drop) -> Tensor:
        """Return states (p, h) after the items at ``places``, flat indices into the table ``tokens`` (n, t)."""
        x = network["embeddings"](tokens)  # (n, t, d)
        for number in range(self.depth):
            x, _ = network[f"gru{number}"](drop(x, self.dropout))  # (n, t, h)
        return x.reshape(-1, self.hidden)[places]

    def table(self, network: Network) -> Tensor:
        """Return the vectors of items (items, h), which are not the embeddings."""
        return network["outputs"].weight


@dataclass(frozen=True, repr=False)
class NARM(Neural):
    """Two GRUs that read a history; the states of the second are weighted by attention; scores use item embeddings.

    With g_t and h_t the states of two ``GRU`` (dropout is applied to embeddings), a_tj = v . sig(A1 h_t + A2 h_j)
    for j <= t (weights do not sum to 1), c_t = Dropout([g_t; sum_j a_tj h_j]), and M the embeddings of all items,
    o_t = M B c_t scores the item after t, trained at every t; the loss is that of ``GRU``.

    Edges and settings as for ``GRU``, with presets "ml-1m", "ml-20m", "beauty", "games", "steam". The time of an epoch
    grows with the square of ``length``. On logs with many rare items it gains from more sampled items than the other
    networks, so the default ``negatives`` is 4,096.

    Reference: Li, Ren, Chen, Ren, Lian and Ma, Neural attentive session-based recommendation, CIKM 2017.
    """

    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sampled-metrics",
            "The two recurrent networks of the paper are its GRU, with the reset gate before the matrix product; "
            "recassay has PyTorch's, with the gate after it, and no other form, because NARM needs the fast kernel "
            "twice.",
        ),
        Departure(
            "sampled-metrics",
            "The equations of the paper have no dropout; recassay has it on embeddings and on the joined states, as "
            "the authors of NARM do.",
            literal="NARM(dropout=0, dropout_states=0)",
        ),
        Departure(
            "sampled-metrics",
            "The paper's loss is a cross-entropy over all items; above 5,000 items recassay takes a softmax over 4,096 "
            "sampled ones, which takes a fraction of the time.",
            literal="NARM(loss='softmax')",
        ),
        Departure(
            "sampled-metrics",
            "The paper takes the settings of the authors of NARM, in additional material that we do not have; recassay "
            "takes batches of 128 windows, which presets make 512, as the authors' code does.",
            literal="NARM(batch=512, loss='softmax')",
        ),
        whole_histories("sampled-metrics", "NARM"),
    )
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {
        "ml-1m": {"length": 200, **AUTHORS},
        "ml-20m": {"length": 200, **AUTHORS},
        "beauty": {**AUTHORS},
        "games": {**AUTHORS},
        "steam": {**AUTHORS},
    }

    hidden: Annotated[int, COUNT] = 100
    dropout_states: Annotated[float, BELOW_1] = 0.5
    negatives: int = 4096

    def network(self, items: int) -> Network:
        """Return embeddings, two recurrent layers, and the matrices of attention and of the bridge to scores."""
        nn, h = torch_module().nn, self.hidden
        return nn.ModuleDict(
            {
                "embeddings": nn.Embedding(items + 1, self.dim, padding_idx=items),
                "gru": recurrent_layer(self.dim, h),
                "local": recurrent_layer(self.dim, h),
                "query": nn.Linear(h, h, bias=False),  # A1
                "key": nn.Linear(h, h, bias=False),  # A2
                "value": nn.Linear(h, 1, bias=False),  # v
                "bridge": nn.Linear(2 * h, self.dim, bias=False),  # B
            }
        )

    def states(self, network: Network, tokens: Tensor, lengths: Tensor, places: Tensor, drop: Drop) -> Tensor:
        """Return states (p, d) of both networks, projected, after the items at ``places``.

        ``places`` are flat indices into the table ``tokens`` (n, t).
        """
        x = drop(network["embeddings"](tokens), self.dropout)  # (n, t, d)
        global_states = network["gru"](x)[0].reshape(-1, self.hidden)[places]  # (p, h)
        local_states = self.attend(network, network["local"](x)[0], places)  # (p, h)
        joined = torch_module().cat([global_states, local_states], dim=1)
        return network["bridge"](drop(joined, self.dropout_states))

    def attend(self, network: Network, states: Tensor, places: Tensor) -> Tensor:
        """Return the sums (p, h) of the ``states`` (n, t, h) up to each of ``places``, weighted by attention.

        ``places`` (p,) are flat indices into a table (n, t).
        """
        torch = torch_module()
        n, t, h = states.shape
        query, key, value = network["query"](states), network["key"](states), network["value"]
        column = torch.arange(t, device=states.device)
        if places.numel() == n:  # one place per row, as in prediction
            query, upto = query.reshape(-1, h)[places][:, None], (places % t)[:, None, None]
            return weighted_sums(query, key, states, value, column <= upto)[:, 0]
        sums = []
        for begin, end in blocks(t, PLACES_PER_CHUNK):
            seen = column[:end] <= column[begin:end, None]
            some = query[:, begin:end], key[:, :end], states[:, :end], value, seen
            # Activations grow with the square of a history, so they are computed again for the gradient, not kept.
            options = {"use_reentrant": False, "preserve_rng_state": False}
            sums.append(torch.utils.checkpoint.checkpoint(weighted_sums, *some, **options))
        return torch.cat(sums, dim=1).reshape(-1, h)[places]


def weighted_sums(query: Tensor, key: Tensor, states: Tensor, value: Network, seen: Tensor) -> Tensor:
    """Return sums (n, q, h) of states (n, t, h), weighted by v . sig(query + key).

    ``query`` is (n, q, h), ``key`` (n, t, h), and ``value`` multiplies by v. Only positions where ``seen`` (q, t) is
    true count.
    """
    attention = value((query[:, :, None] + key[:, None]).sigmoid_())[..., 0]  # (n, q, t)
    return (attention * seen) @ states


def recurrent_layer(width: int, hidden: int) -> Network:
    """Return gated recurrent units without biases, with ``hidden`` units, that read (n, t, width)."""
    return torch_module().nn.GRU(width, hidden, bias=False, batch_first=True)
