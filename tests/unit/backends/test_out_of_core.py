"""Run files in pieces: the same bits as in memory, whatever the format and the order of the rows."""

import warnings

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import recassay as ra
from recassay.backends import out_of_core
from recassay.data import chunks
from recassay.errors import InputError, UsageError

from ...refusals import refused
from ...scoring import score

METRICS = "ndcg@10 recall@5 mrr ild@5 gini@10 coverage(catalogue='truth')@5 snips@5 mae subtopic_recall@5"
USERS, ITEMS = 400, 150


def tables(seed=3):
    rng = np.random.default_rng(seed)
    rows = [(u, i, r) for u in range(USERS) for r, i in enumerate(rng.choice(ITEMS, rng.integers(1, 15), False))]
    run = pl.DataFrame(rows, ["user_id", "item_id", "rank"], orient="row").with_columns(
        score=pl.Series(np.round(rng.random(len(rows)), 1))
    )
    truth = pl.DataFrame(
        [(u, i, float(g)) for u in range(5, USERS + 9) for g, i in enumerate(rng.choice(ITEMS, 4, False))],
        ["user_id", "item_id", "gain"], orient="row",
    )  # fmt: skip
    train = pl.DataFrame({"user_id": rng.integers(0, USERS, 3_000), "item_id": rng.integers(0, ITEMS - 9, 3_000)})
    items = pl.DataFrame({"item_id": range(ITEMS), "genre": [["a", "b", "c"][i % 3 : i % 5] for i in range(ITEMS)]})
    return run.drop("rank"), pl.concat([truth, truth.head(7)]), train.unique(), items


RUN, TRUTH, TRAIN, ITEM_TABLE = tables()


def judged(run, truth=TRUTH, **more):
    options = {"train": TRAIN, "items": ITEM_TABLE, "interval": "normal"} | more
    runs = run if isinstance(run, dict) else {"mine": run}
    return score(runs, truth, METRICS, **options)


def bits(scores):
    columns = {key: column.tobytes() for key, column in scores.per_unit.items()}
    weights = {key: column.tobytes() for key, column in scores.per_unit_weights.items()}
    return columns, weights, repr(scores.rows), scores.findings


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "mine.parquet"
    RUN.write_parquet(path)
    return judged(path)


def cut_small(monkeypatch, rows, at_once=700):
    """Pieces of about so many rows, and so many read at a time."""
    monkeypatch.setattr(out_of_core, "ROW_COPIES", 8 * 2**30 / (24 * rows))
    monkeypatch.setattr(chunks, "MAX_ROWS", at_once)


@pytest.fixture
def rows_at_once(monkeypatch):
    cut_small(monkeypatch, 300)


def mixed(frame):
    return frame.sample(fraction=1.0, shuffle=True, seed=1)


WRITERS = {
    "sorted": lambda path: RUN.write_parquet(path / "mine.parquet", row_group_size=100),
    "in any order": lambda path: mixed(RUN).write_parquet(path / "mine.parquet", row_group_size=100),
    "text": lambda path: RUN.write_csv(path / "mine.csv"),
    "text in any order": lambda path: mixed(RUN).write_csv(path / "mine.csv"),
    "text without a header": lambda path: RUN.write_csv(path / "mine.tsv", separator="\t", include_header=False),
}


@pytest.mark.usefixtures("rows_at_once")
@pytest.mark.parametrize("how", WRITERS)
def test_the_same_bits_in_pieces(reference, tmp_path, how):
    WRITERS[how](tmp_path)
    assert bits(judged(next(tmp_path.iterdir()), memory="8GB")) == bits(reference)


@pytest.mark.usefixtures("rows_at_once")
@pytest.mark.parametrize("order", [None, mixed], ids=["sorted", "mixed"])
def test_a_folder_of_part_files(reference, tmp_path, order):
    """Also where the list of one user is cut between two files, and a part has no rows."""
    rows = RUN if order is None else order(RUN)
    for number, (begin, end) in enumerate([(0, 701), (701, 701), (701, 999), (999, None)]):
        rows[begin:end].write_parquet(tmp_path / f"part-{number}.parquet")
    (tmp_path / "part-9.parquet").touch()
    assert bits(judged(tmp_path, memory="8GB")) == bits(reference)


