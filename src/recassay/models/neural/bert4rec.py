"""BERT4Rec: bidirectional attention, trained to predict masked items of a history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recassay.data.histories import Histories
from recassay.models.neural import layers
from recassay.models.neural.base import FROM_THE_END, Neural, last_items
from recassay.models.neural.batches import Codes, HistoryWindows, PaddedWindows, TrainingBatch
from recassay.models.neural.layers import Array, Drop, Tensor, Weights
from recassay.naming.grammar import Value
from recassay.naming.named import Departure

AUTHORS: Mapping[str, Value] = {"rate": 0.0001, "loss": "softmax", "copies": 10}


@dataclass(frozen=True, repr=False)
class BERT4Rec(Neural):
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

    name: ClassVar[str] = "BERT4Rec"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sampled-metrics",
            "As for SASRec, the paper divides attention by the square root of d; recassay divides by that of "
            "d / heads, as the code of the authors of BERT4Rec does.",
            literal="BERT4Rec(scale='model')",
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

    dim: int = 64
    length: int = 200
    dropout: float = 0.2
    batch: int = 256
    rate: float = 0.001
    blocks: int = 2
    heads: int = 2
    inner: int = 256
    dropout_attention: float = 0.2
    mask: float = 0.2
    predictions: int = 40
    copies: int = 3
    warmup: int = 100
    scale: Literal["head", "model"] = "head"

    def validate(self) -> None:
        """Raise U102 if heads do not divide ``dim``, a count is too small or a share is not below 1."""
        super().validate()
        self.at_least(1, "blocks", "heads", "inner", "predictions", "copies")
        self.below_one("dropout_attention", "mask")
        if self.dim % self.heads:
            raise self.refuse("heads", f"it must divide dim={self.dim}")

    def windows_of(self, histories: Histories) -> HistoryWindows:
        """Return windows of histories, as long as the network's input.

        Windows of a history overlap by half; with ``windows="last"`` there is only one.
        """
        return HistoryWindows.cut(histories, self.length, self.length // 2 if self.windows == "all" else None)

    @property
    def passes(self) -> int:
        """Return the number of passes: ``copies`` with random masks, one with the last item masked."""
        return self.copies + 1

    def n_targets(self, lengths: Codes, pass_number: Codes) -> Codes:
        """Return how many items of each window are masked: 1 in the last pass of an epoch, else the share ``mask``.

        That share is at least one item and at most ``predictions``.
        """
        n_masked = np.maximum(1, np.minimum(np.round(self.mask * lengths), self.predictions)).astype(np.int64)
        return np.where(pass_number < self.copies, n_masked, 1)

    def training_batch(self, windows: PaddedWindows, padding: int, rng: np.random.Generator) -> TrainingBatch:
        """Return windows with some items replaced by a mask; the targets are the masked items."""
        n, t = windows.tokens.shape
        places = np.arange(t)
        keys = np.where(places < windows.lengths[:, None], rng.random((n, t)), np.inf)  # the smallest are masked
        keys[np.arange(n), windows.lengths - 1] -= windows.pass_number == self.copies
        largest = np.sort(keys, axis=1)[np.arange(n), self.n_targets(windows.lengths, windows.pass_number) - 1]
        masked = keys <= largest[:, None]
        tokens = np.where(masked, padding, windows.tokens)
        return TrainingBatch(tokens, windows.lengths, np.flatnonzero(masked), windows.tokens[masked])

    def query_tokens(self, histories: Histories, padding: int) -> tuple[Codes, Codes]:
        """Return the last items of each history followed by a mask (n, t), and the lengths, the mask included.

        The mask is the padding token.
        """
        tokens, lengths = last_items(histories, self.length - 1, padding, least=0)
        return np.pad(tokens, ((0, 0), (0, 1)), constant_values=padding), lengths + 1

    def initial_weights(self, items: int, rng: np.random.Generator) -> dict[str, Array]:
        """Return small normal weights; the padding row of the embeddings is the mask."""
        weights = {
            "items": layers.normal(rng, items + 1, self.dim),
            "places": layers.normal(rng, self.length, self.dim),
        }
        for number in range(self.blocks):
            weights |= layers.block_weights(rng, f"block{number}", self.dim, self.inner, layers.normal)
        return weights | {"norm": layers.norm_weights(self.dim)}

    def states(self, weights: Weights, tokens: Tensor, lengths: Tensor, places: Tensor, drop: Drop) -> Tensor:
        """Return states (p, d) at ``places`` (flat indices into ``tokens``), computed from the whole sequence."""
        x = layers.embed(weights["items"], tokens) + layers.position_embeddings(
            weights["places"], tokens, lengths
        )  # (n, t, d)
        x = drop(x, self.dropout)
        seen = (layers.positions(tokens) < lengths[:, None])[:, None, None]  # (n, 1, 1, t)
        for number in range(self.blocks):
            x = layers.transformer_block(
                x, weights, f"block{number}", heads=self.heads, activation="gelu", drop=drop, rate=self.dropout,
                within=self.dropout_attention, seen=seen, scale=self.scale,
            )  # fmt: skip
        return layers.norm(layers.embed(x.reshape(-1, self.dim), places), weights["norm"])
