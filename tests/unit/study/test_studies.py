"""Every study that comes with recassay runs, at least its quick part."""

from pathlib import Path

import pytest

import recassay as ra

STUDIES = sorted((Path(__file__).parents[3] / "studies").glob("*.yaml"))
# What is known to be found. A code that is not here is a new finding about a study that nobody changed.
FOUND = {
    "diversity.yaml": {"C005", "L002"},
    "first.yaml": {"B001", "B002", "B003", "L002"},
    "listening.yaml": {"B001", "B002", "B003", "L002", "T002"},
    "prequential.yaml": set(),
    "sampled-metrics.yaml": {"B001", "B002", "L002"},
    "sequences.yaml": set(),
    "sequeval-validation.yaml": set(),
    "sequeval.yaml": set(),
    "streams.yaml": {"V001", "V002"},
    "sudden-death-toys.yaml": {"C005", "C010", "L002"},
    "sudden-death.yaml": {"C005", "L002"},
    "target-sets-claims.yaml": {"B001", "B002", "L002", "S003"},
    "target-sets.yaml": {"B001", "B002", "B003", "L002"},
}
UNBOUNDED = ("seq_novelty", "seq_perplexity")


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.name)
def test_a_study_runs_quickly(path, tmp_path):
    if "GRU(" in path.read_text(encoding="utf-8"):
        pytest.importorskip("torch")
    results = ra.run_study(path, tmp_path / "out", quick=True)
    assert results.failures == ()
    for row in results.rows:
        unbounded = row["metric"].startswith(UNBOUNDED)  # in bits, or infinite, which is reported as undefined
        assert unbounded or 0 <= row["mean"] <= 1, row
    assert results.comparisons
    assert {one["code"] for one in results.findings} <= FOUND[path.name]


def test_the_studies_folder_is_not_empty():
    assert "first.yaml" in {path.name for path in STUDIES}
