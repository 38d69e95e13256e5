"""Study files to run, and the files of a folder as bytes."""

import re

import pytest

STUDY = """\
study: small
about: Which system wins?
data: {generate: "log(users=60, items=40, events=900)"}
split: k_folds(k=2)
models: {popular: Popular, random: Random, svd: "PureSVD(factors=4)"}
metrics: [recall@5, ndcg@10, coverage@5]
compare: {baseline: popular}
judge: {resamples: 200}
"""


@pytest.fixture(autouse=True)
def still(monkeypatch):
    """Time stands still: a folder of results has the same bytes each time."""
    monkeypatch.setattr("recassay.study.store.folder.perf_counter", lambda: 0.0)


@pytest.fixture
def study(tmp_path):
    """Write a study file: replace text in the usual one, or add to it."""

    def write(text=STUDY, *, replace=(), add="", name="study.yaml"):
        for old, new in replace:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text + add)
        return path

    return write


COMMAND = re.compile(rb"<dt>Run it again</dt>.*\n")  # it names the folder


def files(folder, *, without=("cache", "times.json")):
    """Every file of a folder by its path, as bytes, without the command that made it; times tell threads too.

    The list of files is left out: it has the checksums of all others.
    """
    return {
        str(path.relative_to(folder)): COMMAND.sub(b"", path.read_bytes())
        if path.suffix == ".html"
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "manifest.jsonl" and path.relative_to(folder).parts[0] not in without
    }
