"""Tables that are larger than memory, in pieces of whole users, who ascend from piece to piece.

Where the users of the files ascend already, a piece is read from them and nothing is written. Else the rows are sorted
once, a million at a time, into files on disk, and a piece is gathered from all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.data.io import Stretch
from recassay.data.vocabulary import Vocabulary, mixed_kinds, stacked
from recassay.threads import Progress

ROWS = 1 << 20  # looked through, or sorted, at a time
FEW = 1 << 16  # no less, for reading has its own cost
SAMPLE = 100_000  # users of a table from which the borders of pieces are told

USER = "user_id"

Told = Callable[[str], Progress | None]  # of what is done: who hears of so many more rows


@dataclass(frozen=True)
class Pieces:
    """A table whose rows are handed out user by user.

    ``sample`` has the users of every so many rows, ascending. ``sorted_files`` are the rows, each file with users that
    ascend, where the files of the table did not have them so.
    """

    stretches: Sequence[Stretch]
    at_once: int
    sample: pl.Series
    sorted_files: Sequence[Path] | None
    row_size: float

    @classmethod
    def of(cls, stretches: Sequence[Stretch], folder: Path, size: float, told: Told = lambda _: None) -> Pieces:
        """Look once at all users, to find whether they ascend and where to cut; sort the rows if they do not.

        What is held meanwhile takes about ``size`` bytes, and what must be written goes to ``folder``.
        """
        some = stretches[0].read(stretches[0].columns, 0, FEW)
        row_size = some.estimated_size() / some.height
        at_once = min(ROWS, max(FEW, int(size / row_size)))
        rows = sum(one.rows for one in stretches)
        progress = told("reading")
        ascending, latest, sample = True, None, []
        for frame in _each(stretches, [USER], at_once):
            users = frame[USER]
            sample.append(users.gather_every(max(1, rows // SAMPLE)))
            ascending = ascending and (latest is None or users[0] >= latest) and users.is_sorted()
            latest = users[-1]
            if progress is not None:
                progress(frame.height)
        files = None if ascending else _sorted_files(stretches, folder, at_once, told("sorting"))
        return cls(stretches, at_once, stacked(sample).sort(), files, row_size)

    @property
    def rows(self) -> int:
        """Number of rows of all files."""
        return sum(one.rows for one in self.stretches)

    @property
    def empty(self) -> pl.DataFrame:
        """The table without its rows."""
        return self.stretches[0].read(self.stretches[0].columns, 0, 1).clear()

    def cut(self, ends: Sequence[Any]) -> Iterator[pl.DataFrame]:
        """Rows of the users up to each border, which ascend, and then of all who come behind the last."""
        if self.sorted_files is None:
            return self._read(ends)
        return self._gathered(self.sorted_files, ends)

    def _read(self, ends: Sequence[Any]) -> Iterator[pl.DataFrame]:
        ahead = _Ahead(self.empty, _each(self.stretches, self.stretches[0].columns, self.at_once))
        for end in ends:
            yield ahead.up_to(end)
        yield ahead.rest()

    def _gathered(self, files: Sequence[Path], ends: Sequence[Any]) -> Iterator[pl.DataFrame]:
        cuts = [_cuts(pl.scan_ipc(file).select(USER).collect()[USER], ends) for file in files]
        for place in range(len(ends) + 1):
            yield _together([self.empty, *_slices(files, [(cut[place], cut[place + 1]) for cut in cuts])])


@dataclass
class _Ahead:
    """Rows of users who ascend: ``held`` are read and not yet handed out, and ``coming`` are those to be read.

    >>> frames = [pl.DataFrame({"user_id": users}) for users in ([1, 1, 2], [2, 4], [5])]
    >>> ahead = _Ahead(frames[0].clear(), iter(frames))
    >>> [ahead.up_to(user)["user_id"].to_list() for user in (2, 3)], ahead.rest()["user_id"].to_list()
    ([[1, 1, 2, 2], []], [4, 5])
    """

    held: pl.DataFrame
    coming: Iterator[pl.DataFrame]

    def up_to(self, last: Any) -> pl.DataFrame:
        """Rows of the users up to this one."""
        parts = []
        while (end := place_behind(self.held[USER], last)) == self.held.height:  # the last may go on in what comes
            parts.append(self.held)
            following = next(self.coming, None)
            self.held = self.held.clear() if following is None else following
            if following is None:
                return _together(parts)
        parts.append(self.held[:end])
        self.held = self.held[end:]
        return _together(parts)

    def rest(self) -> pl.DataFrame:
        """All rows that are left."""
        return _together([self.held, *self.coming])


def borders(tables: Sequence[Pieces], size: float) -> list[Any]:
    """The last users of pieces, but of the last one: so that a piece of all tables together has about so many bytes.

    I403 where the users of one table are integers and those of another strings.
    """
    kinds = {Vocabulary(one.sample).kind: Vocabulary(one.sample) for one in tables}
    if len(kinds) > 1:
        raise mixed_kinds("user", *kinds.values())
    weights = [np.full(one.sample.len(), one.rows * one.row_size / one.sample.len()) for one in tables]
    users = pl.DataFrame({USER: stacked([one.sample for one in tables]), "size": np.concatenate(weights)}).sort(USER)
    piece = (users["size"].cum_sum() / size).floor()
    full = (piece != piece.shift(1, fill_value=0)).arg_true()
    ends: list[Any] = users[USER].gather(full).unique().sort().to_list()
    return ends[:-1] if ends and ends[-1] == users[USER][-1] else ends


def place_behind(users: pl.Series, last: Any) -> int:
    """The place behind the last of ascending users that is no greater than this one.

    >>> place_behind(pl.Series([2, 2, 7]), 2), place_behind(pl.Series([2, 2, 7]), 1), place_behind(pl.Series([2]), 9)
    (2, 0, 1)
    """
    if not users.len() or last >= users[-1]:
        return users.len()
    return 0 if last < users[0] else int(users.search_sorted(last, side="right"))


def _slices(files: Sequence[Path], cuts: Sequence[tuple[int, int]]) -> Iterator[pl.DataFrame]:
    for file, (begin, end) in zip(files, cuts, strict=True):
        if begin < end:
            yield pl.scan_ipc(file).slice(begin, end - begin).collect()


def _cuts(users: pl.Series, ends: Sequence[Any]) -> list[int]:
    return [0, *(place_behind(users, end) for end in ends), users.len()]


def _each(stretches: Sequence[Stretch], columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
    for one in stretches:
        for begin in range(0, one.rows, at_once):
            yield one.read(columns, begin, at_once)


def _sorted_files(stretches: Sequence[Stretch], folder: Path, at_once: int, progress: Progress | None) -> list[Path]:
    files = []
    for number, frame in enumerate(_each(stretches, stretches[0].columns, at_once)):
        files.append(folder / f"sorted-{number}.arrow")
        frame.sort(USER, maintain_order=True).write_ipc(files[-1], compression="uncompressed")
        if progress is not None:
            progress(frame.height)
    return files


def _together(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts, how="vertical_relaxed", rechunk=True)
