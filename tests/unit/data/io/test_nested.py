"""Tables with a row per user that holds the user's whole list, in every form, give the same run."""

from __future__ import annotations

import json

import pandas as pd
import polars as pl
import pytest

import recassay as ra
from recassay.data.io.read import read_table

USERS, LISTS, SCORES = ["u1", "u2"], [["a", "x", "b"], ["c", "y"]], [[3.0, 2.0, 1.0], [2.0, 1.0]]
ROWS = [("u1", "a"), ("u1", "x"), ("u1", "b"), ("u2", "c"), ("u2", "y")]
FLAT = pl.DataFrame({"user": USERS, "items": LISTS})
SCORED = FLAT.with_columns(scores=pl.Series(SCORES))
STRUCTS = pl.DataFrame(
    {
        "user": USERS,
        "recommendations": [
            [{"item": item, "rating": score} for item, score in zip(*one, strict=True)]
            for one in zip(LISTS, SCORES, strict=True)
        ],
    }
)
DICTS = {
    user: [{"corpus_id": item, "score": score} for item, score in zip(items, scores, strict=True)]
    for user, items, scores in zip(USERS, LISTS, SCORES, strict=True)
}


def pairs(run):
    """Return (user, item) of a run, best first."""
    users, items = run.queries.to_list(), run.item_ids.to_list()
    return [
        (users[q], items[item]) for q in range(len(users)) for item in run.items[run.offsets[q] : run.offsets[q + 1]]
    ]


@pytest.mark.parametrize(
    "source",
    [
        FLAT, SCORED, STRUCTS, FLAT.to_pandas(), SCORED.to_pandas(), STRUCTS.to_arrow(), DICTS,
        FLAT.rename({"items": "item_id"}), FLAT.rename({"items": "wish"}),
        FLAT.with_columns(items=pl.col("items").list.join(" ")),
        FLAT.with_columns(prediction=pl.col("items").list.join(", ")).drop("items"),
        pd.DataFrame({"user": USERS, "recs": [str(one) for one in LISTS]}),
        pl.DataFrame({"user": [*USERS, "u3", "u4"], "items": [*LISTS, [], None]}),
    ],
)  # fmt: skip
def test_objects(source):
    frame = read_table(source, "run")
    assert frame.select("user_id", "item_id").rows() == ROWS
    assert set(frame.columns) & {"rank", "score"}
    assert frame.select(pl.last()).to_series().is_null().sum() == 0


@pytest.mark.parametrize(
    "name", ["lists.parquet", "scored.parquet", "structs.parquet", "lists.jsonl", "lists.csv", "lists.txt"]
)
def test_files(tmp_path, name):
    path = tmp_path / name
    frame = {"scored.parquet": SCORED, "structs.parquet": STRUCTS}.get(name, FLAT)
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in frame.to_dicts()))
    elif path.suffix == ".csv":
        frame.with_columns(items=pl.col("items").list.join(" ")).write_csv(path)
    else:
        path.write_text("u1 a x b\nu2 c y\n")
    assert read_table(path, "run").select("user_id", "item_id").rows() == ROWS
    truth = {"u1": ["a", "b"], "u2": ["c"]}
    scores = ra.score(path, truth, "ndcg@3", interval=None)
    assert scores.rows[0].mean == ra.score(DICTS, truth, "ndcg@3", interval=None).rows[0].mean
    if path.suffix == ".parquet":
        small = ra.score(path, truth, "ndcg@3", interval=None, execution=ra.options.Execution(memory="2GB"))
        assert small.values(small.systems[0], "ndcg@3").tolist() == scores.values(scores.systems[0], "ndcg@3").tolist()


def test_a_truth_and_a_log():
    truth = pl.DataFrame({"query_id": [1, 2], "relevant_docs": [[5, 6], [7]], "gains": [[1.0, 2.0], [3.0]]})
    assert read_table(truth, "truth").rows() == [(1, 5), (1, 6), (2, 7)]
    both = truth.rename({"gains": "rating"})
    assert read_table(both, "truth").rows() == [(1, 5, 1.0), (1, 6, 2.0), (2, 7, 3.0)]
    log = pl.DataFrame({"user": [1, 2], "item_id": [[5, 6], [7]], "timestamp": [[10, 20], [30]]})
    assert read_table(log, "log").rows() == [(1, 5, 10), (1, 6, 20), (2, 7, 30)]


def test_ids_in_text_are_integers_only_if_they_are_written_so():
    frame = pl.DataFrame({"customer_id": [1, 2], "prediction": ["17 18", "19 20"]})
    assert read_table(frame, "run")["item_id"].to_list() == [17, 18, 19, 20]
    padded = frame.with_columns(prediction=pl.Series(["0706 0707", "0708 0709"]))
    assert read_table(padded, "run")["item_id"].to_list() == ["0706", "0707", "0708", "0709"]


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        (SCORED.with_columns(scores=pl.Series([[1.0], [2.0, 1.0]])), "I108", "1 of 2 rows have lists of different"),
        (FLAT.with_columns(recs=pl.col("items")), "I203", "'items', 'recs'"),
        (pl.DataFrame({"user": [1], "items": [[1, None]]}), "I304", ""),
        (FLAT.drop("user"), "I201", "user_id"),
        (pl.DataFrame({"user": [1], "items": [[{"x": 1}]]}), "I201", "item_id"),
        (pl.DataFrame({"user": [1], "items": [[[1], [2]]]}), "I202", ""),
    ],
)
def test_near_misses(source, code, words):
    with pytest.raises(ra.InputError) as caught:
        read_table(source, "run")
    assert caught.value.code == code
    assert words in str(caught.value)


def test_names_in_structs_can_be_chosen():
    frame = pl.DataFrame({"user": [1], "items": [[{"_1": 5, "_2": 0.5}]]})
    assert read_table(frame, "run", columns="item=_1,score=_2").rows() == [(1, 5, 0.5)]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1 10 11 12 13\n2 11 12 10 15\n", [(1, 10), (1, 11), (1, 12), (1, 13), (2, 11), (2, 12), (2, 10), (2, 15)]),
        ("1 10 0.5\n1 11 0.4\n", [(1, 10), (1, 11)]),
        ("1 10 0.5 7\n2 11 0.4 8\n", [(1, 10), (2, 11)]),
    ],
)
def test_lines_of_a_user_and_items(tmp_path, text, rows):
    """Lines with more values than a row of a run has, each of another user, hold lists; others are rows."""
    (tmp_path / "run.txt").write_text(text)
    assert read_table(tmp_path / "run.txt", "run").select("user_id", "item_id").rows() == rows


def test_lines_that_could_be_lists_are_suggested(tmp_path):
    (tmp_path / "run.txt").write_text("u1 a x b\nu2 c y z\n")
    with pytest.raises(ra.InputError, match="user_lines"):
        read_table(tmp_path / "run.txt", "run")


def test_search(tmp_path):
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n")
    assert read_table(tmp_path / "qrels.tsv", "truth").rows() == [("q1", "d1", 1), ("q1", "d2", 0)]
    (tmp_path / "five.run").write_text("q1 Q0 d1 1 3.5\nq1 Q0 d2 2 2.5\n")
    assert read_table(tmp_path / "five.run", "run").rows() == [("q1", "d1", 1, 3.5), ("q1", "d2", 2, 2.5)]
    (tmp_path / "bad.run").write_text("q1 Q0 d1 3.5 tag\n")
    with pytest.raises(ra.InputError, match="TREC"):
        read_table(tmp_path / "bad.run", "run")
