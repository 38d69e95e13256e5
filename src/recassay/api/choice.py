"""The one place where a back end (the code that carries out a call: local, out of core or Spark) is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from recassay.backends.base import Backend, Remote, is_spark_frame
from recassay.backends.local import LocalBackend
from recassay.backends.out_of_core import OutOfCoreBackend
from recassay.engine.options import Execution

DEFAULT = Execution()


def choose(*inputs: Any, execution: Execution = DEFAULT) -> Backend:
    """Return the back end that carries out a call with these inputs.

    The engine that ``execution`` names comes first; else Spark, if an input or a member of an input is a Spark table;
    else the back end for files larger than memory, if ``execution`` limits the memory; else the local one.

    >>> choose({"mine": {"ann": ["x"]}}).name
    'local'
    >>> choose("run.csv", execution=Execution(memory="2GB")).name
    'out of core'
    """
    engine = execution.engine or ("spark" if any(map(_is_on_spark, _one_of_each_type(inputs))) else "local")
    if engine == "spark":
        from recassay.backends.spark.backend import SparkBackend  # late: who has no Spark tables needs none of it

        return SparkBackend()
    return LocalBackend() if execution.memory is None else OutOfCoreBackend()


def _one_of_each_type(inputs: Iterable[Any]) -> Iterable[Any]:
    """Return one value of each type among the inputs; a mapping, list or tuple counts as its members.

    So even a dict of a million users is quick to examine.
    """
    found: dict[type, Any] = {}
    for one in inputs:
        members = one.values() if isinstance(one, Mapping) else one if isinstance(one, list | tuple) else [one]
        found |= zip(map(type, members), members, strict=True)
    return found.values()


def _is_on_spark(value: Any) -> bool:
    return isinstance(value, Remote) or is_spark_frame(value)
