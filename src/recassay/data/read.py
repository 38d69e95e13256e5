"""From any source to a noun: readers for logs, truths and runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, get_args

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.io import open_table, read_table, run_sources
from recassay.data.io.roles import TIMESTAMP
from recassay.data.run import Nan, Order, Run
from recassay.data.time_kind import known_kind
from recassay.data.truth import Negative, Truth
from recassay.errors import InputError, UsageError
from recassay.spec import suggest

Columns = str | Mapping[str, str] | None
Found = TypeVar("Found")


def read_interactions(
    source: object, *, columns: Columns = None, format: str | None = None, times: str | None = None
) -> Interactions:
    """A log from a file or an object.

    What its times can tell is found out from their type, the name of their column, the format and the values, unless
    ``times`` says it: ``clock`` (instants), ``global`` (an order of all events) or ``user`` (an order within each
    user).

    >>> len(read_interactions([("ann", "x"), ("bob", "y")]))
    2
    >>> read_interactions({"ann": ["x", "y"], "bob": ["y", "z"]}).times
    'user'
    """
    if isinstance(source, Interactions):
        said = known_kind(times, has_times=source.timestamps is not None, where=source.origin)
        return source if said is None else replace(source, times=said)
    table = open_table(source, "log", columns=columns, format=format)
    said = known_kind(times, has_times=TIMESTAMP in table, where=_origin(source))
    log = Interactions.from_frame(table.frame(), origin=_origin(source), times=said)
    return log if said else log.reading_times(named=table.positions)


def read_training(source: object, *, columns: Columns = None) -> Interactions:
    """Return a training log whose items and users all have an event, as they do in a file.

    The training part of a fold also knows the items and users of the test part, which metrics must not count.

    >>> import numpy as np
    >>> fold = read_interactions([("ann", "x"), ("bob", "y")])
    >>> read_training(fold.take(np.array([0]))).n_items
    1
    """
    log = read_interactions(source, columns=columns)
    return log.compact() if isinstance(source, Interactions) and log.whole is None else log


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


def read_truth(source: object, *, columns: Columns = None, format: str | None = None, negative: str = "error") -> Truth:
    """Held-out relevant items from a file or an object; a rating or relevance column becomes the gain.

    >>> read_truth({"ann": ["x", "y"]}).gains.tolist()
    [1.0, 1.0]
    """
    if isinstance(source, Truth):
        return source
    if negative not in get_args(Negative):
        raise UsageError("U107", f"negative={negative!r} is not known", hint=suggest(negative, get_args(Negative)))
    table = open_table(source, "truth", columns=columns, format=format)
    return Truth.from_frame(table, negative=negative, origin=_origin(source))  # type: ignore[arg-type]


def read_run(
    source: object,
    name: str | None = None,
    *,
    columns: Columns = None,
    format: str | None = None,
    nan: str = "error",
    keep_scores: bool = True,
    keep_rows: bool = True,
    order: str | None = None,
) -> Run:
    """Recommendations of one system from a file or an object; its name is the file's unless one is given.

    A NaN score is an error, or with ``nan="last"`` its item stands last. Without ``keep_scores`` a run forgets its
    scores once they have ordered its lists; without ``keep_rows`` it forgets in which order its rows were read, which
    ``duplicates="last"`` and ``ties="row"`` ask for. ``order`` is ``rank``, ``score`` or ``row``; without it, what
    there is, in this order.

    >>> read_run({"ann": {"x": 0.2, "y": 0.9}}, "mine").frame()["item_id"].to_list()
    ['y', 'x']
    """
    if isinstance(source, Run):
        return source
    if nan not in get_args(Nan):
        raise UsageError("U107", f"nan={nan!r} is not known", hint=suggest(nan, get_args(Nan)))
    if name is None:
        name = run_sources([source])[0][0] if isinstance(source, str | Path) else "run"
    if order is not None and order not in get_args(Order):
        raise UsageError("U107", f"order={order!r} is not known", hint=suggest(order, get_args(Order)))
    table = open_table(source, "run", columns=columns, format=format, ordered=order == "row")
    return Run.from_frame(
        table,
        name,
        order=order,  # type: ignore[arg-type]
        nan=nan,  # type: ignore[arg-type]
        keep_scores=keep_scores,
        keep_rows=keep_rows,
        origin=_origin(source) or name,
    )


def read_runs(source: object, **options: Any) -> list[Run]:
    """Several runs: a run, a path, a glob, a folder, a list of any of them, or a dict of name to source.

    A dict of users, each with their items, is one run. ``options`` are those of :func:`read_run`.

    >>> [run.name for run in read_runs({"a": {"ann": ["x"]}, "b": {"ann": ["y"]}})]
    ['a', 'b']
    >>> [run.name for run in read_runs({"ann": ["x"], "bob": ["y"]})]
    ['run']
    """
    return list(each_run(source, **options))


def each_run(source: object, **options: Any) -> Iterator[Run]:
    """As :func:`read_runs`, one after the other: only one need be in memory."""
    if isinstance(source, str | Path):
        for name, path in run_sources([source]):
            yield read_run(path, name, **options)
    elif isinstance(source, Mapping) and not _holds_users(source):
        for name, one in source.items():
            yield read_run(one, str(name), **options)
    elif isinstance(source, list | tuple) and source and all(isinstance(one, str | Path) for one in source):
        for name, path in run_sources(list(source)):
            yield read_run(path, name, **options)
    elif isinstance(source, list | tuple) and source and all(isinstance(one, str | Path | Run) for one in source):
        for one in source:
            yield from each_run(one, **options)
    else:
        yield read_run(source, **options)


def beside(read: Callable[[Columns], Found], columns: Columns, own: Columns = None) -> Found:
    """A table that stands beside the runs: the names given for their columns hold for it if it has them.

    ``own`` are names given for this table, which it must have.
    """
    if own is not None:
        return read(own)
    try:
        return read(columns)
    except InputError as error:
        if columns is None or error.code != "I201":
            raise
    return read(None)


def _holds_users(source: Mapping[Any, Any]) -> bool:
    """Whether a dict is one run, {user: {item: number}} or {user: [items]}, and not one of names and runs."""
    value = next(iter(source.values()), None)
    if isinstance(value, Mapping):
        return all(isinstance(number, int | float) for number in value.values())
    return isinstance(value, list) and all(isinstance(item, str | int) for item in value)


def _origin(source: object) -> str:
    return str(source) if isinstance(source, str | Path) else ""
