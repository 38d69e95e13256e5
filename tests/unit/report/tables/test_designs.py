"""The table of designs: it fits its width, shows complete numbers, and marks a different order."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from recassay.errors import UsageError
from recassay.report.tables.study import designs_table
from recassay.results.design_scores import DesignScores

NAN = float("nan")


class Row:
    """A row with what the table reads."""

    def __init__(self, system, design, metric, mean):
        self.system, self.design, self.metric, self.mean = system, design, metric, mean

    def to_dict(self):
        bounds = {"low": self.mean - 0.01, "high": self.mean + 0.01}
        numbers = {"mean": self.mean, "rho": 0.05, **bounds}
        numbers = {name: None if value != value else value for name, value in numbers.items()}
        return {"system": self.system, "design": self.design, "metric": self.metric, **numbers}


def design_scores(means, metrics=("ndcg@10",)):
    """Return scores by design from {design: {system: mean}}."""
    rows = [Row(s, d, m, v) for m in metrics for d, line in means.items() for s, v in line.items()]
    systems = tuple(next(iter(means.values())))
    return DesignScores(systems, tuple(means), tuple(metrics), tuple(rows), {})


def lines(table, width=100):
    screen = Console(file=io.StringIO(), width=width)
    screen.print(table)
    return screen.file.getvalue().splitlines()


MEANS = {
    "TI-AR-AN": {"pop": 0.2, "svd": 0.3},
    "AI-AR-AN": {"pop": 0.1, "svd": 0.3},
    "P1R": {"pop": 0.5, "svd": 0.4},
}


def test_a_different_order_is_marked():
    shown = lines(designs_table(design_scores(MEANS)))
    assert [line.split() for line in shown[:2]] == [["ndcg@10"], ["design", "pop", "svd", "rho", "order"]]
    assert shown[3].split() == ["TI-AR-AN", "0.2000", "0.3000", "0.0500", "first"]
    assert shown[4].split()[-1] == "same"
    assert shown[5].split()[-3:] == ["≠", "τ", "-1.00"]
    assert shown[-1].startswith("≠: different order from TI-AR-AN")


@pytest.mark.parametrize("count", [2, 6, 8, 30])
def test_the_table_fits_and_numbers_are_complete(count):
    systems = {f"a-rather-long-system-name-{i}": 0.1 + i / 100 for i in range(count)}
    designs = {"TI-AR-AN": systems, "TI-1R-NN(100, by='popularity')": dict.fromkeys(systems, 0.3)}
    shown = lines(designs_table(design_scores(designs)))
    assert max(map(cell_len, shown)) <= 100
    for mean in systems.values():
        assert any(f"{mean:.4f}" in line for line in shown)


@pytest.mark.parametrize("width", [30, 45, 60, 80])
def test_numbers_are_complete_at_any_width(width):
    shown = lines(
        designs_table(design_scores(MEANS | {"TI-1R-NN(100, by='popularity')": {"pop": 0.123, "svd": 0.456}})), width
    )
    assert max(map(cell_len, shown)) <= width
    assert any("0.1230" in line for line in shown)
    assert any("0.4560" in line for line in shown)
    assert not any("0.…" in line for line in shown)


def test_many_systems_are_listed_below_each_other_with_intervals():
    systems = {f"system-{i}": 0.1 + i / 100 for i in range(12)}
    shown = lines(designs_table(design_scores({"TI-AR-AN": systems, "P1R": systems})))
    assert shown[1].split() == ["design", "system", "mean", "interval", "rho", "order"]
    assert shown[3].split() == ["TI-AR-AN", "system-0", "0.1000", "0.0900–0.1100", "0.0500", "first"]
    assert shown[4].split() == ["system-1", "0.1100", "0.1000–0.1200"]
    assert sum("TI-AR-AN" in line for line in shown) == 1


def test_the_best_is_bold_and_lower_may_be_better():
    screen = Console(file=io.StringIO(), width=100, force_terminal=True, color_system="standard")
    screen.print(designs_table(design_scores({"TI-AR-AN": {"a": 0.2, "b": 0.3}}, ["rmse"])))
    assert "\x1b[1m0.2000" in screen.file.getvalue()
    assert "\x1b[1m0.3000" not in screen.file.getvalue()


def test_undefined_means_are_shown_as_undefined():
    shown = lines(designs_table(design_scores({"TI-AR-AN": {"a": NAN, "b": 0.3}, "P1R": {"a": NAN, "b": 0.1}})))
    assert shown[3].split()[1:3] == ["undefined", "0.3000"]
    assert shown[4].split()[-1] == "–"


def test_one_metric_or_all():
    both = design_scores(MEANS, ("ndcg@10", "precision@5"))
    assert [line for line in lines(designs_table(both)) if line.strip() in both.metrics] == ["ndcg@10", "precision@5"]
    assert "ndcg@10" not in "\n".join(lines(designs_table(both, "precision@5")))
    with pytest.raises(UsageError, match="U101"):
        designs_table(both, "recall@5")


def test_names_cannot_control_the_terminal():
    shown = "\n".join(lines(designs_table(design_scores({"TI-AR-AN": {"[red]a\x1b[31m": 0.1, "b": 0.2}}))))
    assert "[red]a" in shown
    assert "\x1b" not in shown
