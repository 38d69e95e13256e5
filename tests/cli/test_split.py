"""``recassay split``, ``fit`` and ``recommend``: from a log to run files and their scores without Python."""

import polars as pl
import pytest

import recassay as ra
from recassay.data.synthetic import log

LOG = log(users=60, items=40, events=1200, seed=1)


@pytest.fixture
def mine(folder):
    rows = LOG.frame().rename({"user_id": "who", "item_id": "what", "timestamp": "at"})
    rows.write_csv(folder / "mine.csv")
    return folder


NAMES = ("--columns", "user=who,item=what,timestamp=at")


def test_the_folds_of_files_are_those_of_python(recassay, mine):
    answer = recassay("split", "mine.csv", *NAMES, "--split", "k_folds(k=2)", "-o", "folds", "--json")
    assert answer.code == 0
    assert [fold["folder"] for fold in answer.json["folds"]] == ["folds/0", "folds/1"]
    for fold in ra.split.k_folds(k=2)(LOG):
        read = ra.read_fold(f"folds/{fold.number}")
        assert read.train.frame().equals(fold.train.frame())
        assert read.test.frame().sort(pl.all()).equals(fold.test.frame().select("user_id", "item_id").sort(pl.all()))
        assert (read.leakage, read.number, dict(read.how)) == (fold.leakage, fold.number, dict(fold.how))


def test_a_run_of_files_is_that_of_python(recassay, mine):
    recassay("split", "mine.csv", *NAMES, "--split", "global_time(quantile=0.8)", "-o", "folds")
    assert recassay("recommend", "PureSVD(factors=4)", "folds/0", "-k", 20, "-o", "folds/0/runs/svd.parquet").code == 0
    fold = ra.split.global_time(quantile=0.8)(LOG)[0]
    played = ra.play("PureSVD(factors=4)", fold, ra.protocols.ranking(k=20, bins=0))
    assert ra.read_run("folds/0/runs/svd.parquet").frame()["item_id"].equals(played.frame()["item_id"])
    answer = recassay("score", "folds/0", "folds/0/runs", "-m", "ndcg@10 efd@10", "--json")
    expected = ra.score(played, fold, "ndcg@10 efd@10")
    found = answer.rows["svd"]
    assert {name: found[name]["mean"] for name in found} == {row.metric: row.mean for row in expected.rows}


def test_a_fitted_model_in_a_file_recommends_as_the_model_by_name(recassay, mine):
    recassay("split", "mine.csv", *NAMES, "-o", "folds")
    assert recassay("fit", "PureSVD(factors=4)", "folds/0", "-o", "svd.npz").code == 0
    recassay("recommend", "svd.npz", "folds/0", "-o", "stored.csv")
    recassay("recommend", "PureSVD(factors=4)", "folds/0", "-o", "named.csv")
    assert (mine / "stored.csv").read_bytes() == (mine / "named.csv").read_bytes()


def test_the_users_without_training_events_get_no_list_and_are_counted(recassay, folder):
    (folder / "log.csv").write_text("user_id,item_id\n1,7\n1,8\n1,9\n2,7\n2,9\n3,9\n")
    (folder / "fold").mkdir()
    log = pl.read_csv(folder / "log.csv")
    log[[0, 1, 3]].write_parquet(folder / "fold/train.parquet")
    log[[2, 4, 5]].write_parquet(folder / "fold/truth.parquet")
    for model, said in (("UserKNN", "no list for 1 of 3 users without training events"), ("Popular", "")):
        answer = recassay("recommend", model, "fold", "-o", "run.csv")
        assert answer.code == 0
        assert pl.read_csv(folder / "run.csv")["user_id"].unique().sort().to_list() == [1, 2, *([] if said else [3])]
        assert said in answer.err
        assert bool(said) == ("no list" in answer.err)


def test_all_users_of_a_log_get_lists(recassay, mine):
    answer = recassay("recommend", "Popular", "mine.csv", *NAMES, "-k", 5, "-o", "all.tsv", "--json")
    assert answer.json == {"output": "all.tsv", "users": 60, "lists": 60, "rows": 300}


