"""Files are written completely or not at all."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recassay.data.io import atomic, write_json, write_parquet, write_text
from recassay.data.io.write import json_text
from recassay.errors import UsageError


def test_an_error_leaves_only_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    write_text("old", target)

    def write_half() -> None:
        with atomic(target) as temporary:
            temporary.write_text("half")
            assert target.read_text() == "old"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    with atomic(target) as temporary:
        temporary.write_text("new")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_json_is_written_in_order_with_nan_as_null(tmp_path: Path) -> None:
    content = {
        "b": math.nan,
        "a": [np.float64("nan"), np.int64(3), (1, None, True)],
        1: {"é": np.array([0.5, math.nan])},
    }
    write_json(content, tmp_path / "x.json")
    text = (tmp_path / "x.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"b": None, "a": [None, 3, [1, None, True]], "1": {"é": [0.5, None]}}
    assert text.index('"b"') < text.index('"a"')
    assert text.endswith("\n")
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json({"a": math.inf}, tmp_path / "y.json")
    assert not (tmp_path / "y.json").exists()


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(content=JSON, indent=st.sampled_from([1, 2, 4]))
def test_indented_json_is_that_of_the_standard_library(content: object, indent: int) -> None:
    assert json_text(content, indent=indent) == json.dumps(content, indent=indent, ensure_ascii=False)


def test_parquet_and_text_are_written(tmp_path: Path) -> None:
    frame = pl.DataFrame({"user_id": [1, 2], "score": [0.5, None]})
    write_parquet(frame, tmp_path / "x.parquet")
    assert pl.read_parquet(tmp_path / "x.parquet").equals(frame)
    write_text("a\r\nü\n", tmp_path / "x.txt")
    assert (tmp_path / "x.txt").read_bytes() == "a\r\nü\n".encode()


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"U111.*cannot write x.txt"):
        write_text("x", tmp_path / "absent" / "x.txt")
