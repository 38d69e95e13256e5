"""How many random examples a property test tries."""

from hypothesis import settings


def examples(count: int) -> int:
    """Return ``count`` in ``make properties``, which draws new input each time, and a third in ``make test``.

    ``make test`` tries the same input each time, so further examples are only found in the first run.
    """
    return count // 3 if settings.default.derandomize else count
