"""Numbered checks: known problems of evaluations that a result may have, reported next to the numbers."""

from __future__ import annotations

from recassay.checks.base import (
    CHECKS,
    ApproximationFacts,
    Check,
    DesignFacts,
    DriftFacts,
    Facts,
    HomeMetricFacts,
    LiveFacts,
    SampledFacts,
    StreamFacts,
    TieRange,
    diagnose,
)

__all__ = [
    "CHECKS",
    "ApproximationFacts",
    "Check",
    "DesignFacts",
    "DriftFacts",
    "Facts",
    "HomeMetricFacts",
    "LiveFacts",
    "SampledFacts",
    "StreamFacts",
    "TieRange",
    "diagnose",
]
