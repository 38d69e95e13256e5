"""Values of Spark, recognised where Spark need not be installed."""

from __future__ import annotations

from typing import Any, TypeGuard


class Remote:
    """Base of values whose rows stay on a cluster, in Spark tables or in files that Spark reads."""


def is_spark_frame(source: object) -> TypeGuard[Any]:
    """Return whether a value is a Spark data frame; Spark need not be installed.

    >>> is_spark_frame([1, 2])
    False
    """
    return any(kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.") for kind in type(source).__mro__)
