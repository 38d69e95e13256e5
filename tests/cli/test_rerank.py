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


def test_several_weights_write_a_file_each(recassay, wide):
    given = ("run.csv", "--items", "films.csv", "--method", "mmr", "--lambda", "0.2,0.50 0.8", "-o", "mmr-{lambda}.csv")
    text = recassay("rerank", *given)
    assert text.code == 0
    assert "form=min" in text.out
    names = ["mmr-0.2", "mmr-0.5", "mmr-0.8"]
    for name in names:
        assert f"{name}.csv" in text.out
        alone = ra.rerank("run.csv", f"MMR(weight={name[4:]})", items="films.csv").run.frame()
        assert pl.read_csv(f"{name}.csv").equals(alone)
    found = recassay("rerank", *given, "--json").json["runs"]
    assert [one["run"] for one in found] == names
    assert [one["parameters"]["weight"] for one in found] == [0.2, 0.5, 0.8]


def test_weights_that_differ_in_the_last_digits_have_a_file_each(recassay, wide):
    given = ("run.csv", "--items", "films.csv", "-o", "new-{lambda}.csv")
    assert recassay("rerank", *given, "--lambda", "0.1 0.100000001 1").code == 0
    assert sorted(path.name for path in wide.glob("new-*")) == ["new-0.1.csv", "new-0.100000001.csv", "new-1.csv"]
    answer = recassay("rerank", *given[:-1], "new.csv", "--lambda", "0.1 0.100000001")
    assert (answer.code, "[U111]" in answer.err) == (2, True)


def test_a_trec_file_has_the_same_lists(recassay, wide):
    assert recassay("rerank", "run.csv", "--items", "films.csv", "-o", "mmr.trec").code == 0
    lines = (wide / "mmr.trec").read_text().splitlines()
    assert lines[0] == "1 Q0 90 1 -1.0 mmr"
    assert len(lines) == 80
    expected = ra.rerank("run.csv", "MMR", items="films.csv").run.frame()
    made = ra.read_run("mmr.trec").frame()
    assert made["item_id"].cast(pl.Int64).to_list() == expected["item_id"].to_list()


def test_an_id_with_a_blank_is_not_written_as_trec(recassay, wide):
    (wide / "run.csv").write_text("user_id,item_id,score\nann,the end,1\nann,up,0.5\n")
    answer = recassay("rerank", "run.csv", "--method", "shuffled", "--lambda", "1", "-o", "new.trec")
    assert (answer.code, "[U111]" in answer.err, "'the end'" in answer.err) == (2, True, True)
    assert not (wide / "new.trec").exists()


def test_a_table_of_other_items_is_a_finding(recassay, wide):
    (wide / "films.csv").write_text("item_id,genres\n" + "".join(f"{item},d|e\n" for item in range(124, 129)))
    answer = recassay("rerank", "run.csv", "--items", "films.csv", "-o", "out.csv")
    assert "C017" in answer.out
    assert "70 of 80 (88 %) rows" in " ".join(answer.out.split())
    found = recassay("rerank", "run.csv", "--items", "films.csv", "-o", "out.csv", "--json").json
    assert [(one["code"], one["severity"]) for one in found["findings"]] == [("C017", "warning")]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--items", "films.csv", "--lambda", "1.5"), "U102", "at least 0 and at most 1"),
        (("--items", "films.csv", "--lambda", "half"), "U102", "'half' is not a number"),
        (("--items", "films.csv", "--lambda", ""), "U102", "is not a number"),
        (("--items", "films.csv", "--lambda", "0.2 0.5"), "U111", "-o 'out-{lambda}.csv'"),
        (("--items", "films.csv", "--places", "0"), "U102", "at least 1"),
        (("--items", "films.csv", "--candidates", "7"), "U102", "only 7 candidates"),
        (("--method", "mmr"), "U201", "--items FILE"),
        (("--method", "spad"), "U201", "--train LOG"),
        (("--method", "MMMR"), "U115", "did you mean 'MMR'"),
        (("--method", "MMR(of='Popular')", "--items", "films.csv"), "U201", "remove of="),
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
