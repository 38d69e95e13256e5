"""Every study and every paper that comes with recassay runs, at least its quick part."""

from pathlib import Path

import pytest

import recassay as ra
from recassay.reproduction.paper import read_paper
from recassay.reproduction.run import reproduce

ROOT = Path(__file__).parents[3]
STUDIES, PAPERS = (sorted((ROOT / folder).glob("*.yaml")) for folder in ("studies", "reproductions"))
# What is known to be found. A code that is not here is a new finding about a study that nobody changed.
FOUND = {
    "diversity.yaml": {"C005", "L002"},
    "first.yaml": {"B001", "B002", "B003", "L002"},
    "listening.yaml": {"B001", "B002", "B003", "L002", "T002"},
    "prequential.yaml": set(),
    "sampled-metrics-beauty.yaml": {"B001", "B002", "L002"},
    "sampled-metrics.yaml": {"B001", "B002", "L002"},
    "sequences.yaml": set(),
    "sequeval-playlists.yaml": set(),
    "sequeval-validation.yaml": set(),
    "sequeval.yaml": set(),
    "streams.yaml": {"V001", "V002"},
    "sudden-death-toys.yaml": {"C005", "C010", "L002"},
    "sudden-death.yaml": {"C005", "L002"},
    "target-sets-claims.yaml": {"B001", "B002", "L002", "S003", "S005"},
    "target-sets.yaml": {"B001", "B002", "B003", "L002"},
}
DAILY = ("first", "sequeval-playlists")  # what make test runs; the gate runs all
UNBOUNDED = ("seq_novelty", "seq_perplexity")


def each(paths):
    """Return paths to run, of which all but a few are left to the gate."""
    return [pytest.param(path, marks=[] if path.stem in DAILY else [pytest.mark.gate], id=path.stem) for path in paths]


def studies_of(paper):
    """Return the studies of a paper by the name of the source that they are."""
    sources = read_paper(paper).paper.sources
    return {name: (paper.parent / one.study).resolve() for name, one in sources.items() if one.study is not None}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return a function from a paper to its quick run and the folder of that; each paper is run once."""
    made = {}

    def run(paper):
        if paper not in made:
            out = tmp_path_factory.mktemp(paper.stem)
            made[paper] = reproduce(read_paper(paper), out, quick=True), out
        return made[paper]

    return run


def needs_torch(*studies):
    if any("GRU(" in study.read_text(encoding="utf-8") for study in studies):
        pytest.importorskip("torch")


@pytest.mark.parametrize("path", each(PAPERS))
def test_every_paper_runs_on_generated_data(path, runs):
    needs_torch(*studies_of(path).values())
    found, _ = runs(path)
    assert [one.name for one in found.verdicts] == list(read_paper(path).paper.claims)


@pytest.mark.parametrize("path", each(STUDIES))
def test_a_study_runs_quickly(path, tmp_path, runs):
    """A study of a paper was run with the paper, and resumes here."""
    needs_torch(path)
    folder = tmp_path / "out"
    for paper in PAPERS:
        for name, study in studies_of(paper).items():
            if study == path:
                (folder,) = runs(paper)[1].glob(f"code-*/studies/{name}")
    results = ra.run_study(path, folder, quick=True)
    assert results.failures == ()
    for row in results.rows:
        unbounded = row["metric"].startswith(UNBOUNDED)  # in bits, or infinite, which is reported as undefined
        assert unbounded or 0 <= row["mean"] <= 1, row
    assert results.comparisons
    assert {one["code"] for one in results.findings} <= FOUND[path.name]


def test_the_studies_folder_is_not_empty():
    assert "first.yaml" in {path.name for path in STUDIES}
