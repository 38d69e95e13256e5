"""Names of systems: that of a run file, or a model's class with the parameters that tell it apart."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from recassay.naming.grammar import Expression, Value, parse
from recassay.naming.named import Named

TABLE_SUFFIXES = frozenset(
    f".{name}"
    for name in (
        *("parquet", "pq", "csv", "tsv", "txt", "json", "jsonl", "ndjson"),
        *("run", "trec", "res", "qrels", "inter", "item", "dat", "data", "uirt"),
    )
)


def run_name(path: Path, suffixes: Collection[str] = TABLE_SUFFIXES) -> str:
    """Return the name of the run in a file, or in a folder of ``part-*`` files.

    >>> run_name(Path("runs/als.v2.csv.gz")), run_name(Path("ALS(factors=6.5).parquet"))
    ('als.v2', 'ALS(factors=6.5)')
    """
    while path.suffix.lower() in suffixes or path.suffix.lower() == ".gz":
        path = path.with_suffix("")
    return os.fsencode(path.name).decode("utf-8", "backslashreplace")  # a name may have bytes that are not UTF-8


def without_gz(path: Path) -> Path:
    """Return a path without the suffix .gz."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # in the default text of Python objects
LONGEST = 200  # characters of a name; longer texts list what the model has learned


def system_name(model: Any, differing: Collection[str] = ()) -> str:
    """Return the name of a model: its own text, or its class and parameters where that text is not a name.

    The name of a fitted model is the one of the model it was fitted from. Parameters in ``differing`` are named even if
    they have their default value.

    >>> class Mine:
    ...     def __init__(self, depth=3, trees=10):
    ...         self.depth, self.trees = depth, trees
    >>> system_name(Mine(depth=5)), system_name(Mine(), ["depth"])
    ('Mine(depth=5)', 'Mine(depth=3)')
    """
    text = getattr(model, "fitted_from", "") or str(model)
    is_name = not (ADDRESS.search(text) or "\n" in text or len(text) > LONGEST)
    if is_name and not (differing and isinstance(model, Named)):
        return text
    own = parse(text) if isinstance(model, Named) else Expression(type(model).__name__)
    stated = {
        name: value for name, (value, default) in _parameters(model).items() if value != default or name in differing
    }
    return str(Expression(own.name, {**own.parameters, **stated}))


def system_names(models: Sequence[Any]) -> list[str]:
    """Return the names of models: each names the parameters in which models of its class differ, defaults included.

    >>> from recassay.models.neighbours import UserKNN
    >>> system_names([UserKNN(), UserKNN(neighbours=50)]), system_names([UserKNN()])
    (['UserKNN(neighbours=100)', 'UserKNN(neighbours=50)'], ['UserKNN'])
    """
    names = []
    for model in models:
        of_class = [_parameters(other) for other in models if type(other) is type(model)]
        own = of_class[0]
        names.append(system_name(model, [name for name in own if any(one[name] != own[name] for one in of_class)]))
    return names


def _parameters(model: Any) -> dict[str, tuple[Value, Any]]:
    """Return (value, default) of each parameter of a model's class that the model keeps as a plain attribute."""
    return {
        name: (value, parameter.default)
        for name, parameter in inspect.signature(type(model)).parameters.items()
        if isinstance(value := getattr(model, name, ...), str | int | float | None)
    }
