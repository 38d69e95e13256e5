"""Base of fitted models that score the next item after a history (the items a user had so far, in order).

The scores of a user are those after the user's history in the log.
"""

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
from recassay.models.base.model import ScoringModel


class HistoryModel(ScoringModel):
    """Base of fitted models that read histories; a subclass is a frozen dataclass with a field ``log``."""

    log: Interactions

    @abstractmethod
    def next_scores(self, histories: Histories) -> NDArray[np.floating]:
        """Return scores (n, items) of the next item after each history."""

    @functools.cached_property
    def histories(self) -> Histories:
        """Return the histories of the users of the log, by user code."""
        return Histories.of(self.log)

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.floating]:
        """Return scores (n, items) for user codes."""
        return self.next_scores(self.histories.take(users))

    def with_log(self, log: Interactions) -> Self:
        """Return this model with the histories of another log of the same items; raise I322 if the items differ."""
        require_same_items(self.log, log, "the log given to with_log")
        return dataclasses.replace(self, log=log)  # type: ignore[type-var]  # subclasses are dataclasses

    def __getstate__(self) -> dict[str, Any]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]  # subclasses are dataclasses
        return {field.name: getattr(self, field.name) for field in fields}  # cached properties are not pickled


def require_same_items(log: Interactions, other: Interactions, what: str) -> None:
    """Raise I322 if two logs have different items: item codes of one mean nothing in the other.

    ``what`` names ``other`` in the error, such as "the validation part".
    """
    ours, theirs = log.item_vocabulary, other.item_vocabulary
    assert ours.ids is not None, "a log's ids are dense"
    assert theirs.ids is not None, "a log's ids are dense"
    if ours is not theirs and not ours.ids.equals(theirs.ids):
        raise InputError(
            "I322",
            f"{what} has {theirs.size:,} items, which are not the {ours.size:,} items of the model's log",
            hint="use parts of one log: log.take(rows), or a split",
        )
