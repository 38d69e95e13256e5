"""Explanations of all error codes: the cause of each error, and a remedy."""

from __future__ import annotations

from recassay.errors.advice import comparing, data, live, reading, usage
from recassay.errors.advice.base import Advice

ADVICE: dict[str, Advice] = reading.ADVICE | data.ADVICE | usage.ADVICE | comparing.ADVICE | live.ADVICE
