"""``recassay split``, ``recommend`` and ``score`` with sequences: folds and generated sequences as files."""

import json

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.synthetic import log
from recassay.models.sequence import NGram

LOG = log(users=60, items=40, events=1200, seed=1)
RULE = "sessions(gap=604800)"
FOLD = ra.split.latest_sequences(test=0.3, strict=True)(ra.split.sessions(gap=604800)(LOG))[0]
METRICS = "seq_coverage@3 seq_precision@3 seq_ndpm@3 seq_diversity@3 seq_novelty@3 seq_serendipity@3 seq_confidence@3"
METRICS = f"{METRICS} seq_perplexity"


@pytest.fixture
def split(recassay, folder):
    LOG.frame().write_csv(folder / "mine.csv")
    options = ("--split", "latest_sequences(test=0.3, strict=True)", "--sequences", RULE)
    assert recassay("split", "mine.csv", *options, "-o", "st").code == 0
    return folder


def means(answer):
    return {(system, name): metric["mean"] for system, found in answer.rows.items() for name, metric in found.items()}


def test_a_fold_of_files_is_that_of_python(split):
    read = ra.read_fold("st/0")
    assert (read.train.fingerprint, read.test.fingerprint) == (FOLD.train.fingerprint, FOLD.test.fingerprint)
    assert dict(read.how) == {**FOLD.how, "sequences": RULE}
    assert (read.leakage, read.train.kind) == ("none", "clock")


def test_the_columns_are_those_that_the_documentation_names(split):
    seeds, truth, train = (pl.read_parquet(f"st/0/{name}.parquet") for name in ("seeds", "truth", "train"))
    columns = ["sequence_id", "user_id", "item_id", "timestamp", "position"]
    assert seeds.columns == truth.columns == train.columns == columns
    assert seeds["sequence_id"].to_list() == list(range(len(FOLD.test)))
    assert FOLD.test.item_vocabulary.decode(FOLD.test.seeds).equals(seeds["item_id"])
    assert truth["position"].min() == 1
    assert pl.read_parquet("st/0/items.parquet").height == FOLD.n_items


@pytest.mark.parametrize("suffix", ["csv", "parquet", "tsv"])
def test_a_model_of_the_command_line_has_the_scores_of_python(recassay, split, suffix):
    assert recassay("recommend", "NGram", "st/0", "-k", 3, "-o", f"st/0/runs/ngram.{suffix}").code == 0
    made = ra.sequences.generate(NGram(), FOLD, ra.protocols.sequence(k=3), name="ngram")
    expected = ra.sequences.score_sequences(FOLD, made)
    answer = recassay("score", "st/0", "st/0/runs", "-m", METRICS, "--json")
    assert answer.code == 0, answer.err
    found = answer.rows["ngram"]
    assert means(answer) == {("ngram", row.metric): row.mean for row in expected.rows}
    precision = expected.row("ngram", "seq_precision@3")
    assert (found["seq_precision@3"]["low"], found["seq_precision@3"]["high"]) == (precision.low, precision.high)


def test_another_program_reads_seeds_and_writes_rows_in_any_order(recassay, split):
    seeds = pl.read_parquet("st/0/seeds.parquet")
    rows = [(number, 2, item) for number, item in seeds.select("sequence_id", "item_id").rows()]
    rows += [(number, 1, 3 + number % 2) for number in seeds["sequence_id"]]
    shuffled = [rows[at] for at in np.random.default_rng(0).permutation(len(rows))]
    pl.DataFrame(shuffled, ["sequence", "rank", "item"], orient="row").write_csv("theirs.csv")
    items = np.stack([3 + np.arange(seeds.height) % 2, seeds["item_id"].to_numpy()], axis=1)
    codes = np.searchsorted(FOLD.test.item_vocabulary.ids.to_numpy(), items).astype(np.int32)
    nothing = np.full(codes.shape, np.nan)
    theirs = ra.sequences.Generated("theirs", codes, nothing, nothing[:, 0], 0)
    metrics = "seq_precision@2 seq_ndpm@2 seq_novelty@2 seq_confidence@2 seq_perplexity"
    answer = recassay("score", "st/0/truth.parquet", "theirs.csv", "-m", metrics, "--json")
    found = answer.rows["theirs"]
    for row in ra.sequences.score_sequences(FOLD, theirs, metrics).rows:
        assert found[row.metric]["mean"] == (None if np.isnan(row.mean) else row.mean)
    assert (found["seq_confidence@2"]["n"], found["seq_perplexity"]["mean"]) == (0, None)
    by_path = ra.sequences.score_sequences(FOLD, {"theirs": "theirs.csv"}, metrics)
    by_frame = ra.sequences.score_sequences(FOLD, {"theirs": pl.read_csv("theirs.csv")}, metrics)
    assert by_path.rows[0] == by_frame.rows[0]
    assert found["seq_precision@2"]["mean"] == by_path.rows[0].mean


