"""Numbered checks: what may be wrong with a study, said before anybody believes it."""

from __future__ import annotations

from recassay.diagnose.base import (
    CHECKS,
    Approximating,
    Check,
    Facts,
    Hosting,
    Judging,
    Sampling,
    Streamed,
    TieRange,
    Watched,
    diagnose,
)

__all__ = [
    "CHECKS",
    "Approximating",
    "Check",
    "Facts",
    "Hosting",
    "Judging",
    "Sampling",
    "Streamed",
    "TieRange",
    "Watched",
    "diagnose",
]
