"""Ids of more than 63 bits are the same ids in every format, or an error says why not."""

import json
from decimal import Decimal

import polars as pl
import pytest

import recassay as ra
from recassay.errors import InputError

IDS = {
    "64 bits without a sign": [2**63 + 7 * n for n in range(5)] + [2**64 - 1],
    "some of 64 bits": [5, 6, 2**63 + 1, 2**63 + 2, 7, 2**64 - 1],
    "20 digits": [10**20 + n for n in range(6)],
    "some of 20 digits": [5, 6, 10**20 + 1, 10**20 + 2, 7, 9],
    "below zero and beyond 63 bits": [-5, -6, 2**63 + 1, 2**63 + 2, 7, 9],
}
FORMS = ["csv", "tsv", "json", "json lists", "jsonl", "decimal", "scaled decimal", "uint64", "int128", "dict", "rows"]


def written(folder, name, items, form):
    """Three users with two items each, the first item best."""
    users = [n // 2 + 1 for n in range(6)]
    scores = [1.0 - n % 2 / 2 for n in range(6)]
    rows = list(zip(users, items, scores, strict=True))
    lists = {user: {item: score for one, item, score in rows if one == user} for user in users}
    path = folder / f"{name}.{form.split()[0]}"
    if form in ("csv", "tsv"):
        cells = [("user_id", "item_id", "score"), *rows]
        path.write_text("".join({"csv": ",", "tsv": "\t"}[form].join(map(str, line)) + "\n" for line in cells))
    elif form == "json":
        path.write_text(json.dumps(lists))
    elif form == "json lists":
        path.write_text(json.dumps({user: list(own) for user, own in lists.items()}))
    elif form == "jsonl":
        names = ("user_id", "item_id", "score")
        path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    elif form == "dict":
        return lists
    elif form == "rows":
        return rows
    else:
        frame = pl.DataFrame({"user_id": users, "item_id": typed(items, form), "score": scores})
        path = path.with_suffix(".parquet")
        try:
            frame.write_parquet(path)
        except pl.exceptions.PolarsError:
            pytest.skip("this version of Polars does not write them")
    return path


def typed(items, form):
    if form == "uint64":
        if not all(0 <= item < 2**64 for item in items):
            pytest.skip("they do not fit")
        return pl.Series(items, dtype=pl.UInt64)
    if form == "int128":
        return pl.Series(list(map(str, items))).cast(pl.Int128)
    return pl.Series(list(map(Decimal, items))).cast(pl.Decimal(38, 4 if form == "scaled decimal" else 0))


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("form", FORMS)
def test_the_same_ids_match_whatever_the_format(tmp_path, kind, form):
    run = written(tmp_path, "run", IDS[kind], form)
    truth = written(tmp_path, "truth", IDS[kind], "csv")
    for one, two in ((run, truth), (truth, run)):
        scores = ra.score(ra.read_run(one), ra.read_truth(two), "recall@2", interval=None)
        assert scores.rows[0].mean == 1.0


@pytest.mark.parametrize("form", ["csv", "json", "dict", "decimal", "uint64"])
def test_ids_that_are_text_on_one_side_only_match_the_integers_of_their_digits(tmp_path, form):
    """An id of 65 bits makes text of its column; the other column fits 64 bits and is integers."""
    ids = [5, 6, 7, 8, 9, 10]
    truth, run = written(tmp_path, "truth", ids, form), written(tmp_path, "run", [2**64 + 1, *ids[1:]], "csv")
    assert ra.read_truth(truth).vocabulary.kind == "integer"
    assert ra.read_run(run).vocabulary.kind == "string"
    texts = ra.read_truth(truth).frame().cast({"item_id": pl.String})
    found, expected = (ra.score(run, one, "recall@2", interval=None) for one in (truth, texts))
    assert found.summary().equals(expected.summary())
    assert found.rows[0].mean == 2 / 3


@pytest.mark.parametrize("memory", [None, "8GB"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("kinds", [("plain", "unsigned"), ("unsigned", "plain")], ids="-".join)
def test_parts_of_a_table_may_have_ids_with_and_without_a_sign(tmp_path, suffix, kinds, memory):
    items = {"plain": [3, 4], "unsigned": [2**63 + 2, 2**63 + 4]}
    (tmp_path / "truth").mkdir()
    for user, kind in enumerate(kinds):
        dtype = pl.UInt64 if kind == "unsigned" else pl.Int64
        part = pl.DataFrame({"user_id": [user, user], "item_id": pl.Series(items[kind], dtype=dtype)})
        getattr(part, f"write_{suffix}")(tmp_path / "truth" / f"part-{user}.{suffix}")
    run = tmp_path / "run.csv"
    run.write_text("user_id,item_id\n" + "".join(f"{n},{i}\n" for n, kind in enumerate(kinds) for i in items[kind]))
    scores = ra.score(run, tmp_path / "truth", "recall@2", interval=None, execution=ra.options.Execution(memory=memory))
    assert scores.rows[0].mean == 1.0


def test_parts_with_ids_below_zero_and_without_a_sign_are_refused(tmp_path):
    pl.DataFrame({"user_id": [1], "item_id": [-3]}).write_parquet(tmp_path / "a.parquet")
    unsigned = pl.Series([2**63 + 2], dtype=pl.UInt64)
    pl.DataFrame({"user_id": [2], "item_id": unsigned}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"I403.*such as -3"):
        ra.read_truth(tmp_path)


@pytest.mark.parametrize("late", ["x7", str(2**63 + 5), str(10**21)])
def test_the_type_of_one_column_does_not_depend_on_the_other(tmp_path, late):
    """The first lines show integers; what a late line needs is decided for each column by itself."""
    rows = [f"{n},{n % 50}" for n in range(5000)]
    text = "\n".join(["user_id,item_id", *rows, f"5000,{late}"]) + "\n"
    (tmp_path / "truth.csv").write_text(text)
    frame = ra.read_truth(tmp_path / "truth.csv").frame()
    assert frame["user_id"].dtype.is_integer()
    assert frame.filter(pl.col("user_id") == 5000)["item_id"].cast(pl.String).item() == late
    assert (frame["item_id"].dtype == pl.UInt64) == (late == str(2**63 + 5))


@pytest.mark.parametrize("wide", [2**63 + 5, 10**21])
def test_chunks_of_a_table_agree_on_the_type_of_wide_ids(tmp_path, monkeypatch, wide):
    items = [n % 50 for n in range(3000)] + [wide]
    frame = pl.DataFrame({"user_id": [n // 10 for n in range(3001)], "score": [-(n % 10) for n in range(3001)]})
    frame = frame.with_columns(pl.Series("item_id", list(map(Decimal, items)), dtype=pl.Decimal(38, 0)))
    frame.write_parquet(tmp_path / "run.parquet", row_group_size=500)
    frame.select("user_id", "item_id").write_csv(tmp_path / "truth.csv")
    monkeypatch.setattr("recassay.data.chunks.MAX_ROWS", 1000)
    monkeypatch.setattr("recassay.data.chunks.MIN_ROWS", 500)
    scores = ra.score(
        tmp_path / "run.parquet",
        tmp_path / "truth.csv",
        "recall@10",
        interval=None,
        execution=ra.options.Execution(memory="8GB"),
    )
    assert scores.rows[0].mean == 1.0


def test_users_of_a_file_with_a_word_among_its_numbers_meet_numbers_elsewhere(tmp_path):
    run, truth, train = tmp_path / "run.csv", tmp_path / "truth.csv", tmp_path / "train.csv"
    run.write_text("user_id,item_id,score\n1,10,0.5\nu2,10,0.5\n02,11,0.5\n")
    truth.write_text("user_id,item_id\n1,10\n2,11\n")
    train.write_text("user_id,item_id\n1,11\nu2,x\n")
    scores = ra.score(run, truth, "hit@1 arp@1 coverage@1", train=train, interval=None)
    assert scores.row("run", "hit@1").mean == 0.5
    assert scores.row("run", "hit@1").missing == 1  # user 2; 02 is another
    assert scores.row("run", "coverage@1").mean == 0
    with pytest.raises(InputError, match=r"I403.*chunks of users need one type"):
        ra.score(run, truth, "hit@1", interval=None, execution=ra.options.Execution(memory="8GB"))
