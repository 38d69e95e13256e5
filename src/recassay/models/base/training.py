"""Options of models that train in epochs: validation events, a checkpoint file and a progress listener."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from recassay.data.interactions import Interactions

Listener = Callable[[str, int, int], None]  # a line about the last epoch, epochs done, epochs in all


@dataclass(frozen=True)
class Training:
    """Settings for the training of a model that is trained epoch by epoch.

    ``validation`` contains later events of the same users and items. ``checkpoint`` is a file written after every
    epoch. A fit that finds its checkpoint resumes there and ends with the same bits as one that was never stopped.
    ``listener`` is called after every epoch with a line of text, the number of epochs done, and the number of all
    epochs. ``max_epochs`` bounds the epochs of the model, for dry runs.
    """

    validation: Interactions | None = None
    checkpoint: Path | None = None
    listener: Listener | None = None
    max_epochs: int | None = None
