"""Base of fitted models that score what comes after a history: a user's scores are those after the user's own."""

from __future__ import annotations

import dataclasses
import functools
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.errors import InputError
from recassay.models.base import Scoring


class Reading(Scoring):
    """A subclass is a frozen dataclass with a log, and says how a history is read."""

    log: Interactions

    @abstractmethod
    def next_scores(self, histories: Histories) -> NDArray[np.floating]:
        """A score of every item after each history."""

    @functools.cached_property
    def histories(self) -> Histories:
        """The histories of the users of the log."""
        return Histories.of(self.log)

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.floating]:
        """A score of every item for each user."""
        return self.next_scores(self.histories.take(users))

    def told(self, log: Interactions) -> Self:
        """What was learnt, and histories of another log of the same items."""
        same_items(self.log, log, "the log that is told")
        return dataclasses.replace(self, log=log)  # type: ignore[type-var]  # subclasses are dataclasses

    def __getstate__(self) -> dict[str, Any]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]  # subclasses are dataclasses
        return {field.name: getattr(self, field.name) for field in fields}  # nothing that can be made again


def same_items(log: Interactions, other: Interactions, what: str) -> None:
    """Refuse a log of other items: the codes of one mean nothing in the other."""
    ours, theirs = log.item_vocabulary, other.item_vocabulary
    assert ours.ids is not None, "a log's ids are dense"
    assert theirs.ids is not None, "a log's ids are dense"
    if ours is not theirs and not ours.ids.equals(theirs.ids):
        raise InputError(
            "I322",
            f"{what} has {theirs.size:,} items, and they are not the {ours.size:,} that the model has learnt",
            hint="take parts of one log: log.take(rows), or a split",
        )
