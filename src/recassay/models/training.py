"""What a model that learns for long is given beside its log: events to stop by, a file to go on from, a listener."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from recassay.data.features import Features
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.models.base import Fitted

Listener = Callable[[str, int, int], None]  # how it goes, done, of


@dataclass(frozen=True)
class Training:
    """``validation`` holds later events of the same users and items; ``checkpoint`` is written after every epoch.

    A fit that finds its checkpoint goes on from there, and ends with the same bits as one that was never stopped.
    ``most`` bounds the epochs, whatever the model says: a rehearsal.
    """

    validation: Interactions | None = None
    checkpoint: Path | None = None
    listener: Listener | None = None
    most: int | None = None


@runtime_checkable
class Trained(Protocol):
    """The description of a model that learns epoch by epoch."""

    trained: ClassVar[bool] = True

    def fit(self, log: Interactions, *, training: Training | None = None) -> Fitted:
        """The model that has seen this log."""


@runtime_checkable
class Wrapper(Protocol):
    """The description of a model that makes something else of what another one recommends."""

    @property
    def base(self) -> Any:
        """The other model: a description, or something fitted."""

    def around(self, fitted: Fitted, items: Features | None = None) -> Fitted:
        """What it makes of the other one, fitted, and of features of items."""


def fit(
    model: Any,
    fold: Fold,
    *,
    checkpoint: Path | None = None,
    listener: Listener | None = None,
    most: int | None = None,
) -> Fitted:
    """A model fitted on the training part of a fold; one that is trained stops by the validation part.

    A wrapper is made of its model, fitted so, and of the features of items that the fold has.

    >>> from recassay.data.synthetic import log
    >>> from recassay.models.popular import Popular
    >>> made = log(users=30, items=20, events=150)
    >>> fit(Popular(), Fold(made, made, "none", {})).log is made
    True
    """
    if isinstance(model, Wrapper):
        base = model.base
        if hasattr(base, "fit"):
            base = fit(base, fold, checkpoint=checkpoint, listener=listener, most=most)
        return model.around(base, fold.items)
    if isinstance(model, Trained):
        return model.fit(fold.train, training=Training(fold.validation, checkpoint, listener, most))
    fitted: Fitted = model.fit(fold.train)
    return fitted
