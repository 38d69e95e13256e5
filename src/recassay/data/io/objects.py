"""Tables that are Python objects: anything that exports Arrow, pandas with or without pyarrow, dicts and lists."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AnySet
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from recassay.data.io.columns import parse_columns, resolve
from recassay.data.io.roles import ITEM, RANK, TIMESTAMP, USER, Role
from recassay.data.io.table import SAMPLE_ROWS, Table, Wanted, column_names, of_frame
from recassay.errors import InputError, RecassayError

ACCEPTED = "a path, a Polars, pandas or Arrow table, {user: {item: number}}, {user: [items]} or [(user, item, number)]"


class _ArrowStream:
    """Shows of an object only that it exports Arrow, so that Polars does not iterate over it or guess its kind."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.source.__arrow_c_stream__(requested_schema)


def object_table(
    source: object, role: Role, *, columns: str | Mapping[str, str] | None = None, where: str = ""
) -> Table:
    """The table in an object; one that is none is I108."""
    where = where or f"the {role.name} ({type(source).__name__})"
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        lazy = source.lazy()
        names = lazy.collect_schema().names()
        return Table(
            names,
            lambda wanted: lazy.select(list(wanted.values())).collect(),
            where,
            sample=lambda some: lazy.select(some).head(SAMPLE_ROWS).collect(),
        )
    if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
        return _pandas(source, where)
    if hasattr(source, "__arrow_c_stream__"):
        try:
            return of_frame(pl.DataFrame(_ArrowStream(source)), where)
        except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
            raise InputError("I108", f"its Arrow data cannot be read: {error}", where=where) from None
    if isinstance(source, Mapping):
        return _mapping(source, role, columns, where)
    if isinstance(source, list | tuple):
        return _rows(source, role, where)
    raise InputError(
        "I108", f"cannot read a table from a {type(source).__name__}", where=where, hint=f"give {ACCEPTED}"
    )


def _pandas(source: Any, where: str) -> Table:
    names = [str(name) for name in source.columns]

    def read(wanted: Wanted) -> pl.DataFrame:
        return pl.DataFrame(
            [_series_of_pandas(name, source.iloc[:, names.index(name)], where) for name in wanted.values()]
        )

    def sample(some: Sequence[str]) -> pl.DataFrame:
        """Columns whose values mix types are of no use, and left out."""
        found = []
        for name in some:
            with contextlib.suppress(InputError):
                found.append(_series_of_pandas(name, source.iloc[:SAMPLE_ROWS, names.index(name)], where))
        return pl.DataFrame(found)

    return Table(names, read, where, sample=sample)


