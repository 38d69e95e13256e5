"""Every trap, in the order of the page."""

from __future__ import annotations

from traps import files, ids, order, overlap, tables, values
from traps.base import Trap

TRAPS: tuple[Trap, ...] = (*order.TRAPS, *values.TRAPS, *ids.TRAPS, *overlap.TRAPS, *tables.TRAPS, *files.TRAPS)
