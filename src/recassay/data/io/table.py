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
    by canonical name (``user_id``, ...). ``where`` names the table in errors. With ``by_position`` the names are made
    up (``column_1``, ...) because the table has no header. ``scan`` has the rows, if reading one column costs no more
    than that column. If it reads files (``stored``), ids are read in a form that becomes codes faster. ``positions``
    says that the format is known for positions in a user's history rather than instants. ``pack`` writes the table to a
    Parquet file in bounded memory; it is set if the table can only be read whole. ``sample`` reads the first rows of
    the named columns, unconverted; unreadable columns may be left out. ``ordered`` says that row order is meaningful:
    the source was a list, or a format of ordered lines. ``remarks`` maps the code of a finding (a problem that results
    report) to a text about the file.
    """

    names: list[str]
    read: Callable[[Wanted], pl.DataFrame]
    where: str
    by_position: bool = False
    scan: pl.LazyFrame | None = None
    stored: bool = False
    positions: bool = False
    pack: Callable[[Wanted, Path], None] | None = None
    sample: Callable[[Sequence[str]], pl.DataFrame] = lambda _: pl.DataFrame()
    ordered: bool = False
    remarks: Mapping[str, str] = field(default_factory=dict)


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

    All lists of a row are unnested together, so that a second list may hold the scores of the items in the first. A
    struct gives a column for each of its fields. Without ranks and scores, the rank of an item of a run is its position
    in the list. ``chosen`` are the user's names of columns by canonical name. With ``in_parts``, lists are unnested
    when rows are read, else at once.
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
    inner = getattr(schema[name], "inner", None)
    fields = [field.name for field in inner.fields] if isinstance(inner, pl.Struct) else []
    if schema[name] == pl.String:
        # texts such as ``a b c``, ``a, b`` or ``['a', 'b']``; commas separate if there are any
        column = pl.col(name)
        inside = column.str.strip_chars().str.strip_prefix("[").str.strip_suffix("]").str.strip_chars()
        if scan.select(column.str.contains(",", literal=True).any()).collect().item():
            items = inside.str.split(",").list.eval(pl.element().str.strip_chars(" \t'\""))
        else:
            items = inside.str.replace_all("['\"]", "").str.extract_all(r"\S+")
        scan, text = scan.with_columns(items.list.filter(pl.element() != "")), True
    scan = scan.with_columns(pl.col(own).arr.to_list() for own, kind in schema.items() if isinstance(kind, pl.Array))
    parallel = [own for own, kind in schema.items() if own != name and isinstance(kind, pl.List | pl.Array)]
    _refuse_other_lengths(scan, name, parallel, table.where)
    known = chosen.keys() | others.keys() | recognised(fields, role).keys()
    if role.name == "run" and not {RANK, SCORE} & known:
        parallel.append(RANK)
        scan = scan.with_columns(pl.int_ranges(1, pl.col(name).list.len() + 1).alias(RANK))
    scan = scan.filter(pl.col(name).list.len() > 0).explode(name, *parallel)
    if fields:
        scan = scan.drop([own for own in schema if own in fields and own != name]).unnest(name)
    if text:
        scan = scan.collect().with_columns(infer_type(scan.select(name).collect().to_series())).lazy()
    scan = scan.rename({name: ITEM}) if not fields and name not in chosen.values() and ITEM not in schema else scan
    rows = scan if in_parts else scan.collect().lazy()
    flat = table_of_scan(rows, rows.collect_schema().names(), table.where)
    return replace(
        flat,
        pack=lambda wanted, path: scan.select(wanted.values()).sink_parquet(path),
        positions=table.positions,
        remarks=table.remarks,
    )


def _column_of_lists(table: Table, role: Role, chosen: Mapping[str, str]) -> str | None:
    """Return the column of ``table`` whose rows hold all items of a user; None if each row holds one item."""
    item = chosen.get(ITEM, recognised(table.names, role).get(ITEM))
    named = [one for one in table.names if normalised_name(one) in LISTS]
    several = [item] if item in table.names else named
    kinds = table.sample(several or table.names).schema if table.scan is None else table.scan.collect_schema()
    lists = [one for one, kind in kinds.items() if isinstance(kind, pl.List | pl.Array)]
    if not several:
        return lists[0] if len(lists) == 1 and ITEM not in chosen else None
    texts = table.sample([one for one in several if one in named and kinds.get(one) == pl.String])
    listed = texts.select(pl.all().str.strip_chars().str.contains(r"[\s,]|^\[").any())
    holding = [one for one in several if one in lists or (one in texts.columns and listed[one].any())]
    if len(holding) > 1:
        raise InputError(
            "I203",
            f"{len(holding)} columns can hold the items: {', '.join(map(repr, holding))}",
            where=table.where,
            hint=f"choose one: --columns item={holding[0]}",
        )
    return holding[0] if holding else None


def _refuse_other_lengths(scan: pl.LazyFrame, item: str, others: Sequence[str], where: str) -> None:
    """Raise I108 if the lists of columns ``others`` differ in length from that of ``item`` in some row of ``scan``."""
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