def repeating(seed):
    """Rows of all users, mixed: items that come again with other scores, scores that tie, ranks in no order."""
    rng = np.random.default_rng(seed)
    n = 6_000
    rows = {"user_id": rng.integers(0, 300, n), "item_id": rng.integers(0, 12, n), "rank": rng.integers(1, 99, n)}
    return pl.DataFrame(rows).with_columns(score=pl.Series(rng.integers(0, 6, n) / 6))


@pytest.mark.usefixtures("rows_at_once")
@pytest.mark.parametrize("profile", ["trec_eval", "ranx"])
@pytest.mark.parametrize("how", ["one file", "parts", "text"])
def test_rows_keep_their_order_in_pieces(tmp_path, profile, how):
    """A last row is the last of all files, and rows that tie stand as in the files, also where users are mixed."""
    run, truth = repeating(4), {user: {1: 1, 2: 2, 30: 0} for user in range(300)}
    whole = ra.score({"mine": run}, truth, "mrr ndcg@3", profile=profile, interval="normal")
    if how == "one file":
        run.write_parquet(tmp_path / "mine.parquet", row_group_size=100)
    elif how == "text":
        run.write_csv(tmp_path / "mine.csv")
    else:
        for number, begin in enumerate(range(0, run.height, 900)):
            run[begin : begin + 900].write_parquet(tmp_path / f"part-{number}.parquet")
    source = tmp_path if how == "parts" else next(tmp_path.iterdir())
    found = ra.score(
        {"mine": source},
        truth,
        "mrr ndcg@3",
        profile=profile,
        interval="normal",
        execution=ra.options.Execution(memory="8GB"),
    )
    assert bits(found) == bits(whole)
    assert bits(found) == bits(ra.score({"mine": source}, truth, "mrr ndcg@3", profile=profile, interval="normal"))


def written(frame, path, how):
    """A truth or a log as files: a path."""
    if how.startswith("text"):
        frame.write_csv(path.with_suffix(".csv"))
        return path.with_suffix(".csv")
    path.mkdir()
    for number, begin in enumerate(range(0, len(frame), 500)):
        frame[begin : begin + 500].write_parquet(path / f"part-{number}.parquet", row_group_size=100)
    return path


@pytest.mark.usefixtures("rows_at_once")
@pytest.mark.parametrize("how", ["in order", "shuffled", "text", "text, shuffled"])
def test_the_same_bits_where_truth_and_log_are_files_too(reference, tmp_path, how):
    order = mixed if how.endswith("shuffled") else lambda frame: frame.sort("user_id", maintain_order=True)
    tables = {"mine": RUN, "truth": TRUTH, "train": TRAIN}
    paths = {name: written(order(table), tmp_path / name, how) for name, table in tables.items()}
    found = judged({"mine": paths["mine"]}, paths["truth"], train=paths["train"], memory="8GB")
    assert bits(found) == bits(reference)
    assert found.units.equals(reference.units)
    assert found.settings == reference.settings


@pytest.mark.usefixtures("rows_at_once")
@pytest.mark.parametrize("what", ["truth", "train"])
def test_one_in_a_file_and_the_other_in_memory(reference, tmp_path, what):
    RUN.write_parquet(tmp_path / "mine.parquet")
    given = {"truth": TRUTH, "train": TRAIN}
    given[what] = written(mixed(given[what]), tmp_path / what, "shuffled")
    assert bits(judged(tmp_path / "mine.parquet", **given, memory="8GB")) == bits(reference)


def test_what_can_only_be_had_whole_is_in_memory_whole(tmp_path, monkeypatch):
    """A truth that is no table in columns, and a log whose items are compared by all their users."""
    cut_small(monkeypatch, 300)
    RUN.write_parquet(tmp_path / "mine.parquet")
    TRAIN.write_parquet(tmp_path / "train.parquet")
    rows = TRUTH.unique(["user_id", "item_id"]).with_columns(pl.col("gain").cast(pl.Int64))
    qrels = rows.select(pl.format("{} 0 {} {}", "user_id", "item_id", "gain")).to_series()
    (tmp_path / "qrels").write_text("\n".join(qrels))
    options = {"metrics": "ndcg@10 ild(distance='training')@5", "truth": tmp_path / "qrels", "interval": "normal"}
    found = [
        score(tmp_path / "mine.parquet", **options, train=tmp_path / "train.parquet", **more)
        for more in ({}, {"memory": "8GB"})
    ]
    assert bits(found[0]) == bits(found[1])


