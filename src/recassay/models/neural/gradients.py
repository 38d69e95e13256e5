"""Loss and gradients of a chunk of a training step.

Only the softmax over all items touches every row of the item tables. With other losses a chunk works on copies of the
rows that it touches, so the cost of a chunk does not grow with the catalogue.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.models.neural import layers, losses
from recassay.models.neural.base import Neural
from recassay.models.neural.batches import Codes, NegativeSampler, TrainingBatch
from recassay.models.neural.candidates import CandidateSampler, SampledItems
from recassay.models.neural.layers import Tensor, Weights
from recassay.rng import derive

NO_ITEMS = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class ChunkGradients:
    """The loss of a chunk, summed over its targets, and the gradients of the weights by name.

    ``rows`` are the rows of item tables to which the gradients of these tables belong; None means all rows.
    """

    loss: float
    gradients: dict[str, Tensor]
    rows: Tensor | None


class ChunkLoss:
    """The training loss of a network on a log, for chunks of windows."""

    def __init__(self, model: Neural, log: Interactions, device: str) -> None:
        self.model, self.device, self.n_items = model, device, log.n_items
        self.windows, self.sampler = model.windows_of(Histories.of(log)), NegativeSampler(log)
        self.name = model.loss_for(log.n_items)
        proposal = "uniform" if self.name == "gbce" else model.proposal
        self.candidates = CandidateSampler(log, model.negatives, proposal)

    def draw(self, *keys: int) -> SampledItems | None:
        """Return the sampled items of a step; None if the loss needs none. The numbers ``keys`` seed the draw."""
        if self.name not in ("sampled", "gbce"):
            return None
        return self.candidates.draw(derive(self.model.seed, self.model.name, "candidates", *keys))

    def gradients(
        self, weights: Weights, which: Codes, candidates: SampledItems | None, rng: np.random.Generator
    ) -> ChunkGradients:
        """Return the loss and the gradients of the windows with the numbers ``which``.

        ``candidates`` are the sampled items of the step, None if the loss needs none.
        """
        torch = layers.torch_module()
        windows = self.windows.padded(which, pad=self.n_items)
        batch = self.model.training_batch(windows, self.n_items, rng)
        negatives = NO_ITEMS
        if self.name == "binary":
            negatives = self.sampler.draw(windows.users[batch.places // batch.tokens.shape[1]], rng)
        generator = torch.Generator(self.device).manual_seed(int(rng.integers(2**62)))
        rows = self.rows(batch, negatives, candidates)
        own = self.handles(weights, rows)
        codes = (batch.tokens, batch.targets, negatives, NO_ITEMS if candidates is None else candidates.items)
        tokens, targets, *sampled = (self.tensor(one if rows is None else np.searchsorted(rows, one)) for one in codes)
        places = self.tensor(batch.lengths), self.tensor(batch.places)
        states = self.model.states(own, tokens, *places, layers.dropout(generator))
        loss = self.loss(self.model.outputs(own), states, targets, *sampled, candidates=candidates)
        found = torch.autograd.grad(loss, [*own.values()])
        touched = None if rows is None else self.tensor(rows)
        return ChunkGradients(loss.item(), dict(zip(own, found, strict=True)), touched)

    def rows(self, batch: TrainingBatch, negatives: Codes, candidates: SampledItems | None) -> Codes | None:
        """Return the codes of the items whose embeddings a chunk uses, ascending, with the padding code last.

        The padding code is the number of items. Return None if the loss uses all items.
        """
        if self.name == "softmax":
            return None
        sampled = negatives if candidates is None else candidates.items
        return np.unique(np.concatenate([batch.tokens.ravel(), batch.targets, sampled, [self.n_items]]))

    def handles(self, weights: Weights, rows: Codes | None) -> dict[str, Tensor]:
        """Return detached copies of the weights by name, for which the gradients of one chunk are computed.

        Item tables have only the given ``rows`` (None: all). Each chunk has tensors of its own, because threads that
        share a leaf tensor of PyTorch can block each other.
        """
        found = {name: weight.detach() for name, weight in weights.items()}
        if rows is not None:
            for name in self.model.item_tables:
                inside = rows if found[name].shape[0] > self.n_items else rows[:-1]  # not every table has the padding
                found[name] = found[name].index_select(0, self.tensor(inside))
        return {name: weight.requires_grad_() for name, weight in found.items()}

    def loss(
        self,
        items: Tensor,
        states: Tensor,
        targets: Tensor,
        negatives: Tensor,
        sampled: Tensor,
        *,
        candidates: SampledItems | None,
    ) -> Tensor:
        """Return the loss of states (p, d), summed over their targets.

        ``items`` (n, d) are vectors of items; ``targets`` (p,), ``negatives`` and ``sampled`` are row numbers in it.
        ``negatives`` has an item per target for the binary loss, and ``sampled`` has the items of ``candidates``, which
        the losses with sampled items need.
        """
        if self.name == "binary":
            rows = layers.torch_module().nn.functional.pad(items, (0, 0, 0, 1))  # a last row for "no negative"
            return losses.binary_loss(states, rows, targets, negatives)
        if candidates is None:
            return losses.softmax_loss(states, items, targets)
        if self.name == "gbce":
            beta = losses.gbce_exponent(int(candidates.drawn.sum()), self.n_items, self.model.calibration)
            counts = self.tensor(candidates.drawn).to(states.dtype)
            return losses.gbce_loss(states, items, targets, losses.CandidateTensors(sampled, counts), beta)
        counts = self.tensor(candidates.drawn / candidates.expected).to(states.dtype)
        return losses.sampled_softmax_loss(states, items, targets, losses.CandidateTensors(sampled, counts))

    def tensor(self, array: np.ndarray) -> Tensor:
        """Return an array as a tensor on the device of the weights."""
        return layers.torch_module().from_numpy(array).to(self.device)


def averaged(
    chunks: Sequence[ChunkGradients], n_targets: float, name: str, weight: Tensor, *, is_table: bool
) -> Tensor:
    """Return the gradient of the weight ``name``, summed over chunks in order and divided by ``n_targets``.

    It has the shape of ``weight``. ``is_table`` says that its rows are items: then the gradient of a chunk has only the
    rows that the chunk used. The result is written over the last gradient of a table, if there is one, because new
    memory for a large table costs more than the sums.
    """
    torch = layers.torch_module()
    several = [chunk.gradients[name] for chunk in chunks]
    rows = [chunk.rows for chunk in chunks if chunk.rows is not None]
    if not is_table or not rows:
        return functools.reduce(torch.add, several) / n_targets
    total = torch.zeros_like(weight) if weight.grad is None else weight.grad.zero_()
    for which, gradient in zip(rows, several, strict=True):
        total.index_add_(0, which[: gradient.shape[0]], gradient)  # a table without padding has one row less
    return total.div_(n_targets)
