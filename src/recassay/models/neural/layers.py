"""The pieces that networks are put together from: functions of tensors and of named weights, without a state.

Sequences stand at the left of a table: the item at place ``t`` of row ``n`` is real where ``t < lengths[n]``, and what
stands behind it is never read by a real one. PyTorch is imported when the first piece is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.optional import need
from recassay.threads import blocks

LOGITS = 1 << 20  # numbers of a block of scores over all items: few enough to stay in cache

Tensor = Any  # of PyTorch, whose types are not worth its import
Weights = Mapping[str, Tensor]
Array = NDArray[np.float32]
Drop = Callable[[Tensor, float], Tensor]


def library() -> Any:
    """PyTorch."""
    return need("torch", for_="a neural model")


def tensors(weights: Mapping[str, Array], device: str) -> dict[str, Tensor]:
    """Weights where they are needed, in memory of PyTorch: products round by how their operands are aligned."""
    return {name: library().from_numpy(one).clone().to(device) for name, one in weights.items()}


def normal(rng: np.random.Generator, *shape: int, sd: float = 0.02) -> Array:
    """Weights to begin with: normal, around 0."""
    return rng.standard_normal(shape, np.float32) * np.float32(sd)


def glorot(rng: np.random.Generator, *shape: int) -> Array:
    """Weights to begin with: uniform, with the variance that keeps signals as large as they come in."""
    reach = np.float32(np.sqrt(6 / (shape[-2] + shape[-1])))
    return (2 * rng.random(shape, np.float32) - 1) * reach


def table(rng: np.random.Generator, items: int, dim: int) -> Array:
    """Embeddings of items, and below them a row of zeros: what stands where there is no item."""
    return np.concatenate([normal(rng, items, dim), np.zeros((1, dim), np.float32)])


def keep(x: Tensor, _: float) -> Tensor:
    """No dropout, whatever its rate: for answering."""
    return x


def dropping(generator: Tensor) -> Drop:
    """Dropout: each number is 0 with a probability of ``rate``, the others grow so that the mean stays.

    A draw of 64 bits is four lots, which makes drawing several times faster, and a rate exact to 1 in 65,536.
    """
    torch = library()

    def drop(x: Tensor, rate: float) -> Tensor:
        if rate == 0:
            return x
        draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64, device=x.device)
        lots = draws.random_(-(2**63), None, generator=generator).view(torch.int16)[: x.numel()].view(x.shape)
        kept = (lots >= round(rate * 2**16) - 2**15).to(x.dtype)
        return x * kept.div_(1 - rate)

    return drop


def embed(rows: Tensor, numbers: Tensor) -> Tensor:
    """The rows (..., d) of a table (any, d) that the numbers (...) name."""
    return library().nn.functional.embedding(numbers, rows)


def norm(x: Tensor, weights: Tensor) -> Tensor:
    """Every row with mean 0 and variance 1, times a gain, plus a bias: ``weights`` (2, d) holds both."""
    return library().nn.functional.layer_norm(x, x.shape[-1:], weights[0], weights[1])


def numbers(tokens: Tensor) -> Tensor:
    """The places 0, 1, ... (t,) of a table (n, t)."""
    return library().arange(tokens.shape[1], device=tokens.device)


def placed(rows: Tensor, tokens: Tensor, lengths: Tensor) -> Tensor:
    """Rows (n, t, d) of places: the last item has the last row, whatever the length; what is behind it has it too."""
    from_end = (lengths[:, None] - numbers(tokens)).clamp(min=1)  # (n, t)
    return embed(rows, rows.shape[0] - from_end)


def recurrence(rng: np.random.Generator, name: str, dim: int, hidden: int) -> dict[str, Array]:
    """Weights to begin with of a :func:`gru`: matrices for r, z and h below one another, of the input and the state."""
    into, onward = ([glorot(rng, hidden, width) for _ in range(3)] for width in (dim, hidden))
    return {f"{name}.in": np.concatenate(into), f"{name}.on": np.concatenate(onward)}


def gru(x: Tensor, weights: Weights, name: str) -> Tensor:
    """All states (n, t, h) of gated recurrent units that read x (n, t, d)."""
    into, onward = weights[f"{name}.in"], weights[f"{name}.on"]  # (3h, d), (3h, h)
    start = x.new_zeros(1, x.shape[0], onward.shape[1])
    states, _ = library().gru(x, start, [into, onward], False, 1, 0.0, False, False, True)
    return states


def unit(dim: int) -> Array:
    """Weights to begin with of a :func:`norm`: a gain of 1, a bias of 0."""
    return np.stack([np.ones(dim, np.float32), np.zeros(dim, np.float32)])


def block(rng: np.random.Generator, name: str, dim: int, inner: int, draw: Callable[..., Array]) -> dict[str, Array]:
    """Weights to begin with of a block of :func:`transform`."""
    return {
        f"{name}.attention.norm": unit(dim),
        f"{name}.attention.in": np.concatenate(
            [draw(rng, dim, dim) for _ in range(3)], axis=1
        ),  # queries, keys, values
        f"{name}.attention.out": draw(rng, dim, dim),
        f"{name}.forward.norm": unit(dim),
        f"{name}.forward.in": draw(rng, dim, inner),
        f"{name}.forward.in.bias": np.zeros(inner, np.float32),
        f"{name}.forward.out": draw(rng, inner, dim),
        f"{name}.forward.out.bias": np.zeros(dim, np.float32),
    }


def transform(
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
) -> Tensor:
    """A block: x + Dropout(Attention(Norm(x))), and of that x + Dropout(Forward(Norm(x))).

    Attention looks back only, unless ``seen`` (n, 1, 1, t) says which places anybody may look at. ``within`` is the
    dropout of its shares.
    """
    functional = library().nn.functional
    mixed = norm(x, weights[f"{name}.attention.norm"]) @ weights[f"{name}.attention.in"]  # (n, t, 3d)
    mixed = attention(mixed, heads, seen, drop, within) @ weights[f"{name}.attention.out"]
    x = x + drop(mixed, rate)
    inner = (
        norm(x, weights[f"{name}.forward.norm"]) @ weights[f"{name}.forward.in"] + weights[f"{name}.forward.in.bias"]
    )
    inner = getattr(functional, activation)(inner)  # (n, t, f)
    return x + drop(inner @ weights[f"{name}.forward.out"] + weights[f"{name}.forward.out.bias"], rate)


def attention(mixed: Tensor, heads: int, seen: Tensor | None, drop: Drop, within: float) -> Tensor:
    """softmax(Q K' / sqrt(d / heads)) V of each head, side by side: (n, t, d) from Q, K and V (n, t, 3d)."""
    n, t, width = mixed.shape
    split = mixed.view(n, t, 3, heads, width // 3 // heads).permute(2, 0, 3, 1, 4)  # (3, n, heads, t, d / heads)
    queries, keys, values = split[0], split[1], split[2]
    if within == 0 or drop is keep:
        attend = library().nn.functional.scaled_dot_product_attention
        found = attend(queries, keys, values, attn_mask=seen, is_causal=seen is None)
    else:
        fit = (queries / (width // 3 // heads) ** 0.5) @ keys.transpose(-1, -2)  # (n, heads, t, t)
        mask = fit.new_ones(t, t, dtype=library().bool).tril() if seen is None else seen
        found = drop(fit.masked_fill_(~mask, -float("inf")).softmax(-1), within) @ values
    return found.transpose(1, 2).reshape(n, t, width // 3)


def softmax_loss(states: Tensor, items: Tensor, targets: Tensor) -> Tensor:
    """The sum of -log softmax(states items')[target]: (p, d), (items, d) and (p,) give one number.

    Scores of all items would fill the memory, so they are made block by block. Their gradient has a closed form, chance
    minus truth, and is taken at once; the product with it carries it on to whatever the states were made of.
    """
    torch = library()
    with torch.no_grad():
        value, back, across = 0.0, torch.empty_like(states), torch.zeros_like(items)
        for begin, end in blocks(states.shape[0], max(1, LOGITS // items.shape[0])):
            some, truth = states[begin:end], targets[begin:end, None]
            logs = torch.nn.functional.log_softmax(some @ items.T, dim=1)
            value -= logs.gather(1, truth).double().sum()
            error = logs.exp_().scatter_add_(1, truth, -torch.ones_like(truth, dtype=logs.dtype))
            torch.mm(error, items, out=back[begin:end])
            across.addmm_(error.T, some)
    carrier = (states * back).sum() + (items * across).sum()
    return carrier + (value - carrier.detach())


def binary_loss(states: Tensor, rows: Tensor, targets: Tensor, others: Tensor) -> Tensor:
    """The sum of -log sig(score of the target) - log(1 - sig(score of another item)), for states (p, d).

    ``rows`` (items + 1, d) has the items; its last row stands for no other item, and learns nothing.
    """
    functional = library().nn.functional
    right = (states * functional.embedding(targets, rows)).sum(-1)
    wrong = (states * functional.embedding(others, rows, padding_idx=rows.shape[0] - 1)).sum(-1)
    return functional.softplus(-right).sum() + functional.softplus(wrong).sum()
