"""The file formats: how each is recognised and opened. A new format takes one function and one line in ``BUILT_IN``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from recassay.columnar.columns import HashedTexts
from recassay.data.io.clean import infer_type
from recassay.data.io.columns import ITEM, TIMESTAMP, USER, Role
from recassay.data.io.documents import parse_json
from recassay.data.io.edge import guarded, reading
from recassay.data.io.layouts import explode_lists, lines, sniff, table_of_lists, user_lines
from recassay.data.io.lines import BLANKS, UTF16_MARKS, Head, Layout, broken_line, check_encoding, open_unpacked, walk
from recassay.data.io.objects import object_table
from recassay.data.io.parquet import DAMAGE, parquet_schema, scan_parquet
from recassay.data.io.table import SAMPLE_ROWS, Table, Wanted
from recassay.data.io.text import sample_rows, text_table
from recassay.errors import InputError
from recassay.naming.registry import Registry

PARQUET_MAGIC = b"PAR1"
RECBOLE_FIELD = re.compile(r"[^:\s]+:(token|token_seq|float|float_seq)")
RUN_COLUMNS = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
QRELS_COLUMNS = ["query_id", "iteration", "doc_id", "relevance"]
# Values of the second column of TREC files, which is not used.
TREC_FILLERS = {"q0", "0"}


@dataclass(frozen=True)
class Format:
    """A file format: its name, a description, a test of a file's first bytes, and a function that opens a table.

    The function gets the first bytes and the role of the table (run, truth, log, ...). ``suffixes`` are additional file
    suffixes that are recognised in a folder or glob.
    """

    name: str
    description: str
    matches: Callable[[Head], bool]
    table: Callable[[Head, Role], Table]
    suffixes: tuple[str, ...] = ()


FORMATS: Registry[Format] = Registry(
    "file format", "recassay.data.io", Format, group="recassay.formats", values=True, missing="U107"
)


def formats() -> list[Format]:
    """Return all formats in the order in which they are tried: registered ones first, plain text last."""
    kinds = FORMATS.kinds
    built_in = [known.name for known in BUILT_IN]
    return [*(kinds[name] for name in kinds if name not in built_in), *BUILT_IN]


def open_path(head: Head, role: Role, format: str | None) -> Table:
    """Return the table in a file, opened as the named format or the first that recognises the file.

    ``role`` says what the table is (run, truth, log, ...). Raise I107 if no format recognises the file.
    """
    if format is not None:
        return _opened(FORMATS.find(format), head, role)
    for known in formats():
        if known.matches(head):
            return _opened(known, head, role)
    if head.data[:2] in UTF16_MARKS:
        check_encoding(head)
    raise InputError(
        "I107",
        f"{head.path.name} is neither Parquet, JSON nor text: it begins with {head.data[:8]!r}",
        where=str(head.path),
        hint=f"write it as one of: {', '.join(known.name for known in formats())}",
    )


def _opened(known: Format, head: Head, role: Role) -> Table:
    with reading(str(head.path)):
        return guarded(known.table(head, role))


def parquet(head: Head, role: Role) -> Table:
    """Return the table in a Parquet file, of which only the wanted columns are read; raise I104 if it is damaged."""
    try:
        scan = scan_parquet(head.path)
        schema = scan.collect_schema()
    except DAMAGE as error:
        raise _damaged_parquet(head, error) from None

    def collected(query: pl.LazyFrame) -> pl.DataFrame:
        try:
            return query.collect()
        except DAMAGE as error:
            raise _damaged_parquet(head, error) from None

    def read(wanted: Wanted) -> pl.DataFrame:
        return collected(scan.select(list(wanted.values())))

    def rows_from(wanted: Wanted, begin: int, rows: int) -> pl.DataFrame:
        return collected(scan.slice(begin, rows).select(list(wanted.values())))

    def rows() -> int:
        return int(collected(scan.select(pl.len())).item())

    def narrow(name: str) -> pl.Series | HashedTexts | None:
        kind, column = schema[name], scan.select(name)
        try:
            if kind == pl.String:
                return HashedTexts.read(column)
            if isinstance(kind, pl.Categorical | pl.Enum):
                return column.collect().to_series()
            return column.cast(pl.Int32).collect().to_series() if kind in (pl.Int64, pl.UInt64, pl.UInt32) else None
        except pl.exceptions.InvalidOperationError:  # an id does not fit 32 bits
            return None
        except DAMAGE as error:
            raise _damaged_parquet(head, error) from None

    def sample(names: Sequence[str]) -> pl.DataFrame:
        return collected(scan.head(SAMPLE_ROWS).select(names))

    where = str(head.path)
    if role.name == "log" and any(isinstance(dtype, pl.List) for dtype in schema.dtypes()):
        return Table(list(schema), lambda wanted: explode_lists(read(wanted), wanted, where), where)
    return Table(list(schema), read, where, rows=rows, narrow=narrow, rows_from=rows_from, sample=sample)


def parquet_parts(paths: Sequence[Path]) -> Table | None:
    """Return the table in several Parquet files; None if one is not a Parquet file, or if their columns differ."""
    try:
        schema = parquet_schema(paths[0])
        if any(path.suffix not in (".parquet", ".pq") or parquet_schema(path) != schema for path in paths):
            return None
        scan = scan_parquet(*paths)
        rows = int(scan.select(pl.len()).collect().item())
    except DAMAGE:
        return None

    def select(names: Sequence[str], limit: int | None = None) -> pl.DataFrame:
        try:
            return (scan if limit is None else scan.head(limit)).select(names).collect()
        except DAMAGE as error:
            raise InputError("I104", str(error), where=str(paths[0].parent)) from None

    return Table(
        list(schema),
        lambda wanted: select(list(wanted.values())),
        str(paths[0].parent),
        rows=lambda: rows,
        sample=lambda names: select(names, SAMPLE_ROWS),
    )


def delimited(head: Head, role: Role) -> Table:
    """Return the table in a text file with one separator between columns, with or without a header line.

    Without a header line, its columns are in the order of the format uirt.
    """
    return text_table(head, sniff(head), role)


def positional(head: Head, role: Role) -> Table:
    """Return the table in a text file without a header, with columns in fixed order.

    The columns are user and item, then for a log rating and timestamp, for a run the score, for a truth the gain.
    """
    return text_table(head, sniff(head, header=False), role)


def movielens(head: Head, role: Role) -> Table:
    """Return the table in a file of MovieLens: ``ratings.dat``, ``u.data`` or ``ratings.csv``.

    Columns are separated by ``::`` as in ``ratings.dat``; any other separator, such as tab or comma, is detected.
    """
    return text_table(head, sniff(head, separator="::") if _has_double_colons(head) else sniff(head), role)


def trec(head: Head, role: Role) -> Table:
    """Return the table in a TREC file: a run ``qid Q0 docid rank score tag``, or judgements.

    A line of judgements is ``qid 0 docid relevance``.
    """
    lines = head.lines(20)
    widths = [len(line.split()) for line in lines]
    if widths and set(widths) == {5}:
        problem = "has 5 fields, but a line of a TREC run has 6 (qid Q0 docid rank score tag) and of judgements 4"
        raise broken_line(head, head.lines_above_data(0) + 1, lines[0], problem)
    names = QRELS_COLUMNS if widths and widths.count(4) > widths.count(6) else RUN_COLUMNS
    return text_table(head, Layout(names, BLANKS), role)


def recbole(head: Head, role: Role) -> Table:
    """Return the table in an atomic file of RecBole: tabs, and a header of names with types, ``user_id:token``."""
    layout = sniff(head, separator="\t", header=True)
    names = [name.rsplit(":", 1)[0] for name in layout.names]
    return text_table(head, replace(layout, names=names, quotes=False), role)


def sasrec(head: Head, role: Role) -> Table:
    """Return the table in a SASRec text file, with ``user item`` per line in order of time.

    The position in a user's history becomes the timestamp of a log; other tables get no timestamps.
    """
    table = text_table(head, Layout([USER, ITEM], BLANKS), role)
    if role.name != "log":
        return replace(table, ordered=True)

    def read(_wanted: Wanted) -> pl.DataFrame:
        frame = table.read({USER: USER, ITEM: ITEM})
        return frame.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).over(USER).alias(TIMESTAMP))

    return Table([USER, ITEM, TIMESTAMP], read, table.where, positions=True)


def json_document(head: Head, role: Role) -> Table:
    """Return the table in JSON: ``{user: {item: number}}``, ``{user: [items]}`` or records; raise I104 if cut off."""
    with open_unpacked(head.path) as file:
        data = file.read()
    try:
        content = parse_json(data.decode("utf-8-sig"), str(head.path))
    except UnicodeDecodeError:
        check_encoding(replace(head, data=data, whole=True))
        raise
    except json.JSONDecodeError as error:
        cut_off = error.pos >= len(error.doc.rstrip()) or "Unterminated" in error.msg
        raise InputError(
            "I104",
            f"{head.path.name} is {'a truncated' if cut_off else 'not a valid'} JSON document: {error.msg}",
            where=f"{head.path}, line {error.lineno}, column {error.colno}",
            hint=f"write it again; check it with: python -m json.tool '{head.path}'",
        ) from None
    table = object_table(content, role, where=str(head.path))
    keys = [name for name in _key_columns(content, table.names) if name in table.names]

    def read(wanted: Wanted) -> pl.DataFrame:
        frame = table.read(wanted)
        return frame.with_columns([infer_type(frame[name].cast(pl.String)) for name in keys if name in frame.columns])

    return replace(table, read=read, narrow=None)


def json_lines(head: Head, role: Role) -> Table:
    """Return the table in JSON lines, one record per line; raise I105 for a line that is not a record."""
    check_encoding(head)
    with open_unpacked(head.path) as file:
        data = file.read()
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except (pl.exceptions.PolarsError, RuntimeError, OSError):
        return object_table(_records(head), role, where=str(head.path))
    if any(data.count(json.dumps(name, ensure_ascii=False).encode()) > frame.height for name in frame.columns):
        _records(head)  # raises if a record repeats a key
    return table_of_lists(frame, str(head.path), role)


def _key_columns(content: object, names: list[str]) -> list[str]:
    """Return which id columns come from the keys of JSON objects, where even integers are written as text.

    For ``{user: {item: number}}`` they are user and item, for ``{user: [items]}`` only the user. ``content`` is the
    document, and ``names`` are the columns found in it.
    """
    if not isinstance(content, dict) or list(content) == names:
        return []
    return [USER, ITEM] if all(isinstance(value, dict) for value in content.values()) else [USER]


def _records(head: Head) -> list[dict[str, object]]:
    records = []
    for line in walk(head, Layout([], "\n")):
        if not line.fields:
            continue
        try:
            record = parse_json(line.text, f"{head.path}, line {line.number}")
        except json.JSONDecodeError as error:
            raise broken_line(head, line.number, line.text, f"is not JSON ({error.msg})") from None
        if not isinstance(record, dict):
            raise broken_line(head, line.number, line.text, "is not a JSON object")
        records.append(record)
    return records


def _is_parquet(head: Head) -> bool:
    return head.data.startswith(PARQUET_MAGIC) or bool({".parquet", ".pq"} & set(head.suffixes))


def _is_json_lines(head: Head) -> bool:
    if {".jsonl", ".ndjson"} & set(head.suffixes):
        return True
    lines = head.lines(2)
    return len(lines) == 2 and all(line.startswith("{") for line in lines) and lines[0].rstrip().endswith("}")


def _is_json(head: Head) -> bool:
    return ".json" in head.suffixes or head.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def _is_trec(head: Head) -> bool:
    rows = [line.split() for line in head.lines(50)]
    if not rows or {".csv", ".tsv"} & set(head.suffixes):
        return False
    fitting = [row for row in rows if len(row) in (4, 6) and row[1].lower() in TREC_FILLERS]
    fitting += [row for row in rows if len(row) == 5 and row[1].lower() == "q0"]  # a column is missing
    return 2 * len(fitting) >= len(rows)


def _is_sasrec(head: Head) -> bool:
    rows = sample_rows(head.lines(50), Layout([], BLANKS))
    return (
        not {".csv", ".tsv"} & set(head.suffixes)
        and bool(rows)
        and all(len(row) == 2 and row[0].isdecimal() and row[1].isdecimal() for row in rows)
    )


def _is_recbole(head: Head) -> bool:
    first = head.lines(1)
    return bool(first) and all(RECBOLE_FIELD.fullmatch(field) for field in first[0].split("\t"))


def _has_double_colons(head: Head) -> bool:
    return bool(first := head.lines(1)) and "::" in first[0]


def _is_text(head: Head) -> bool:
    return b"\0" not in head.data


def _is_uirt(head: Head) -> bool:
    return ".uirt" in head.suffixes


def _is_never(_head: Head) -> bool:
    """Return False: the test of a format that cannot be recognised and must be named by the user."""
    return False


def _damaged_parquet(head: Head, error: BaseException) -> InputError:
    return InputError(
        "I104",
        f"{head.path.name} is not a complete Parquet file ({str(error).splitlines()[0]})",
        where=f"{head.path}, {head.path.stat().st_size:,} bytes",
        hint="write or copy the file again; if it is not Parquet, give it the suffix of what it is",
    )


BUILT_IN = (
    Format("parquet", "Parquet files", _is_parquet, parquet),
    Format("jsonl", "a JSON record per line", _is_json_lines, json_lines),
    Format("json", "{user: {item: number}}, {user: [items]} or [records]", _is_json, json_document),
    Format("recbole", "RecBole .inter and .item files", _is_recbole, recbole),
    Format("trec", "TREC runs and judgements (qrels)", _is_trec, trec),
    Format("movielens", "MovieLens u.data, ratings.dat and ratings.csv", _has_double_colons, movielens),
    Format("sasrec", "`user item` per line, in the order of time", _is_sasrec, sasrec),
    Format("uirt", "user, item, rating, timestamp without a header", _is_uirt, positional),
    Format("csv", "CSV, TSV and text with any one separator", _is_text, delimited),
    Format("lines", "a log: the items of one sequence per line, numbered by line; only if named", _is_never, lines),
    Format(
        "user_lines",
        "a log: a user and then the items per line, in the order of time; only if named",
        _is_never,
        user_lines,
    ),
)
for _built_in in BUILT_IN:
    FORMATS.add(_built_in, module=__name__)
