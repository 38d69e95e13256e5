"""What a person does with scores from Spark, and what goes wrong on the way."""

import json
import os
import signal
import tempfile

import polars as pl
import pytest
from typer.testing import CliRunner

import recassay as ra
from recassay.backends.spark import score as spark_score
from recassay.backends.spark.scoring import ScoringTask
from recassay.cli import build_app
from recassay.data.synthetic import log
from recassay.errors import InputError, UsageError

from ..refusals import refused
from ..scoring import score

METRICS = "ndcg@10 recall@5 coverage@5"


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A folder with a truth, a training log, and two runs in part files that cut lists in two."""
    folder = tmp_path_factory.mktemp("lake")
    fold = ra.split.random(test=0.3, seed=1)(log(users=200, items=60, events=3_000))[0]
    fold.train.frame().write_parquet(folder / "train.parquet")
    fold.test.frame().select("user_id", "item_id").unique().write_parquet(folder / "truth.parquet")
    for name, model in {"pop": ra.models.Popular(), "knn": ra.models.UserKNN()}.items():
        rows = ra.play(model, fold, ra.protocols.ranking(k=10)).frame().drop("score")
        parts = folder / "runs" / name
        parts.mkdir(parents=True)
        for number, begin in enumerate(range(0, rows.height, 333)):
            rows[begin : begin + 333].write_parquet(parts / f"part-{number}.parquet")
        rows.head(0).write_parquet(parts / "part-99.parquet")
    return folder


def from_paths(lake, **how):
    return score(lake / "runs", lake / "truth.parquet", METRICS, train=lake / "train.parquet", **how)


@pytest.mark.path
def test_paths_and_tables_give_what_the_laptop_gives(spark, lake, tasks):
    whole = from_paths(lake)
    assert repr(tasks.rows) == repr(whole.rows)
    assert tasks.findings == whole.findings
    assert str(tasks) == str(whole)
    assert tasks.values("knn", "ndcg@10").tolist() == whole.values("knn", "ndcg@10").tolist()
    runs = {name: spark.read.parquet(str(lake / "runs" / name)) for name in ("knn", "pop")}
    tables = score(runs, spark.read.parquet(str(lake / "truth.parquet")), METRICS, train=lake / "train.parquet")
    assert repr(tables.rows) == repr(whole.rows)
    assert repr(ra.compare(tables, baseline="pop")) == repr(ra.compare(whole, baseline="pop"))


def test_known_users_are_those_of_the_laptop(spark, lake, tmp_path):
    log = pl.read_parquet(lake / "train.parquet").filter(pl.col("user_id") % 3 > 0)
    log.write_parquet(tmp_path / "some.parquet")
    given = (lake / "runs", lake / "truth.parquet", METRICS)
    here, there = (
        score(*given, train=tmp_path / "some.parquet", users="known", engine=engine) for engine in (None, "spark")
    )
    assert repr(there.rows) == repr(here.rows)
    assert there.findings == here.findings
    assert there.settings["population"] == here.settings["population"]
    assert there.settings["population"]["users"] < there.settings["population"]["of"]
    with pytest.raises(UsageError, match="U105"):
        score(*given, train=log, users="known", engine="spark")
    log.with_columns(pl.col("user_id") + 1_000).write_parquet(tmp_path / "others.parquet")
    with pytest.raises(InputError, match="I406"):
        score(*given, train=tmp_path / "others.parquet", users="known", engine="spark")


@pytest.mark.parametrize("order", ["ascending", "descending", "mixed"])
def test_scores_that_look_like_ranks_are_reported_as_on_the_laptop(spark, tmp_path, order):
    places = {"ascending": [1, 2, 3, 4], "descending": [4, 3, 2, 1], "mixed": [2, 4, 1, 3]}[order]
    rows = [(user, 10 * user + item, float(place)) for user in range(30) for item, place in enumerate(places)]
    run = pl.DataFrame(rows, schema=["user_id", "item_id", "score"], orient="row")
    (tmp_path / "runs" / "ranked").mkdir(parents=True)
    run[:50].write_parquet(tmp_path / "runs" / "ranked" / "part-0.parquet")  # cuts a list in two
    run[50:].write_parquet(tmp_path / "runs" / "ranked" / "part-1.parquet")
    (tmp_path / "runs" / "sound").mkdir()
    run.with_columns(pl.col("score") / 8).write_parquet(tmp_path / "runs" / "sound" / "part-0.parquet")
    run.filter(pl.col("score") < 3).select("user_id", "item_id").write_parquet(tmp_path / "truth.parquet")
    whole = score(tmp_path / "runs", tmp_path / "truth.parquet", "ndcg@2")
    found = score(tmp_path / "runs", tmp_path / "truth.parquet", "ndcg@2", engine="spark")
    assert found.findings == whole.findings
    assert repr(found.rows) == repr(whole.rows)
    said = {"ascending": [("R004", "warning")], "mixed": [("R004", "warning")], "descending": []}[order]
    assert [(one.code, one.severity) for one in found.findings if one.code == "R004"] == said


@pytest.fixture(scope="module")
def tasks(lake, spark):
    return from_paths(lake, engine="spark")


def test_groups_of_users_are_what_the_laptop_gives(lake, spark):
    users = pl.DataFrame({"user_id": range(1, 201), "country": [("de", "fr", "it")[user % 3] for user in range(200)]})
    whole = from_paths(lake, users=users, by="country")
    tasks = from_paths(lake, users=users, by="country", engine="spark")
    assert tasks.groups[0].to_dict() == whole.groups[0].to_dict()
    items = pl.DataFrame({"item_id": range(1, 61), "genre": ["war", "noir"] * 30})
    with pytest.raises(UsageError, match=r"U215(.|\n)*groups of items are not computed on Spark"):
        from_paths(lake, items=items, by_item="genre", engine="spark")


def test_values_are_written_as_on_the_laptop(lake, tasks, tmp_path):
    whole = from_paths(lake)
    assert tasks.frame(dataset="lake").equals(whole.frame(dataset="lake"))
    tasks.write(tmp_path / "scores.parquet", dataset="lake")
    assert pl.read_parquet(tmp_path / "scores.parquet").equals(whole.frame(dataset="lake"))
    assert tasks.named["pop"].tolist() == whole.named["pop"].tolist()


def test_what_tasks_wrote_is_removed_unless_its_folder_was_named(lake, spark, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    from_paths(lake, engine="spark")
    assert not list((tmp_path / "temporary").iterdir())
    from_paths(lake, engine="spark", work=tmp_path / "kept")
    assert list((tmp_path / "kept").glob("recassay-*/part-*.parquet"))


def test_a_worker_that_dies_is_tried_again_and_nothing_counts_twice(lake, spark, tmp_path, monkeypatch):
    mark = tmp_path / "died"

    class Deadly(ScoringTask):
        def __call__(self, piece):
            found = super().__call__(piece)
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return found

    whole = from_paths(lake)
    monkeypatch.setattr(spark_score, "ScoringTask", Deadly)
    tasks = from_paths(lake, engine="spark")
    assert mark.exists()
    assert repr(tasks.rows) == repr(whole.rows)
    assert tasks.frame().equals(whole.frame())


def test_a_damaged_part_file_is_named(lake, spark, tmp_path):
    for part in sorted((lake / "runs" / "pop").glob("part-*.parquet")):
        (tmp_path / part.name).write_bytes(part.read_bytes())
    broken = tmp_path / "part-2.parquet"
    broken.write_bytes(broken.read_bytes()[:-100])
    with pytest.raises(InputError) as caught:
        score(
            {"pop": tmp_path},
            lake / "truth.parquet",
            METRICS,
            train=lake / "train.parquet",
            engine="spark",
        )
    assert (caught.value.code, caught.value.where) == ("I104", str(broken))


def test_a_table_without_order_is_refused_and_files_have_one(lake, spark, tmp_path):
    rows = pl.read_parquet(lake / "runs" / "pop").drop("rank")
    rows.write_parquet(tmp_path / "pop.parquet")
    with refused("U223"):
        score(spark.createDataFrame(rows.to_arrow()), lake / "truth.parquet", "mrr", engine="spark")
    tasks = score(tmp_path, lake / "truth.parquet", "mrr", engine="spark")
    assert tasks.rows == score(tmp_path, lake / "truth.parquet", "mrr").rows


def test_what_a_file_leaves_open_is_said_as_on_the_laptop(lake, spark, tmp_path):
    rows = pl.read_parquet(lake / "runs" / "pop")
    half = pl.when(pl.col("rank") < 4).then(pl.lit("a")).otherwise(pl.lit("b"))
    rows.with_columns(half.alias("model")).drop("rank").write_parquet(tmp_path / "pop.parquet")
    truth = tmp_path / "truth.parquet"
    answers = pl.read_parquet(lake / "truth.parquet")
    answers.with_columns(Bewertung=pl.int_range(pl.len()) % 5).write_parquet(truth)
    runs = {"pop": tmp_path / "pop.parquet"}
    tasks, whole = (score(runs, truth, "mrr", engine=engine) for engine in ("spark", "local"))
    assert {one.code for one in tasks.findings} >= {"R001", "R002", "R003"}
    assert tasks.findings == whole.findings
    meant = score(
        runs,
        truth,
        "mrr",
        engine="spark",
        order="row",
    )
    assert meant.rows == whole.rows
    assert "R001" not in {one.code for one in meant.findings}
    rows.rename({"rank": "Platz"}).write_parquet(tmp_path / "pop.parquet")
    with refused("I204"):
        score(runs, truth, "mrr", engine="spark")
    with refused("U223"):
        score({"pop": spark.createDataFrame(rows.to_arrow())}, truth, "mrr", engine="spark", order="row")


def test_most_metrics_cost_one_job_and_an_empty_truth_is_refused(lake, spark):
    """Statistics of the truth take another job, which only metrics start that read them."""
    truth, run = (spark.read.parquet(str(lake / name)) for name in ("truth.parquet", "runs/pop"))
    status = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("one", "")
    score(run, truth, "ndcg@10 recall@5 mrr", interval=None)
    spark.sparkContext.setJobGroup("two", "")
    score(run, truth, "err@5", interval=None)
    spark.sparkContext.setJobGroup("", "")
    assert [len(status.getJobIdsForGroup(group)) for group in ("one", "two")] == [1, 2]
    for metric in ("mrr", "err@5"):
        with refused("I102"):
            score(run, truth.limit(0), metric)


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"within": 0.1}, "U107"),
        ({"memory": "1GB"}, "U107"),
        ({"engine": "sparks"}, "U107"),
        ({"runs": 7}, "U223"),
        ({"runs": {"a": {"ann": ["x"]}}}, "U223"),
    ],
)
def test_what_spark_does_not_do(lake, spark, how, code):
    given = {"runs": lake / "runs", "engine": "spark"} | how
    with refused(code):
        score(given.pop("runs"), lake / "truth.parquet", "mrr", **given)


def test_the_truth_may_have_columns_of_its_own(lake, spark, tmp_path):
    rows = pl.read_parquet(lake / "truth.parquet").rename({"user_id": "who", "item_id": "what"})
    rows.write_parquet(tmp_path / "t.parquet")
    own = {"truth_columns": "user=who,item=what", "columns": "user=user_id,rank=rank"}
    renamed = score(lake / "runs", tmp_path / "t.parquet", "mrr", engine="spark", **own)
    assert repr(renamed.rows) == repr(score(lake / "runs", lake / "truth.parquet", "mrr").rows)


def test_a_cluster_needs_a_folder_that_all_see(lake, spark, monkeypatch):
    monkeypatch.setattr(spark_score, "is_local", lambda spark: False)
    with refused("U227"):
        from_paths(lake, engine="spark")


def test_the_command_line_prints_the_same(lake, spark, tmp_path):
    truth, train = (str(lake / f"{name}.parquet") for name in ("truth", "train"))
    words = ["score", truth, str(lake / "runs"), "-m", METRICS, "--train", train]
    local, tasks = (
        json.loads(CliRunner().invoke(build_app(), [*words, "--json", "--engine", engine]).stdout)
        for engine in ("local", "spark")
    )
    assert tasks["rows"] == local["rows"]
    assert tasks["comparisons"] == local["comparisons"]
    assert tasks["findings"] == local["findings"]
    done = CliRunner().invoke(build_app(), [*words, "--engine", "spark", "-o", str(tmp_path / "out")])
    assert done.exit_code == 0
    assert (tmp_path / "out" / "report.html").is_file()
    users = pl.read_parquet(truth)["user_id"].n_unique()
    assert pl.read_parquet(tmp_path / "out" / "scores.parquet").height == 2 * users
    done = CliRunner().invoke(build_app(), ["compare", str(tmp_path / "out"), "--json"])
    assert json.loads(done.stdout)["comparisons"][0]["p"] == local["comparisons"][0]["p"]
