"""An unchanged study is answered from its folder, and everything that changes it is noticed."""

from __future__ import annotations

import os

import polars as pl
import pytest

from recassay.study.run.study import run_study
from recassay.study.store import results as stored

STUDY = """
study: small
data: {path: log.csv}
split: random(test=0.3)
models: {popular: Popular, random: Random}
metrics: [recall@5]
judge: {resamples: 100}
"""


@pytest.fixture
def study(tmp_path):
    rows = [(user, (user * 7 + step * step) % 20) for user in range(30) for step in range(6)]
    pl.DataFrame(rows, ["user_id", "item_id"], orient="row").unique(maintain_order=True).write_csv(tmp_path / "log.csv")
    (tmp_path / "study.yaml").write_text(STUDY)
    run_study(tmp_path / "study.yaml", tmp_path / "out")
    return tmp_path


def request_of(home, **changes):
    return stored.request(home / "study.yaml", **{"data": None, "quick": False, "values": None, **changes})


def test_an_unchanged_study_returns_its_results(study):
    assert stored.changes(study / "out", request_of(study)) == []
    first = stored.stored_results(study / "out", request_of(study))
    again = run_study(study / "study.yaml", study / "out")
    assert again.document() == first.document()


def test_every_change_is_named(study):
    def changes_of(**changes):
        return " ".join(stored.changes(study / "out", request_of(study, **changes)))

    assert changes_of(values={"epochs": 3}) == "values changed"
    text = (study / "log.csv").read_text()
    (study / "log.csv").write_text(text.swapcase())  # of the same size
    assert "log.csv changed" in changes_of()
    (study / "out" / "findings.jsonl").write_text("{}\n")
    (study / "out" / "times.json").unlink()
    (study / "out" / "mine.txt").write_text("")
    assert "findings.jsonl in the folder changed" in changes_of()
    assert "times.json in the folder is missing" in changes_of()
    assert "mine.txt" not in changes_of()  # no result is made from it
    assert stored.stored_results(study / "out", request_of(study)) is None


def test_files_of_which_only_the_time_changed_are_the_same(study):
    for path in [*study.rglob("*")]:
        if path.is_file():
            os.utime(path, ns=(1, 1))
    assert stored.changes(study / "out", request_of(study)) == []


def test_a_new_file_in_a_folder_of_data_is_noticed(study):
    (study / "parts").mkdir()
    (study / "log.csv").rename(study / "parts" / "1.csv")
    (study / "study.yaml").write_text(STUDY.replace("log.csv", "parts"))
    run_study(study / "study.yaml", study / "out2")
    assert stored.changes(study / "out2", request_of(study)) == []
    (study / "parts" / "2.csv").write_text("user_id,item_id\n1,19\n")
    assert "parts changed" in " ".join(stored.changes(study / "out2", request_of(study)))


def test_a_changed_study_runs_again_and_states_the_command_that_made_it(study):
    (study / "study.yaml").write_text(STUDY.replace("recall@5", "recall@5, ndcg@5"))
    found = run_study(study / "study.yaml", study / "out")
    assert {row["metric"] for row in found.rows} == {"recall@5", "ndcg@5"}
    assert f"recassay run {study / 'study.yaml'} -o {study / 'out'}" in (study / "out" / "report.html").read_text()
