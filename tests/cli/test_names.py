"""Names come from files: on a terminal, in a spreadsheet and in JSON they are text and nothing else."""

import json

import pytest

from recassay.cli._common import print_json, progress

TITLE = "als\x1b]0;owned\x07\x9b2J"
FORMULA = "=HYPERLINK(1)"


@pytest.fixture
def runs(folder):
    for name, run in ((TITLE, "first"), (FORMULA, "second")):
        (folder / "runs" / f"{run}.csv").rename(folder / f"{name}.csv")
    return [folder / f"{name}.csv" for name in (TITLE, FORMULA)]


@pytest.mark.parametrize("table", ["text", "csv", "markdown", "latex"])
def test_no_table_sends_control_characters_to_the_terminal(recassay, runs, table):
    done = recassay("score", "truth.csv", *runs, "-m", "recall@1", "--table", table, "-o", f"out{TITLE}")
    assert done.code == 0
    assert "x1b" in done.out
    assert all(letter.isprintable() or letter == "\n" for letter in done.out + done.err)


def test_a_name_that_a_spreadsheet_would_run_is_quoted(recassay, runs):
    lines = recassay("score", "truth.csv", *runs, "-m", "recall@1", "--table", "csv").out.splitlines()
    assert lines[2].startswith(f"'{FORMULA},recall@1,")


def test_errors_show_control_characters_as_escapes(recassay, folder):
    assert "\\x1b]0;owned" in recassay("score", "truth.csv", f"{TITLE}.csv", "-m", "recall@1").err


def test_json_shows_control_characters_as_escapes(capsys):
    print_json({"system": TITLE, "mean": float("nan")})
    printed = capsys.readouterr().out
    assert printed.rstrip("\n").replace("\n", " ").isprintable()
    assert json.loads(printed) == {"system": TITLE, "mean": None}


def test_progress_shows_control_characters_as_escapes(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("CI", raising=False)
    with progress(False) as report:
        report(TITLE, 1, 2)
    printed = capsys.readouterr().err
    assert "als\\x1b]0" in printed
    assert "\x1b]" not in printed
    assert "\x07" not in printed
