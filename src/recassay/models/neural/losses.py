"""Training losses of networks: softmax over all items or over sampled ones, gBCE, and binary cross-entropy.

A loss is summed over the states of a chunk. Matrices of scores are computed block by block and never kept: the gradient
of each loss has a closed form, which is computed in the same pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from recassay.models.neural.layers import Tensor, embed, torch_module
from recassay.threads import blocks

SCORES_PER_BLOCK = 1 << 20  # scores in a block: few enough to stay in cache
SOFTMAX_ITEMS = 5_000  # catalogues up to this size get the softmax over all items by default


def default_loss(items: int) -> str:
    """Return the loss that ``loss="auto"`` stands for: "softmax" up to ``SOFTMAX_ITEMS`` items, then "sampled".

    >>> default_loss(5_000), default_loss(5_001)
    ('softmax', 'sampled')
    """
    return "softmax" if items <= SOFTMAX_ITEMS else "sampled"


def gbce_exponent(negatives: int, items: int, t: float) -> float:
    """Return beta = alpha (t (1 - 1 / alpha) + 1 / alpha), with alpha = ``negatives`` / (``items`` - 1).

    >>> gbce_exponent(5, 11, 0.0), gbce_exponent(5, 11, 1.0), gbce_exponent(5, 11, 0.5)
    (1.0, 0.5, 0.75)
    """
    alpha = min(1.0, negatives / max(items - 1, 1))
    return alpha * (t * (1 - 1 / alpha) + 1 / alpha)


@dataclass(frozen=True, eq=False)
class CandidateTensors:
    """Sampled items that all states of a step share: ``items`` (c,), distinct, and how many times each counts (c,)."""

    items: Tensor
    counts: Tensor


def softmax_loss(states: Tensor, items: Tensor, targets: Tensor) -> Tensor:
    """Return the summed cross-entropy -log softmax(states items')[target] over all states.

    ``states`` are (p, d), ``items`` (n, d), and ``targets`` (p,) are rows of ``items``. Scores of all items would not
    fit in memory, so they are computed block by block. The gradient of the loss has a closed form, probability minus
    target, and is computed in the same pass. The result has the value of the loss and the gradient of ``surrogate``, a
    linear function of ``states`` and ``items`` with these gradients as coefficients.
    """
    torch = torch_module()
    with torch.no_grad():
        value, states_gradient, items_gradient = 0.0, torch.empty_like(states), torch.zeros_like(items)
        for begin, end in blocks(states.shape[0], max(1, SCORES_PER_BLOCK // items.shape[0])):
            some, target = states[begin:end], targets[begin:end, None]
            logs = torch.nn.functional.log_softmax(some @ items.T, dim=1)
            value -= logs.gather(1, target).double().sum()
            error = logs.exp_().scatter_add_(1, target, -torch.ones_like(target, dtype=logs.dtype))
            torch.mm(error, items, out=states_gradient[begin:end])
            items_gradient.addmm_(error.T, some)
    surrogate = (states * states_gradient).sum() + (items * items_gradient).sum()
    return surrogate + (value - surrogate.detach())


def sampled_softmax_loss(states: Tensor, items: Tensor, targets: Tensor, candidates: CandidateTensors) -> Tensor:
    """Return the summed -log(exp(o) / (exp(o) + sum_j w_j exp(o_j))): softmax over the target and sampled items.

    o is the score of the target, o_j that of candidate j, and w_j = ``candidates.counts`` how often j was drawn divided
    by how often that is expected (the logQ correction: o_j + log w_j). So the denominator is right on average. The
    target is always in it and needs no correction; it is left out of the sum over candidates.

    References: Bengio and Senecal, Adaptive importance sampling to accelerate training of a neural probabilistic
    language model, IEEE Transactions on Neural Networks 19, 2008. Khrylchenko et al., Correcting the logQ correction,
    RecSys 2025, on the target.
    """
    torch = torch_module()
    weights = candidates.counts.log()

    def errors(own: Tensor, scores: Tensor, same: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        scores += weights
        scores.masked_fill_(same, -float("inf"))
        total = torch.logaddexp(scores.logsumexp(1), own)
        return (total - own).double().sum(), (own - total).exp_() - 1, scores.sub_(total[:, None]).exp_()

    return _shared_loss(states, items, targets, candidates.items, errors)


def gbce_loss(states: Tensor, items: Tensor, targets: Tensor, candidates: CandidateTensors, beta: float) -> Tensor:
    """Return the summed -beta log sig(o) - sum_j w_j log(1 - sig(o_j)) (gBCE).

    o is the score of the target, o_j that of candidate j, and w_j = ``candidates.counts`` how often it was drawn. A
    candidate that is the target does not count. With ``beta`` = 1 this is binary cross-entropy. The paper divides by
    1 + the number of negatives; Adam would undo that, except that rare items' gradients would fall below its epsilon.

    Reference: Petrov and Macdonald, gSASRec: reducing overconfidence in sequential recommendation trained with negative
    sampling, RecSys 2023.
    """
    torch = torch_module()
    softplus = torch.nn.functional.softplus

    def errors(own: Tensor, scores: Tensor, same: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        weights = candidates.counts.expand_as(scores).masked_fill(same, 0.0)
        value = beta * softplus(-own).double().sum() + (weights * softplus(scores)).double().sum()
        return value, -beta * torch.sigmoid(-own), scores.sigmoid_().mul_(weights)

    return _shared_loss(states, items, targets, candidates.items, errors)


def binary_loss(states: Tensor, rows: Tensor, targets: Tensor, negatives: Tensor) -> Tensor:
    """Return the sum of -log sig(score of the target) - log(1 - sig(score of the negative)) over states (p, d).

    ``rows`` (items + 1, d) are item embeddings, and ``targets`` and ``negatives`` (p,) are row numbers. The last row is
    all 0 and stands for "no negative": as a negative, it adds a constant to the loss and nothing to the gradient.
    """
    functional = torch_module().nn.functional
    positive_scores = (states * functional.embedding(targets, rows)).sum(-1)
    negative_scores = (states * functional.embedding(negatives, rows, padding_idx=rows.shape[0] - 1)).sum(-1)
    return functional.softplus(-positive_scores).sum() + functional.softplus(negative_scores).sum()


def _shared_loss(
    states: Tensor,
    items: Tensor,
    targets: Tensor,
    candidates: Tensor,
    errors: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]],
) -> Tensor:
    """Return the sum over states of a loss by the state's own target and by candidates that all states share.

    ``targets`` (p,) and ``candidates`` (c,) are rows of ``items``. ``errors(own, scores, same)`` gets the scores of
    targets (p,), the scores of candidates (p, c), and a mask (p, c) of the candidates that are the target. It returns
    the value of the loss and its derivatives by ``own`` and by ``scores``, and may overwrite ``scores``.
    """
    torch = torch_module()
    shared, own_rows = embed(items, candidates), embed(items, targets)
    with torch.no_grad():
        value = 0.0
        states_gradient, own_gradient = torch.empty_like(states), torch.empty_like(own_rows)
        shared_gradient = torch.zeros_like(shared)
        for begin, end in blocks(states.shape[0], max(1, SCORES_PER_BLOCK // candidates.shape[0])):
            some, rows = states[begin:end], own_rows[begin:end]
            same = targets[begin:end, None] == candidates
            found, of_own, of_scores = errors((some * rows).sum(1), some @ shared.T, same)
            value += found
            torch.mm(of_scores, shared, out=states_gradient[begin:end]).addcmul_(of_own[:, None], rows)
            torch.mul(some, of_own[:, None], out=own_gradient[begin:end])
            shared_gradient.addmm_(of_scores.T, some)
    surrogate = (states * states_gradient).sum() + (own_rows * own_gradient).sum() + (shared * shared_gradient).sum()
    return surrogate + (value - surrogate.detach())
