"""Several tables in pieces: each piece has the same whole users of all of them, and every row is in one piece."""

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.data import pieces
from recassay.data.io import Stretch
from recassay.data.pieces import Pieces, borders
from recassay.errors import InputError

USERS = st.lists(st.integers(-3, 9), min_size=1, max_size=30)


def stretches(users, files):
    """A table in so many files that hold its rows one behind the other; ``row`` numbers them."""
    frame = pl.DataFrame({"user_id": users, "row": range(len(users))})
    cuts = [number * len(users) // files for number in range(files + 1)]
    return [stretch(frame[begin:end]) for begin, end in pairwise(cuts) if begin < end]


def stretch(frame):
    return Stretch("", len(frame), tuple(frame.columns), lambda names, begin, rows: frame[begin : begin + rows][names])


@settings(max_examples=60, deadline=None)
@given(
    tables=st.lists(st.tuples(USERS, st.booleans(), st.integers(1, 4)), min_size=1, max_size=3),
    text=st.booleans(),
    rows=st.integers(1, 40),
    at_once=st.integers(1, 7),
    sample=st.integers(1, 20),
)
def test_pieces_of_several_tables(tables, text, rows, at_once, sample):
    named = [[f"é{user}" if text else user for user in users] for users, _, _ in tables]
    given = [sorted(users) if ascending else users for users, (_, ascending, _) in zip(named, tables, strict=True)]
    with (
        TemporaryDirectory() as folder,
        mock.patch.multiple(pieces, ROWS=at_once, FEW=at_once, SAMPLE=sample),
    ):
        found = []
        for number, (users, (_, _, files)) in enumerate(zip(given, tables, strict=True)):
            own = Path(folder) / str(number)
            own.mkdir()
            found.append(Pieces.of(stretches(users, files), own, 1))
        ends = borders(found, rows * found[0].row_size)
        cut = [[piece.rows() for piece in one.cut(ends)] for one in found]
    assert ends == sorted(set(ends))
    for users, of_table in zip(given, cut, strict=True):
        assert len(of_table) == len(ends) + 1
        wanted = sorted(enumerate(users), key=lambda row: row[1])  # rows of a user keep their order
        handed_out = [row for piece in of_table for row in sorted(piece, key=lambda row: row[0])]
        assert handed_out == [(user, number) for number, user in wanted]
        for place, piece in enumerate(of_table):
            assert all(place == 0 or user > ends[place - 1] for user, _ in piece)
            assert all(place == len(ends) or user <= ends[place] for user, _ in piece)


def test_numbers_and_text_never_meet(tmp_path):
    tables = [Pieces.of(stretches(users, 1), tmp_path, 1) for users in ([1, 2], ["1", "2"])]
    with pytest.raises(InputError, match="user ids are integers in one table and strings in the other") as refused:
        borders(tables, 10)
    assert refused.value.code == "I403"
