"""Networks of self-attention: SASRec, which reads a history from left to right, and BERT4Rec, which reads both ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from recassay.arrays import Int64
from recassay.data.sequences import Histories
from recassay.models.neural.base import Batch, Drop, Neural, last_items, no_dropout
from recassay.models.neural.batches import cut_windows
from recassay.models.neural.compute import Network, Tensor, torch_module
from recassay.naming.grammar import Value
from recassay.naming.named import BELOW_1, COUNT, Departure

AUTHORS: Mapping[str, Value] = {"rate": 0.0001, "loss": "softmax", "copies": 10}  # of BERT4Rec
FROM_THE_END = Departure(
    "sampled-metrics",
    "The paper adds the embedding P_t of the step t, counted from the first item; recassay counts from the last item, "
    "so that the newest item has the same embedding in short and long histories.",
)


@dataclass(frozen=True, repr=False)
class Transformer(Neural):
    """Base of networks of self-attention: embeddings of items and positions pass blocks and a last LayerNorm.

    A block is x + Dropout(Attention(LayerNorm(x))), and then x + Dropout(Forward(LayerNorm(x))). The padding row of the
    embeddings is learned if it stands for a mask; else it is 0.
    """

    name = ""
    bidirectional: ClassVar[bool] = False  # whether a position may attend to later ones, and padding is a mask
    dropout_attention = 0.0  # of the weights of attention
    inner = 0  # the width of the feed-forward layers; 0: that of the embeddings

    length: int = 50
    blocks: Annotated[int, COUNT] = 2
    heads: Annotated[int, COUNT] = 1

    def validate(self) -> None:
        """Raise U102 for a parameter out of range, or if heads do not divide ``dim``."""
        super().validate()
        if self.dim % self.heads:
            raise self.refuse("heads", f"it must divide dim={self.dim}")

    def network(self, items: int) -> Network:
        """Return embeddings of items and of positions, the modules of each block, and the last LayerNorm."""
        nn, dim = torch_module().nn, self.dim
        blocks = {
            f"block{number}": nn.ModuleDict(
                {
                    "attention_norm": nn.LayerNorm(dim),
                    "mix": nn.Linear(dim, 3 * dim, bias=False),  # queries, keys and values
                    "join": nn.Linear(dim, dim, bias=False),  # the heads
                    "forward_norm": nn.LayerNorm(dim),
                    "widen": nn.Linear(dim, self.inner or dim),
                    "narrow": nn.Linear(self.inner or dim, dim),
                }
            )
            for number in range(self.blocks)
        }
        embeddings = nn.Embedding(items + 1, dim, padding_idx=None if self.bidirectional else items)
        places = nn.Embedding(self.length, dim)
        return nn.ModuleDict({"embeddings": embeddings, "places": places, **blocks, "norm": nn.LayerNorm(dim)})

    def states(self, network: Network, tokens: Tensor, lengths: Tensor, places: Tensor, drop: Drop) -> Tensor:
        """Return states (p, d) at ``places``, flat indices into ``tokens``.

        The last item of any history has the last position, the item before it the one above, and so on; so has the
        padding after a history, which no position attends to.
        """
        column = torch_module().arange(tokens.shape[1], device=tokens.device)
        from_end = (lengths[:, None] - column).clamp(min=1)  # (n, t)
        x = drop(network["embeddings"](tokens) + network["places"](self.length - from_end), self.dropout)  # (n, t, d)
        seen = (column < lengths[:, None])[:, None, None] if self.bidirectional else None  # (n, 1, 1, t)
        for number in range(self.blocks):
            x = self._block(network[f"block{number}"], x, seen, drop)
        return network["norm"](x.reshape(-1, self.dim)[places])

    def _block(self, modules: Network, x: Tensor, seen: Tensor | None, drop: Drop) -> Tensor:
        """Return the output (n, t, d) of a block; attention is causal unless ``seen`` marks what all positions read."""
        functional = torch_module().nn.functional
        n, t, dim = x.shape
        mixed = modules["mix"](modules["attention_norm"](x)).view(n, t, 3, self.heads, dim // self.heads)
        queries, keys, values = mixed.permute(2, 0, 3, 1, 4)  # (n, heads, t, d / heads) each
        if seen is None or not self.dropout_attention or drop is no_dropout:
            attend = functional.scaled_dot_product_attention
            heads = attend(queries, keys, values, attn_mask=seen, is_causal=seen is None)
        else:
            logits = queries @ keys.transpose(-1, -2) / (dim // self.heads) ** 0.5
            weights = logits.masked_fill_(~seen, -float("inf")).softmax(-1)
            heads = drop(weights, self.dropout_attention) @ values
        x = x + drop(modules["join"](heads.transpose(1, 2).reshape(n, t, dim)), self.dropout)
        activation = functional.gelu if self.bidirectional else functional.relu
        inner = activation(modules["widen"](modules["forward_norm"](x)))
        return x + drop(modules["narrow"](inner), self.dropout)


@dataclass(frozen=True, repr=False)
class SASRec(Transformer):
    """Causal self-attention over a history; a score is a state times an item embedding.

    With embeddings M of items and P of positions (the last item always has the last position), x = M[item] +
    P[position] passes ``blocks`` of x + Dropout(z(LayerNorm(x))), where z is first softmax(Q K' / sqrt(dim / heads)) V
    with ``heads`` heads and causal attention, and then ReLU(x W1 + b1) W2 + b2. After a last LayerNorm the state at the
    last position scores item i with M[i].

    Every position predicts the next item. The authors' loss is ``loss="binary"``, which presets use:
    -log sig(o) - log(1 - sig(o')), where o' is the score of an item drawn uniformly from the items the user never had.
    It ranks worse among all items (Petrov and Macdonald), so the default ``"auto"`` is "softmax" up to 5,000 items, and
    above it "sampled", a softmax over ``negatives`` sampled items. ``loss="gbce"`` makes the network gSASRec.

    Edges: an empty history is read as one item whose embedding is 0. Other defaults are those of the authors' code
    except ``epochs``. Presets "authors", "ml-1m" (also as "ml-20m"), "beauty",
    "games", "steam".

    Reference: Kang and McAuley, Self-attentive sequential recommendation, ICDM 2018. Petrov and Macdonald, gSASRec:
    reducing overconfidence in sequential recommendation trained with negative sampling, RecSys 2023.
    """

    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sampled-metrics",
            "The paper divides attention by the square root of d; recassay divides by that of d / heads, as "
            "transformers do, which differs with two heads or more.",
        ),
        Departure(
            "sampled-metrics",
            "The equations of the paper have no biases in the forward layers and no last LayerNorm; recassay has both, "
            "as the code of the authors of SASRec does.",
        ),
        Departure(
            "sampled-metrics",
            "The code of the authors of SASRec adds the normalised input to the output of a layer, computes keys and "
            "values before LayerNorm, has biases in the projections and no matrix after the heads, and multiplies item "
            "embeddings by the square root of d; recassay follows the equations of the paper here.",
        ),
        Departure(
            "sampled-metrics",
            "The paper trains with a binary cross-entropy, which it names BPR, and one negative item; recassay takes a "
            "softmax, which ranks better among all items, and above 5,000 items one over 1,024 sampled items.",
            literal="SASRec(loss='binary')",
        ),
        Departure(
            "sampled-metrics",
            "The paper takes the settings of the authors of BERT4Rec and of SASRec, which differ by log; the defaults "
            "of recassay are for short histories, with a length of 50 and a dropout of 0.5, and its presets are by "
            "log.",
            literal="SASRec(length=200, dropout=0.2, loss='binary')",
        ),
        Departure(
            "sampled-metrics",
            "The dropout of equation 13 is inside the layers; recassay drops embeddings as well, as the code of the "
            "authors of SASRec does.",
        ),
        FROM_THE_END,
    )
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {
        "authors": {"loss": "binary"},
        "ml-1m": {"length": 200, "dropout": 0.2, "loss": "binary"},
        "ml-20m": {"length": 200, "dropout": 0.2, "loss": "binary"},
        "beauty": {"loss": "binary"},
        "games": {"loss": "binary"},
        "steam": {"loss": "binary"},
    }

    length: int = 50
    windows: Literal["last", "all"] = "last"
    dropout: float = 0.5


@dataclass(frozen=True, repr=False)
class BERT4Rec(Transformer):
    """Bidirectional self-attention over a history; the next item is predicted like any masked item.

    The network is that of ``SASRec``, but attention is bidirectional, GELU replaces ReLU, and the inner width is
    ``inner``. Of a window of n items, max(1, mask n) random ones, at most ``predictions``, are replaced by a mask. The
    state at each mask scores the items, and the masked one is the target of the loss. An epoch masks each window
    ``copies`` times at random, and once more only its last item; windows overlap by half. To predict, a mask is
    appended to the last ``length`` - 1 items.

    The authors' loss is ``loss="softmax"``, cross-entropy over all items, which all presets use. The default ``"auto"``
    is the same up to 5,000 items, and above it "sampled". Edges: an empty history is read as a single mask. The
    default rate is ten times the authors', who took 400,000 steps, and an epoch has 4 passes instead of 11. Other
    defaults are the authors' for MovieLens 1M; presets "ml-1m", "ml-20m", "beauty" (also as "games"), "steam".
    Differences to the paper: no layer and bias before the softmax, and LayerNorm before each layer instead of after it.

    Reference: Sun et al., BERT4Rec: sequential recommendation with bidirectional encoder representations from
    transformer, CIKM 2019.
    """

    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sampled-metrics",
            "As for SASRec, the paper divides attention by the square root of d; recassay divides by that of "
            "d / heads, as the code of the authors of BERT4Rec does.",
        ),
        Departure(
            "sampled-metrics",
            "The paper prints no biases; recassay has them, as the code of the authors of BERT4Rec does.",
        ),
        Departure(
            "sampled-metrics",
            "The feed-forward layers of the paper, equation 12, are as wide as the embeddings; recassay has four times "
            "that width, as the authors of BERT4Rec do.",
            literal="BERT4Rec(inner=64)",
        ),
        Departure(
            "sampled-metrics",
            "The equations of the paper have no LayerNorm after the last block and no dropout of embeddings; recassay "
            "has both, because layers normalise their input and not their output.",
        ),
        FROM_THE_END,
        Departure(
            "sampled-metrics",
            "The paper's loss is a cross-entropy over all items; above 5,000 items recassay takes a softmax over 1,024 "
            "sampled ones, which takes a fraction of the time.",
            literal="BERT4Rec(loss='softmax')",
        ),
        Departure(
            "sampled-metrics",
            "The paper sometimes masks the last item alone, without a frequency; recassay does it once in an epoch, "
            "beside `copies` random masks of each window.",
        ),
        Departure(
            "sampled-metrics",
            "The paper takes the settings of the authors of BERT4Rec; recassay has them but for a rate ten times as "
            "high and 3 random masks an epoch instead of 10, because their 400,000 steps take too long on a CPU.",
            literal="BERT4Rec(rate=0.0001, loss='softmax', copies=10)",
        ),
    )
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {
        "ml-1m": {**AUTHORS},
        "ml-20m": {"dropout": 0.1, "dropout_attention": 0.1, "predictions": 20, **AUTHORS},
        "beauty": {"length": 50, "dropout": 0.5, "mask": 0.6, "predictions": 30, **AUTHORS},
        "games": {"length": 50, "dropout": 0.5, "mask": 0.6, "predictions": 30, **AUTHORS},
        "steam": {
            "length": 50,
            "dropout": 0.1,
            "dropout_attention": 0.1,
            "mask": 0.4,
            "predictions": 20,
            **AUTHORS,
        },
    }

    bidirectional: ClassVar[bool] = True
    draws_small: ClassVar[bool] = True

    dim: int = 64
    length: int = 200
    dropout: float = 0.2
    batch: int = 256
    rate: float = 0.001
    heads: int = 2
    inner: Annotated[int, COUNT] = 256
    dropout_attention: Annotated[float, BELOW_1] = 0.2
    mask: Annotated[float, BELOW_1] = 0.2
    predictions: Annotated[int, COUNT] = 40
    copies: Annotated[int, COUNT] = 3
    warmup: int = 100

    def windows_of(self, histories: Histories) -> Histories:
        """Return windows of histories, as long as the network's input.

        Windows of a history overlap by half; with ``windows="last"`` there is only one.
        """
        return cut_windows(histories, self.length, self.length // 2 if self.windows == "all" else None)

    @property
    def passes(self) -> int:  # type: ignore[override]  # a class attribute of the base
        """Return how many times an epoch reads a window.

        It is read ``copies`` times with random masks, and once with only its last item masked.
        """
        return self.copies + 1

    def n_targets(self, lengths: Int64, pass_number: Int64) -> Int64:
        """Return how many items of each window are masked: 1 in the last pass of an epoch, else the share ``mask``.

        That share is at least one item and at most ``predictions``.
        """
        n_masked = np.maximum(1, np.minimum(np.round(self.mask * lengths), self.predictions)).astype(np.int64)
        return np.where(pass_number < self.copies, n_masked, 1)

    def training_batch(
        self, tokens: Int64, lengths: Int64, pass_number: Int64, padding: int, rng: np.random.Generator
    ) -> Batch:
        """Return windows with some items replaced by a mask; the targets are the masked items."""
        row, places = np.arange(lengths.size), np.arange(tokens.shape[1])
        keys = np.where(places < lengths[:, None], rng.random(tokens.shape), np.inf)  # the smallest are masked
        keys[row, lengths - 1] -= pass_number == self.copies
        largest = np.sort(keys, axis=1)[row, self.n_targets(lengths, pass_number) - 1]
        masked = keys <= largest[:, None]
        return np.where(masked, padding, tokens), lengths, np.flatnonzero(masked), tokens[masked]

    def query_tokens(self, histories: Histories, padding: int) -> tuple[Int64, Int64]:
        """Return the last items of each history followed by a mask (n, t), and the lengths, the mask included.

        The mask is the padding token.
        """
        tokens, lengths = last_items(histories, self.length - 1, padding, least=0)
        return np.pad(tokens, ((0, 0), (0, 1)), constant_values=padding), lengths + 1
