"""Columns of values on disk: filled part by part, and read as arrays that need not fit into memory."""

from __future__ import annotations

import shutil
import tempfile
from typing import IO

import numpy as np

from recassay.data.scores import Values
from recassay.engine.parts import Column, Part, column_of


class Shelf:
    """The columns of one run, each in a temporary file that goes when its array goes.

    >>> shelf = Shelf()
    >>> shelf.columns()
    {}
    """

    def __init__(self) -> None:
        self._files: dict[Column, IO[bytes]] = {}

    def add(self, part: Part) -> None:
        """Put the values of a part behind those of the parts before."""
        for key in part.columns:
            if key not in self._files:
                self._files[key] = self._new(key)
        for key, file in self._files.items():
            file.write(np.ascontiguousarray(column_of(part, key)).data)

    def columns(self) -> dict[Column, Values]:
        """All columns, mapped; nothing can be added any more."""
        return {key: _mapped(file) for key, file in self._files.items()}

    def _new(self, key: Column) -> IO[bytes]:
        """A file for a column; where no rows have tied so far, the orders of ties begin as the values do."""
        file: IO[bytes] = tempfile.TemporaryFile(prefix="recassay-")  # noqa: SIM115 (open as long as it is filled)
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
