"""Run files in pieces: the same bits as in memory, whatever the format and the order of the rows."""

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import recassay as ra
from recassay.data import pieces
from recassay.data.io import open_stretches
from recassay.data.pieces import Pieces
from recassay.engine import out_of_core
from recassay.errors import InputError, UsageError

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


def judged(run, **more):
    options = {"interval": "normal"} | more
    return ra.score({"mine": run}, TRUTH, METRICS, train=TRAIN, items=ITEM_TABLE, **options)


def bits(scores):
    columns = {key: column.tobytes() for key, column in scores.per_unit.items()}
    weights = {key: column.tobytes() for key, column in scores.per_unit_weights.items()}
    return columns, weights, repr(scores.rows), scores.findings


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "mine.parquet"
    RUN.write_parquet(path)
    return judged(path)


@pytest.fixture(params=[300, 10**6])
def rows_at_once(request, monkeypatch):
    monkeypatch.setattr(out_of_core, "_rows_at_once", lambda stretch, left: request.param)
    monkeypatch.setattr(pieces, "ROWS", 700)


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


def test_other_ids_and_conventions(tmp_path, monkeypatch):
    monkeypatch.setattr(out_of_core, "_rows_at_once", lambda stretch, left: 90)
    named = {"user_id": pl.format("é{}", "user_id"), "item_id": pl.format("i{}", "item_id")}
    run, truth = mixed(RUN).with_columns(**named), TRUTH.with_columns(**named)
    run.write_csv(tmp_path / "run.csv")
    asked = {"metrics": "ndcg@10 rprec hit@3", "ties": "trec", "interval": "bootstrap", "resamples": 300}
    whole = ra.score({"run": str(tmp_path / "run.csv")}, truth, **asked)
    assert bits(ra.score(str(tmp_path / "run.csv"), truth, memory="8GB", **asked)) == bits(whole)


def test_users_that_only_one_side_has_stand_at_either_end(reference):
    assert {"C001", "C004"} <= {finding.code for finding in reference.findings}


class TestPieces:
    def cut(self, users, size, tmp_path, parts=1):
        frame = pl.DataFrame({"user_id": users, "item_id": range(len(users))})
        for number in range(parts):
            frame[number * len(users) // parts : (number + 1) * len(users) // parts].write_parquet(
                tmp_path / f"part-{number}.parquet"
            )
        return list(Pieces(open_stretches(tmp_path, "run", tmp_path), tmp_path, size))

    @pytest.mark.parametrize("size", [1, 2, 3, 5, 50])
    @pytest.mark.parametrize("parts", [1, 3])
    @pytest.mark.parametrize(
        "users", [[1, 1, 1, 1, 2, 3, 3, 4], [4, 1, 3, 1, 2, 1, 3, 1], [7] * 8, ["b", "a", "c", "a"] * 2]
    )
    def test_a_piece_has_whole_users_and_all_rows_are_in_one(self, users, size, parts, tmp_path, monkeypatch):
        monkeypatch.setattr(pieces, "ROWS", 2)
        found = self.cut(users, size, tmp_path, parts)
        assert sorted(item for piece in found for item in piece.frame["item_id"]) == list(range(8))
        seen = set()
        for piece in found:
            own = set(piece.frame["user_id"])
            assert not own & seen
            assert piece.last is None or not own or max(own) <= piece.last
            assert not seen or not own or min(own) > max(seen)
            seen |= own
            for user in own:  # a user's rows keep their order
                items = piece.frame.filter(pl.col("user_id") == user)["item_id"]
                assert items.is_sorted()
        assert found[-1].last is None


class TestRefusals:
    def test_a_budget_that_is_too_small_says_what_would_do(self, tmp_path):
        RUN.write_parquet(tmp_path / "mine.parquet")
        with pytest.raises(UsageError, match=r"judging 404 users 64 MB") as caught:
            judged(tmp_path / "mine.parquet", memory="1MB")
        assert caught.value.code == "U222"

    @pytest.mark.parametrize("size", ["much", "0GB", "-1GB", "2XB"])
    def test_sizes(self, size):
        with pytest.raises(UsageError, match=r"is no size"):
            judged("mine.parquet", memory=size)

    def test_only_files_can_be_larger_than_memory(self, tmp_path):
        with pytest.raises(UsageError, match="these are in memory") as caught:
            judged(RUN, memory="2GB")
        assert caught.value.code == "U223"
        (tmp_path / "run.json").write_text('{"1": {"2": 0.5}}')
        with pytest.raises(UsageError, match=r"run\.json cannot be read piece by piece"):
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
        with pytest.raises(InputError, match=r"part-1\.parquet") as caught:
            judged(tmp_path, memory="8GB")
        assert caught.value.code == "I104"

    def test_a_short_line_of_text_is_shown(self, tmp_path):
        text = RUN.head(2_000).write_csv().splitlines()
        text[1_500] = "7,8"
        (tmp_path / "run.csv").write_text("\n".join(text))
        with pytest.raises(InputError, match=r"line 1501 of run\.csv") as caught:
            judged(tmp_path / "run.csv", memory="8GB")
        assert caught.value.code == "I105"

    def test_not_with_until(self):
        with pytest.raises(UsageError, match="judging everyone"):
            judged("run.csv", memory="8GB", until=0.1)


def test_progress_tells_of_rows(tmp_path):
    RUN.write_parquet(tmp_path / "mine.parquet")
    told = []
    judged(tmp_path / "mine.parquet", memory="8GB", progress=lambda *one: told.append(one))
    assert ("judging mine", len(RUN), len(RUN)) in told


def test_the_command_line(tmp_path):
    from recassay.cli import app

    (tmp_path / "runs").mkdir()
    RUN.write_parquet(tmp_path / "runs" / "a.parquet")
    mixed(RUN).write_csv(tmp_path / "runs" / "b.csv")
    TRUTH.write_parquet(tmp_path / "truth.parquet")
    words = ["score", str(tmp_path / "truth.parquet"), str(tmp_path / "runs"), "-m", "ndcg@10", "--json"]
    told = [CliRunner().invoke(app, [*words, *more]) for more in ([], ["--memory", "8GB"])]
    assert [one.exit_code for one in told] == [0, 0]
    assert told[0].stdout == told[1].stdout
