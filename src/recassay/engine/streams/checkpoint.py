"""The file from which a stopped stream resumes.

It holds models, history, counters and results so far, and what identifies the stream. The file is an archive of arrays
and JSON, and reading it runs no code. A model of another package may need a pickle, which is read only where the user
trusts it. Random numbers are not in the file: each is drawn from a seed that says what it is for.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recassay.data.io import archive
from recassay.errors import InputError, RecassayError, UsageError

FORMAT = 5
CHECKPOINT_SECONDS = 60.0


@dataclass(eq=False)
class Checkpoint:
    """The file of a stream's checkpoint (None: no checkpoint), and how often it is written at most.

    ``trust`` allows reading a pickle that another process wrote; reading a pickle can run any code. ``about``
    identifies the run (model, protocol, metrics, ...). The file is written completely or not at all.
    """

    path: Path | None = None
    seconds: float = CHECKPOINT_SECONDS
    trust: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)
    written: float = field(default_factory=time.monotonic)

    def load(self) -> dict[str, Any] | None:
        """Return the state to resume from; None if there is no file.

        Raise U141 if the file belongs to another run, U236 if it is a pickle that is not trusted, I104 if it is
        damaged.
        """
        if self.path is None or not self.path.exists():
            return None
        try:
            content = archive.load(self.path, trust=self.trust)
            about, state = content["about"], dict(content["state"])
        except RecassayError:
            raise
        except Exception as error:  # a damaged file raises almost anything
            what = f"no stream can resume from {self.path.name}: {type(error).__name__}"
            raise InputError("I104", what, where=str(self.path), hint="delete it") from error
        differs = [
            f"{key} is {about.get(key)!r} in it and {value!r} here"
            for key, value in self.about.items()
            if about.get(key) != value
        ]
        if differs:
            raise self.refused("; ".join(differs))
        return state

    def refused(self, why: str) -> UsageError:
        """Return the error for a checkpoint that belongs to another run; ``why`` says how it differs."""
        assert self.path is not None, "it was read"
        hint = "give every run a path of its own, or delete the file to start again"
        return UsageError("U141", f"{self.path.name} is of another run: {why}", where=str(self.path), hint=hint)

    def save(self, state: Mapping[str, Any], *, now: bool = False) -> None:
        """Write the state if enough seconds have passed since the last time, or at once with ``now``.

        Raise U141 if the model can be neither archived nor pickled.
        """
        if self.path is None or (not now and time.monotonic() - self.written < self.seconds):
            return
        try:
            archive.save(self.path, {"about": {"format": FORMAT, **self.about}, "state": dict(state)})
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            what = f"the model cannot be written to {self.path.name}: {error}"
            raise UsageError(
                "U141", what, where=str(self.path), hint="leave out checkpoint=, or make the model picklable"
            ) from error
        self.written = time.monotonic()
