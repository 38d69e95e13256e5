"""``recassay history`` and ``recassay track``."""

from __future__ import annotations

import pytest


@pytest.fixture
def weeks(recassay, folder):
    for name in ("one", "two"):
        assert recassay("score", "truth.csv", "runs", "-m", "hit@1", "-m", "ndcg@2", "-o", name).code == 0
    return folder


def test_a_history(recassay, weeks):
    ended = recassay("history", "one", "two", "-m", "hit@1", "-o", "out")
    assert ended.code == 0
    assert "two against one, first: " in ended.out
    assert (weeks / "out" / "history.csv").read_text().startswith("metric,system,")
    assert (weeks / "out" / "figures" / "001-history.svg").exists()
    assert recassay("history", "one", "two", "--table", "markdown").out.startswith("Results over time\n\n| metric")
    document = recassay("history", "one", "two", "--json").json
    assert document["last_two"]["first"]["verdict"] == "pass"
    assert recassay("history", "one").code == 2


def test_results_are_tracked_in_a_file(recassay, weeks):
    assert recassay("track", "one", "--to", "csv").err == "4 rows were added to results.csv\n"
    assert recassay("track", "one", "--to", "csv").err == "results.csv has these results already\n"
    assert recassay("track", "one", "--to", "wandb").code == 2
