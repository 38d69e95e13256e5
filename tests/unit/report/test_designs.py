"""The table of designs: it fits its width, every number is whole, and another order is marked."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from recassay.data.assay import Assay
from recassay.errors import UsageError
from recassay.report.designs import designs_table

NAN = float("nan")


class Worth:
    """A row as the table reads it."""

    def __init__(self, system, design, metric, mean):
        self.system, self.design, self.metric, self.mean = system, design, metric, mean

    def to_dict(self):
        bounds = {"low": self.mean - 0.01, "high": self.mean + 0.01}
        numbers = {"mean": self.mean, "rho": 0.05, **bounds}
        numbers = {name: None if value != value else value for name, value in numbers.items()}
        return {"system": self.system, "design": self.design, "metric": self.metric, **numbers}


def assay(means, metrics=("ndcg@10",)):
    """An assay from {design: {system: mean}}."""
    rows = [Worth(s, d, m, v) for m in metrics for d, line in means.items() for s, v in line.items()]
    systems = tuple(next(iter(means.values())))
    return Assay(systems, tuple(means), tuple(metrics), tuple(rows), {})


def lines(table, width=100):
    screen = Console(file=io.StringIO(), width=width)
    screen.print(table)
    return screen.file.getvalue().splitlines()


MEANS = {
    "TI-AR-AN": {"pop": 0.2, "svd": 0.3},
    "AI-AR-AN": {"pop": 0.1, "svd": 0.3},
    "P1R": {"pop": 0.5, "svd": 0.4},
}


def test_another_order_is_marked_and_the_same_is_said():
    said = lines(designs_table(assay(MEANS)))
    assert [line.split() for line in said[:2]] == [["ndcg@10"], ["design", "pop", "svd", "rho", "order"]]
    assert said[3].split() == ["TI-AR-AN", "0.2000", "0.3000", "0.0500", "first"]
    assert said[4].split()[-1] == "same"
    assert said[5].split()[-3:] == ["≠", "τ", "-1.00"]
    assert said[-1].startswith("≠: another order than under TI-AR-AN")


@pytest.mark.parametrize("count", [2, 6, 8, 30])
def test_it_fits_and_no_number_is_cut(count):
    systems = {f"a-rather-long-system-name-{i}": 0.1 + i / 100 for i in range(count)}
    designs = {"TI-AR-AN": systems, "TI-1R-NN(100, by='popularity')": dict.fromkeys(systems, 0.3)}
    said = lines(designs_table(assay(designs)))
    assert max(map(cell_len, said)) <= 100
    for mean in systems.values():
        assert any(f"{mean:.4f}" in line for line in said)


@pytest.mark.parametrize("width", [30, 45, 60, 80])
def test_numbers_are_whole_at_any_width(width):
    said = lines(designs_table(assay(MEANS | {"TI-1R-NN(100, by='popularity')": {"pop": 0.123, "svd": 0.456}})), width)
    assert max(map(cell_len, said)) <= width
    assert any("0.1230" in line for line in said)
    assert any("0.4560" in line for line in said)
    assert not any("0.…" in line for line in said)


def test_many_systems_stand_below_each_other_with_intervals():
    systems = {f"system-{i}": 0.1 + i / 100 for i in range(12)}
    said = lines(designs_table(assay({"TI-AR-AN": systems, "P1R": systems})))
    assert said[1].split() == ["TI-AR-AN", "rho", "0.0500", "first"]
    assert said[2].split() == ["system-0", "0.1000", "0.0900–0.1100"]
    assert sum("TI-AR-AN" in line for line in said) == 1


def test_the_best_is_bold_and_lower_may_be_better():
    screen = Console(file=io.StringIO(), width=100, force_terminal=True, color_system="standard")
    screen.print(designs_table(assay({"TI-AR-AN": {"a": 0.2, "b": 0.3}}, ["rmse"])))
    assert "\x1b[1m0.2000" in screen.file.getvalue()
    assert "\x1b[1m0.3000" not in screen.file.getvalue()


def test_undefined_means_are_called_so():
    said = lines(designs_table(assay({"TI-AR-AN": {"a": NAN, "b": 0.3}, "P1R": {"a": NAN, "b": 0.1}})))
    assert said[3].split()[1:3] == ["undefined", "0.3000"]
    assert said[4].split()[-1] == "–"


def test_one_metric_or_all():
    both = assay(MEANS, ("ndcg@10", "precision@5"))
    assert [line for line in lines(designs_table(both)) if line.strip() in both.metrics] == ["ndcg@10", "precision@5"]
    assert "ndcg@10" not in "\n".join(lines(designs_table(both, "precision@5")))
    with pytest.raises(UsageError, match="U101"):
        designs_table(both, "recall@5")


def test_names_have_no_power():
    said = "\n".join(lines(designs_table(assay({"TI-AR-AN": {"[red]a\x1b[31m": 0.1, "b": 0.2}}))))
    assert "[red]a" in said
    assert "\x1b" not in said
