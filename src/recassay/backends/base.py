"""The choice of the engine that does the work of a call, and tests for Spark tables that need no Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeGuard

from recassay.engine.options import Execution

DEFAULT = Execution()


class Remote:
    """Base of values whose rows stay on a cluster, in Spark tables or in files that Spark reads."""


def is_spark_frame(source: object) -> TypeGuard[Any]:
    """Return whether a value is a Spark data frame; Spark need not be installed.

    >>> is_spark_frame([1, 2])
    False
    """
    return any(kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.") for kind in type(source).__mro__)


def engine_of(*inputs: Any, execution: Execution = DEFAULT) -> Literal["local", "out of core", "spark"]:
    """Return the engine of a call with these inputs.

    The engine that ``execution`` names comes first; else Spark, if an input or a member of an input is a Spark table;
    else chunks of files, if ``execution`` limits the memory.

    >>> engine_of({"mine": {"ann": ["x"]}}), engine_of("run.csv", execution=Execution(memory="2GB"))
    ('local', 'out of core')
    """
    members = [member for one in inputs for member in one_of_each_type(one)]
    on_spark = any(isinstance(one, Remote) or is_spark_frame(one) for one in members)
    if (execution.engine or ("spark" if on_spark else "local")) == "spark":
        return "spark"
    return "local" if execution.memory is None else "out of core"


def one_of_each_type(given: Any) -> Iterable[Any]:
    """Return a value of each type among the members of a mapping, list or tuple, else the value itself.

    So even a dict of a million users is quick to examine.
    """
    members = given.values() if isinstance(given, Mapping) else given if isinstance(given, list | tuple) else [given]
    return dict(zip(map(type, members), members, strict=True)).values()
