"""Numbered checks: what may be wrong with a study, said before anybody believes it."""

from __future__ import annotations

from recassay.diagnose.base import (
    CHECKS,
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

__all__ = ["CHECKS", "Check", "Facts", "Hosting", "Judging", "Sampling", "Streamed", "TieRange", "Watched", "diagnose"]
