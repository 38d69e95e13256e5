"""The file that a stream goes on from: models, history, counters and results so far, and of which stream they are.

It is a pickle: read it back only where you trust whoever wrote it. Random numbers are not in it, since each is drawn
from a seed that says what it is for.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recassay.data.io import atomic
from recassay.errors import InputError, UsageError

FORMAT = 2


@dataclass(eq=False)
class Checkpoint:
    """Written at most every so many seconds, whole or not at all; no path, no file."""

    path: Path | None
    about: Mapping[str, Any]
    seconds: float
    written: float = field(default_factory=time.monotonic)

    @property
    def wanted(self) -> bool:
        """Whether there is to be a file."""
        return self.path is not None

    def load(self) -> dict[str, Any] | None:
        """The state to go on from, if there is any; that of another run is refused."""
        if self.path is None or not self.path.exists():
            return None
        try:
            found = pickle.loads(self.path.read_bytes())
            about, state = found["about"], found["state"]
        except Exception as error:  # a damaged pickle raises almost anything
            what = f"no stream can go on from {self.path.name}: {type(error).__name__}"
            raise InputError("I104", what, where=str(self.path), hint="delete it") from error
        differs = [
            f"{key} is {about.get(key)!r} in it and {value!r} here"
            for key, value in self.about.items()
            if about.get(key) != value
        ]
        if differs:
            raise self.refused("; ".join(differs))
        found_state: dict[str, Any] = state
        return found_state

    def refused(self, why: str) -> UsageError:
        """The error for the checkpoint of another run."""
        assert self.path is not None, "it was read"
        hint = "give every run a path of its own, or delete the file to begin anew"
        return UsageError("U193", f"{self.path.name} is of another run: {why}", where=str(self.path), hint=hint)

    def save(self, state: Mapping[str, Any], *, now: bool = False) -> None:
        """Write the state if it is time to."""
        if self.path is None or (not now and time.monotonic() - self.written < self.seconds):
            return
        try:
            content = pickle.dumps({"about": {"format": FORMAT, **self.about}, "state": dict(state)}, protocol=5)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            what = f"the model cannot be written to {self.path.name}: {error}"
            raise UsageError(
                "U193", what, where=str(self.path), hint="leave checkpoint= out, or let it be pickled"
            ) from error
        with atomic(self.path) as temporary:
            temporary.write_bytes(content)
        self.written = time.monotonic()
