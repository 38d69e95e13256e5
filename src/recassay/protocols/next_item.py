"""Ask every user for the one item that came next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.truth import Truth
from recassay.errors import InputError
from recassay.protocols.base import Survey
from recassay.protocols.ranking import TOP


@dataclass(frozen=True, repr=False)
class NextItem(Survey):
    """Every user is asked once, and the one item of the test part is the answer: leave-one-out.

    What lies between training and test is revealed first: with ``last(n=1, validation=1)`` a model that reads histories
    knows the validation item when it is asked about the test item, and has learnt nothing from it. Items that a user
    has had, revealed ones too, are no candidates; ``keep_seen=True`` leaves them in. ``on="validation"`` asks about the
    validation part after the training part.

    Lists are ``k`` long, ``bins`` are of popularity (0: none). Where a design samples by popularity an item weighs its
    users in ``training``, or in ``all`` parts of the log, as some published code has it.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 1], "item_id": [7, 8, 9]}))
    >>> train, validation, test = (log.take(np.array([row])) for row in range(3))
    >>> fold = Fold(train, test, "per user", {}, validation)
    >>> [(step.ask.ids.to_list(), step.reveal and step.reveal.items.tolist()) for step in NextItem().steps(fold)]
    [([], [1]), ([1], None)]
    >>> NextItem().truth(fold).frame().rows()
    [(1, 9, 1.0)]
    """

    name: ClassVar[str] = "next_item"
    relevant_from: ClassVar[None] = None  # type: ignore[misc]

    on: Literal["test", "validation"] = "test"
    k: int = TOP
    bins: int = 0
    keep_seen: bool = False
    popularity: Literal["training", "all"] = "training"

    def asked(self, fold: Fold) -> Fold:
        """The fold with the part that is asked about as its test part: one item for each user."""
        part = fold.test if self.on == "test" else fold.validation
        if part is None:
            raise InputError(
                "I341", "the fold has no validation part to ask about", where=str(self), hint="last(n=1, validation=1)"
            )
        several = np.bincount(part.users, minlength=part.n_users) > 1
        if several.any():
            user = part.user_vocabulary.decode(part.users[several[part.users]])[0]
            raise InputError(
                "I341",
                f"{int(several.sum()):,} users have several events in the {self.on} part, the first is {user!r}: which "
                "of them came next is not said",
                where=str(self),
                hint="split with last(n=1, validation=1), or ask ranking()",
            )
        return fold if self.on == "test" else replace(fold, test=part, validation=None)

    def revealed(self, fold: Fold) -> Interactions | None:
        """The validation part, unless it is what is asked about."""
        return fold.validation if self.on == "test" else None

    def truth(self, fold: Fold) -> Truth:
        """The item that came next."""
        test = self.asked(fold).test
        return Truth.from_frame(test.frame().select("user_id", "item_id"), origin=test.origin)