def test_ratings_are_gains_and_filters_come_first(recassay, folder):
    (folder / "rated.csv").write_text("user_id,item_id,rating\n1,7,5\n1,8,5\n1,9,5\n2,7,3\n")
    once = ("--filter", "core(users=2, items=1)", "--split", "k_folds(k=3)")
    answer = recassay("split", "rated.csv", *once, "-o", "folds")
    assert answer.code == 0, answer.err
    truth = pl.read_parquet("folds/0/truth.parquet")
    assert truth.columns == ["user_id", "item_id", "gain"]
    assert set(truth["gain"]) == {5.0}
    assert 2 not in pl.read_parquet("folds/0/train.parquet")["user_id"]


@pytest.mark.parametrize(
    ("arguments", "code", "advice"),
    [
        (("recommend", "Popular", "folds", "-o", "run.csv"), "I109", "give one of its folds, such as folds/0"),
        (("score", "folds", "runs"), "I109", "give one of its folds, such as folds/0"),
        (("recommend", "Popular", "folds/0", "-o", "run.xlsx"), "U111", ".parquet, .csv, .tsv or .trec"),
        (("recommend", "no.npz", "folds/0", "-o", "run.csv"), "U123", "recassay fit MODEL FOLD -o FILE"),
        (("fit", "Popular", "folds/0", "-o", "popular.bin"), "U111", "ends in .npz"),
        (("fit", "Populer", "folds/0", "-o", "popular.npz"), "U115", "did you mean 'Popular'?"),
        (("split", "mine.csv", *NAMES, "--split", "lasst", "-o", "other"), "U115", "did you mean 'last'?"),
    ],
)
def test_a_mistake_is_refused_with_what_to_write(recassay, mine, arguments, code, advice):
    recassay("split", "mine.csv", *NAMES, "-o", "folds")
    answer = recassay(*arguments)
    assert answer.code == 2
    assert code in answer.err
    assert advice in answer.err


def test_seeds_are_continued_for_their_users_from_their_times(recassay, folder):
    rows = [f"{user},{item},{time}" for user in "ab" for time, item in enumerate((1, 2, 3, 1, 2, 3))]
    (folder / "plays.csv").write_text("\n".join(["user_id,item_id,timestamp", *rows]))
    (folder / "seeds.csv").write_text("item_id,user_id,timestamp\n2,a,100\n1,c,200\n")
    words = ("recommend", "UserNGram(smoothing=0)", "plays.csv", "--seeds", "seeds.csv", "-k", 3, "--how", "argmax")
    answer = recassay(*words, "-o", "next.csv")
    assert answer.code == 0
    made = pl.read_csv(folder / "next.csv")
    assert made["user_id"].to_list() == ["a"] * 3 + ["c"] * 3
    assert made["item_id"].to_list() == [3, 1, 2, 2, 3, 1]
    assert made["timestamp"].to_list() == [101, 102, 103, 201, 202, 203]
    assert recassay(*words, "-o", "next.parquet", "--json").json == {"output": "next.parquet", "seeds": 2, "rows": 6}
    assert recassay(*words, "-o", "next.trec").err.startswith("[U111]")
    assert recassay(*words, "-o", "next.csv", "--sequences", "random_sequences").err.startswith("[U102]")
    (folder / "seeds.csv").write_text("item_id\n9\n")
    assert recassay(*words, "-o", "next.csv").err.startswith("[I361]")


def test_a_filter_reads_the_features_of_items(recassay, mine):
    items = LOG.frame()["item_id"].unique().sort()
    kinds = ["Office" if row % 4 == 0 else "Bar" for row in range(items.len())]
    pl.DataFrame({"item_id": items, "category": kinds}).write_csv(mine / "items.csv")
    words = ("split", "mine.csv", *NAMES, "-o", "folds", "--json", "--filter", "featured(without='Office')")
    (fold,) = recassay(*words, "--items", "items.csv").json["folds"]
    bars = items.filter(pl.Series(kinds) == "Bar")
    rows = LOG.frame().filter(pl.col("item_id").is_in(bars.implode())).height
    assert fold["train"] + fold["test"] == rows
    assert recassay(*words).err.startswith("[U105]")
    data = "{path: mine.csv, columns: {user: who, item: what, timestamp: at}, items: items.csv}"
    steps = "filters: featured(only='Bar')\nsplit: random(test=0.2)\nmodels: [Popular]\nmetrics: [recall@5]"
    (mine / "study.yaml").write_text(f"study: bars\ndata: {data}\n{steps}\njudge: {{resamples: 100}}\n")
    assert recassay("run", "study.yaml", "-o", "out", "--quiet").code == 0
    lock = (mine / "out" / "study.lock.yaml").read_text()
    assert f"events: {rows}\n" in lock