def _series_of_pandas(name: str, column: Any, where: str) -> pl.Series:
    """Numbers without a copy, the rest through Arrow where pyarrow is there and value by value where it is not."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biufM":
        values = column.to_numpy()
        # Polars knows no times in whole seconds.
        return pl.Series(name, values.astype("datetime64[ms]") if values.dtype == "datetime64[s]" else values)
    try:
        return pl.Series(name, column)
    except (ImportError, TypeError, ValueError, pl.exceptions.PolarsError):
        missing = column.isna().tolist()
        return _series(
            name, [None if gone else value for value, gone in zip(column.tolist(), missing, strict=True)], where
        )


def _mapping(source: Mapping[Any, Any], role: Role, columns: str | Mapping[str, str] | None, where: str) -> Table:
    values = list(source.values())
    if _keys_are_columns(source, role, columns):
        return of_frame(
            pl.DataFrame([_series(str(name), _as_list(column), where) for name, column in source.items()]), where
        )
    if role.name == "items" and all(isinstance(value, Mapping) for value in values):
        return of_frame(
            _frame_of_records([{ITEM: item, **features} for item, features in source.items()], where), where
        )
    if role.name != "items" and all(isinstance(value, Mapping) for value in values):
        rows = [(user, item, number) for user, items in source.items() for item, number in items.items()]
        return of_frame(_frame_of_tuples(rows, (USER, ITEM, role.value), where), where)
    if role.name != "items" and all(_is_list(value) for value in values):
        return replace(of_frame(_frame_of_lists(source, role, where), where), positions=True)
    odd = {key: value for key, value in source.items() if not _is_list(value) and not isinstance(value, Mapping)}
    if role.name != "items" and not odd:
        dicts = [user for user, value in source.items() if isinstance(value, Mapping)]
        lists = [user for user, value in source.items() if not isinstance(value, Mapping)]
        raise _mixed(role, {"a dict of item and number": dicts, "a list": lists}, where)
    key, value = next(iter((odd or source).items()))
    raise InputError(
        "I108",
        f"cannot read a {role.name} table from a dict that holds a {type(value).__name__} (for {key!r})",
        where=where,
        hint=f"give {ACCEPTED}",
    )


def _mixed(role: Role, kinds: Mapping[str, Sequence[Any]], where: str) -> InputError:
    """The error for a dict in which users have items in several shapes."""
    counts = [f"{len(users):,} in {kind} (such as {users[0]!r})" for kind, users in kinds.items()]
    return InputError(
        "I114",
        f"users of the {role.name} have their items in different shapes: {', '.join(counts)}",
        where=where,
        hint="give all users the same: {user: {item: number}}, {user: [items]} or {user: [(item, number)]}",
    )


def _keys_are_columns(source: Mapping[Any, Any], role: Role, columns: str | Mapping[str, str] | None) -> bool:
    """A dict is a table by columns if its keys name all the columns that the role needs."""
    if not all(isinstance(key, str) and _is_list(value) for key, value in source.items()):
        return False
    try:
        resolve(list(source), role, parse_columns(columns), where="")
    except RecassayError as error:
        return error.code == "I203"
    return True


def _frame_of_lists(source: Mapping[Any, Any], role: Role, where: str) -> pl.DataFrame:
    """``{user: [items]}``: the position is the rank in a run and the time in a log; pairs are (item, number)."""
    if role.name == "run" and any(isinstance(items, AnySet) for items in source.values()):
        raise InputError(
            "I108", "a set of items has no order", where=where, hint="give each user's items as a list, best first"
        )
    lists = {user: _as_list(items) for user, items in source.items()}
    if all(_is_pair(entry) for items in lists.values() for entry in items):
        rows = [(user, item, number) for user, items in lists.items() for item, number in items]
        return _frame_of_tuples(rows, (USER, ITEM, role.value), where)
    paired = [user for user, items in lists.items() if any(_is_pair(entry) for entry in items)]
    if paired:
        plain = [user for user, items in lists.items() if not all(_is_pair(entry) for entry in items)]
        raise _mixed(role, {"a list of (item, number)": paired, "a list of items": plain}, where)
    ordered = not any(isinstance(items, AnySet) for items in source.values())
    rows = [(user, item, place) for user, items in lists.items() for place, item in enumerate(items, start=1)]
    order = {"run": RANK, "log": TIMESTAMP}.get(role.name) if ordered else None
    frame = _frame_of_tuples(rows, (USER, ITEM, order or "place"), where)
    return frame if order else frame.drop("place")


def _rows(source: Sequence[Any], role: Role, where: str) -> Table:
    if not source:
        return of_frame(_frame_of_tuples([], role.required, where), where)
    if all(isinstance(row, Mapping) for row in source):
        return of_frame(_frame_of_records(list(source), where), where)
    width = len(source[0]) if isinstance(source[0], list | tuple) else 0
    for index, row in enumerate(source):
        if not isinstance(row, list | tuple) or len(row) != width or width < len(role.required):
            raise InputError(
                "I108",
                f"entry {index} of the list, {str(row)[:80]!r}, is no row like the first",
                where=where,
                hint=f"give {ACCEPTED}",
            )
    return of_frame(_frame_of_tuples(source, column_names(width), where), where, by_position=True, ordered=True)


def _frame_of_tuples(rows: Sequence[Sequence[Any]], names: Sequence[str], where: str) -> pl.DataFrame:
    columns: Iterable[Sequence[Any]] = zip(*rows, strict=True) if rows else ((),) * len(names)
    return pl.DataFrame([_series(name, list(column), where) for name, column in zip(names, columns, strict=True)])


def _frame_of_records(records: list[Mapping[str, Any]], where: str) -> pl.DataFrame:
    names = dict.fromkeys(name for record in records for name in record)
    return pl.DataFrame([_series(str(name), [record.get(name) for record in records], where) for name in names])


def _series(name: str, values: list[Any], where: str) -> pl.Series:
    """A column from Python values; whole numbers and fractions mix, other mixtures are I202."""
    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, pl.exceptions.PolarsError, OverflowError):
        kinds = {type(value): value for value in values if value is not None}
    if all(issubclass(kind, int | float | np.number) for kind in kinds):
        return pl.Series(name, [None if value is None else float(value) for value in values])
    examples = ", ".join(f"{value!r} ({kind.__name__})" for kind, value in list(kinds.items())[:3])
    raise InputError(
        "I202",
        f"column {name!r} mixes types: {examples}",
        where=where,
        hint="make all of them text, or all of them numbers",
    )


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple | AnySet | np.ndarray | pl.Series | range)


def _is_pair(entry: object) -> bool:
    """Return whether an entry of a list is (item, number)."""
    return isinstance(entry, list | tuple) and len(entry) == 2


def _as_list(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)
