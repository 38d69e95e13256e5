"""The interface of every format: the names of a table's columns, and functions that read them.

A table may have a row per user that holds all items of the user: lists, lists of structs, or texts such as ``a b c``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from recassay.columnar.columns import normalised_name
from recassay.data.io.clean import infer_type
from recassay.data.io.columns import ITEM, RANK, SCORE, USER, Role, recognised
from recassay.errors import InputError

SAMPLE_ROWS = 1000  # enough to see what a column holds

# Names of a column that holds several items, compared like other names of columns.
WORDS = (
    "items item_ids item_list recommendations recommended recommended_items recs predictions prediction predicted "
    "predicted_items ranking ranked_items ranked_list top_k list docs doc_ids documents retrieved retrieved_ids "
    "expected_ids relevant relevant_items relevant_docs ground_truth actual history"
)
LISTS = frozenset(map(normalised_name, WORDS.split()))
# Canonical name -> name in the table.
Wanted = Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """A table that is open but not yet read; ``names`` are its columns.

    ``read`` returns at least the wanted columns, under the table's own names. It takes the name of each wanted column
    by canonical name (``user_id``, ...). ``where`` names the table in errors.
    """

    names: list[str]
    read: Callable[[Wanted], pl.DataFrame]
    where: str
    by_position: bool = False
    """Whether the names are made up (``column_1``, ...) because the table has no header."""
    scan: pl.LazyFrame | None = None
    """The rows, if reading one column costs no more than that column."""
    stored: bool = False
    """Whether ``scan`` reads files: then ids are read in a form that becomes codes faster."""
    positions: bool = False
    """Whether the format is known for positions in a user's history rather than instants."""
    pack: Callable[[Wanted, Path], None] | None = None
    """Writes the table to a Parquet file in bounded memory; set if the table can only be read whole."""
    sample: Callable[[Sequence[str]], pl.DataFrame] | None = None
    """Reads the first rows of the named columns, unconverted; unreadable columns may be left out."""
    ordered: bool = False
    """Whether row order is meaningful: the source was a list, or a format of ordered lines."""
    remarks: Mapping[str, str] = field(default_factory=dict)
    """Texts about the file that findings quote, by finding code."""

    @property
    def rows(self) -> int:
        """Return the number of rows; 0 if it is not known before they are read."""
        return 0 if self.scan is None else int(self.scan.select(pl.len()).collect().item())

    def kinds(self, names: Sequence[str]) -> Mapping[str, pl.DataType]:
        """Return the types of some columns, and perhaps of others, as they are stored; text may be numbers."""
        return self.first_rows(names).schema if self.scan is None else self.scan.collect_schema()

    def first_rows(self, names: Sequence[str]) -> pl.DataFrame:
        """Return the first rows of some columns, unconverted; an empty table if they are not known."""
        return self.sample(names) if self.sample and names else pl.DataFrame()


def column_names(count: int) -> list[str]:
    """Return names for the columns of a table without a header.

    >>> column_names(2)
    ['column_1', 'column_2']
    """
    return [f"column_{position}" for position in range(1, count + 1)]


def table_of_scan(scan: pl.LazyFrame, names: Sequence[str], where: str, *, stored: bool = False) -> Table:
    """Return a table for rows of which any column can be read alone; ``stored`` says that they are in files."""
    return Table(
        list(names),
        lambda wanted: scan.select(list(wanted.values())).collect(),
        where,
        scan=scan,
        stored=stored,
        sample=lambda some: scan.head(SAMPLE_ROWS).select(some).collect(),
    )


def table_of_frame(frame: pl.DataFrame, where: str, *, by_position: bool = False, ordered: bool = False) -> Table:
    """Return a table for a frame that is already in memory.

    ``by_position`` says that its column names are made up, ``ordered`` that the order of its rows has a meaning.

    >>> table_of_frame(pl.DataFrame({"user": [1]}), "here").names
    ['user']
    """
    return replace(table_of_scan(frame.lazy(), frame.columns, where), by_position=by_position, ordered=ordered)


