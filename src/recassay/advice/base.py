"""What is told about an error code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Advice:
    """A page on one error code."""

    happened: str
    do: str
