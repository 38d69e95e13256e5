"""Incremental pairwise ranking: each event moves an item above items that the user has not had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from recassay.arrays import Float32
from recassay.models.incremental import _bprmf
from recassay.models.incremental._bprmf import BprmfSettings, BprmfState
from recassay.models.incremental._factor_blocks import FIRST_BLOCKS, ITEMS_PER_BLOCK, draw_blocks, draw_rows, score_row
from recassay.models.incremental._lists import GrowingLists
from recassay.models.incremental._walk import StreamEvents
from recassay.models.incremental.base import Incremental, Walker, grown
from recassay.naming.grammar import Value
from recassay.naming.named import AT_LEAST_0, COUNT, Departure
from recassay.rng import derive_seed

UPDATES = {"event": _bprmf.EVENT, "user": _bprmf.USER, "user and item": _bprmf.BOTH}


@dataclass(frozen=True, repr=False)
class BPRMF(Incremental):
    """Bayesian personalised ranking of factors: a score is an item's bias and the product of both sides' factors.

    ``learns="event"``: an event of user u and item i makes ``iterations`` steps, each with a negative item j drawn
    from the items seen so far that u has not had. With g = 1 / (1 + exp(s_ui - s_uj)) and the learning rate ``rate``,
    P_u moves by g (Q_i - Q_j) - ``reg_user`` P_u, Q_i by g P_u - ``reg_item`` Q_i, Q_j by -g P_u - ``reg_negative``
    Q_j, b_i by g - ``reg_bias`` b_i and b_j by -g - ``reg_bias`` b_j, all from the values before the step. Without a
    possible j nothing moves. ``sampling="frequency"`` (WBPRMF) draws j in proportion to its number of users.

    ``learns="user"`` is the rule of MyMediaLite: an event resets the user's factors and makes one step per item of the
    user, each on a random item of the user, which moves the user only. Items are trained on the events before the
    first query (the warm-up of a stream), in ``iterations`` rounds of one step per pair, each on a random user. Items
    first seen later keep their initial factors. ``learns="user and item"`` also resets the item's factors and makes
    pairs / items steps with random users.

    Initial factors are Normal(0, ``deviation``), drawn by ``seed`` and code; biases are 0. Numbers have single
    precision.

    >>> learner = BPRMF(factors=2, seed=1).start()
    >>> users, items = np.array([0, 0, 1, 2, 1], np.int32), np.array([0, 1, 0, 2, 1], np.int32)
    >>> learner.learn(users, items, np.ones(5))
    >>> int(learner.scores(1).argmin())
    2

    References: Rendle, Freudenthaler, Gantner and Schmidt-Thieme, BPR, UAI 2009; Rendle and Schmidt-Thieme,
    Online-updating regularized kernel matrix factorization models, RecSys 2008.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {
        "mymedialite": {"learns": "user"},
        "mymedialite-items": {"learns": "user and item"},
    }

    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "prequential",
            "MyMediaLite, which the paper takes BPRMF from, resets the user's factors at each event and moves no item; "
            "here an event moves the user, its item and the negative items, so that new items are learned.",
            "BPRMF(learns='user')",
        ),
        Departure(
            "prequential",
            "MyMediaLite draws negative items from all item numbers that it has read, items without events among them; "
            "here they are drawn from the items learned so far, because a stream does not name later items.",
        ),
    )

    factors: Annotated[int, COUNT] = 10
    iterations: Annotated[int, COUNT] = 30
    rate: Annotated[float, AT_LEAST_0] = 0.05
    reg_user: Annotated[float, AT_LEAST_0] = 0.0025
    reg_item: Annotated[float, AT_LEAST_0] = 0.0025
    reg_negative: Annotated[float, AT_LEAST_0] = 0.00025
    reg_bias: Annotated[float, AT_LEAST_0] = 0.0
    sampling: Literal["uniform", "frequency"] = "uniform"
    learns: Literal["event", "user", "user and item"] = "event"
    deviation: Annotated[float, AT_LEAST_0] = 0.1
    seed: int = 0

    def start(self) -> LearningBPRMF:
        """Return a new learner that has learned nothing."""
        return LearningBPRMF(self)


class LearningBPRMF(Walker):
    """The learner of ``BPRMF``: its current factors, and the items of each user."""

    kernels = _bprmf.learn, _bprmf.score

    def __init__(self, model: BPRMF) -> None:
        self.model = model
        self.users = np.zeros((0, model.factors), np.float32)
        self.items = np.zeros((0, model.factors + 1, ITEMS_PER_BLOCK), np.float32)
        self.profiles = GrowingLists()
        self.pairs, self.mark = np.zeros(0, np.int32), np.zeros(0, np.int64)
        self.counts = np.array([0, 0, 0, 0, 0, model.learns == "event"], np.int64)
        rates = (model.rate, model.reg_user, model.reg_item, model.reg_negative, model.reg_bias)
        salt = np.uint64(derive_seed(model.seed, "BPRMF") % 2**64)
        by_frequency = model.sampling == "frequency"
        self.settings = BprmfSettings(
            np.array(rates, np.float32), model.iterations, UPDATES[model.learns], by_frequency, model.deviation, salt
        )

    def grow(self, users: int, items: int, events: StreamEvents | None = None) -> tuple[Any, Float32]:
        """Enlarge the arrays to hold at least ``users`` users and ``items`` items.

        Return (arrays that the compiled functions read and write, array for a score of each item). ``events`` are those
        that will be learned next.
        """
        if events is not None:
            self.profiles.reserve(events.users)
            if self.settings.by_frequency:
                self.pairs = grown(self.pairs, int(self.counts[1]) + events.users.size)
        profiles, blocks = self.profiles, draw_blocks(self.model, "BPRMF item", biased=True)
        self.users = grown(self.users, users, draw_rows(self.model, "BPRMF user"))
        profiles.grow(users)
        self.items = grown(self.items, -(-items // ITEMS_PER_BLOCK), blocks, first=FIRST_BLOCKS)
        self.mark = grown(self.mark, items)
        state = BprmfState(
            self.settings, self.users, self.items, profiles.start, profiles.length, profiles.values, self.pairs,
            self.mark, self.counts,
        )  # fmt: skip
        return state, score_row(self.items)
