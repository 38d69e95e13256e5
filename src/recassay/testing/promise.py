"""The function by which contract checks report a violated requirement."""

from __future__ import annotations


def require(holds: bool, otherwise: str) -> None:
    """Raise AssertionError with the text ``otherwise`` unless ``holds`` is true."""
    if not holds:
        raise AssertionError(otherwise)
