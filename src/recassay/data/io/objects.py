"""Tables from Python objects: anything that exports Arrow, pandas with or without pyarrow, dicts and lists."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
from collections.abc import Set as AnySet
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.layout import ranges
from recassay.data.io.clean import integers_or_text
from recassay.data.io.columns import ITEM, RANK, TIMESTAMP, USER, Role, parse_columns, recognised
from recassay.data.io.table import SAMPLE_ROWS, Table, column_names, table_of_frame, table_of_scan
from recassay.errors import InputError

DESCRIBING = "a path, a Polars, pandas or Arrow table, {id: [features]} or {id: {column: value}}"
ACCEPTED = "a path, a Polars, pandas or Arrow table, {user: {item: number}}, {user: [items]} or [(user, item, number)]"

LISTS = (list, tuple, AnySet, np.ndarray, pl.Series, range)


class ArrowStream:
    """A wrapper that exposes only an object's Arrow export, so Polars does not iterate over it or guess its kind."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.source.__arrow_c_stream__(requested_schema)


def object_table(
    source: object, role: Role, *, columns: str | Mapping[str, str] | None = None, where: str = ""
) -> Table:
    """Return the table in a Python object (a frame, dict, list, ...); raise I108 if the object is not a table.

    ``role`` says what the table is (run, truth, log, ...), and ``where`` names it in errors.
    """
    where = where or f"the {role.name} ({type(source).__name__})"
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        lazy = source.lazy()
        return replace(table_of_scan(lazy, lazy.collect_schema().names(), where), scan=None)
    if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
        return _pandas(source, where)
    if hasattr(source, "__arrow_c_stream__"):
        try:
            return table_of_frame(pl.DataFrame(ArrowStream(source)), where)
        except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
            raise InputError("I108", f"the Arrow data cannot be read: {error}", where=where) from None
    if isinstance(source, Mapping):
        return _mapping(source, role, columns, where)
    if isinstance(source, list | tuple):
        return _rows(source, role, where)
    raise InputError(
        "I108", f"cannot read a table from a {type(source).__name__}", where=where, hint=f"give {ACCEPTED}"
    )


def _pandas(source: Any, where: str) -> Table:
    names = [str(name) for name in source.columns]

    def column(name: str, rows: int | None = None) -> pl.Series:
        return _series_of_pandas(name, source.iloc[:rows, names.index(name)], where)

    def sample(some: Sequence[str]) -> pl.DataFrame:
        """Return the first rows of the columns named in ``some``; columns that mix types are left out."""
        found = []
        for name in some:
            with contextlib.suppress(InputError):
                found.append(column(name, SAMPLE_ROWS))
        return pl.DataFrame(found)

    return Table(names, lambda wanted: pl.DataFrame(list(map(column, wanted.values()))), where, sample=sample)


