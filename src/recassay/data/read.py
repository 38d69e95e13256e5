"""From any source to a noun: readers for logs, truths and runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.io import open_table, read_table, run_sources
from recassay.data.run import Nan, Run
from recassay.data.truth import Negative, Truth

Columns = str | Mapping[str, str] | None


def read_interactions(source: object, *, columns: Columns = None, format: str | None = None) -> Interactions:
    """A log from a file or an object.

    >>> len(read_interactions([("ann", "x"), ("bob", "y")]))
    2
    """
    if isinstance(source, Interactions):
        return source
    return Interactions.from_frame(read_table(source, "log", columns=columns, format=format), origin=_origin(source))


def read_items(source: object, *, columns: Columns = None, format: str | None = None) -> Features:
    """Item features from a file or an object.

    >>> import polars as pl
    >>> items = pl.DataFrame({"item_id": ["x", "y"], "genres": ["drama|war", "war"]})
    >>> read_items(items).names.to_list()
    ['drama', 'war']
    """
    if isinstance(source, Features):
        return source
    return Features.from_frame(read_table(source, "items", columns=columns, format=format), origin=_origin(source))


def read_truth(
    source: object, *, columns: Columns = None, format: str | None = None, negative: Negative = "error"
) -> Truth:
    """Held-out relevant items from a file or an object; a rating or relevance column becomes the gain.

    >>> read_truth({"ann": ["x", "y"]}).gains.tolist()
    [1.0, 1.0]
    """
    if isinstance(source, Truth):
        return source
    table = open_table(source, "truth", columns=columns, format=format)
    return Truth.from_frame(table, negative=negative, origin=_origin(source))


def read_run(
    source: object, name: str | None = None, *, columns: Columns = None, format: str | None = None, nan: Nan = "error"
) -> Run:
    """Recommendations of one system from a file or an object; its name is the file's unless one is given.

    >>> read_run({"ann": {"x": 0.2, "y": 0.9}}, "mine").frame()["item_id"].to_list()
    ['y', 'x']
    """
    if isinstance(source, Run):
        return source
    if name is None:
        name = run_sources([source])[0][0] if isinstance(source, str | Path) else "run"
    table = open_table(source, "run", columns=columns, format=format)
    return Run.from_frame(table, name, nan=nan, origin=_origin(source) or name)


def read_runs(source: object, *, columns: Columns = None, format: str | None = None, nan: Nan = "error") -> list[Run]:
    """Several runs: a run, a path, a glob, a folder, a list of any of them, or a dict of name to source.

    A dict of users, each with their items, is one run.

    >>> [run.name for run in read_runs({"a": {"ann": ["x"]}, "b": {"ann": ["y"]}})]
    ['a', 'b']
    >>> [run.name for run in read_runs({"ann": ["x"], "bob": ["y"]})]
    ['run']
    """
    options: dict[str, Any] = {"columns": columns, "format": format, "nan": nan}
    if isinstance(source, Run):
        return [source]
    paths: list[Any] = list(source) if isinstance(source, list | tuple) else [source]
    if paths and all(isinstance(path, str | Path) for path in paths):  # together, so that no two have the same name
        return [read_run(path, name, **options) for name, path in run_sources(paths)]
    if isinstance(source, Mapping) and not _holds_users(source):
        return [read_run(one, name, **options) for name, one in source.items()]
    if isinstance(source, list | tuple) and source and all(isinstance(one, str | Path | Run) for one in source):
        return [run for one in source for run in read_runs(one, **options)]
    return [read_run(source, **options)]


def _holds_users(source: Mapping[Any, Any]) -> bool:
    """Whether a dict is one run, {user: {item: number}} or {user: [items]}, and not one of names and runs."""
    value = next(iter(source.values()), None)
    if isinstance(value, Mapping):
        return all(isinstance(number, int | float) for number in value.values())
    return isinstance(value, list) and all(isinstance(item, str | int) for item in value)


def _origin(source: object) -> str:
    return str(source) if isinstance(source, str | Path) else ""
