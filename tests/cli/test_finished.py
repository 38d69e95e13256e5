"""`recassay compare` on a table of finished scores: the verdict, what cannot be said, and what is refused."""

import json

ROWS = "model,dataset,ndcg@10\n" + "".join(
    f"{m},d{n},{0.1 * n + (m == 'ease') * 0.05}\n" for m in ("ease", "pop", "als") for n in range(4)
)


def test_the_verdict_comes_first_and_the_folder_has_everything(recassay, tmp_path):
    (tmp_path / "table.csv").write_text(ROWS)
    answer = recassay("compare", tmp_path / "table.csv", "-o", tmp_path / "out")
    assert answer.code == 0
    assert answer.out.startswith("ndcg@10, 4 data sets: ease is first under ")
    assert "What this table cannot say" in answer.out
    written = json.loads((tmp_path / "out" / "conclusions.json").read_text())
    assert written["rankings"][0]["datasets"] == ["d0", "d1", "d2", "d3"]
    assert (tmp_path / "out" / "places.csv").read_text().startswith("metric,rule,system,score,place,share_first\n")


def test_options_that_need_users_are_refused(recassay, tmp_path):
    (tmp_path / "table.csv").write_text(ROWS)
    answer = recassay("compare", tmp_path / "table.csv", "--baseline", "pop")
    assert answer.code == 2
    assert "[U105] --baseline needs values per user" in answer.err
