"""The explanation of an error code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Advice:
    """The explanation of one error code: its cause and a remedy."""

    cause: str
    remedy: str
