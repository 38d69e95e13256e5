"""Layers of networks as functions of tensors and named weights, without state.

Sequences are left-aligned in a table: the item in column ``t`` of row ``n`` exists if ``t < lengths[n]``. Padding after
it never affects an existing item. PyTorch is imported when the first function is called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.optional import need

Tensor = Any  # a PyTorch tensor; importing PyTorch for its types would be slow
Weights = Mapping[str, Tensor]
Array = NDArray[np.float32]
Drop = Callable[[Tensor, float], Tensor]


@functools.cache  # a chunk of a step asks some thirty times
def torch_module() -> Any:
    """Return the module torch; raise an error that says how to install it if it is missing."""
    return need("torch", for_="a neural model")


def tensors(weights: Mapping[str, Array], device: str) -> dict[str, Tensor]:
    """Return copies of weights, by name, as tensors on a device.

    PyTorch allocates their memory, because alignment affects rounding.
    """
    return {name: torch_module().from_numpy(weight).clone().to(device) for name, weight in weights.items()}


def normal(rng: np.random.Generator, *shape: int, sd: float = 0.02) -> Array:
    """Return random initial weights of the given shape: normal, with mean 0 and standard deviation ``sd``."""
    return rng.standard_normal(shape, np.float32) * np.float32(sd)


def glorot(rng: np.random.Generator, *shape: int) -> Array:
    """Return uniform random initial weights of the given shape.

    Their variance keeps that of the inputs (Glorot).
    """
    reach = np.float32(np.sqrt(6 / (shape[-2] + shape[-1])))
    return (2 * rng.random(shape, np.float32) - 1) * reach


def embedding_table(rng: np.random.Generator, items: int, dim: int) -> Array:
    """Return initial embeddings of items, followed by a row of zeros for padding."""
    return np.concatenate([normal(rng, items, dim), np.zeros((1, dim), np.float32)])


def no_dropout(x: Tensor, _: float) -> Tensor:
    """Return ``x`` unchanged, in place of dropout when the network predicts."""
    return x


def dropout(generator: Tensor) -> Drop:
    """Return a dropout function: each number becomes 0 with probability ``rate``; others are scaled to keep the mean.

    A random 64-bit number serves four entries, which is several times faster; rates are exact to 1 in 65,536.
    """
    torch = torch_module()

    def drop(x: Tensor, rate: float) -> Tensor:
        if rate == 0:
            return x
        draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64, device=x.device)
        keys = draws.random_(-(2**63), None, generator=generator).view(torch.int16)[: x.numel()].view(x.shape)
        kept = (keys >= round(rate * 2**16) - 2**15).to(x.dtype)
        return x * kept.div_(1 - rate)

    return drop


def embed(rows: Tensor, positions: Tensor) -> Tensor:
    """Return ``rows[positions]``, an array (..., d), from the table ``rows`` (any, d) and row numbers (...)."""
    return torch_module().nn.functional.embedding(positions, rows)


def norm(x: Tensor, weights: Tensor) -> Tensor:
    """Return every row standardised, times a gain, plus a bias (LayerNorm); ``weights`` (2, d) has gain and bias."""
    return torch_module().nn.functional.layer_norm(x, x.shape[-1:], weights[0], weights[1])


def positions(tokens: Tensor) -> Tensor:
    """Return the column numbers 0, 1, ... (t,) of a table (n, t)."""
    return torch_module().arange(tokens.shape[1], device=tokens.device)


def position_embeddings(rows: Tensor, tokens: Tensor, lengths: Tensor) -> Tensor:
    """Return an embedding of each position in a table of tokens (n, t, d), by its distance from the end.

    The last item of any history has the last row of ``rows``, the item before it the row above, and so on. The padding
    after a history has the last row too. ``lengths`` are the numbers of items of the histories.
    """
    from_end = (lengths[:, None] - positions(tokens)).clamp(min=1)  # (n, t)
    return embed(rows, rows.shape[0] - from_end)


def gru_weights(rng: np.random.Generator, name: str, dim: int, hidden: int) -> dict[str, Array]:
    """Return initial weights of a :func:`gru`: "NAME.in" (3h, d) for its input and "NAME.on" (3h, h) for its state.

    NAME is ``name``. Each has the matrices of the reset gate, the update gate and the new state, one below the other.
    """
    into, onward = ([glorot(rng, hidden, width) for _ in range(3)] for width in (dim, hidden))
    return {f"{name}.in": np.concatenate(into), f"{name}.on": np.concatenate(onward)}


def gru(x: Tensor, weights: Weights, name: str, *, reset_before: bool = False) -> Tensor:
    """Return all states (n, t, h) of gated recurrent units that read x (n, t, d); ``name`` selects their weights.

    With ``reset_before`` the reset gate multiplies the state before the matrix product. PyTorch has no kernel for that.
    """
    into, onward = weights[f"{name}.in"], weights[f"{name}.on"]  # (3h, d), (3h, h)
    if reset_before:
        return _gru_reset_before(x @ into.T, onward)
    torch, start = torch_module(), x.new_zeros(1, x.shape[0], onward.shape[1])
    if x.is_cuda:  # a GPU's kernel wants weights one behind the other, and biases after them; else it copies and warns
        last = into.numel() + onward.numel()
        chunk = torch.cat((into.flatten(), onward.flatten(), x.new_zeros(2 * onward.shape[0])))
        into, onward = chunk[: into.numel()].view_as(into), chunk[into.numel() : last].view_as(onward)
    learning = torch.is_grad_enabled()  # without dropout it only tells a GPU to keep what gradients need
    states, _ = torch.gru(x, start, [into, onward], False, 1, 0.0, learning, False, True)
    return states


def _gru_reset_before(inputs: Tensor, onward: Tensor) -> Tensor:
    """Return the states (n, t, h), computed position by position.

    ``inputs`` (n, t, 3h) are the inputs times the matrices of the reset gate, the update gate and the new state, side
    by side; ``onward`` (3h, h) are the matrices that multiply the state.
    """
    torch, width = torch_module(), onward.shape[1]
    state, states = inputs.new_zeros(inputs.shape[0], width), []
    for at in inputs.unbind(1):
        reset, update = torch.sigmoid(at[:, : 2 * width] + state @ onward[: 2 * width].T).chunk(2, 1)
        new = torch.tanh(at[:, 2 * width :] + (reset * state) @ onward[2 * width :].T)
        state = update * state + (1 - update) * new
        states.append(state)
    return torch.stack(states, 1)


def norm_weights(dim: int) -> Array:
    """Return initial weights of a :func:`norm`: gain 1, bias 0."""
    return np.stack([np.ones(dim, np.float32), np.zeros(dim, np.float32)])


def block_weights(
    rng: np.random.Generator, name: str, dim: int, inner: int, draw: Callable[..., Array]
) -> dict[str, Array]:
    """Return initial weights of a :func:`transformer_block`, their names prefixed by ``name``.

    ``draw`` is the function that draws a random matrix, and ``inner`` is the width of the feed-forward layer.
    """
    return {
        f"{name}.attention.norm": norm_weights(dim),
        f"{name}.attention.in": np.concatenate(
            [draw(rng, dim, dim) for _ in range(3)], axis=1
        ),  # queries, keys, values
        f"{name}.attention.out": draw(rng, dim, dim),
        f"{name}.forward.norm": norm_weights(dim),
        f"{name}.forward.in": draw(rng, dim, inner),
        f"{name}.forward.in.bias": np.zeros(inner, np.float32),
        f"{name}.forward.out": draw(rng, inner, dim),
        f"{name}.forward.out.bias": np.zeros(dim, np.float32),
    }


def transformer_block(
    x: Tensor,
    weights: Weights,
    name: str,
    *,
    heads: int,
    activation: Literal["relu", "gelu"],
    drop: Drop,
    rate: float,
    within: float = 0.0,
    seen: Tensor | None = None,
    scale: Literal["head", "model"] = "head",
) -> Tensor:
    """Return the output of a block: x + Dropout(Attention(Norm(x))), then x + Dropout(Forward(Norm(x))).

    ``name`` selects the weights. ``rate`` is the dropout rate, and ``within`` that of attention weights. Attention is
    causal unless ``seen`` (n, 1, 1, t) marks the positions that all positions may attend to. Its products are divided
    by the square root of d / heads, or of d with ``scale="model"``. ``activation`` is that of the feed-forward layer.
    """
    functional = torch_module().nn.functional
    mixed = linear(norm(x, weights[f"{name}.attention.norm"]), weights, f"{name}.attention.in")  # (n, t, 3d)
    if scale == "model":
        mixed = scaled_by_model(mixed, heads)
    mixed = attention(mixed, heads, seen, drop, within) @ weights[f"{name}.attention.out"]
    x = x + drop(mixed, rate)
    inner = linear(norm(x, weights[f"{name}.forward.norm"]), weights, f"{name}.forward.in")
    inner = getattr(functional, activation)(inner)  # (n, t, f)
    return x + drop(linear(inner, weights, f"{name}.forward.out"), rate)


def linear(x: Tensor, weights: Weights, name: str) -> Tensor:
    """Return x times the matrix of this name, plus the bias ``name.bias`` if there is one."""
    found, bias = x @ weights[name], weights.get(f"{name}.bias")
    return found if bias is None else found + bias


def scaled_by_model(mixed: Tensor, heads: int) -> Tensor:
    """Return Q, K and V side by side with Q / sqrt(heads).

    :func:`attention` divides by sqrt(d / heads), so that the product is divided by sqrt(d).
    """
    if heads == 1:
        return mixed
    d = mixed.shape[-1] // 3
    return torch_module().cat([mixed[..., :d] * heads**-0.5, mixed[..., d:]], -1)


def attention(mixed: Tensor, heads: int, seen: Tensor | None, drop: Drop, within: float) -> Tensor:
    """Return softmax(Q K' / sqrt(d / heads)) V of all heads, concatenated: an array (n, t, d).

    ``mixed`` (n, t, 3d) has Q, K and V side by side. Attention is causal unless ``seen`` marks the positions that may
    be attended to; ``within`` is the dropout rate of attention weights.
    """
    n, t, width = mixed.shape
    split = mixed.view(n, t, 3, heads, width // 3 // heads).permute(2, 0, 3, 1, 4)  # (3, n, heads, t, d / heads)
    queries, keys, values = split[0], split[1], split[2]
    if within == 0 or drop is no_dropout:
        fused = torch_module().nn.functional.scaled_dot_product_attention
        found = fused(queries, keys, values, attn_mask=seen, is_causal=seen is None)
    else:
        logits = (queries / (width // 3 // heads) ** 0.5) @ keys.transpose(-1, -2)  # (n, heads, t, t)
        mask = logits.new_ones(t, t, dtype=torch_module().bool).tril() if seen is None else seen
        found = drop(logits.masked_fill_(~mask, -float("inf")).softmax(-1), within) @ values
    return found.transpose(1, 2).reshape(n, t, width // 3)
