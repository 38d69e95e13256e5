"""Readers for logs, item features, truths and runs, from files and from Python objects."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from recassay.columnar.times import TimeKind, validated_kind
from recassay.data.features import Features
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.io import run_sources
from recassay.data.io.columns import ITEM, TIMESTAMP, USER, recognised, role_named
from recassay.data.io.read import open_table, read_table
from recassay.data.memberships import Memberships
from recassay.data.nouns import require_noun
from recassay.data.run import Nan, Order, Run
from recassay.data.truth import Negative, Truth
from recassay.errors import InputError, RecassayError
from recassay.naming.arguments import checks_types

Columns = str | Mapping[str, str] | None
# A table: an object of this library, a path, a data frame of any library, an Arrow table, a dict or a list of rows.
TableSource = object
# Recommendations of one or several systems: a table, a glob, a folder, a list of these, or a dict of name to table.
RunSource = object
Found = TypeVar("Found")


@checks_types
def read_interactions(
    source: TableSource, *, columns: Columns = None, format: str | None = None, times: TimeKind | None = None
) -> Interactions:
    """Return a log from a file or an object.

    What the times can order is inferred from their type, the name of their column, the format and the values, unless
    ``times`` states it: ``clock`` (instants), ``global`` (an order of all events) or ``user`` (an order within each
    user).

    >>> len(read_interactions([("ann", "x"), ("bob", "y")]))
    2
    >>> read_interactions({"ann": ["x", "y"], "bob": ["y", "z"]}).times
    'user'
    """
    if isinstance(source, Interactions):
        stated = validated_kind(times, has_times=source.timestamps is not None, where=source.origin)
        return source if stated is None else replace(source, times=stated)
    require_noun(source, "log")
    table = open_table(source, "log", columns=columns, format=format)
    stated = validated_kind(times, has_times=TIMESTAMP in table.columns, where=_origin(source))
    log = Interactions.from_frame(table.frame(), origin=_origin(source), times=stated, remarks=table.remarks)
    return log if stated else log.with_inferred_times(named=table.positions)


def read_training(source: TableSource, *, columns: Columns = None) -> Interactions:
    """Return a training log whose users and items all have an event in it.

    The training part of a fold also has the items and users of the test part in its vocabularies. They are dropped,
    since metrics must not count them.

    >>> import numpy as np
    >>> fold = read_interactions([("ann", "x"), ("bob", "y")])
    >>> read_training(fold.take(np.array([0]))).n_items
    1
    """
    log = read_interactions(source, columns=columns)
    return log.compact() if isinstance(source, Interactions) and log.whole is None else log


@checks_types
def read_items(source: TableSource, *, columns: Columns = None, format: str | None = None) -> Features:
    """Return item features from a file or an object.

    >>> import polars as pl
    >>> items = pl.DataFrame({"item_id": ["x", "y"], "genres": ["drama|war", "war"]})
    >>> read_items(items).names.to_list()
    ['drama', 'war']
    """
    if isinstance(source, Features):
        return source
    require_noun(source, "items")
    return Features.from_frame(read_table(source, "items", columns=columns, format=format), origin=_origin(source))


def read_memberships(source: TableSource, by: str, role: str, *, columns: Columns = None) -> Memberships:
    """Return the groups that the column ``by`` makes of the rows of a table of users or items.

    ``role`` is ``users`` or ``items``. Other columns are not read, apart from the ids.

    >>> import polars as pl
    >>> read_memberships(pl.DataFrame({"user": [1, 2], "country": ["de", "fr"]}), "country", "users").names
    ('de', 'fr')
    """
    if isinstance(source, Features):
        return Memberships.of_features(source, by)
    table, ids = open_table(source, role, columns=columns), role_named(role).required[0]
    found = pl.DataFrame({name: table[name] for name in table.columns if name in (ids, by)})
    if by not in found.columns:
        found = table.frame()  # for the error, which names all columns
    return Memberships.of(found, ids, by, where=_origin(source) or f"the table of {role}")


def has_column(source: TableSource, name: str, role: str, *, columns: Columns = None) -> bool:
    """Return whether a path or a frame is a table with a column of this name; ``role`` is ``users`` or ``items``.

    >>> has_column({"ann": ["x"]}, "country", "users")
    False
    """
    if not isinstance(source, str | Path) and not hasattr(source, "columns"):
        return False
    try:
        return name in open_table(source, role, columns=columns).columns
    except RecassayError:
        return False


@checks_types
def read_truth(
    source: TableSource, *, columns: Columns = None, format: str | None = None, negative: Negative = "error"
) -> Truth:
    """Return held-out relevant items from a file or an object; a rating or relevance column becomes the gain.

    Of a fold, the test part is used. ``negative`` says whether negative gains are an error or mean «unjudged».

    >>> read_truth({"ann": ["x", "y"]}).gains.tolist()
    [1.0, 1.0]
    >>> read_truth(read_interactions([("ann", "x", 4.0), ("ann", "y", 5.0)])).frame().rows()
    [('ann', 'y', 5.0), ('ann', 'x', 4.0)]
    """
    if isinstance(source, Truth):
        return source
    log = source.test if isinstance(source, Fold) else source
    if isinstance(log, Interactions):
        judged = log.frame().rename({"rating": "gain"}, strict=False)
        return Truth.from_frame(judged, negative=negative, origin=log.origin)
    require_noun(source, "truth")
    table = open_table(source, "truth", columns=columns, format=format)
    return Truth.from_frame(table, negative=negative, origin=_origin(source))


@checks_types
def read_run(
    source: TableSource,
    name: str | None = None,
    *,
    columns: Columns = None,
    format: str | None = None,
    nan: Nan = "error",
    keep_scores: bool = True,
    keep_rows: bool = True,
    order: Order | None = None,
) -> Run:
    """Return the recommendations of one system from a file or an object; the default name is that of the file.

    A NaN score is an error; with ``nan="last"`` its item comes last. Without ``keep_scores``, scores are dropped once
    they have ordered the lists. Without ``keep_rows``, the order in which rows were read is dropped, which
    ``duplicates="last"`` and ``ties="row"`` need. ``order`` is ``rank``, ``score`` or ``row``; by default the first of
    these that the source has.

    >>> read_run({"ann": {"x": 0.2, "y": 0.9}}, "mine").frame()["item_id"].to_list()
    ['y', 'x']
    """
    if isinstance(source, Run):
        return source if name is None else replace(source, name=name)
    require_noun(source, "run")
    if name is None:
        name = run_sources([source])[0][0] if isinstance(source, str | Path) else "run"
    table = open_table(source, "run", columns=columns, format=format, ordered=order == "row")
    return Run.from_frame(
        table,
        name,
        order=order,
        nan=nan,
        keep_scores=keep_scores,
        keep_rows=keep_rows,
        origin=_origin(source) or name,
    )


@checks_types
def read_runs(
    source: RunSource,
    *,
    columns: Columns = None,
    format: str | None = None,
    nan: Nan = "error",
    keep_scores: bool = True,
    keep_rows: bool = True,
    order: Order | None = None,
) -> list[Run]:
    """Return several runs from a run, a path, a glob, a folder, a list of these, or a dict of name to source.

    A dict of users, each with their items, is a single run. The options are those of :func:`read_run`.

    >>> [run.name for run in read_runs({"a": {"ann": ["x"]}, "b": {"ann": ["y"]}})]
    ['a', 'b']
    >>> [run.name for run in read_runs({"ann": ["x"], "bob": ["y"]})]
    ['run']
    """
    return list(
        each_run(
            source,
            columns=columns,
            format=format,
            nan=nan,
            keep_scores=keep_scores,
            keep_rows=keep_rows,
            order=order,
        )
    )


def each_run(source: RunSource, own_columns: Mapping[str, Columns] | None = None, **options: Any) -> Iterator[Run]:
    """Yield the runs of :func:`read_runs` one at a time, so that only one need be in memory.

    ``own_columns`` maps the name of a run to its own column names, where these differ from those of the other runs.
    """
    own = own_columns or {}

    def read(value: object, name: str) -> Run:
        return read_run(value, name, **(options | ({"columns": own[name]} if name in own else {})))

    listed = [source] if isinstance(source, str | Path) else source if isinstance(source, list | tuple) else ()
    if listed and all(isinstance(entry, str | Path) for entry in listed):
        for name, path in run_sources(listed):
            yield read(path, name)
    elif isinstance(source, Mapping) and not _holds_users(source):
        for name, value in source.items():
            yield read(value, str(name))
    elif listed and all(isinstance(entry, str | Path | Run) for entry in listed):
        for entry in listed:
            yield from each_run(entry, own, **options)
    elif listed and not isinstance(listed[0], list | tuple | Mapping):
        for one in listed:
            require_noun(one, "run")
        raise InputError(
            "I108",
            f"a list of {type(listed[0]).__name__} does not name the systems",
            where="the run",
            hint="give a dict of name to run: {'first': one, 'second': other}",
        )
    else:
        yield read_run(source, **options)


def total_size(truth: object, runs: RunSource) -> int | None:
    """Return the bytes of a truth and of the first of some runs if each is the path of a file, else None.

    >>> total_size({"ann": ["x"]}, {"a": "a.csv"})
    """
    first = next(iter(runs.values()), None) if isinstance(runs, Mapping) else runs
    first = first[0] if isinstance(first, list | tuple) and first else first
    if not all(isinstance(one, str | Path) and os.path.isfile(one) for one in (truth, first)):
        return None
    return sum(os.path.getsize(str(one)) for one in (truth, first))


def read_with_shared_names(
    read: Callable[[Columns], Found], columns: Columns, own: Columns = None, *, option: str = "--columns"
) -> Found:
    """Return the table that ``read`` makes from column names, called with the right ones.

    ``own`` are names for this table alone, which must have columns of these names. Without them ``columns``, the names
    given for the runs, are tried first, then the default names. ``option`` is the option of the command line that names
    this table's columns, for errors.
    """
    if own is not None:
        return read(own)
    try:
        return read(columns)
    except InputError as error:
        if error.code != "I201":
            raise
        if columns is None:
            raise InputError(
                error.code, error.what, where=error.where, hint=error.hint.replace("--columns ", f"{option} ")
            ) from None
    return read_with_shared_names(read, None, option=option)


def _holds_users(source: Mapping[Any, Any]) -> bool:
    """Return whether a dict is one run, {user: {item: number}} or {user: [items]}, rather than named runs.

    An item may be a dict itself, such as ``{"corpus_id": "a", "score": 0.9}``.
    """
    value = next(iter(source.values()), None)
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        known = recognised([str(key) for key in value[0]], role_named("run"))
        return ITEM in known and USER not in known
    if isinstance(value, Mapping):
        return all(isinstance(number, int | float) for number in value.values())
    return isinstance(value, list) and all(isinstance(item, str | int) for item in value)


def _origin(source: object) -> str:
    return str(source) if isinstance(source, str | Path) else ""
