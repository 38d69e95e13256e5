"""CSV for people: what a spreadsheet or a terminal would run is text, and numbers are left alone."""

import csv
import io

import polars as pl
import pytest

from recassay.report.content.csv_text import cell, csv_text


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "=", "-", "-nan"])
def test_a_text_that_looks_like_a_formula_gets_an_apostrophe(text):
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["als", "a=b", "-1", "+0.5", "-1e-3", ".5", "", "'=x", None, -1, 0.5])
def test_names_and_numbers_are_as_they_are(value):
    assert cell(value) == value


def test_headings_and_texts_of_a_frame_follow_the_same_policy():
    frame = pl.DataFrame({"=system": ["@a", None, "b\x1b[2J,"], "mean": [-0.5, 1.0, None]})
    rows = list(csv.reader(io.StringIO(csv_text(frame))))
    assert rows == [["'=system", "mean"], ["'@a", "-0.5"], ["", "1.0"], ["b\\x1b[2J,", ""]]
