"""Arrays of values on disk, filled part by part and read as arrays that need not fit into memory."""

from __future__ import annotations

import shutil
import tempfile
from typing import IO

import numpy as np

from recassay.engine.lists.parts import Column, PartialResult, column_or_value
from recassay.results.scores import Values


class ColumnStore:
    """The values of one run on disk, a column per metric.

    Each column is a temporary file, which is removed together with its array.

    >>> store = ColumnStore()
    >>> store.columns()
    {}
    """

    def __init__(self) -> None:
        self._files: dict[Column, IO[bytes]] = {}

    def add(self, part: PartialResult) -> None:
        """Append the values of the users in ``part`` to the columns."""
        for key in part.columns:
            if key not in self._files:
                self._files[key] = self._new(key)
        for key, file in self._files.items():
            file.write(np.ascontiguousarray(column_or_value(part, key)).data)

    def columns(self) -> dict[Column, Values]:
        """Return all columns as memory-mapped arrays; nothing can be added after that."""
        return {key: _mapped(file) for key, file in self._files.items()}

    def _new(self, key: Column) -> IO[bytes]:
        """Return a new file for the column ``key``, which is (kind, heading of the metric).

        The kinds ``optimistic`` and ``pessimistic`` have the values in the best and in the worst order of ties. Their
        columns begin as a copy of the metric's plain column: the users so far had no ties, so any order gives the same
        value.
        """
        file: IO[bytes] = tempfile.TemporaryFile(prefix="recassay-")  # noqa: SIM115 (it stays open while it is filled)
        kind, heading = key
        values = self._files.get(("value", heading))
        if kind in ("pessimistic", "optimistic") and values is not None:
            values.seek(0)
            shutil.copyfileobj(values, file)
        return file


def _mapped(file: IO[bytes]) -> Values:
    file.flush()
    with file:
        empty = file.tell() == 0
        return np.empty(0) if empty else np.asarray(np.memmap(file, np.float64, mode="r"))
