"""`recassay report` and `recassay check`: from the files of a folder alone."""

from __future__ import annotations

import json

import polars as pl
import pytest

from recassay.checks.base import CHECKS
from recassay.cli.demo import run_demo


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "demo"
    run_demo(folder)
    return folder


def test_the_page_can_be_written_again_with_the_same_bytes(recassay, made, tmp_path):
    before = (made / "report.html").read_bytes()
    assert recassay("report", str(made), "-o", str(tmp_path / "again.html")).code == 0
    assert (tmp_path / "again.html").read_bytes() == before
    (made / "report.html").unlink()
    answer = recassay("report", str(made))
    assert (answer.code, answer.out) == (0, "")
    assert (made / "report.html").read_bytes() == before


def test_the_page_shows_the_command_that_reproduces_it(made):
    assert "recassay score" in (made / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("form", "holds"), [("markdown", "| system"), ("latex", r"\toprule"), ("csv", "dataset,split,protocol,seed")]
)
def test_tables_go_to_standard_output_or_a_file(recassay, made, tmp_path, form, holds):
    answer = recassay("report", str(made), "--tables", form)
    assert answer.code == 0
    assert holds in answer.out
    assert recassay("report", str(made), "--tables", form, "-o", str(tmp_path / "table")).out == ""
    assert (tmp_path / "table").read_text(encoding="utf-8") == answer.out


def test_the_tables_have_the_numbers_of_the_folder_and_significant_wins(recassay, made):
    rows = json.loads((made / "summary.json").read_text())["rows"]
    text = recassay("report", str(made), "--tables", "latex").out
    for row in rows:
        assert f"{row['mean']:.4f}" in text
    assert r"\textsuperscript{" in text
    table = pl.read_csv(recassay("report", str(made), "--tables", "csv").out.encode())
    assert table["mean"].to_list() == [row["mean"] for row in rows]


def test_an_unknown_format_is_refused(recassay, made):
    assert "U107" in recassay("report", str(made), "--tables", "word").err
    assert "U107" in recassay("report", str(made), "--figures", "gif").err


@pytest.mark.parametrize("command", ["report", "check"])
def test_a_folder_without_results_is_refused(recassay, tmp_path, command):
    answer = recassay(command, str(tmp_path))
    assert (answer.code, answer.out) == (2, "")
    assert "I316" in answer.err


def test_every_check_is_in_the_table_and_in_the_json_document(recassay, made):
    answer = recassay("check", str(made))
    assert answer.code == 0
    document = json.loads(recassay("check", str(made), "--json").out)
    assert [one["code"] for one in document["checks"]] == list(CHECKS.kinds)
    for code in CHECKS.kinds:
        assert code in answer.out
    assert {one["answer"] for one in document["checks"]} <= {"finding", "fine", "not applicable"}


def test_a_finding_of_the_given_severity_sets_the_exit_status(recassay, tmp_path):
    (tmp_path / "truth.csv").write_text("user_id,item_id\n1,7\n2,8\n")
    (tmp_path / "mine.csv").write_text("user_id,item_id,score\n1,7,1\n")
    assert (
        recassay("score", str(tmp_path / "truth.csv"), str(tmp_path / "mine.csv"), "-o", str(tmp_path / "out")).code
        == 0
    )
    assert recassay("check", str(tmp_path / "out"), "--fail-on", "warning").code == 1
    assert recassay("check", str(tmp_path / "out"), "--fail-on", "error").code == 0
