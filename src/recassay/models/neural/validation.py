"""Validation during training: the hit rate at 10 of a network on held-out events, among all items."""

from __future__ import annotations

import numpy as np
import scipy

from recassay.columnar.layout import row_groups
from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.errors import InputError
from recassay.models.base.sequential import require_same_items
from recassay.models.neural.base import Neural
from recassay.models.neural.compute import map_chunks
from recassay.models.neural.fitted import read_states
from recassay.models.neural.layers import Tensor, Weights, torch_module

K = 10
USERS_PER_CHUNK = 128  # users whose scores of all items are in memory at once


class ValidationEvents:
    """Held-out events, to be predicted from the histories of their users in the log.

    Items that a user had in the log are not candidates. If there are more than ``most`` users, ``rng`` draws ``most``
    of them.
    """

    def __init__(self, log: Interactions, validation: Interactions, most: int, rng: np.random.Generator) -> None:
        require_same_items(log, validation, "the validation part")
        if validation.n_users != log.n_users:
            what = f"the validation part has {validation.n_users:,} users, but the log has {log.n_users:,}"
            raise InputError("I322", what, hint="use parts of one log: log.take(rows), or a split")
        users = np.unique(validation.users)
        if users.size > most:
            users = np.sort(rng.permutation(users)[:most])
        self.events = Histories.of(validation).take(users)
        self.had = Histories(*log.by_user).take(users)
        self.histories = Histories.of(log).take(users)

    def half_width(self, hits: float) -> float:
        """Return the half width of the 95 % interval of the hit rate ``hits`` of these events: normal approximation.

        It covers the draw of events from a population, in which a user has one event.
        """
        return float(scipy.special.ndtri(0.975) * np.sqrt(hits * (1 - hits) / self.events.items.size))

    def hits(self, model: Neural, weights: Weights) -> float:
        """Return the share of events whose item is in the top 10; ties are misses. NaN if a state is not finite."""
        torch, states, outputs = (
            torch_module(),
            read_states(model, weights, self.histories),
            model.outputs(weights).detach(),
        )
        if not bool(states.isfinite().all()):
            return float("nan")

        def row_and_item(lists: Histories, begin: int, end: int) -> tuple[Tensor, Tensor]:
            some = lists.take(np.arange(begin, end))
            return torch.from_numpy(row_groups(some.offsets)).to(outputs.device), torch.from_numpy(some.items).to(
                outputs.device
            )

        def count_hits(begin: int, end: int) -> int:
            with torch.inference_mode():
                scores = states[begin:end] @ outputs.T
                scores[row_and_item(self.had, begin, end)] = -float("inf")
                row, item = row_and_item(self.events, begin, end)
                own = scores[row, item]
                of_event = scores if row.numel() == end - begin else scores[row]
                rank = of_event.ge_(own[:, None]).sum(1)  # 0 and 1 in place of scores: sums of bool are slow
                return int((rank <= K).logical_and_(own > -float("inf")).sum())

        counts = map_chunks(count_hits, len(self.events), size=USERS_PER_CHUNK, device=outputs.device.type)
        return sum(counts) / self.events.items.size
