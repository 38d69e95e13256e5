"""Stored values per user, so that a new system in a study does not score the lists of the others again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from recassay._version import __version__
from recassay.data.io import archive
from recassay.data.io.manifest import Manifest
from recassay.study.store.folder import digest_of

SCORED = Path("cache", "scored")
Value = TypeVar("Value")


@dataclass
class ScoreStore:
    """Results of scoring one system on one fold, each in a file whose name is a digest of all that it depends on.

    ``used`` are the files that this run of the study read or wrote; the others belong to earlier versions of the study.
    ``computed`` and ``taken`` count the results that were computed, and those taken from files.
    """

    folder: Path
    manifest: Manifest
    used: set[Path] = field(default_factory=set)
    computed: int = 0
    taken: int = 0

    def remembered(self, parts: tuple[object, ...], compute: Callable[[], Value]) -> Value:
        """Return the stored result that was computed from ``parts``.

        If there is none, call ``compute`` and store its result.
        """
        path = self.folder / SCORED / f"{digest_of(__version__, np.__version__, *parts)}.npz"
        self.used.add(path)
        if self.manifest.is_intact(path):
            try:
                found: Value = archive.load_archive(path)
            except Exception:  # of another version, or of a class that has moved
                path.unlink(missing_ok=True)
            else:
                self.taken += 1
                return found
        made = compute()
        self.computed += 1
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            archive.save_archive(path, made)
        except archive.NotStorableError:  # such as a finding of a check in a plugin
            self.used.discard(path)
        return made

    def remove_unused(self) -> None:
        """Remove the results that this run of the study did not use."""
        for path in self.manifest.listed(SCORED.as_posix()):
            if path not in self.used:
                self.manifest.remove(path)
