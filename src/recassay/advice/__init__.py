"""What every error code means, at length: what happened and what to do about it."""

from __future__ import annotations

from recassay.advice import data, reading, usage
from recassay.advice.base import Advice

ADVICE: dict[str, Advice] = reading.ADVICE | data.ADVICE | usage.ADVICE
