"""Training losses of networks: softmax over all items or over sampled ones, gBCE, and binary cross-entropy.

A loss is summed over the states (p, d) of a chunk. ``items`` is a table (n, d) of vectors of items, ``targets`` (p,)
are rows of it. Where a loss reads some rows only, the gradient of the table has these rows only.
"""

from __future__ import annotations

from recassay.models.neural.compute import Tensor, torch_module
from recassay.threads import blocks

SCORES_PER_BLOCK = 1 << 20  # scores in a block: few enough to stay in cache
LEAST = -1e30  # a score whose exponential is 0
SOFTMAX_ITEMS = 5_000  # catalogues up to this size get the softmax over all items with loss="auto"


def gbce_exponent(negatives: int, items: int, t: float) -> float:
    """Return beta = alpha (t (1 - 1 / alpha) + 1 / alpha), with alpha = ``negatives`` / (``items`` - 1).

    >>> gbce_exponent(5, 11, 0.0), gbce_exponent(5, 11, 1.0), gbce_exponent(5, 11, 0.5)
    (1.0, 0.5, 0.75)
    """
    alpha = min(1.0, negatives / max(items - 1, 1))
    return alpha * (t * (1 - 1 / alpha) + 1 / alpha)


def softmax_loss(states: Tensor, items: Tensor, targets: Tensor) -> Tensor:
    """Return the summed cross-entropy -log softmax(states items')[target] over all states.

    Scores of all items would not fit in memory, so they are computed block by block. The gradient of the loss has a
    closed form, probability minus target, and is computed in the same pass. The result has the value of the loss and
    the gradient of ``surrogate``, a linear function of ``states`` and ``items`` with these gradients as coefficients.
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


def sampled_softmax_loss(states: Tensor, items: Tensor, targets: Tensor, sampled: Tensor, counts: Tensor) -> Tensor:
    """Return the summed -log(exp(o) / (exp(o) + sum_j w_j exp(o_j))): softmax over the target and sampled items.

    o is the score of the target, o_j that of ``sampled[j]``, and w_j = ``counts[j]`` how often j was drawn divided by
    how often that is expected (the logQ correction: o_j + log w_j). So the denominator is right on average. The target
    is always in it and needs no correction; it is left out of the sum over sampled items. The gradient is computed as
    in :func:`softmax_loss`.

    References: Bengio and Senecal, Adaptive importance sampling to accelerate training of a neural probabilistic
    language model, IEEE Transactions on Neural Networks 19, 2008. Khrylchenko et al., Correcting the logQ correction,
    RecSys 2025, on the target.
    """
    torch = torch_module()
    shared, own_rows = rows_of(items, sampled), rows_of(items, targets)
    with torch.no_grad():
        value, weights = 0.0, counts.log().to(states.dtype)
        states_gradient, own_gradient = torch.empty_like(states), torch.empty_like(own_rows)
        shared_gradient = torch.zeros_like(shared)
        for begin, end in blocks(states.shape[0], max(1, SCORES_PER_BLOCK // sampled.shape[0])):
            some, rows = states[begin:end], own_rows[begin:end]
            own, scores = (some * rows).sum(1), torch.addmm(weights, some, shared.T)
            scores.masked_fill_(targets[begin:end, None] == sampled, -torch.inf)
            total = torch.logaddexp(scores.logsumexp(1), own)
            value += (total - own).double().sum()
            of_own, of_scores = (own - total).expm1_()[:, None], scores.sub_(total[:, None]).exp_()
            torch.mm(of_scores, shared, out=states_gradient[begin:end]).addcmul_(of_own, rows)
            torch.mul(some, of_own, out=own_gradient[begin:end])
            shared_gradient.addmm_(of_scores.T, some)
    surrogate = (states * states_gradient).sum() + (own_rows * own_gradient).sum() + (shared * shared_gradient).sum()
    return surrogate + (value - surrogate.detach())


def gbce_loss(states: Tensor, items: Tensor, targets: Tensor, sampled: Tensor, counts: Tensor, beta: float) -> Tensor:
    """Return the summed -beta log sig(o) - sum_j w_j log(1 - sig(o_j)) (gBCE).

    o is the score of the target, o_j that of ``sampled[j]``, and w_j = ``counts[j]`` how often it was drawn. A sampled
    item that is the target does not count. With ``beta`` = 1 this is binary cross-entropy. The paper divides by
    1 + the number of negatives; Adam would undo that, except that rare items' gradients would fall below its epsilon.

    Reference: Petrov and Macdonald, gSASRec: reducing overconfidence in sequential recommendation trained with negative
    sampling, RecSys 2023.
    """
    own, scores = (states * rows_of(items, targets)).sum(1), states @ rows_of(items, sampled).T
    softplus = torch_module().nn.functional.softplus
    of_sampled = softplus(scores.masked_fill_(targets[:, None] == sampled, LEAST)) @ counts.to(scores.dtype)
    return (beta * softplus(-own)).double().sum() + of_sampled.double().sum()


def binary_loss(states: Tensor, items: Tensor, targets: Tensor, negatives: Tensor, n_items: int) -> Tensor:
    """Return the sum of -log sig(score of the target) - log(1 - sig(score of the negative)) over states.

    A negative (p,) of ``n_items`` stands for "no negative": it adds a constant to the loss and nothing to the gradient.
    """
    softplus = torch_module().nn.functional.softplus
    of_targets = (states * rows_of(items, targets)).sum(-1)
    of_negatives = (states * rows_of(items, negatives.clamp(max=n_items - 1))).sum(-1) * (negatives < n_items)
    return softplus(-of_targets).sum() + softplus(of_negatives).sum()


def rows_of(table: Tensor, codes: Tensor) -> Tensor:
    """Return ``table[codes]``; the gradient of the table is sparse."""
    return torch_module().nn.functional.embedding(codes, table, sparse=True)