def test_columns_of_the_truth_have_names_of_their_own(tmp_path):
    RUN.rename({"user_id": "who"}).write_parquet(tmp_path / "mine.parquet")
    TRUTH.rename({"user_id": "whom"}).write_parquet(tmp_path / "truth.parquet")
    TRAIN.write_parquet(tmp_path / "train.parquet")
    files = {"mine": tmp_path / "mine.parquet"}, tmp_path / "truth.parquet", "mrr"
    options = {"columns": "user=who", "truth_columns": "user=whom", "train": tmp_path / "train.parquet"}
    whole, cut = (score(*files, **options, memory=memory) for memory in (None, "8GB"))
    assert bits(whole) == bits(cut)
    assert bits(whole)[0] == bits(ra.score({"mine": RUN}, TRUTH, "mrr", train=TRAIN))[0]
    for memory in (None, "8GB"):
        with pytest.raises(InputError, match="I201"):
            score(*files, **options | {"truth_columns": "user=who"}, memory=memory)


@pytest.mark.parametrize(
    ("name", "table", "code"),
    [
        ("truth", TRUTH.with_columns(user_id=pl.format("u{}", "user_id")), "I403"),
        ("train", TRAIN.with_columns(user_id=pl.format("u{}", "user_id")), "I403"),
        ("truth", TRUTH.with_columns(user_id=pl.col("user_id") + 10_000), "I401"),
        ("truth", TRUTH.with_columns(gain=-pl.col("gain") - 1), "I303"),
        ("train", TRAIN.with_columns(item_id=pl.col("item_id") + 10_000), "I406"),
    ],
)
def test_what_is_refused_is_refused_in_files(tmp_path, name, table, code):
    RUN.write_parquet(tmp_path / "mine.parquet")
    table.write_parquet(tmp_path / "other.parquet")
    given = {"truth": TRUTH, "train": TRAIN} | {name: tmp_path / "other.parquet"}
    for more in ({}, {"memory": "8GB"}):
        with refused(code):
            judged(tmp_path / "mine.parquet", **given, **more)


def test_other_ids_and_conventions(tmp_path, monkeypatch):
    cut_small(monkeypatch, 90)
    named = {"user_id": pl.format("é{}", "user_id"), "item_id": pl.format("i{}", "item_id")}
    run, truth = mixed(RUN).with_columns(**named), TRUTH.with_columns(**named)
    run.write_csv(tmp_path / "run.csv")
    options = {"metrics": "ndcg@10 rprec hit@3", "ties": "trec", "interval": "bootstrap", "resamples": 300}
    whole = score({"run": str(tmp_path / "run.csv")}, truth, **options)
    assert bits(score(str(tmp_path / "run.csv"), truth, memory="8GB", **options)) == bits(whole)


def test_users_that_only_one_side_has_stand_at_either_end(reference):
    assert {"C004", "C010"} <= {finding.code for finding in reference.findings}


