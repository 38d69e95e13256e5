"""Detection of unread columns that could change a result, described in remarks for findings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import polars as pl

from recassay.columnar.columns import normalised_name
from recassay.data.io.clean import as_time
from recassay.data.io.columns import KEYS, RANK, SCORE, USER, Role, known_meanings
from recassay.data.io.table import Table
from recassay.errors import InputError

FEW_VALUES = 20  # a rating scale has at most this many distinct values
# The numbers of a column such as ``category_id`` are no ratings.
ID_NAME = re.compile(r"(^|[^A-Za-z])([iI]d|ID)$|[a-z]I[dD]$")
EPOCH = 1e8  # larger numbers are times or ids, not gains
NUMBER = r"^\s*[-+]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][-+]?[0-9]+)?\s*$"
# Names of columns that distinguish tables which should be in separate files.
GROUPS = (
    "dataset data split fold cv part subset seed model modelname algorithm algo recommender method approach system "
    "systemid systemname run runid tag experiment experimentid trial epoch"
)

Remarks = dict[str, str]  # finding code -> what the finding says about a table


def numeric_columns(sample: pl.DataFrame) -> dict[str, pl.Series]:
    """Return by name the columns of a sample that hold numbers (also as text), except constants and row numbers.

    >>> sample = pl.DataFrame({"Punkte": ["0,5", "0,7"], "Titel": ["Up", "It"], "fold": [1, 1]})
    >>> {name: column.to_list() for name, column in numeric_columns(sample).items()}
    {'Punkte': [0.5, 0.7]}
    """
    found: dict[str, pl.Series] = {}
    for column in sample:
        values = _as_numbers(column)
        if values is not None and values.n_unique() > 1:
            # 0, 1, 2, ... or 1, 2, 3, ... in row order, as in an index column
            counts_rows = values.len() > 2 and values[0] in (0, 1) and (values.diff().drop_nulls() == 1).all()
            found |= {} if counts_rows else {column.name: values}
    return found


def time_columns(sample: pl.DataFrame) -> list[str]:
    """Return the names of the sample's columns of dates, or of numbers as large as seconds since 1970.

    >>> time_columns(pl.DataFrame({"Datum": ["31.05.2020", "01.06.2020"], "Menge": [1, 2], "um": [1.6e9, 1.7e9]}))
    ['Datum', 'um']
    """
    return [column.name for column in sample if _are_times(column.drop_nulls())]


def _are_times(column: pl.Series) -> bool:
    if not column.len() or column.dtype.is_temporal():
        return bool(column.len())
    numbers = _as_numbers(column)
    if numbers is not None:
        return bool(numbers.len() and numbers.min() >= EPOCH) and numbers.n_unique() > 1  # type: ignore[operator]
    try:
        return column.dtype == pl.String and as_time(column).dtype.is_temporal()
    except InputError:
        return False


def check_default_value(table: Table, found: Mapping[str, str], role: Role) -> None:
    """Raise I204 if a log or truth without a header has times where its ratings or gains are expected.

    ``found`` are the columns that were recognised by position, by canonical name.
    """
    name = found.get(role.value, "")
    if role.name not in ("log", "truth") or not name or not time_columns(table.sample([name])):
        return
    raise InputError(
        "I204",
        f"the file has no header, so its third column was taken as the {role.value}, but it holds numbers as large as "
        f"seconds since 1970",
        where=table.where,
        hint="say what it is: "
        + (f"--columns timestamp={name}" if role.name == "log" else "write a header that names the columns"),
    )


def remarks_on_unread(table: Table, found: Mapping[str, str], role: Role, *, ordered: bool) -> Remarks:
    """Return remarks, by finding code, if columns that are not read could change a result.

    R001 is for a run without rank and score, R002 for a truth with numbers that may be gains, and R011 for a log with
    numbers that may be ratings. Raise I204 for a run without rank and score that has another column of numbers, unless
    its rows are ``ordered``: that column, rather than the row order, may be what orders its lists. ``found`` are the
    columns read.
    """
    unread = [name for name in table.names if name not in found.values()]
    if role.name == "run" and RANK not in found and SCORE not in found and not (ordered or table.ordered):
        if unread:
            _check_unread_order(table.sample([found[USER], *unread]), found, table.where)
        return {"R001": "the run has neither a rank nor a score; each list is taken in the order of its rows"}
    if role.name in ("truth", "log") and role.value not in found:
        names = [name for name in unread if not known_meanings(name) - {role.value} and not ID_NAME.search(name)]
        return _unread_values(table.sample(names), found, role) if names else {}
    return {}


def _check_unread_order(sample: pl.DataFrame, found: Mapping[str, str], where: str) -> None:
    unread = numeric_columns(sample.drop(found[USER], strict=False))
    if not unread:
        return
    name, values = next(iter(unread.items()))
    others = f" (and {', '.join(map(repr, list(unread)[1:]))})" if len(unread) > 1 else ""
    is_rank = "rank" in normalised_name(name) or _looks_like_ranks(values, sample[found[USER]])
    raise InputError(
        "I204",
        f"the run has no rank or score under a known name, and column {name!r}{others} holds numbers that are not read",
        where=where,
        hint=f"say what it is: --columns {'rank' if is_rank else 'score'}={name}; or, if the rows are in best-first "
        "order, --order row",
    )


def _unread_values(sample: pl.DataFrame, found: Mapping[str, str], role: Role) -> Remarks:
    """Return a remark if a sample of unread columns has numbers that are not times; ``found`` are those read."""
    unread = {name: column for name, column in numeric_columns(sample).items() if column.max() < EPOCH}  # type: ignore[operator]
    if not unread:
        return {}
    name, values = min(unread.items(), key=lambda entry: entry[1].n_unique() > FEW_VALUES)
    low, high = values.sort()[[0, -1]].to_list()
    numbers = f"column {name!r} of the {role.name} holds numbers ({low:g} to {high:g} in its first rows)"
    if role.name == "log":
        return {
            "R011": f"{numbers} that are not read: every row is an event without a rating; if they are ratings, name "
            f"the column: --columns {_keys(found)},rating={name} (of a training log: --train-columns)"
        }
    return {
        "R002": f"{numbers} that are not read: every row counts as a gain of 1; if they say how relevant an item is, "
        f"pass --truth-columns {_keys(found)},gain={name}"
    }


def remark_on_mixed_tables(rows: pl.LazyFrame, user: str, group: str, role: Role) -> Remarks:
    """Return the remark R003 if the column ``group``, such as a model name, has several values for one user.

    The rows then probably come from several tables. ``user`` is the column of users.

    >>> from recassay.data.io.columns import ROLES
    >>> rows = pl.LazyFrame({"user_id": [1, 1, 2], "model": ["als", "als", "bpr"]})
    >>> remark_on_mixed_tables(rows, "user_id", "model", ROLES["run"])
    {}
    """
    frame = rows.select(user, group).unique(maintain_order=True).collect()
    values = frame[group]
    if values.len() < 2 or not (values != values[0]).any():  # the usual case
        return {}
    users = frame.group_by(user).agg(pl.col(group).n_unique())
    several = int((users[group] > 1).sum())
    if not several:
        return {}
    shown = ", ".join(repr(value) for value in values.unique(maintain_order=True).head(3).to_list())
    return {
        "R003": f"column {group!r} of the {role.name} has {values.n_unique():,} values (such as {shown}), several of "
        f"them for {several:,} of {users.height:,} users, and is not read: their rows are combined as if they were one"
    }


def grouping_columns(names: Sequence[str], found: Mapping[str, str], role: Role) -> list[str]:
    """Return columns that are not read and whose names, such as model or fold, suggest several tables in one.

    ``names`` are all columns of a run or a truth, and ``found`` those that are read, by canonical name.

    >>> from recassay.data.io.columns import ROLES
    >>> grouping_columns(["user", "item", "Model", "title"], {"user_id": "user", "item_id": "item"}, ROLES["run"])
    ['Model']
    """
    if role.name not in ("run", "truth"):
        return []
    return [name for name in names if name not in found.values() and normalised_name(name) in GROUPS.split()]


def _keys(found: Mapping[str, str]) -> str:
    return ",".join(f"{KEYS[meaning]}={name}" for meaning, name in found.items())


def _as_numbers(column: pl.Series) -> pl.Series | None:
    """Return the numbers of a column; None if it holds anything else."""
    if column.dtype.is_numeric():
        return column.drop_nulls().cast(pl.Float64).drop_nans()
    if column.dtype != pl.String:
        return None
    filled = column.drop_nulls()
    filled = filled.filter(filled != "")
    if not filled.len() or not filled.str.contains(NUMBER).all():
        return None
    return filled.str.strip_chars().str.replace(",", ".", literal=True).str.strip_prefix("+").cast(pl.Float64)


def _looks_like_ranks(values: pl.Series, users: pl.Series) -> bool:
    """Return whether the numbers are whole, start at 0 or 1, and never repeat within a user."""
    if values.len() != users.len() or values.min() not in (0, 1) or (values != values.floor()).any():
        return False
    return not pl.DataFrame({"user": users, "value": values}).is_duplicated().any()
