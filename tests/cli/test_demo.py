"""The demo: its files agree with its table, equal seeds give equal files, and other files are not overwritten."""

from __future__ import annotations

import json
import shlex

import polars as pl
import pytest
from typer.testing import CliRunner

from recassay.cli import build_app
from recassay.cli.demo import run_demo
from recassay.errors import UsageError

FINDINGS: set[tuple[str, str]] = set()  # expected findings


class Demo:
    def __init__(self, folder):
        self.folder, self.stages = folder, []
        self.scores, self.comparison, self.command = run_demo(folder, 1, lambda *stage: self.stages.append(stage))


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return Demo(tmp_path_factory.mktemp("demo") / "study")


@pytest.fixture(scope="module")
def shown(demo):
    return CliRunner().invoke(build_app(), ["demo", "-o", str(demo.folder)], env={"COLUMNS": "100"}).stdout


def test_the_systems_differ_significantly(demo):
    means = {name: demo.scores.row(name, "ndcg@10").mean for name in demo.scores.systems}
    assert means["pure-svd"] > means["popular"] > means["random"] > 0
    rows = [row for row in demo.comparison.rows if row.metric == "ndcg@10"]
    assert len(rows) == 2
    assert all(row.p_adjusted < 0.01 and row.significant for row in rows)


def test_the_findings_are_the_expected_ones(demo):
    assert {(one.code, one.system) for one in demo.scores.findings} == FINDINGS


def test_the_printed_command_reproduces_the_printed_table(demo, shown):
    program, *arguments = shlex.split(demo.command)
    assert program == "recassay"
    assert demo.command in shown
    result = CliRunner().invoke(build_app(), arguments, env={"COLUMNS": "100"})
    assert result.exit_code == 0, result.output
    table = result.stdout[result.stdout.index("metric  ") :]
    assert table in shown
    assert result.stdout.startswith("pure-svd is best by ndcg@10: 0.2741")
    assert shown.startswith("pure-svd is best by ndcg@10 on demo, random(test=0.2, by='user'): 0.2741")
    assert "pure-svd" in result.stdout


def test_the_files_agree_with_the_result(demo):
    summary = json.loads((demo.folder / "summary.json").read_text())
    means = {(row["system"], row["metric"]): row["mean"] for row in summary["rows"]}
    assert means == {(row.system, row.metric): row.mean for row in demo.scores.rows}
    assert len(summary["comparisons"]) == len(demo.comparison.rows)
    assert pl.read_parquet(demo.folder / "scores.parquet").height == 3 * demo.scores.units.len()
    assert "pure-svd" in (demo.folder / "summary.md").read_text()
    assert demo.command in (demo.folder / "README.md").read_text()
    assert (demo.folder / "findings.jsonl").exists()


def test_a_second_run_in_the_same_folder_gives_the_same_bytes(demo):
    names = ("log.csv", "runs/pure-svd.parquet", "runs/random.parquet", "scores.parquet", "summary.json", "summary.md")
    before = {name: (demo.folder / name).read_bytes() for name in names}
    stages = Demo(demo.folder).stages
    assert {name: (demo.folder / name).read_bytes() for name in names} == before
    assert {stage for stage, done, of in stages if done == of} >= {"preparing data and runs", "comparing"}


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "log.csv").write_text("mine")
    with pytest.raises(UsageError, match="recassay did not write"):
        run_demo(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]


def test_a_file_in_the_place_of_the_folder_is_an_error_that_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot create the folder"):
        run_demo(tmp_path / "file")
