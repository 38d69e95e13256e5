"""The file formats: how each is recognised and opened. A new format takes one function and one line in ``BUILT_IN``."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from recassay.data.io.clean import infer_type
from recassay.data.io.columns import ITEM, TIMESTAMP, USER, Role, known_meanings
from recassay.data.io.documents import parse_json
from recassay.data.io.head import BLANKS, Head, Layout, is_number, read_unpacked, sniff
from recassay.data.io.lines import UTF16_MARKS, broken_line, check_encoding, walk
from recassay.data.io.objects import object_table
from recassay.data.io.parquet import DAMAGE, PARQUET_SUFFIXES, parquet_schema, scan_parquet
from recassay.data.io.table import Table, Wanted, table_of_frame, table_of_scan
from recassay.data.io.text import text_table
from recassay.errors import InputError
from recassay.naming.registry import Registry

PARQUET_MAGIC = b"PAR1"
JSON_RECORDS = re.compile(rb"(\xef\xbb\xbf)?\s*\{[^\n]*\}[^\S\n]*\n\s*\{")  # one in a line, and another below
RECBOLE_FIELD = re.compile(r"[^:\s]+:(token|token_seq|float|float_seq)")
RUN_COLUMNS = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
QRELS_COLUMNS = ["query_id", "iteration", "doc_id", "relevance"]
# Values of the second column of TREC files, which is not used.
TREC_FILLERS = {"q0", "0"}
# The position in a user's history, which becomes the timestamp of a log.
POSITIONS = pl.int_range(pl.len(), dtype=pl.Int64).over(USER).alias(TIMESTAMP)
LIST_SEPARATORS = ("\t", ",", ";")  # between the items of a line: the first one that most lines contain; else blanks
SAMPLE = 100  # lines
TABLES = frozenset({".csv", ".tsv"})  # suffixes that rule out the formats without one


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
    if format is None and role.name in ("run", "truth") and _is_user_lines(head, role):
        format = "user_lines"
    known = FORMATS.find(format) if format is not None else next((one for one in formats() if one.matches(head)), None)
    if known is not None:
        return known.table(head, role)
    if head.data[:2] in UTF16_MARKS:
        check_encoding(head)
    raise InputError(
        "I107",
        f"{head.path.name} is neither Parquet, JSON nor text: it begins with {head.data[:8]!r}",
        where=str(head.path),
        hint=f"write it as one of: {', '.join(known.name for known in formats())}",
    )


def parquet(head: Head, _role: Role) -> Table:
    """Return the table in a Parquet file, of which only the wanted columns are read."""
    scan = scan_parquet(head.path)
    return table_of_scan(scan, scan.collect_schema().names(), str(head.path), stored=True)


def parquet_parts(paths: Sequence[Path]) -> Table | None:
    """Return the table in several Parquet files; None if one is not a Parquet file, or if their columns differ."""
    with suppress(*DAMAGE):
        schema = parquet_schema(paths[0])
        if all(path.suffix in PARQUET_SUFFIXES and parquet_schema(path) == schema for path in paths):
            return table_of_scan(scan_parquet(*paths), list(schema), str(paths[0].parent))
    return None


def text(separator: str | None = None, header: bool | None = None) -> Callable[[Head, Role], Table]:
    """Return the function that opens text; ``separator`` and ``header`` are detected unless they are given."""
    return lambda head, role: text_table(head, sniff(head, separator=separator, header=header), role)


def trec(head: Head, role: Role) -> Table:
    """Return the table in a TREC file: a run ``qid Q0 docid rank score tag``, or judgements.

    A line of judgements is ``qid 0 docid relevance``.
    """
    lines = head.lines(20)
    widths = [len(line.split()) for line in lines]
    if set(widths) == {5} and all(is_number(line.split()[4]) for line in lines):  # without the tag
        return text_table(head, Layout(RUN_COLUMNS[:5], BLANKS), role)
    if set(widths) == {5}:
        raise broken_line(
            head,
            head.lines_above_data(0) + 1,
            lines[0],
            "has 5 fields, but a line of a TREC run has 6 (qid Q0 docid rank score tag) and of judgements 4",
        )
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
    return Table(
        [USER, ITEM, TIMESTAMP],
        lambda _wanted: table.read({USER: USER, ITEM: ITEM}).with_columns(POSITIONS),
        table.where,
        positions=True,
    )


def json_document(head: Head, role: Role) -> Table:
    """Return the table in JSON: ``{user: {item: number}}``, ``{user: [items]}`` or records; raise I104 if cut off."""
    data = read_unpacked(head.path)
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

    return replace(table, read=read, scan=None)


def json_lines(head: Head, role: Role) -> Table:
    """Return the table in JSON lines, one record per line; raise I105 for a line that is not a record."""
    check_encoding(head)
    data = read_unpacked(head.path)
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except (pl.exceptions.PolarsError, RuntimeError, OSError):
        return object_table(_records(head), role, where=str(head.path))
    if any(data.count(json.dumps(name, ensure_ascii=False).encode()) > frame.height for name in frame.columns):
        _records(head)  # raises if a record repeats a key
    return table_of_frame(frame, str(head.path))


def item_lists(*, numbered: bool) -> Callable[[Head, Role], Table]:
    """Return the function that opens text whose lines each hold the items of one user, in order.

    The user is the first field of the line, or the number of the line if ``numbered``. The position in a user's history
    becomes the timestamp of a log.
    """

    def read(head: Head, role: Role) -> Table:
        check_encoding(head)
        sample = head.lines(SAMPLE)
        counts = Counter(separator for line in sample for separator in LIST_SEPARATORS if separator in line)
        separator = next((mark for mark in LIST_SEPARATORS if 2 * counts[mark] > len(sample)), BLANKS)
        rows = [line for line in walk(head, Layout([], separator)) if line.fields]
        users = [line.number if numbered else line.fields[0] for line in rows]
        items = [line.fields if numbered else line.fields[1:] for line in rows]
        frame = pl.DataFrame({USER: users, ITEM: pl.Series(items, dtype=pl.List(pl.String))})
        frame = frame.filter(pl.col(ITEM).list.len() > 0).explode(ITEM)
        frame = frame.with_columns(pl.col(ITEM).str.strip_chars())
        frame = frame.with_columns([infer_type(column) for column in frame])
        positions = role.name == "log" and not numbered
        table = table_of_frame(frame.with_columns(POSITIONS) if positions else frame, str(head.path), ordered=True)
        return replace(table, positions=positions)

    return read


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


def _is_trec(head: Head) -> bool:
    rows = head.words
    if not rows or TABLES & set(head.suffixes):
        return False
    fitting = [row for row in rows if len(row) in (4, 6) and row[1].lower() in TREC_FILLERS]
    fitting += [row for row in rows if len(row) == 5 and row[1].lower() == "q0"]  # a column is missing
    return 2 * len(fitting) >= len(rows)


def _is_user_lines(head: Head, role: Role) -> bool:
    """Return whether each line seems to hold a user, who is in no other line, and then items, with blanks between.

    The number of items differs, or is larger than the values that a row of a run without a header can have.
    """
    rows = head.words
    if b"\0" in head.data or {*TABLES, ".json", ".jsonl"} & set(head.suffixes) or not rows or _is_trec(head):
        return False
    widths = {len(row) for row in rows}
    return (
        min(widths) > (1 if len(widths) > 1 else 4 if role.name == "run" else max(widths))
        and 1 < len({row[0] for row in rows}) == len(rows)
        and not any(re.search(r"[,;:{\[\"]", word) or known_meanings(word) for row in rows for word in row)
    )


BUILT_IN = (
    Format(
        "parquet",
        "Parquet files",
        lambda head: head.data.startswith(PARQUET_MAGIC) or bool(PARQUET_SUFFIXES & set(head.suffixes)),
        parquet,
    ),
    Format(
        "jsonl",
        "a JSON record per line",
        lambda head: bool({".jsonl", ".ndjson"} & set(head.suffixes)) or JSON_RECORDS.match(head.data) is not None,
        json_lines,
    ),
    Format(
        "json",
        "{user: {item: number}}, {user: [items]} or [records]",
        lambda head: ".json" in head.suffixes or head.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["),
        json_document,
    ),
    Format(
        "recbole",
        "RecBole .inter and .item files",
        lambda head: all(map(RECBOLE_FIELD.fullmatch, "".join(head.lines(1)).split("\t"))),
        recbole,
    ),
    Format("trec", "TREC runs and judgements (qrels)", _is_trec, trec),
    Format(
        "movielens",
        "MovieLens u.data, ratings.dat and ratings.csv",
        lambda head: "::" in "".join(head.lines(1)),
        text("::"),
    ),
    Format(
        "sasrec",
        "`user item` per line, in the order of time",
        lambda head: (
            not TABLES & set(head.suffixes)
            and bool(head.words)
            and all(len(row) == 2 and "".join(row).isdecimal() for row in head.words)
        ),
        sasrec,
    ),
    Format(
        "uirt",
        "user, item, rating, timestamp without a header",
        lambda head: ".uirt" in head.suffixes,
        text(header=False),
    ),
    Format(
        "csv",
        "CSV, TSV and text with any one separator",
        lambda head: b"\0" not in head.data,
        text(),
    ),
    Format(
        "lines",
        "a log: the items of one sequence per line, numbered by line; only if named",
        lambda _: False,
        item_lists(numbered=True),
    ),
    Format(
        "user_lines",
        "a user and then the items per line, best first or in the order of time",
        lambda _: False,
        item_lists(numbered=False),
    ),
)
for _built_in in BUILT_IN:
    FORMATS.add(_built_in, module=__name__)
