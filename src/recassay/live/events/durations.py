"""Durations as text, such as ``30m``, in microseconds: the unit of all times of events."""

from __future__ import annotations

import re

from recassay.errors import UsageError

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
LONGEST = 10_000 * DAY  # more would overflow 64 bits where times are added
Duration = str | float  # such as "30m"; a number is in seconds
UNITS = {"ms": SECOND // 1000, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}


def microseconds(text: Duration, name: str = "duration") -> int:
    """Return a duration such as "30m" in microseconds; a number without a unit is in seconds.

    Raise U107 if it cannot be read; ``name`` is what the error calls it.

    >>> microseconds("30m"), microseconds("1.5s"), microseconds(2)
    (1800000000, 1500000, 2000000)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*", str(text))
    if not found:
        raise UsageError(
            "U107", f"{name} must be a duration, got {text!r}", hint="write a number and ms, s, m, h or d, such as 30m"
        )
    span = float(found[1]) * UNITS[found[2] or "s"]
    if span > LONGEST:
        raise UsageError("U107", f"{name} must be at most {duration_text(LONGEST)}, got {text!r}", hint="write less")
    return round(span)


def duration_text(span: int) -> str:
    """Return a duration in microseconds as text, in the largest unit that gives a whole number.

    >>> duration_text(1_800_000_000), duration_text(90 * 1_000_000), duration_text(250_000)
    ('30m', '90s', '250ms')
    """
    for unit in ("d", "h", "m", "s"):
        if span and span % UNITS[unit] == 0:
            return f"{span // UNITS[unit]}{unit}"
    return f"{span / UNITS['ms']:g}ms"
