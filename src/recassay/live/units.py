"""Users as statistical units: each counts once, with the means of its exposures in a time after its first one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.layout import readonly
from recassay.columnar.numbering import Piece, number_in_order
from recassay.columnar.texts import text_hashes
from recassay.live._kernels import ABSENT, add_rows
from recassay.live.keys import KeyMap


@dataclass(frozen=True, eq=False)
class ClosedUnits:
    """Units whose counting time has ended: when it ended (microseconds), their arm, and their means (n, metrics)."""

    ends: NDArray[np.int64]
    arms: NDArray[np.int64]
    means: NDArray[np.float64]


class UserUnits:
    """Sums over the exposures of each user that are within ``span`` of the user's first one and in its arm.

    An exposure of the user ``forget`` or more after the first one begins another unit; both times are in microseconds.
    ``metrics`` is the number of metrics. Exposures must come in the order of their times.
    """

    def __init__(self, metrics: int, span: int, forget: int) -> None:
        self.metrics, self.span, self.forget = metrics, span, forget
        self.map = KeyMap()
        self.size = 0
        self.ids: list[pl.Series] = []
        self.first = np.zeros(1024, np.int64)
        self.arm = np.zeros(1024, np.int64)
        self.sums = np.zeros((1024, metrics))
        self.counts = np.zeros((1024, metrics), np.int64)
        self.queue: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # firsts and rows, ascending by first

    def add(
        self, times: NDArray[np.int64], users: pl.Series, arms: NDArray[np.int64], values: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], int]:
        """Add exposures in order of time; ``values`` (n, metrics) are their scores, NaN where undefined.

        Return (positions of the exposures that begin a unit, number of exposures in time but in another arm than the
        user's first one). The latter are not added.
        """
        if not times.size:
            return np.empty(0, np.int64), 0
        rows, begins = self._rows(users, times, arms)
        if begins.size:
            self.queue.append((times[begins], rows[begins]))
        inside = times < self.first[rows] + self.span
        same = arms == self.arm[rows]
        own = np.flatnonzero(inside & same)
        add_rows(self.sums, self.counts, rows[own], np.ascontiguousarray(values[own]))
        return begins, int((inside & ~same).sum())

    def _rows(
        self, users: pl.Series, times: NDArray[np.int64], arms: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the row of each exposure's unit in the table of units; add new units to the table.

        A user's first exposure begins a unit, and so does the first one at least ``forget`` after that of the last
        unit. Also return the positions of these exposures, in ascending order.
        """
        keys, checks = text_hashes(users)
        codes, distinct = number_in_order([Piece(0, readonly(keys), readonly(checks))])
        latest = self.map.visit(
            distinct.keys, distinct.checks, np.zeros(distinct.keys.size, np.bool_), distinct.rows, span=-1, floor=0
        )
        rows, begins = latest[codes], np.empty(0, np.int64)
        while True:  # each pass begins at most one unit of each user
            unknown = rows == ABSENT
            back = np.flatnonzero(unknown | (times >= self.first[np.where(unknown, 0, rows)] + self.forget))
            if not back.size:
                break
            own, place = np.unique(codes[back], return_index=True)
            first, new = back[place], self.size + np.arange(own.size)
            self._grow(self.size + own.size)
            self.first[new], self.arm[new] = times[first], arms[first]
            self.ids.append(users.gather(first))
            self.size += own.size
            since = np.full(latest.size, times.size)
            latest[own], since[own] = new, first
            after = np.flatnonzero(np.arange(times.size) >= since[codes])
            rows[after] = latest[codes[after]]
            begins = np.append(begins, first)
        own = np.unique(codes[begins])
        self.map.visit(
            distinct.keys[own], distinct.checks[own], np.ones(own.size, np.bool_), latest[own], span=-1, floor=0
        )
        return rows, np.sort(begins)

    def _grow(self, size: int) -> None:
        while self.first.size < size:
            self.first, self.arm = (np.concatenate([one, np.zeros_like(one)]) for one in (self.first, self.arm))
            self.sums, self.counts = (np.concatenate([one, np.zeros_like(one)]) for one in (self.sums, self.counts))

    def close(self, upto: int) -> ClosedUnits:
        """Return the units whose counting time ended at ``upto`` (microseconds) or before, and close them."""
        border = upto - self.span
        rows: list[NDArray[np.int64]] = []
        while self.queue:
            firsts, own = self.queue[0]
            order = np.argsort(firsts, kind="stable")
            firsts, own = firsts[order], own[order]
            count = int(np.searchsorted(firsts, border, side="right"))
            if count:
                rows.append(own[:count])
            if count < own.size:
                self.queue[0] = (firsts[count:], own[count:])
                break
            self.queue.pop(0)
        closed = np.concatenate(rows) if rows else np.empty(0, np.int64)
        counts = self.counts[closed]
        means = np.where(counts > 0, self.sums[closed] / np.maximum(counts, 1), np.nan)
        return ClosedUnits(self.first[closed] + self.span, self.arm[closed], means)

    @property
    def n_open(self) -> int:
        """Return the number of units whose counting time has not ended."""
        return sum(rows.size for _, rows in self.queue)

    def compact(self, upto: int) -> None:
        """Drop units whose first exposure is ``forget`` or more before time ``upto`` (their users would begin another).

        Nothing happens if they are less than a tenth of all units.
        """
        keep = np.flatnonzero(self.first[: self.size] + self.forget > upto)
        if keep.size > 0.9 * self.size:
            return
        self.restore({**self.snapshot(keep)})

    def snapshot(self, keep: NDArray[np.int64] | None = None) -> dict[str, Any]:
        """Return the table of units, ready to store; its column ``open`` marks those whose counting time has not ended.

        ``keep`` are the rows to return; None: all.
        """
        keep = np.arange(self.size) if keep is None else keep
        ids = pl.concat(self.ids) if self.ids else pl.Series("user_id", [], pl.String)
        self.ids = [ids]
        open_rows = np.zeros(self.size, np.bool_)
        for _, rows in self.queue:
            open_rows[rows] = True
        columns = {
            "user_id": ids.gather(keep),
            "first": self.first[keep],
            "arm": self.arm[keep],
            "open": open_rows[keep],
            **{f"sum {at}": self.sums[keep, at] for at in range(self.metrics)},
            **{f"count {at}": self.counts[keep, at] for at in range(self.metrics)},
        }
        return {"users": pl.DataFrame(columns)}

    def restore(self, stored: dict[str, Any]) -> None:
        """Set the table of units to what :meth:`snapshot` returned."""
        table: pl.DataFrame = stored["users"]
        self.__init__(self.metrics, self.span, self.forget)  # type: ignore[misc]
        n = table.height
        if not n:
            return
        self._grow(n)
        self.size, self.ids = n, [table["user_id"]]
        self.map.visit(*text_hashes(table["user_id"]), np.ones(n, np.bool_), np.arange(n), span=-1, floor=0)
        self.first[:n], self.arm[:n] = table["first"].to_numpy(), table["arm"].to_numpy()
        for at in range(self.metrics):
            self.sums[:n, at], self.counts[:n, at] = table[f"sum {at}"].to_numpy(), table[f"count {at}"].to_numpy()
        rows = np.flatnonzero(table["open"].to_numpy())
        rows = rows[np.argsort(self.first[rows], kind="stable")]
        self.queue = [(self.first[rows], rows)] if rows.size else []
