"""Tables of comparisons for a terminal: names are escaped, bars join groups, long lists are cut with a note."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from recassay.comparison.across import across
from recassay.engine.decisions.decide import decide
from recassay.engine.lists.score_sets import read_scores
from recassay.report.tables.compared import MAX_ROWS, across_tables, decision_table, decision_text
from recassay.report.tables.model import Cell, Column, ResultTable, Terminal

WILD, LURID = "[red]als[/red]\x1b[31m", "[bold]mrr[/bold]"


def scores(datasets=1, metrics=(LURID, "ndcg@10"), systems=(WILD, "bpr", "pop")):
    rng = np.random.default_rng(3)
    parts = []
    for number in range(datasets):
        luck = rng.uniform(0.2, 0.6, 40)
        for place, system in enumerate(systems):
            values = {metric: luck + rng.normal(0.05 * place, 0.05, 40) for metric in metrics}
            about = {"user": range(40), "system": system, "dataset": f"data [b]{number}[/b]"}
            parts.append(pl.DataFrame({**about, **values}))
    return read_scores(pl.concat(parts))


def printed(what, width=120):
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(what)
    return out.getvalue()


def test_names_from_files_cannot_control_the_terminal():
    given = scores(datasets=3)
    text = printed(decision_text(given, decide(given, power=True)))
    for shown in ("[red]als[/red]\\x1b[31m", LURID, "data [b]0[/b]", "Users needed"):
        assert shown in text
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [80, 100, 200])
def test_no_line_is_wider_than_the_terminal(width):
    given = scores(datasets=3, systems=("als", "bpr", "pop"))
    text = printed(decision_text(given, decide(given, power=True)), width)
    assert max(map(len, text.splitlines())) <= width


def test_bars_join_systems_that_are_not_separated():
    given = scores(datasets=3, metrics=("ndcg@10",), systems=("a", "b", "c"))
    found = across(given)
    lines = printed(across_tables(found)).splitlines()
    barred = [line.split()[1] for line in lines if "│" in line]
    assert barred == [
        name for name in found.rankings[0].systems if any(name in group for group in found.rankings[0].groups)
    ]
    assert "critical difference" in lines[1]


def test_long_lists_state_how_many_rows_are_left_out():
    given = scores(datasets=8, metrics=("mrr",))
    found = decide(given)
    text = printed(decision_text(given, found, details=True))
    assert f"{len(found.consistency.rows) - MAX_ROWS:,} more rows" in text


def test_many_pairs_are_one_screen_unless_details_are_wanted():
    given = scores(datasets=8, metrics=("mrr", "ndcg@10", "recall@10"))
    found = decide(given)
    short, long = (printed(decision_text(given, found, details=details)) for details in (False, True))
    assert "12 more leads" in short
    assert len(short.splitlines()) < 60 < len(long.splitlines())


def test_tables_for_papers_name_their_place():
    given = scores(datasets=2, metrics=("mrr",), systems=("a_1", "b"))
    found = decide(given)
    markdown, latex = (decision_table(given, found, form) for form in ("markdown", "latex"))
    assert markdown.count(r"## data \[b\]") == latex.count("% data [b]") == 2
    assert r"a\_1" in latex
    assert pl.read_csv(decision_table(given, found, "csv").encode()).height == 2


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120])
def test_no_number_is_cut_and_columns_without_room_come_in_another_table(width):
    names = ("a-system-with-a-long-name", "another-system")
    numbers = ("difference", "95 % interval", "p", "d_z", "n")
    cells = ("+0.0998", "-0.0154 to 0.2111", "0.0869", "+0.24", "6,040")
    rows = tuple(tuple(map(Cell, (metric, *names, *cells))) for metric in ("recall@5", "ild@5"))
    columns = (Column("metric", "name"), Column("system", "system", 24), Column("against", "system", 24))
    shown = printed(Terminal(ResultTable((*columns, *map(Column, numbers)), (rows[0], (), rows[1]))), width)
    lines = shown.splitlines()
    assert width < 60 or max(map(len, lines)) <= width
    assert all(shown.count(cell) == 2 for cell in cells)
    assert (width == 120) is (sum(line.startswith("metric") for line in lines) == 1)
