"""Logs with one row per list of items."""

import polars as pl
import pytest

import recassay as ra
from recassay.errors import InputError

from ....refusals import refused


def rows(source, **options):
    return ra.read_interactions(source, **options).frame().rows()


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_a_list_column_gives_one_row_per_item(tmp_path, suffix):
    lists = {
        "playlist": [7, 8, 9],
        "track": [["b", "a", "b"], [], ["c"]],
        "at": [[3, 5, 9], [], [4]],
        "mood": [1, 2, 3],
    }
    path = tmp_path / f"lists.{suffix}"
    getattr(pl.DataFrame(lists), {"parquet": "write_parquet", "jsonl": "write_ndjson"}[suffix])(path)
    columns = {"user": "playlist", "item": "track"}
    assert rows(path, columns=columns) == [(7, "b"), (7, "a"), (7, "b"), (9, "c")]
    timed = rows(path, columns={**columns, "timestamp": "at"})
    assert timed == [(7, "b", 3), (7, "a", 5), (7, "b", 9), (9, "c", 4)]
    assert ra.read_truth(path, columns=columns).items.size == 3  # a track that is repeated counts once


def test_lists_of_one_row_must_have_equal_lengths(tmp_path):
    path = tmp_path / "lists.parquet"
    lists = {"user": [1, 2, 3], "item": [["x"], ["x", "y"], ["z"]], "timestamp": [[1], [2], None]}
    pl.DataFrame(lists).write_parquet(path)
    with refused("I108", match=r"2 of 3 rows.*row 2: 2 in 'item' and 1 in 'timestamp'"):
        ra.read_interactions(path)


@pytest.mark.parametrize("separator", [" ", "\t", ",", ";", "  ", ", "])
def test_lines_are_sequences(tmp_path, separator):
    path = tmp_path / "lists.txt"
    path.write_text("\n".join(separator.join(line) for line in ("abc", "b", "", "cca")) + "\n")
    assert rows(path, format="lines") == [(1, "a"), (1, "b"), (1, "c"), (2, "b"), (4, "c"), (4, "c"), (4, "a")]


def test_user_lines_start_with_the_user(tmp_path):
    path = tmp_path / "lists.txt"
    path.write_text("ann 3 1\nbob\neve 1 1 2\nann 7\n")
    log = ra.read_interactions(path, format="user_lines")
    assert log.times == "user"  # the order within a line, and of a user's lines
    wanted = [("ann", 3, 0), ("ann", 1, 1), ("eve", 1, 0), ("eve", 1, 1), ("eve", 2, 2), ("ann", 7, 2)]
    assert log.frame().rows() == wanted
    (fold,) = ra.split.last(n=1)(log)
    assert sorted(fold.test.frame().select("user_id", "item_id").rows()) == [("ann", 7), ("eve", 2)]
    truth = ra.read_truth(path, format="user_lines")
    assert truth.frame().filter(user_id="ann")["item_id"].sort().to_list() == [1, 3, 7]


@pytest.mark.parametrize("separator", [" ", "\t", ","])
def test_lines_of_a_user_and_items_are_named_where_they_cannot_be_read(tmp_path, separator):
    path = tmp_path / "lists.txt"
    path.write_text("".join(separator.join(line) + "\n" for line in ("1234", "234", "34567")))
    with pytest.raises(InputError, match=r"I105.*line 2 of lists.txt has 3 fields") as caught:
        ra.read_interactions(path)
    assert "--format user_lines" in caught.value.hint
    path.write_text("".join(separator.join(line) + "\n" for line in ["123"] * 20 + ["12"]))
    with pytest.raises(InputError, match="I105") as caught:
        ra.read_interactions(path)
    assert "user_lines" not in caught.value.hint


def test_a_study_reads_sequences_from_lines(tmp_path):
    (tmp_path / "lists.txt").write_text("".join(f"{i % 5} {(i + 1) % 5} {(i + 2) % 5}\n" for i in range(20)))
    (tmp_path / "study.yaml").write_text(
        "study: lists\ndata: {path: lists.txt, format: lines, sequences: ready_made}\n"
        "split: random_sequences(test=0.2)\nprotocol: sequence(k=2)\nmodels: {chain: NGram}\nmetrics: seq_precision@2\n"
    )
    results = ra.run_study(tmp_path / "study.yaml", tmp_path / "out")
    (row,) = (row for row in results.rows if row["fold"] == "all")
    assert row["n"] == 4
    assert "format: lines" in (tmp_path / "out" / "study.lock.yaml").read_text()