def test_a_file_that_is_cut_off_is_a_finding(recassay, split):
    recassay("recommend", "NGram", "st/0", "-k", 3, "-o", "whole.csv")
    pl.read_csv("whole.csv").head(30).write_csv("cut.csv")
    answer = recassay(
        "score", "st/0", "cut.csv", "whole.csv", "-m", "seq_precision@3", "--json", "--fail-on", "warning"
    )
    assert answer.code == 1
    (finding,) = answer.json["findings"]
    lacking = len(FOLD.test) - 10
    assert finding["code"] == "G003"
    assert f"'cut' has no item for {lacking} of {len(FOLD.test)}" in finding["detail"]
    found = answer.rows
    counts = [found[name]["seq_precision@3"][count] for name in found for count in ("missing", "short")]
    assert counts == [lacking, 0, 0, 0]


def test_seeds_that_are_genres_in_any_order_are_scored_by_their_sequence(recassay, split):
    seeds = pl.read_parquet("st/0/seeds.parquet").select("sequence_id", "user_id", "timestamp", "item_id")
    genres = pl.DataFrame({"item_id": FOLD.test.item_vocabulary.ids}).with_columns(genre=pl.col("item_id") % 3)
    genres.write_csv("genres.csv")
    given = seeds.join(genres, on="item_id", maintain_order="left").drop("item_id")
    given.sample(fraction=1, shuffle=True, seed=1).write_csv("shuffled.csv")
    options = ("-k", 3, "--items", "genres.csv", "--how", "argmax")
    answer = recassay("recommend", "UserNGram", "st/0", *options, "--seeds", "shuffled.csv", "-o", "own.csv")
    assert answer.code == 0, answer.err
    scores = recassay("score", "st/0", "own.csv", "-m", "seq_precision@3", "--json")
    made = ra.sequences.generate(
        ra.models.sequence.UserNGram(), FOLD, ra.protocols.sequence(k=3, how="argmax"), seeds=given, items=genres
    )
    expected = ra.sequences.score_sequences(FOLD, made, "seq_precision@3").rows[0].mean
    assert means(scores)["own", "seq_precision@3"] == expected


def test_results_in_a_folder_are_of_sequences(recassay, split):
    recassay("recommend", "NGram", "st/0", "-k", 3, "-o", "st/0/runs/ngram.csv")
    recassay("recommend", "MostPopular", "st/0", "-k", 3, "-o", "st/0/runs/popular.csv")
    answer = recassay("score", "st/0", "st/0/runs", "-m", "seq_precision@3", "-o", "out", "--baseline", "popular")
    assert f"over {len(FOLD.test)} test sequences" in " ".join(answer.out.split())
    rows = json.loads((split / "out" / "summary.json").read_text())["rows"]
    assert {(row["protocol"], row["design"]) for row in rows} == {("sequence", "sequences")}
    assert recassay("compare", "out", "--baseline", "popular", "--json").code == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sequence_id": 10_000}, "1 of 6 rows have a sequence_id, such as 10000, that is not among 0 to"),
        ({"position": 2}, "sequence 0 has a position that is missing or twice there"),
        ({"item_id": 977}, "1 of 6 rows have an item that is in no sequence: 977"),
    ],
)
def test_rows_that_do_not_fit_are_refused(recassay, split, change, said):
    rows = {"sequence_id": [0, 0, 0, 1, 1, 1], "position": [1, 2, 3] * 2, "item_id": [3, 4, 3] * 2}
    for column, value in change.items():
        rows[column][2] = value
    pl.DataFrame(rows).write_csv("wrong.csv")
    answer = recassay("score", "st/0", "wrong.csv", "-m", "seq_precision@3")
    assert (answer.code, answer.err[:6]) == (2, "[I361]")
    assert said in " ".join(answer.err.split())


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("score", "st/0", "mine.csv", "--profile", "recbole"), "U102", "--profile is for ranked lists"),
        (("score", "st/0", "st/0/truth.parquet", "-m", "ndcg@10"), "U181", "begin with seq_"),
        (("score", "truth.csv", "runs", "-m", "seq_precision@5"), "U181", "the folder of a fold of sequences"),
        (("score", "st", "st/0/truth.parquet", "-m", "seq_precision@5"), "I109", "one of its folds, such as st/0"),
        (("split", "mine.csv", "--split", RULE, "-o", "x"), "U102", "makes sequences and does not split them"),
        (("split", "mine.csv", "--sequences", RULE, "-o", "x"), "U102", "divides events, not sequences"),
    ],
)
def test_a_mistake_says_what_to_write(recassay, split, arguments, code, said):
    answer = recassay(*arguments)
    assert (answer.code, answer.err[1:5]) == (2, code)
    assert said in " ".join(answer.err.split())


def test_a_fold_whose_test_sequences_lack_items_is_refused(split):
    truth = pl.read_parquet("st/0/truth.parquet")
    truth.filter(pl.col("sequence_id") > 0).write_parquet("st/0/truth.parquet")
    with pytest.raises(ra.InputError, match="not numbered 0 to"):
        ra.read_fold("st/0")
