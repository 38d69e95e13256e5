"""``recassay rerank``: it reads a run, writes a run and reports counts."""

import polars as pl
import pytest

import recassay as ra

RUN = "user_id,item_id,score\n" + "".join(
    f"{user},{item},{1 - item / 200}\n" for user in (1, 2) for item in range(90, 130)
)


@pytest.fixture
def wide(folder):
    """Two lists of forty items, of which every third has the same feature."""
    (folder / "run.csv").write_text(RUN)
    rows = "".join(f"{item},{'c' if item % 3 == 0 else 'd|e'}\n" for item in range(90, 129))
    (folder / "films.csv").write_text("item_id,genres\n" + rows)
    (folder / "train.csv").write_text("user_id,item_id\n1,90\n1,91\n2,90\n2,93\n3,90\n3,91\n3,94\n")
    return folder


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv"])
def test_the_new_run_equals_that_of_python_in_every_format(recassay, wide, suffix):
    answer = recassay("rerank", "run.csv", "--items", "films.csv", "--lambda", "0.7", "-o", f"out.{suffix}")
    assert (answer.code, answer.err) == (0, "")
    expected = ra.rerank("run.csv", "MMR(weight=0.7)", items="films.csv").run.frame()
    made = ra.read_run(f"out.{suffix}")
    assert made.frame().equals(expected)
    assert made.by_score().items.tolist() == made.items.tolist()
    assert not made.frame()["item_id"].equals(ra.read_run("run.csv").frame()["item_id"])
    assert f"out.{suffix}" in answer.out


def test_counts_are_printed(recassay, wide):
    with (wide / "run.csv").open("a") as file:
        file.write("2,90,0.1\n3,92,-0.5\n")
    given = (
        "run.csv",
        "--items",
        "films.csv",
        "--train",
        "train.csv",
        "-o",
        "out.csv",
        "--places",
        3,
        "--candidates",
        9,
    )
    text = recassay("rerank", *given, "--method", "xquad")
    assert text.code == 0
    for line in (
        "the first 3, filled from 9 candidates",
        "lists",
        "1: rows dropped because they repeat",
        "1: lists with negative",
    ):
        assert line in text.out
    found = recassay("rerank", *given, "--method", "xQuAD(relevance='graded')", "--json").json
    assert found["method"] == "xQuAD"
    assert found["parameters"] == {
        "weight": 0.5, "places": 3, "candidates": 9, "norm": "zscore_step", "relevance": "graded",
            "prior": "profile",
    }  # fmt: skip
    assert found["counts"]["lists"] == 3
    assert found["counts"]["duplicate"] == found["counts"]["shifted"] == found["counts"]["short"] == 1
    assert found["counts"]["bare"] == 2
    assert found["output"] == "out.csv"
    assert pl.read_csv("out.csv").height == 81


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--items", "films.csv", "--lambda", "1.5"), "U102", "between 0"),
        (("--items", "films.csv", "--places", "0"), "U102", "1 or more"),
        (("--items", "films.csv", "--candidates", "7"), "U102", "only 7 candidates"),
        (("--method", "mmr"), "U201", "--items FILE"),
        (("--method", "spad"), "U201", "--train LOG"),
        (("--method", "MMMR"), "U115", "did you mean 'MMR'"),
        (("--method", "MMR(of='Popular')", "--items", "films.csv"), "U202", "remove of="),
        (("--items", "log.csv"), "I201", "features"),
    ],
)
def test_errors_have_a_code_and_write_nothing(recassay, wide, arguments, code, words):
    answer = recassay("rerank", "run.csv", *arguments, "-o", "out.csv")
    assert (answer.code, answer.out) == (2, "")
    assert f"[{code}]" in answer.err
    assert words in answer.err
    assert not (wide / "out.csv").exists()


def test_an_unsupported_output_type_is_refused_before_any_work(recassay, folder):
    answer = recassay("rerank", "nowhere.csv", "-o", "out.json")
    assert answer.code == 2
    assert "[U111]" in answer.err