def _series_of_pandas(name: str, column: Any, where: str) -> pl.Series:
    """Return a pandas column as a series: without a copy if it is numeric, else through Arrow or value by value.

    Arrow is used if pyarrow is installed. ``where`` names the table in errors.
    """
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biufM":
        values = column.to_numpy()
        # Polars has no times in whole seconds.
        return pl.Series(name, values.astype("datetime64[ms]") if values.dtype == "datetime64[s]" else values)
    try:
        return pl.Series(name, column)
    except (ImportError, TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        missing = column.isna().tolist()
        return _series(
            name, [None if null else value for value, null in zip(column.tolist(), missing, strict=True)], where
        )


def _mapping(source: Mapping[Any, Any], role: Role, columns: str | Mapping[str, str] | None, where: str) -> Table:
    values = list(source.values())
    of_dicts, of_lists = _all_are(Mapping, values), _all_are(LISTS, values)
    if of_lists and _keys_are_columns(source, role, columns):
        return table_of_frame(
            pl.DataFrame([_series(str(name), _as_list(column), where) for name, column in source.items()]), where
        )
    if role.describes and of_dicts:
        return table_of_frame(
            _frame_of_records([{role.required[0]: one, **features} for one, features in source.items()], where), where
        )
    if role.describes and values and of_lists:
        features = pl.Series("features", [[str(one) for one in own] for own in values], pl.List(pl.String))
        return table_of_frame(pl.DataFrame([_series(role.required[0], list(source), where), features]), where)
    if not role.describes and of_dicts:
        items = _series(ITEM, _flat_list(values), where)
        numbers = _series(role.value, _flat_list(own.values() for own in values), where)
        return table_of_frame(pl.DataFrame([_users_of_rows(source, where), items, numbers]), where)
    if not role.describes and of_lists:
        return replace(table_of_frame(_frame_of_lists(source, role, where), where), positions=True)
    odd = {key: value for key, value in source.items() if not isinstance(value, (*LISTS, Mapping))}
    if not role.describes and not odd:
        dicts = [user for user, value in source.items() if isinstance(value, Mapping)]
        lists = [user for user, value in source.items() if not isinstance(value, Mapping)]
        raise _mixed(role, {"a dict of item and number": dicts, "a list": lists}, where)
    key, value = next(iter((odd or source).items()))
    raise InputError(
        "I108",
        f"cannot read a table of {role.name} from a dict that holds a {type(value).__name__} (for {key!r})",
        where=where,
        hint=f"give {DESCRIBING if role.describes else ACCEPTED}",
    )


def _mixed(role: Role, kinds: Mapping[str, Sequence[Any]], where: str) -> InputError:
    """Return the error for a dict with values of several shapes, such as lists for some users and dicts for others.

    ``kinds`` maps the name of a shape to examples.
    """
    counts = [f"{len(users):,} in {kind} (such as {users[0]!r})" for kind, users in kinds.items()]
    return InputError(
        "I108",
        f"users of the {role.name} have items in different shapes: {', '.join(counts)}",
        where=where,
        hint="give all users the same shape: {user: {item: number}}, {user: [items]} or {user: [(item, number)]}",
    )


def _keys_are_columns(source: Mapping[Any, Any], role: Role, columns: str | Mapping[str, str] | None) -> bool:
    """Return whether the keys of a dict of lists are names of columns, and include all that the role requires."""
    if not _all_are(str, source):
        return False
    chosen = parse_columns(columns)
    known = recognised((name for name in source if name not in chosen.values()), role)
    return source.keys() >= set(chosen.values()) and known.keys() | chosen.keys() >= set(role.required)


def _frame_of_lists(source: Mapping[Any, Any], role: Role, where: str) -> pl.DataFrame:
    """Return ``{user: [items]}`` (``source``) as rows; an entry may also be a pair (item, number).

    The position in the list becomes the rank in a run, and the time in a log. Raise I108 for a set of items in a run,
    which has no order, or if only some lists have pairs.
    """
    has_sets = any(issubclass(kind, AnySet) for kind in set(map(type, source.values())))
    if role.name == "run" and has_sets:
        raise InputError(
            "I108", "a set of items has no order", where=where, hint="give each user's items as a list, best first"
        )
    lists = {user: _as_list(items) for user, items in source.items()}
    entries = _flat_list(lists.values())
    kinds = set(map(type, entries))
    if any(issubclass(kind, Mapping) for kind in kinds):
        return pl.DataFrame([_series(USER, list(lists), where), _series("items", list(lists.values()), where)])
    users, order = _users_of_rows(lists, where), None if has_sets else {"run": RANK, "log": TIMESTAMP}.get(role.name)
    if any(issubclass(kind, list | tuple) for kind in kinds):
        if _all_are((list, tuple), entries) and set(map(len, entries)) == {2}:
            return pl.DataFrame([users, *_frame_of_tuples(entries, (ITEM, role.value), where)])
        paired = [user for user, items in lists.items() if any(_is_pair(entry) for entry in items)]
        plain = [user for user, items in lists.items() if not all(_is_pair(entry) for entry in items)]
        if paired:
            raise _mixed(role, {"a list of (item, number)": paired, "a list of items": plain}, where)
    places = [pl.Series(order, ranges(1, _lengths(lists.values())))] if order else []
    return pl.DataFrame([users, _series(ITEM, entries, where), *places])


def _lengths(parts: Collection[Sized]) -> NDArray[np.int64]:
    return np.fromiter(map(len, parts), np.int64, len(parts))


def _users_of_rows(items: Mapping[Any, Sized], where: str) -> pl.Series:
    """Return a column that repeats each user once per item of that user."""
    users = _series(USER, [user for user, own in items.items() if own], where)
    if users.dtype == pl.String:  # a row then has the number of its user
        users = users.cast(pl.Enum(users))
    lengths = _lengths(items.values())
    return users.gather(np.repeat(np.arange(users.len()), lengths[lengths > 0]))


def _flat_list(parts: Iterable[Iterable[Any]]) -> list[Any]:
    """Return the values of all parts in one list; extending it takes four fifths of the time of ``chain``."""
    values: list[Any] = []
    for part in parts:
        values.extend(part)
    return values


def _rows(source: Sequence[Any], role: Role, where: str) -> Table:
    if not source:
        return table_of_frame(_frame_of_tuples([], role.required, where), where)
    if all(isinstance(row, Mapping) for row in source):
        return table_of_frame(_frame_of_records(list(source), where), where)
    width = len(source[0]) if isinstance(source[0], list | tuple) else 0
    alike = {list, tuple}.issuperset(map(type, source)) and {width}.issuperset(map(len, source))
    for index, row in enumerate(() if alike and width >= len(role.required) else source):
        if not isinstance(row, list | tuple) or len(row) != width or width < len(role.required):
            raise InputError(
                "I108",
                f"entry {index} of the list, {str(row)[:80]!r}, is not a row like the first",
                where=where,
                hint=f"give {ACCEPTED}",
            )
    return table_of_frame(_frame_of_tuples(source, column_names(width), where), where, by_position=True, ordered=True)


def _frame_of_tuples(rows: Sequence[Sequence[Any]], names: Sequence[str], where: str) -> pl.DataFrame:
    return pl.DataFrame([_series(name, [row[place] for row in rows], where) for place, name in enumerate(names)])


def _frame_of_records(records: list[Mapping[str, Any]], where: str) -> pl.DataFrame:
    names = dict.fromkeys(name for record in records for name in record)
    return pl.DataFrame([_series(str(name), [record.get(name) for record in records], where) for name in names])


def _series(name: str, values: list[Any], where: str) -> pl.Series:
    """Return the column ``name`` with these values, typed as they are.

    Integers and fractions may be mixed; raise I202, naming the table (``where``), for any other mixture of types.
    """
    with contextlib.suppress(TypeError, pl.exceptions.PolarsError, OverflowError):
        if (series := pl.Series(name, values, strict=True)).dtype != pl.Object:
            return series
    kinds = {type(value): value for value in values if value is not None}
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):  # beyond 64 bits, perhaps as ids
        return integers_or_text(pl.Series(name, [None if value is None else str(value) for value in values]))
    if all(issubclass(kind, int | float | np.number) for kind in kinds):
        return pl.Series(name, [None if value is None else float(value) for value in values])
    examples = ", ".join(f"{value!r} ({kind.__name__})" for kind, value in list(kinds.items())[:3])
    raise InputError(
        "I202",
        f"column {name!r} mixes types: {examples}",
        where=where,
        hint="make all values text, or all numbers",
    )


def _all_are(kinds: type | tuple[type, ...], values: Iterable[object]) -> bool:
    """Return whether all values are of these types; each type is looked at once, since few values differ in type."""
    return all(issubclass(kind, kinds) for kind in set(map(type, values)))


def _is_pair(entry: object) -> bool:
    """Return whether a list entry is a pair (item, number)."""
    return isinstance(entry, list | tuple) and len(entry) == 2


def _as_list(values: Any) -> list[Any]:
    if isinstance(values, list):
        return values
    return values.tolist() if isinstance(values, np.ndarray) else list(values)
