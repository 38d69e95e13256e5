"""Tables of a study for a terminal."""

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from recassay.report.tables.scores import study_table
from recassay.report.tables.verdict import findings_block


def row(system, mean, *, design="lists", metric="ndcg@10", fold="all", seed=0):
    return {
        "system": system, "dataset": "d", "split": "s", "seed": seed, "design": design, "fold": fold,
        "metric": metric, "mean": mean,
    }  # fmt: skip


def shown(renderable, width=100, **options):
    out = io.StringIO()
    Console(file=out, width=width, **options).print(renderable)
    return out.getvalue()


def designs(means, **more):
    """Return the rows of {design: {system: mean}}, with bounds and the share of relevant items."""
    return [
        {**row(system, mean, design=design, **more), "low": mean - 0.01, "high": mean + 0.01, "rho": 0.05}
        for design, line in means.items()
        for system, mean in line.items()
    ]


MEANS = {
    "TI-AR-AN": {"pop": 0.2, "svd": 0.3},
    "AI-AR-AN": {"pop": 0.1, "svd": 0.3},
    "P1R": {"pop": 0.5, "svd": 0.4},
}


def test_a_narrow_terminal_has_a_line_per_system_and_marks_another_order():
    systems = {f"system-{number}": 0.1 + number / 100 for number in range(8)}
    lines = shown(study_table(designs({"TI-AR-AN": systems, "P1R": systems})), 70).splitlines()
    assert lines[2].split() == ["design", "system", "mean", "interval", "rho", "order"]
    assert lines[4].split() == ["TI-AR-AN", "system-0", "0.1000", "0.0900–0.1100", "0.0500", "first"]
    assert lines[5].split() == ["system-1", "0.1100", "0.1000–0.1200"]
    assert sum("TI-AR-AN" in line for line in lines) == 1
    halves, others = ({name: sign * mean for name, mean in systems.items()} for sign in (0.5, -1))
    text = shown(study_table(designs({"TI-AR-AN": systems, "AI-AR-AN": halves, "P1R": others})), 70)
    assert ["same" in line for line in text.splitlines() if "AI-AR-AN" in line] == [True]
    assert re.search(r"P1R .*≠ τ", text)
    assert "≠: different order from TI-AR-AN; τ: Kendall's tau" in text


@pytest.mark.parametrize("width", [30, 45, 60, 80])
def test_numbers_are_complete_at_any_width(width):
    means = MEANS | {"TI-1R-NN(100, by='popularity')": {"pop": 0.123, "svd": 0.456}}
    lines = shown(study_table(designs(means)), width).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert all(any(number in line for line in lines) for number in ("0.1230", "0.4560"))
    assert not any("0.…" in line for line in lines)


def test_the_best_may_be_the_lowest():
    text = shown(study_table(designs({"TI-AR-AN": {"a": 0.2, "b": 0.3}}, metric="rmse")), force_terminal=True)
    assert "\x1b[1m0.2000" in text
    assert "\x1b[1m0.3000" not in text


def test_names_cannot_control_the_terminal():
    text = shown(study_table(designs({"TI-AR-AN": {"[red]a\x1b[31m": 0.1, "b": 0.2}})))
    assert "[red]a" in text
    assert "\x1b" not in text


def test_systems_are_columns_with_means_over_all_folds():
    rows = [
        row("a", 0.5),
        row("b", 0.25),
        row("a", 0.9, fold=0),
        row("a", None, design="P1R"),
        row("b", 1, design="P1R"),
    ]
    lines = shown(study_table(rows)).splitlines()
    assert lines[0] == "d, s"
    assert lines[1].split() == ["design", "metric", "a", "b"]
    assert [line.split() for line in lines[3:5]] == [
        ["lists", "ndcg@10", "0.5000", "0.2500"], ["P1R", "ndcg@10", "–", "1.0000"],
    ]  # fmt: skip


def test_the_best_is_bold_if_the_metric_has_a_direction():
    def bold(*rows):
        text = shown(study_table(rows), force_terminal=True, color_system="standard")
        return re.findall(r"\x1b\[1m *(\d\.\d+)", text)

    assert bold(row("a", 0.5), row("b", 0.25)) == ["0.5000"]
    assert bold(row("a", 0.5, metric="rmse"), row("b", 0.25, metric="rmse")) == ["0.2500"]
    assert bold(row("a", 0.5, metric="gini@10"), row("b", 0.25, metric="gini@10")) == ["0.2500"]
    assert bold(row("a", 0.5)) == []


def test_an_infinite_mean_differs_from_an_undefined_one():
    endless = {**row("a", None, metric="seq_perplexity"), "infinite": {"mean": "inf"}}
    text = shown(
        study_table([endless, row("b", 60.0, metric="seq_perplexity"), row("c", None, metric="seq_perplexity")])
    )
    assert text.splitlines()[3].split() == ["lists", "seq_perplexity", "∞", "60.0000", "–"]


def test_many_systems_are_listed_below_each_other_with_complete_numbers():
    systems = {f"system-{i}": 0.1 + i / 100 for i in range(12)}
    lines = shown(study_table([row(name, mean) for name, mean in systems.items()])).splitlines()
    assert max(map(len, lines)) <= 100
    listed = [re.search(r"(system-\d+) +(0\.\d+)", line).groups() for line in lines if "system-" in line]
    assert listed == [(name, f"{mean:.4f}") for name, mean in systems.items()]


def test_every_seed_has_a_table():
    text = shown(study_table([row("a", 0.5), row("a", 0.4, seed=1)]))
    assert ("d, s, seed 0" in text, "d, s, seed 1" in text) == (True, True)


def test_findings_state_where_and_how_often():
    one = {
        "code": "L002",
        "severity": "warning",
        "title": "Training events are later than test events",
        "detail": "3 of 4",
        "system": "",
    }
    text = shown(findings_block([{**one, "dataset": "d", "split": "s", "design": None, "cases": 3}]))
    assert "L002 warning: Training events are later than test events (3 cases, the first: d, s)\n  3 of 4" in text
    assert shown(findings_block([])).strip() == "No findings."
