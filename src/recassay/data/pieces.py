"""A table of lists that is larger than memory, in pieces of whole users, who ascend from piece to piece.

Where the users of the files ascend already, a piece is a stretch of rows and nothing is written. Else the rows are
sorted once, a million at a time, into files on disk, and a piece is gathered from all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from recassay.data.io import Stretch

ROWS = 1 << 20  # looked through, or sorted, at a time
FEW = 1 << 16  # no less, for reading has its own cost
SAMPLE = 100_000  # users from which the borders of pieces are told where they do not ascend

USER = "user_id"


class Piece(NamedTuple):
    """Rows of whole users; ``last`` is the greatest of them, None in the last piece: whoever comes later is in it."""

    frame: pl.DataFrame
    last: Any


@dataclass(frozen=True)
class Pieces:
    """The rows of some files, to be read in pieces of about ``size`` rows; ``folder`` is for what must be written."""

    stretches: Sequence[Stretch]
    folder: Path
    size: int

    @property
    def rows(self) -> int:
        """Number of rows of all files."""
        return sum(one.rows for one in self.stretches)

    @property
    def columns(self) -> tuple[str, ...]:
        """Canonical names of the columns that all files have."""
        return self.stretches[0].columns

    def __iter__(self) -> Iterator[Piece]:
        found = _Look(self.size)
        for users in self._each([USER]):
            found.at(users[USER], SAMPLE / self.rows)
        return self._stretches(found.cuts()) if found.ascending else self._gathered(found.borders(self.rows))

    def _each(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        at_once = min(ROWS, max(FEW, self.size))
        for one in self.stretches:
            for begin in range(0, one.rows, at_once):
                yield one.read(columns, begin, at_once)

    def _stretches(self, cuts: Sequence[tuple[int, Any]]) -> Iterator[Piece]:
        begin = 0
        for end, last in cuts:
            yield Piece(self._between(begin, end), last)
            begin = end

    def _between(self, begin: int, end: int) -> pl.DataFrame:
        parts, before = [], 0
        for one in self.stretches:
            first, stop = max(begin - before, 0), min(end - before, one.rows)
            if first < stop:
                parts.append(one.read(self.columns, first, stop - first))
            before += one.rows
        return _together(parts)

    def _gathered(self, borders: Sequence[Any]) -> Iterator[Piece]:
        files, cuts = [], []
        for number, frame in enumerate(self._each(self.columns)):
            ordered = frame.sort(USER, maintain_order=True)
            files.append(self.folder / f"sorted-{number}.arrow")
            ordered.write_ipc(files[-1], compression="uncompressed")
            inner = [int(ordered[USER].search_sorted(border, side="right")) for border in borders]
            cuts.append([0, *inner, ordered.height])
        for place, last in enumerate([*borders, None]):
            parts = [
                pl.scan_ipc(file).slice(cut[place], cut[place + 1] - cut[place]).collect()
                for file, cut in zip(files, cuts, strict=True)
                if cut[place] < cut[place + 1]
            ]
            if parts or last is None:
                yield Piece(_together(parts) if parts else pl.scan_ipc(files[0]).head(0).collect(), last)


class _Look:
    """One look at all users in the order of the rows: whether they ascend, and where to cut.

    >>> look = _Look(2)
    >>> look.at(pl.Series([1, 1, 1, 2]), 1.0), look.at(pl.Series([3, 4, 4]), 1.0)
    (None, None)
    >>> look.ascending, look.cuts(), look.borders(7)
    (True, [(3, 1), (5, 3), (7, None)], [1, 3])
    """

    def __init__(self, size: int) -> None:
        self.size, self.seen, self.begin = size, 0, 0
        self.ascending = True
        self.latest: Any = None
        self.pending: Any = None
        self.ends: list[tuple[int, Any]] = []
        self.sample: list[pl.Series] = []

    def at(self, users: pl.Series, share: float) -> None:
        """The next rows; about this share of them is kept as a sample."""
        self.sample.append(users.gather_every(max(1, int(1 / share))))
        if self.ascending:
            first = self.latest is None or users[0] >= self.latest
            self.ascending, self.latest = bool(first and users.is_sorted()), users[-1]
        if self.ascending:
            self._cut(users)
        self.seen += users.len()

    def _cut(self, users: pl.Series) -> None:
        while True:
            full = self.begin + self.size - 1 - self.seen  # the row with which a piece is full; its user ends the piece
            if self.pending is None:
                if full >= users.len():
                    return
                self.pending = users[full]
            end = int(users.search_sorted(self.pending, side="right"))
            if end == users.len():
                return  # the user may go on in the next rows
            self.ends.append((self.seen + end, self.pending))
            self.begin, self.pending = self.seen + end, None

    def cuts(self) -> list[tuple[int, Any]]:
        """For ascending users, the row behind each piece and its last user."""
        return [*self.ends, (self.seen, None)]

    def borders(self, rows: int) -> list[Any]:
        """For users in any order, the last user of each piece but the last."""
        users = _together(one.alias(USER).to_frame() for one in self.sample)[USER].sort()
        pieces = -(-rows // self.size)
        places = np.arange(1, pieces) * users.len() // pieces
        return users.gather(places - 1).unique().sort().to_list() if pieces > 1 else []


def _together(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts, how="vertical_relaxed", rechunk=True)
