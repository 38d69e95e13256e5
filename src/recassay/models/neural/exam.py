"""How well a network that is learning foretells events held out: the hit rate at 10 among all items."""

from __future__ import annotations

import numpy as np

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.data.layout import stretch_of
from recassay.errors import InputError
from recassay.models.neural.base import Neural
from recassay.models.neural.compute import each_part
from recassay.models.neural.fitted import read
from recassay.models.neural.layers import Tensor, Weights, library
from recassay.models.sequential import same_items

K = 10
ASKED = 128  # users whose scores of all items are in memory together


class Exam:
    """Events to foretell, each from its user's history in the log; what a user has had is no candidate."""

    def __init__(self, log: Interactions, validation: Interactions) -> None:
        same_items(log, validation, "the validation part")
        if validation.n_users != log.n_users:
            what = f"the validation part has {validation.n_users:,} users and the log has {log.n_users:,}"
            raise InputError("I322", what, hint="take both from one log: log.take(rows), or a split")
        users = np.unique(validation.users)
        self.events = Histories.of(validation).take(users)
        self.had = Histories(*log.by_user).take(users)
        self.histories = Histories.of(log).take(users)

    def hits(self, model: Neural, weights: Weights) -> float:
        """The share of events whose item is among the best 10; ties count against it. NaN if a state is no number."""
        torch, states, outputs = library(), read(model, weights, self.histories), model.outputs(weights).detach()
        if not bool(states.isfinite().all()):
            return float("nan")

        def cells(lists: Histories, begin: int, end: int) -> tuple[Tensor, Tensor]:
            some = lists.take(np.arange(begin, end))
            return torch.from_numpy(stretch_of(some.offsets)).to(outputs.device), torch.from_numpy(some.items).to(
                outputs.device
            )

        def work(begin: int, end: int) -> int:
            with torch.inference_mode():
                scores = outputs.new_full((end - begin, max(K + 1, outputs.shape[0])), -float("inf"))
                scores[:, : outputs.shape[0]] = states[begin:end] @ outputs.T
                scores[cells(self.had, begin, end)] = -float("inf")
                row, item = cells(self.events, begin, end)
                return int((scores[row, item] > scores.topk(K + 1).values[row, K]).sum())

        parts = each_part(work, len(self.events), size=ASKED, device=outputs.device.type)
        return sum(parts) / self.events.items.size
