"""Users as statistical units: each counts once, with the means of its exposures in a time after its first one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.columns import text_hashes
from recassay.columnar.layout import readonly
from recassay.live.keys import KeyMap, add_to_units


class ClosedUnits(NamedTuple):
    """Units whose counting time has ended: when it ended (microseconds), their arm, and their means (n, metrics)."""

    ends: NDArray[np.int64]
    arms: NDArray[np.int64]
    means: NDArray[np.float64]


class UserUnits:
    """Sums over the exposures of each user that are within ``span`` of the user's first one and in its arm.

    An exposure of the user ``forget`` or more after the first one begins another unit; both times are in microseconds.
    ``metrics`` is the number of metrics. Exposures come in the order of their times, so units are in that order too.
    """

    def __init__(self, metrics: int, span: int, forget: int) -> None:
        self.metrics, self.span, self.forget = metrics, span, forget
        self.latest = KeyMap()  # user -> row of its latest unit
        self.ids: list[pl.Series] = []  # of the units, in parts
        self.size = self.n_closed = 0  # the first units are closed
        self.first, self.arm = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
        self.sums, self.counts = np.zeros((1024, metrics)), np.zeros((1024, metrics), np.int64)

    def add(
        self, times: NDArray[np.int64], users: pl.Series, arms: NDArray[np.int64], values: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], int]:
        """Add exposures in order of time; ``values`` (n, metrics) are their scores, NaN where undefined.

        Return (positions of the exposures that begin a unit, number of exposures in time but in another arm than the
        user's first one). The latter are not added.
        """
        self._make_room(times.size)
        began = np.zeros(times.size, np.bool_)
        crossed = add_to_units(
            self.latest.slots, self.latest.values, *text_hashes(users), readonly(times), readonly(arms),
            readonly(np.ascontiguousarray(values)),
            self.first, self.arm, self.sums, self.counts, self.size, self.span, self.forget, began,
        )  # fmt: skip
        begins = np.flatnonzero(began)
        self.ids.append(users.gather(begins))
        self.size += begins.size
        self.latest.count += begins.size  # at most: a user who returns is there already
        return begins, crossed

    def _make_room(self, more: int) -> None:
        self.latest.reserve(more, 0)
        while self.first.size < self.size + more:
            for name in ("first", "arm", "sums", "counts"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros_like(array)]))

    def close(self, upto: int) -> ClosedUnits:
        """Return the units whose counting time ended at ``upto`` (microseconds) or before, and close them."""
        end = int(np.searchsorted(self.first[: self.size], upto - self.span, side="right"))
        closed = slice(self.n_closed, max(end, self.n_closed))
        self.n_closed = closed.stop
        counts = self.counts[closed]
        means = np.where(counts > 0, self.sums[closed] / np.maximum(counts, 1), np.nan)
        return ClosedUnits(self.first[closed] + self.span, self.arm[closed], means)

    def snapshot(self, upto: int) -> pl.DataFrame:
        """Return the table of units; its column ``open`` marks those whose counting time has not ended.

        Units whose first exposure is ``forget`` or more before time ``upto`` are dropped if they are a tenth of all or
        more: their users would begin another one.
        """
        forgotten = int(np.searchsorted(self.first[: self.size], upto - self.forget, side="right"))
        kept = slice(forgotten if forgotten >= 0.1 * self.size else 0, self.size)
        self.ids = [pl.concat(self.ids)] if self.ids else [pl.Series("user_id", [], pl.String)]
        columns = {
            "user_id": self.ids[0].gather(np.arange(self.size)[kept]),
            "first": self.first[kept],
            "arm": self.arm[kept],
            "open": np.arange(self.size)[kept] >= self.n_closed,
            **{f"sum {at}": self.sums[kept, at] for at in range(self.metrics)},
            **{f"count {at}": self.counts[kept, at] for at in range(self.metrics)},
        }
        table = pl.DataFrame(columns)
        if kept.start:
            self.restore(table)
        return table

    def restore(self, table: pl.DataFrame) -> None:
        """Set the table of units to what :meth:`snapshot` returned."""
        table = table.sort("first", maintain_order=True)
        self.__init__(self.metrics, self.span, self.forget)  # type: ignore[misc]
        n = table.height
        self._make_room(n)
        self.ids, self.size, self.n_closed = [table["user_id"]], n, int((~table["open"]).sum())
        self.latest.visit(*text_hashes(table["user_id"]), np.ones(n, np.bool_), np.arange(n), span=-1, floor=0)
        self.first[:n], self.arm[:n] = table["first"].to_numpy(), table["arm"].to_numpy()
        for at in range(self.metrics):
            self.sums[:n, at], self.counts[:n, at] = table[f"sum {at}"].to_numpy(), table[f"count {at}"].to_numpy()