class TestRefusals:
    def test_a_budget_that_is_too_small_to_read_says_what_would_do(self, tmp_path):
        for name, table in (("mine", RUN), ("truth", TRUTH)):
            table.write_parquet(tmp_path / f"{name}.parquet")
        with refused("U143", match=r"must hold take [\d,]+ MB, and reading takes 64 MB"):
            judged(tmp_path / "mine.parquet", tmp_path / "truth.parquet", memory="1MB")

    def test_a_budget_that_is_too_small_says_what_would_do(self, tmp_path):
        RUN.write_parquet(tmp_path / "mine.parquet")
        with refused("U143", match=r"scoring 404 users takes 64 MB"):
            judged(tmp_path / "mine.parquet", memory="1MB")

    @pytest.mark.parametrize(("before", "after", "warned"), [(9, 9 << 30, 1), (9 << 30, 9 << 30, 0), (9, 7 << 30, 0)])
    def test_more_memory_than_the_budget_is_said(self, tmp_path, monkeypatch, before, after, warned):
        RUN.write_parquet(tmp_path / "mine.parquet")
        TRUTH.write_parquet(tmp_path / "truth.parquet")
        sizes = iter([before, after])
        monkeypatch.setattr(out_of_core, "most_resident", lambda: next(sizes))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            judged(tmp_path / "mine.parquet", tmp_path / "truth.parquet", memory="8GB")
        assert [str(one.message) for one in said] == [
            "the process used 9,216 MB, 1,024 MB more than memory=8,192 MB"
        ] * warned

    @pytest.mark.parametrize("size", ["much", "0GB", "-1GB", "2XB"])
    def test_sizes(self, size):
        with pytest.raises(UsageError, match=r"is not an amount"):
            judged("mine.parquet", memory=size)

    def test_only_files_can_be_larger_than_memory(self, tmp_path):
        with refused("U223", match="in memory already"):
            judged(RUN, memory="2GB")
        (tmp_path / "run.json").write_text('{"1": {"2": 0.5}}')
        with pytest.raises(UsageError, match=r"run\.json cannot be read in chunks"):
            judged(tmp_path / "run.json", memory="8GB")
        import gzip

        (tmp_path / "run.csv.gz").write_bytes(gzip.compress(RUN.write_csv().encode()))
        with pytest.raises(UsageError, match=r"gzip archive"):
            judged(tmp_path / "run.csv.gz", memory="8GB")

    def test_a_broken_file_is_named(self, tmp_path):
        half = len(RUN) // 2
        RUN[:half].write_parquet(tmp_path / "part-0.parquet")
        RUN[half:].write_parquet(tmp_path / "part-1.parquet")
        data = bytearray((tmp_path / "part-1.parquet").read_bytes())
        data[4:400] = bytes(396)
        (tmp_path / "part-1.parquet").write_bytes(data)
        with refused("I104", match=r"part-1\.parquet"):
            judged(tmp_path, memory="8GB")

    @pytest.mark.parametrize("memory", [None, "8GB"])
    @pytest.mark.parametrize("name", ["mine", "truth", "train"])
    def test_a_part_that_was_cut_off_is_named(self, tmp_path, name, memory):
        tables = {"mine": RUN, "truth": TRUTH, "train": TRAIN}
        paths = {one: written(table, tmp_path / one, "parts") for one, table in tables.items()}
        part = paths[name] / "part-1.parquet"
        part.write_bytes(part.read_bytes()[:1_500])
        with refused("I104", match=r"part-1\.parquet"):
            judged({"mine": paths["mine"]}, paths["truth"], train=paths["train"], memory=memory)

    def test_a_short_line_of_text_is_shown(self, tmp_path):
        text = RUN.head(2_000).write_csv().splitlines()
        text[1_500] = "7,8"
        (tmp_path / "run.csv").write_text("\n".join(text))
        with refused("I105", match=r"line 1501 of run\.csv"):
            judged(tmp_path / "run.csv", memory="8GB")

    def test_not_with_until(self):
        with pytest.raises(UsageError, match="combined with a sample"):
            judged("run.csv", memory="8GB", within=0.1)


def test_progress_tells_of_rows(tmp_path):
    RUN.write_parquet(tmp_path / "mine.parquet")
    mixed(TRUTH).write_parquet(tmp_path / "truth.parquet")
    TRAIN.sort("user_id").write_parquet(tmp_path / "train.parquet")
    reports = []
    given = {"truth": tmp_path / "truth.parquet", "train": tmp_path / "train.parquet"}
    judged(tmp_path / "mine.parquet", **given, memory="8GB", progress=lambda *one: reports.append(one))
    stages = [
        ("reading truth", TRUTH), ("sorting truth", TRUTH), ("reading the truth", TRUTH),
        ("reading log", TRAIN), ("counting the log", TRAIN), ("reading mine", RUN), ("judging mine", RUN),
    ]  # fmt: skip
    done = [one for one in reports if one[1] == one[2] and one[0] != "resampling users"]
    assert done == [(stage, len(table), len(table)) for stage, table in stages]


def test_the_command_line(tmp_path):
    from recassay.cli import build_app

    (tmp_path / "runs").mkdir()
    RUN.write_parquet(tmp_path / "runs" / "a.parquet")
    mixed(RUN).write_csv(tmp_path / "runs" / "b.csv")
    TRUTH.write_parquet(tmp_path / "truth.parquet")
    TRAIN.write_parquet(tmp_path / "train.parquet")
    words = ["score", str(tmp_path / "truth.parquet"), str(tmp_path / "runs"), "-m", "ndcg@10 epc@5", "--json"]
    words += ["--train", str(tmp_path / "train.parquet")]
    answers = [CliRunner().invoke(build_app(), [*words, *more]) for more in ([], ["--memory", "8GB"])]
    assert [one.exit_code for one in answers] == [0, 0]
    assert answers[0].stdout == answers[1].stdout
