"""Every trap, in the order of the page."""

from __future__ import annotations

from traps import order
from traps.base import Trap

TRAPS: tuple[Trap, ...] = (*order.TRAPS,)
