"""Options that map names to numbers: ``a=1,b=2`` and ``novelty@10=0:20``."""

from __future__ import annotations


def numbers(text: str | None, name: str) -> dict[str, float]:
    """Return ``{"a": 1.0, "b": 2.0}`` for the text ``a=1,b=2``; a name without a number has 1.

    Raise U107 for a value that is not a number; ``name`` is the option that the error names.
    """
    found = {}
    for part in filter(None, (text or "").split(",")):
        key, _, value = part.partition("=")
        try:
            found[key.strip()] = float(value or 1)
        except ValueError:
            from recassay.errors import UsageError

            raise UsageError(
                "U107", f"{value!r} is not a number", where=f"{name} {text}", hint="write NAME=NUMBER,..."
            ) from None
    return found


def ranges(text: str | None) -> dict[str, tuple[float, float]]:
    """Return ``{"novelty@10": (0.0, 20.0)}``, lowest and highest value, for the text ``novelty@10=0:20``.

    Several are separated by commas. Raise U107 for other texts.
    """
    found = {}
    for part in filter(None, (text or "").split(",")):
        key, _, value = part.rpartition("=")
        low, _, high = value.partition(":")
        try:
            found[key.strip()] = (float(low), float(high))
        except ValueError:
            from recassay.errors import UsageError

            raise UsageError(
                "U107", f"{value!r} is not a pair of limits", where=f"--limits {text}", hint="write METRIC=LOW:HIGH"
            ) from None
    return found
