"""The page, the terminal, the files and `recassay compare` state the same verdict."""

from __future__ import annotations

import json
from html import unescape

import polars as pl
import pytest

STUDY = """
study: two
data:
  - {name: one, generate: "log(users=60, items=40, events=1200, seed=1)"}
  - {name: other, generate: "log(users=50, items=40, events=1000, seed=2)"}
split: [random(test=0.2), k_folds(k=2)]
models: {popular: Popular, random: Random, svd: PureSVD(factors=5), knn: UserKNN(neighbours=9)}
metrics: [ndcg@5, recall@10, coverage@10]
designs: [lists, TI-AR-AN]
judge: {resamples: 200, level: 0.9}
compare: {baseline: popular, test: t}
"""
STREAM = """
study: stream
data: {generate: "drifting(users=60, items=60, events=1200, seed=1)"}
protocol: prequential(at=10)
models: {isgd: ISGD(factors=5), recent: Recent, bprmf: BPRMF(factors=5)}
metrics: [recall@10, mrr@10]
judge: {resamples: 200}
"""


def squeezed(text):
    return " ".join(text.split())


def statements(folder):
    """Return the sentences of the verdict in summary.json, and the text of the page."""
    verdict = json.loads((folder / "summary.json").read_text())["verdict"]
    page = unescape((folder / "report.html").read_text())
    return [verdict["headline"], *verdict["details"], *verdict["against"]], page


def assert_same(folder, printed, compared):
    sentences, page = statements(folder)
    for one in sentences:
        assert one in page
        said = one[1:]  # the terminal goes on with "But by ..."
        assert said in squeezed(printed.out)
        assert said in squeezed(compared.out)


@pytest.mark.parametrize("study", [STUDY, STREAM], ids=["lists", "stream"])
def test_a_study(recassay, tmp_path, study):
    (tmp_path / "study.yaml").write_text(study)
    printed = recassay("run", tmp_path / "study.yaml", "-o", tmp_path / "out")
    assert printed.code == 0
    assert_same(tmp_path / "out", printed, recassay("compare", tmp_path / "out"))


def test_a_scoring_with_a_baseline_tests_the_leader_against_the_runner_up(recassay, tmp_path):
    lists = {"a": [1, 2, 3], "b": [2, 1, 3], "pop": [3, 4, 5]}
    users = range(60)
    for name, items in lists.items():
        rows = [(user, items[(rank + user * (user % 7 == 0)) % 3], rank) for user in users for rank in range(3)]
        pl.DataFrame(rows, ["user_id", "item_id", "rank"], orient="row").write_csv(tmp_path / f"{name}.csv")
    truth = {"user_id": users, "item_id": [1 if user % 6 else 4 for user in users]}
    pl.DataFrame(truth).write_csv(tmp_path / "truth.csv")
    runs = [tmp_path / f"{name}.csv" for name in lists]
    printed = recassay(
        "score", tmp_path / "truth.csv", *runs, "-m", "ndcg@3 precision@1", "--baseline", "pop", "-o", tmp_path / "out"
    )
    assert printed.code == 0
    compared = recassay("compare", tmp_path / "out")
    assert_same(tmp_path / "out", printed, compared)
    alone = recassay("compare", tmp_path / "out", "--all-pairs", "--json").json
    [pair] = [row for row in alone["comparisons"] if (row["metric"], row["a"], row["b"]) == ("ndcg@3", "a", "b")]
    lead = json.loads((tmp_path / "out/summary.json").read_text())["verdict"]["leads"][0]
    assert (lead["leader"], lead["runner_up"]) == ("a", "b")
    assert lead["p"] == pytest.approx(pair["p_adjusted"])
