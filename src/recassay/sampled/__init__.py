"""Sampled metrics: their values at every sample size, and estimates of full-ranking metrics from sampled ranks."""

from __future__ import annotations

from recassay.sampled.estimators import mapped_cutoff
from recassay.sampled.ranks import sampled_ranks
from recassay.sampled.result import SamplingCurve

__all__ = [
    "SamplingCurve",
    "mapped_cutoff",
    "sampled_ranks",
]
__dir__ = __all__.copy  # what `dir` lists
