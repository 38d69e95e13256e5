"""Tables in chunks: a chunk has the same whole users of every table, and every row is in exactly one chunk."""

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.data import chunks
from recassay.data.chunks import TableChunks, chunk_boundaries
from recassay.data.io.read import RowRange

from ..examples import examples
from ..refusals import refused

USERS = st.lists(st.integers(-3, 9), min_size=1, max_size=30)


def ranges_of(users, files):
    """Return a table split into ``files`` consecutive row ranges; ``row`` numbers the rows."""
    frame = pl.DataFrame({"user_id": users, "row": range(len(users))})
    cuts = [number * len(users) // files for number in range(files + 1)]
    return [row_range(frame[begin:end]) for begin, end in pairwise(cuts) if begin < end]


def row_range(frame):
    return RowRange("", len(frame), tuple(frame.columns), lambda names, begin, rows: frame[begin : begin + rows][names])


@settings(max_examples=examples(60), deadline=None)
@given(
    tables=st.lists(st.tuples(USERS, st.booleans(), st.integers(1, 4)), min_size=1, max_size=3),
    text=st.booleans(),
    rows=st.integers(1, 40),
    rows_per_read=st.integers(1, 7),
    sample=st.integers(1, 20),
)
def test_chunks_hold_whole_users_and_every_row_once(tables, text, rows, rows_per_read, sample):
    named = [[f"é{user}" if text else user for user in users] for users, _, _ in tables]
    given = [sorted(users) if ascending else users for users, (_, ascending, _) in zip(named, tables, strict=True)]
    with (
        TemporaryDirectory() as folder,
        mock.patch.multiple(chunks, MAX_ROWS=rows_per_read, MIN_ROWS=rows_per_read, SAMPLE=sample),
    ):
        found = []
        for number, (users, (_, _, files)) in enumerate(zip(given, tables, strict=True)):
            own = Path(folder) / str(number)
            own.mkdir()
            found.append(TableChunks.of(ranges_of(users, files), own, 1))
        ends = chunk_boundaries(found, rows * found[0].row_size)
        cut = [[chunk.rows() for chunk in table.cut(ends)] for table in found]
    assert ends == sorted(set(ends))
    for users, of_table in zip(given, cut, strict=True):
        assert len(of_table) == len(ends) + 1
        wanted = sorted(enumerate(users), key=lambda row: row[1])  # rows of a user keep their order
        yielded = [row for chunk in of_table for row in sorted(chunk, key=lambda row: row[0])]
        assert yielded == [(user, number) for number, user in wanted]
        for place, chunk in enumerate(of_table):
            assert all(place == 0 or user > ends[place - 1] for user, _ in chunk)
            assert all(place == len(ends) or user <= ends[place] for user, _ in chunk)


def test_integer_and_string_users_are_rejected(tmp_path):
    tables = [TableChunks.of(ranges_of(users, 1), tmp_path, 1) for users in ([1, 2], ["1", "2"])]
    with refused("I403", match="user ids are integers in one table and strings in the other"):
        chunk_boundaries(tables, 10)