def unnested(table: Table, role: Role, chosen: Mapping[str, str], *, in_parts: bool = False) -> Table:
    """Return a table with a row per item if a row of ``table`` holds a user's whole list; else return ``table``.

    Lists in one row are taken apart together, so that a second list has the scores of the first. A struct gives a
    column for each of its fields. Without ranks and scores, the rank of an item of a run is its place in the list.
    ``chosen`` are the user's names of columns by canonical name. Rows are made at once, or ``in_parts`` when they are
    read.
    """
    if not {USER, ITEM} <= set(role.required):
        return table
    name = _column_of_lists(table, role, chosen)
    if name is None:
        return table
    by_meaning = {**recognised(table.names, role), **{key: own for key, own in chosen.items() if own in table.names}}
    others = {meaning: own for meaning, own in by_meaning.items() if own != name and meaning != ITEM}
    scan = table.read(others | {ITEM: name}).lazy() if table.scan is None else table.scan.select(*others.values(), name)
    schema, text = scan.collect_schema(), False
    if schema[name] == pl.String:
        scan, text = scan.with_columns(_split(pl.col(name), scan)), True
    scan = scan.with_columns(pl.col(own).arr.to_list() for own, kind in schema.items() if isinstance(kind, pl.Array))
    parallel = [own for own, kind in schema.items() if own != name and isinstance(kind, pl.List | pl.Array)]
    _refuse_other_lengths(scan, name, parallel, table.where)
    if role.name == "run" and not {RANK, SCORE} & (
        chosen.keys() | others.keys() | recognised(_fields(schema[name]), role).keys()
    ):
        parallel.append(RANK)
        scan = scan.with_columns(pl.int_ranges(1, pl.col(name).list.len() + 1).alias(RANK))
    scan = scan.filter(pl.col(name).list.len() > 0).explode(name, *parallel)
    if fields := _fields(schema[name]):
        scan = scan.drop([own for own in schema if own in fields and own != name]).unnest(name)
    if text:
        scan = scan.collect().with_columns(infer_type(scan.select(name).collect().to_series())).lazy()
    scan = scan.rename({name: ITEM}) if not fields and name not in chosen.values() and ITEM not in schema else scan
    rows = scan if in_parts else scan.collect().lazy()
    flat = table_of_scan(rows, rows.collect_schema().names(), table.where)

    def pack(wanted: Wanted, path: Path) -> None:
        scan.select(wanted.values()).sink_parquet(path)

    return replace(flat, pack=pack, positions=table.positions, remarks=table.remarks)


def _column_of_lists(table: Table, role: Role, chosen: Mapping[str, str]) -> str | None:
    """Return the column that holds a user's items; None if each row holds one item."""
    item = chosen.get(ITEM, recognised(table.names, role).get(ITEM))
    named = [one for one in table.names if normalised_name(one) in LISTS]
    several = [item] if item in table.names else named
    kinds = table.kinds(several or table.names)
    lists = [one for one, kind in kinds.items() if isinstance(kind, pl.List | pl.Array)]
    if not several:
        return lists[0] if len(lists) == 1 and ITEM not in chosen else None
    texts = table.first_rows([one for one in several if one in named and kinds.get(one) == pl.String])
    listed = texts.select(pl.all().str.strip_chars().str.contains(r"[\s,]|^\[").any())
    holding = [one for one in several if one in lists or (one in texts.columns and listed[one].any())]
    if len(holding) > 1:
        what = f"{len(holding)} columns can hold the items: {', '.join(map(repr, holding))}"
        raise InputError("I203", what, where=table.where, hint=f"choose one: --columns item={holding[0]}")
    return holding[0] if holding else None


def _split(column: pl.Expr, scan: pl.LazyFrame) -> pl.Expr:
    """Return the items in texts such as ``a b c``, ``a, b`` or ``['a', 'b']``; commas separate if there are any."""
    inside = column.str.strip_chars().str.strip_prefix("[").str.strip_suffix("]").str.strip_chars()
    if scan.select(column.str.contains(",", literal=True).any()).collect().item():
        items = inside.str.split(",").list.eval(pl.element().str.strip_chars(" \t'\""))
    else:
        items = inside.str.replace_all("['\"]", "").str.extract_all(r"\S+")
    return items.list.filter(pl.element() != "")


def _fields(kind: pl.DataType | type[pl.DataType]) -> Sequence[str]:
    """Return the names of the fields of the structs in a list; nothing for a list of values."""
    inner = kind.inner if isinstance(kind, pl.List | pl.Array) else None
    return [field.name for field in inner.fields] if isinstance(inner, pl.Struct) else []


def _refuse_other_lengths(scan: pl.LazyFrame, item: str, others: Sequence[str], where: str) -> None:
    """Raise I108 if lists in one row differ in length."""
    if not others:
        return
    lengths = scan.select(pl.col(item, *others).list.len()).collect()
    for name in others:
        wrong = (lengths[name] != lengths[item]).fill_null(True)
        if wrong.any():
            row = int(wrong.arg_true()[0])
            raise InputError(
                "I108",
                f"{int(wrong.sum()):,} of {lengths.height:,} rows have lists of different lengths, the first is row "
                f"{row + 1:,}: {lengths[item][row]} in '{item}' and {lengths[name][row]} in '{name}'",
                where=where,
                hint="give each item its own value, or leave that column out",
            )
