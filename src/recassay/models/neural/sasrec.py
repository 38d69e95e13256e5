"""SASRec: causal self-attention over a history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recassay.models.neural import layers
from recassay.models.neural.base import FROM_THE_END, Neural
from recassay.models.neural.layers import Array, Drop, Tensor, Weights
from recassay.naming.grammar import Value
from recassay.naming.named import Departure


@dataclass(frozen=True, repr=False)
class SASRec(Neural):
    """Causal self-attention over a history; a score is a state times an item embedding.

    With embeddings M of items and P of positions (the last item always has the last position), x = M[item] +
    P[position] passes ``blocks`` of x + Dropout(z(LayerNorm(x))), where z is first softmax(Q K' / sqrt(dim / heads)) V
    with ``heads`` heads and causal attention, and then ReLU(x W1 + b1) W2 + b2. After a last LayerNorm the state at the
    last position scores item i with M[i]. With ``scale="model"`` the divisor is sqrt(dim).

    ``form="printed"`` has no biases and no last LayerNorm. ``form="authors"`` is the network of the authors' code:
    x = sqrt(dim) M[item] + P[position]; a block is n + z(n, x) with n = LayerNorm(x), where Q reads n, K and V read x,
    all three have biases, dropout applies to attention weights, and nothing follows the heads; and then
    n + Dropout(Dropout(ReLU(n W1 + b1)) W2 + b2).

    Every position predicts the next item. The authors' loss is ``loss="binary"``, which presets use:
    -log sig(o) - log(1 - sig(o')), where o' is the score of an item drawn uniformly from the items the user never had.
    It ranks worse among all items (Petrov and Macdonald), so the default ``"auto"`` is "softmax" up to 5,000 items, and
    above it "sampled", a softmax over ``negatives`` sampled items. ``loss="gbce"`` makes the network gSASRec.

    Edges: an empty history is read as one item whose embedding is 0. Other defaults are those of the authors' code
    except ``epochs`` and ``form``. Presets "authors", "ml-1m" (also as
    "ml-20m"), "beauty", "games", "steam".

    Reference: Kang and McAuley, Self-attentive sequential recommendation, ICDM 2018. Petrov and Macdonald, gSASRec:
    reducing overconfidence in sequential recommendation trained with negative sampling, RecSys 2023.
    """

    name: ClassVar[str] = "SASRec"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sampled-metrics",
            "The paper divides attention by the square root of d; recassay divides by that of d / heads, as "
            "transformers do, which differs with two heads or more.",
            literal="SASRec(heads=2, scale='model')",
        ),
        Departure(
            "sampled-metrics",
            "The equations of the paper have no biases in the forward layers and no last LayerNorm; recassay has both, "
            "as the code of the authors of SASRec does.",
            literal="SASRec(form='printed')",
        ),
        Departure(
            "sampled-metrics",
            "The code of the authors of SASRec adds the normalised input to the output of a layer, computes keys and "
            "values before LayerNorm, has biases in the projections and no matrix after the heads, and multiplies item "
            "embeddings by the square root of d; recassay follows the equations of the paper here.",
            literal="SASRec(form='authors', loss='binary')",
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
    blocks: int = 2
    heads: int = 1
    scale: Literal["head", "model"] = "head"
    form: Literal["usual", "printed", "authors"] = "usual"

    def validate(self) -> None:
        """Raise U102 if heads do not divide ``dim`` or a count is below 1."""
        super().validate()
        self.at_least(1, "blocks", "heads")
        if self.dim % self.heads:
            raise self.refuse("heads", f"it must divide dim={self.dim}")

    def initial_weights(self, items: int, rng: np.random.Generator) -> dict[str, Array]:
        """Return small embeddings, and blocks whose weights keep the variance of their inputs (Glorot)."""
        weights = {
            "items": layers.embedding_table(rng, items, self.dim),
            "places": layers.normal(rng, self.length, self.dim),
        }
        for number in range(self.blocks):
            weights |= layers.block_weights(rng, f"block{number}", self.dim, self.dim, layers.glorot)
            if self.form == "authors":
                del weights[f"block{number}.attention.out"]
                weights[f"block{number}.attention.in.bias"] = np.zeros(3 * self.dim, np.float32)
        if self.form == "printed":
            return {name: weight for name, weight in weights.items() if not name.endswith(".bias")}
        return weights | {"norm": layers.norm_weights(self.dim)}

    def states(self, weights: Weights, tokens: Tensor, lengths: Tensor, places: Tensor, drop: Drop) -> Tensor:
        """Return states (p, d) at ``places``, flat indices into ``tokens``; each state reads the items up to there."""
        x = layers.embed(weights["items"], tokens)
        if self.form == "authors":
            x = x * self.dim**0.5
        x = x + layers.position_embeddings(weights["places"], tokens, lengths)  # (n, t, d)
        x = drop(x, self.dropout)
        for number in range(self.blocks):
            if self.form == "authors":
                x = self._authors_block(x, weights, f"block{number}", drop)
                continue
            x = layers.transformer_block(
                x, weights, f"block{number}", heads=self.heads, activation="relu", drop=drop, rate=self.dropout,
                scale=self.scale,
            )  # fmt: skip
        x = layers.embed(x.reshape(-1, self.dim), places)
        return x if self.form == "printed" else layers.norm(x, weights["norm"])

    def _authors_block(self, x: Tensor, weights: Weights, name: str, drop: Drop) -> Tensor:
        """Return the output of a block of the authors' code: LayerNorm(x) is what is added, and only queries read it.

        Keys and values read x.
        """
        torch, d = layers.torch_module(), self.dim
        normed = layers.norm(x, weights[f"{name}.attention.norm"])
        matrix, bias = weights[f"{name}.attention.in"], weights[f"{name}.attention.in.bias"]
        mixed = torch.cat([normed @ matrix[:, :d], x @ matrix[:, d:]], -1) + bias
        if self.scale == "model":
            mixed = layers.scaled_by_model(mixed, self.heads)
        x = normed + layers.attention(mixed, self.heads, None, drop, self.dropout)
        normed = layers.norm(x, weights[f"{name}.forward.norm"])
        inner = drop(layers.linear(normed, weights, f"{name}.forward.in").relu(), self.dropout)
        return normed + drop(layers.linear(inner, weights, f"{name}.forward.out"), self.dropout)
