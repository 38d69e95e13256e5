"""What a table has beside the columns that are read, where leaving it unread could change a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from recassay.data.io.columns import SHORT_NAMES, known_meanings, plain
from recassay.data.io.roles import GAIN, RANK, SCORE, USER, Role
from recassay.data.io.table import Table
from recassay.errors import InputError

FEW_VALUES = 20  # different numbers: a scale of ratings has no more
EPOCH = 1e8  # numbers from here on are times, or ids, and no gains
NUMBER = r"^\s*[-+]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][-+]?[0-9]+)?\s*$"
# Columns that tell apart what should stand in files of its own.
GROUPS = (
    "dataset data split fold cv part subset seed model modelname algorithm algo recommender method approach system "
    "systemid systemname run runid tag experiment experimentid trial epoch"
)

GROUP = "group "  # what stands before the name of such a column while it is looked at

Remarks = dict[str, str]  # what a finding says of a table, by its code
Sample = Callable[[Sequence[str]], pl.DataFrame]  # the first rows of the named columns


def numbers(sample: pl.DataFrame) -> dict[str, pl.Series]:
    """Return the columns of a sample that hold numbers, also as text, and neither one number nor a row count.

    >>> sample = pl.DataFrame({"Punkte": ["0,5", "0,7"], "Titel": ["Up", "It"], "fold": [1, 1]})
    >>> {name: column.to_list() for name, column in numbers(sample).items()}
    {'Punkte': [0.5, 0.7]}
    """
    found = {column.name: _as_numbers(column) for column in sample}
    return {
        name: one for name, one in found.items() if one is not None and one.n_unique() > 1 and not _counts_rows(one)
    }


def unread_of(names: Sequence[str], found: Mapping[str, str]) -> list[str]:
    """Return the names of columns that nobody reads."""
    return [name for name in names if name not in found.values()]


def remarks_on(table: Table, sample: Sample, found: Mapping[str, str], role: Role, *, ordered: bool) -> Remarks:
    """Return what is to be said of a run's order (R001) or of a truth's gains (R002).

    A run without rank and score whose rows nobody called ``ordered``, and which has another column of numbers, is I204:
    that column, not the order of the rows, may well be what orders its lists.
    """
    unread = unread_of(table.names, found)
    if role.name == "run" and RANK not in found and SCORE not in found and not (ordered or table.ordered):
        if unread:
            _refuse_unread_order(sample([found[USER], *unread]), found, table.where)
        return {"R001": "the run has neither a rank nor a score; each list is taken in the order of its rows"}
    if role.name == "truth" and GAIN not in found:
        names = [name for name in unread if not known_meanings(name) - {GAIN}]
        return _unread_gains(sample(names), found) if names else {}
    return {}


def _refuse_unread_order(sample: pl.DataFrame, found: Mapping[str, str], where: str) -> None:
    unread = numbers(sample.select(unread_of(sample.columns, found)))
    if not unread:
        return
    name, values = next(iter(unread.items()))
    others = f" (and {', '.join(map(repr, list(unread)[1:]))})" if len(unread) > 1 else ""
    key = "rank" if _looks_like_ranks(values, sample[found[USER]]) else "score"
    raise InputError(
        "I204",
        f"the run has no rank and no score that is known by its name, and column {name!r}{others} holds numbers that "
        "nobody reads",
        where=where,
        hint=f"say what it is: --columns {key}={name}; or, if the rows stand best first, --order row",
    )


def _unread_gains(sample: pl.DataFrame, found: Mapping[str, str]) -> Remarks:
    """Of numbers under names that mean nothing else, and that are no times."""
    unread = {name: one for name, one in numbers(sample).items() if one.max() < EPOCH}  # type: ignore[operator]
    if not unread:
        return {}
    name, values = min(unread.items(), key=lambda one: one[1].n_unique() > FEW_VALUES)
    low, high = values.sort()[[0, -1]].to_list()
    return {
        "R002": f"column {name!r} of the truth holds numbers ({low:g} to {high:g} in its first rows) that are not "
        "read: every row counts as a gain of 1; if they say how relevant an item is, say "
        f"--truth-columns {_keys(found)},gain={name}"
    }


def several_tables(frame: pl.DataFrame, user: str, group: str, role: Role) -> Remarks:
    """Return R003 if a column that tells tables apart has several values for one user.

    >>> from recassay.data.io.roles import ROLES
    >>> rows = pl.DataFrame({"user_id": [1, 1, 2], "model": ["als", "als", "bpr"]})
    >>> several_tables(rows, "user_id", "model", ROLES["run"])
    {}
    """
    values = frame[group]
    if values.len() < 2 or not (values != values[0]).any():  # one comparison settles nearly every file
        return {}
    users = frame.group_by(user).agg(pl.col(group).n_unique().alias("values"))
    several = int((users["values"] > 1).sum())
    if not several:
        return {}
    name = group.removeprefix(GROUP)
    shown = ", ".join(repr(value) for value in values.unique(maintain_order=True).head(3).to_list())
    return {
        "R003": f"column {name!r} of the {role.name} has {values.n_unique():,} values (such as {shown}), several of "
        f"them for {several:,} of {users.height:,} users, and is not read: their rows are put together as if they were "
        "one"
    }


def groups_in(names: Sequence[str], found: Mapping[str, str], role: Role) -> list[str]:
    """Return the unread columns of a run or a truth whose names say that they tell tables apart.

    >>> from recassay.data.io.roles import ROLES
    >>> groups_in(["user", "item", "Model", "title"], {"user_id": "user", "item_id": "item"}, ROLES["run"])
    ['Model']
    """
    if role.name not in ("run", "truth"):
        return []
    return [name for name in unread_of(names, found) if plain(name) in GROUPS.split()]


def _keys(found: Mapping[str, str]) -> str:
    short = {meaning: key for key, meaning in SHORT_NAMES.items()}
    return ",".join(f"{short[meaning]}={name}" for meaning, name in found.items())


def _as_numbers(column: pl.Series) -> pl.Series | None:
    """The numbers of a column, None if it holds anything else."""
    if column.dtype.is_numeric():
        return column.drop_nulls().cast(pl.Float64).drop_nans()
    if column.dtype != pl.String:
        return None
    filled = column.drop_nulls()
    filled = filled.filter(filled != "")
    if not filled.len() or not filled.str.contains(NUMBER).all():
        return None
    return filled.str.strip_chars().str.replace(",", ".", literal=True).str.strip_prefix("+").cast(pl.Float64)


def _counts_rows(values: pl.Series) -> bool:
    """Return whether the numbers are 0, 1, 2, ... or 1, 2, 3, ..., as an index column has them."""
    return values.len() > 2 and values[0] in (0, 1) and bool((values.diff().drop_nulls() == 1).all())


def _looks_like_ranks(values: pl.Series, users: pl.Series) -> bool:
    """Return whether they are whole numbers from 0 or 1 on, and no user has one twice."""
    if values.len() != users.len() or values.min() not in (0, 1) or (values != values.floor()).any():
        return False
    return not pl.DataFrame({"user": users, "value": values}).is_duplicated().any()
