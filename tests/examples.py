"""How many random examples a property test tries."""

from hypothesis import settings


def examples(count: int) -> int:
    """Return ``count`` in ``make properties``, which draws new input each time, and a share in other runs.

    They try the same input each time, so further examples are only found in the first run.
    """
    return max(5, count * settings.default.max_examples // 100)
