"""A study of generated sequences from its file to its folder."""

import json

import numpy as np
import polars as pl
import pytest
import yaml

import recassay as ra
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.generated import Generated
from recassay.data.synthetic import log
from recassay.errors import RecassayError, UsageError
from recassay.models.sequence import NGram, Uniform, Unigram
from recassay.results.scores import restored
from recassay.study.run.sequences import generated_frame, generated_of

from ..config.test_schema import planned
from ..conftest import files

STUDY = """\
study: going on
data: {generate: "log(users=60, items=40, events=900)", sequences: sessions(gap=4000000)}
split: sequence_folds(k=2)
protocol: sequence(k=3, seeds=2)
models: {chance: Uniform, common: Unigram, chain: "NGram(order=2)"}
metrics: [seq_coverage@3, seq_precision@3, seq_novelty@2, seq_perplexity, seq_surprise]
compare: {baseline: chance}
judge: {resamples: 200}
"""
PLACE = "generated/sequence_folds(k=2)/fold-{}/seed-{}"


@pytest.fixture
def write(study):
    return lambda **changes: study(STUDY, **changes)


def by_hand():
    sequences = ra.split.sessions(gap=4_000_000)(log(users=60, items=40, events=900))
    return ra.split.sequence_folds(k=2)(sequences)


def test_the_folder_of_a_study(write, tmp_path):
    results = ra.run_study(write(), tmp_path / "out")
    written = set(files(tmp_path / "out"))
    assert {"study.lock.yaml", "scores.parquet", "summary.json", "findings.jsonl", "report.html"} <= written
    for fold in (0, 1):
        for system in ("chance", "common", "chain"):
            assert f"runs/{PLACE.format(fold, 0)}/{system}.parquet" in written
    for exhibit in ("sequence-sizes", "item-frequency", "item-counts", "parallel", "by-position"):
        assert f"exhibits/generated/sequence_folds(k=2)/{exhibit}.csv" in written
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(text in page for text in ("generated sequences", "How often items are shown", "Metrics by position"))
    assert {row["design"] for row in results.rows} == {"sequences"}
    assert {(row["a"], row["b"]) for row in results.comparisons} == {("common", "chance"), ("chain", "chance")}
    assert {row["metric"] for row in results.comparisons} == {"seq_precision@3", "seq_novelty@2", "seq_surprise"}
    assert results.failures == ()


def test_the_rows_of_a_fold_are_those_of_score_sequences(write, tmp_path):
    results = ra.run_study(write(), tmp_path / "out")
    rows = {(row["fold"], row["system"], row["metric"]): row for row in results.rows}
    protocol = ra.protocols.sequence(k=3, seeds=2)
    models = {"chance": Uniform(), "common": Unigram(), "chain": NGram(order=2)}
    metrics = "seq_coverage@3 seq_precision@3 seq_novelty@2 seq_perplexity seq_surprise"
    for number, fold in enumerate(by_hand()):
        made = {name: ra.sequences.generate(model, fold, protocol, name=name) for name, model in models.items()}
        scores = ra.sequences.score_sequences(fold, made, metrics, resamples=200)
        for row in scores.rows:
            row_values = rows[number, row.system, row.metric]
            assert {name: row_values[name] for name in row.to_dict()} == row.to_dict()


def test_over_all_folds_every_sequence_counts_the_same(write, tmp_path):
    results = ra.run_study(write(), tmp_path / "out")
    scores = pl.read_parquet(tmp_path / "out" / "scores.parquet")
    folds = by_hand()
    n = sum(len(fold.test) for fold in folds)
    assert scores.height == 3 * n
    for system in ("chance", "common", "chain"):
        own = scores.filter(pl.col("system") == system)
        assert own["unit"].to_list() == list(range(n))
        users = [fold.test.user_vocabulary.decode(fold.test.users).to_list() for fold in folds]
        assert own["user"].to_list() == users[0] + users[1]
        rows = {(row["metric"], row["fold"]): row for row in results.rows if row["system"] == system}
        assert rows["seq_precision@3", "all"]["mean"] == pytest.approx(own["seq_precision@3"].mean(), abs=1e-14)
        assert rows["seq_precision@3", "all"]["n"] == n
        for value in ("mean", "accompanying"):
            both = [rows["seq_coverage@3", fold][value] for fold in (0, 1)]
            whole = rows["seq_coverage@3", "all"][value]
            if value == "mean":
                assert whole == pytest.approx(np.mean(both))
            else:
                assert whole["sd_seeds"] == pytest.approx(np.mean([one["sd_seeds"] for one in both]))


def test_a_run_is_a_table_of_lists(write, tmp_path):
    ra.run_study(write(), tmp_path / "out")
    first, second = by_hand()
    table = pl.read_parquet(tmp_path / "out" / "runs" / PLACE.format(1, 0) / "common.parquet")
    assert table.columns == ["seed", "sequence", "items", "chances", "surprise"]
    assert table["seed"].unique().to_list() == [0, 1]
    begin = len(first.test)
    assert table.filter(pl.col("seed") == 1)["sequence"].to_list() == list(range(begin, begin + len(second.test)))
    made = ra.sequences.generate(Unigram(), second, ra.protocols.sequence(k=3, seeds=2))[1]
    found = table.filter(pl.col("seed") == 1)
    assert found["items"].explode().to_list() == second.test.item_vocabulary.decode(made.items.ravel()).to_list()
    assert found["surprise"].to_list() == made.surprise.tolist()


def test_seeds_of_a_study_give_different_draws(write, tmp_path):
    ra.run_study(write(add="seeds: [0, 1]\n"), tmp_path / "out")
    tables = [pl.read_parquet(tmp_path / "out" / "runs" / PLACE.format(0, seed) / "chance.parquet") for seed in (0, 1)]
    assert [table["seed"].unique(maintain_order=True).to_list() for table in tables] == [[0, 1], [2, 3]]


def test_stored_results_are_used_and_lost_ones_computed_again(write, tmp_path, monkeypatch):
    out = tmp_path / "out"
    ra.run_study(write(), out, threads=1)
    before = files(out)
    ra.run_study(write(), tmp_path / "other", threads=2)
    assert files(tmp_path / "other") == before
    (out / "runs" / PLACE.format(1, 0) / "chain.parquet").unlink()
    (out / "summary.json").unlink()
    ra.run_study(write(), out)
    assert files(out) == before

    def never(*_arguments, **_options):
        raise AssertionError("it is there already")

    monkeypatch.setattr("recassay.study.run.sequences.generate", never)
    ra.run_study(write(), out)
    assert files(out) == before


def test_a_failing_model_is_recorded_and_the_others_are_scored(write, tmp_path, monkeypatch):
    """It fails on the second fold alone, so no trial can find out."""
    second, fit = by_hand()[1].train.fingerprint, Unigram.fit

    def failing(self, sequences):
        if sequences.fingerprint == second:
            raise MemoryError("too common")
        return fit(self, sequences)

    whole = ra.run_study(write(), tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(Unigram, "fit", failing)
        results = ra.run_study(write(), tmp_path / "out")
    (failure,) = results.failures
    assert (failure["system"], failure["fold"], failure["code"]) == ("common", 1, "MemoryError")
    path = tmp_path / "out" / "failures" / PLACE.format(1, 0) / "common.json"
    assert json.loads(path.read_text()) == failure
    assert {row["system"] for row in results.rows if row["fold"] == "all"} == {"chance", "chain"}
    ra.run_study(write(), tmp_path / "out")
    assert files(tmp_path / "out") == files(tmp_path / "whole")
    assert whole.failures == ()


def test_sequences_that_exist_already(study, tmp_path):
    rng = np.random.default_rng(0)
    table = pl.DataFrame({
        "list": rng.integers(30, size=200), "song": rng.integers(12, size=200), "at": rng.permutation(200),
    })  # fmt: skip
    table.write_parquet(tmp_path / "lists.parquet")
    data = "{path: lists.parquet, columns: {user: list, item: song, timestamp: at}, sequences: ready_made}"
    path = study(STUDY.replace(STUDY.splitlines()[1], f"data: {data}"))
    ra.run_study(path, tmp_path / "out")
    fold = json.loads((tmp_path / "out/folds/lists/sequence_folds(k=2)/fold-0.json").read_text())
    sizes = table.group_by("list").len()["len"]
    assert fold["train"]["sequences"] + fold["test"]["sequences"] == (sizes > 1).sum()
    assert fold["removed"] == {"item alone in its sequence": int((sizes == 1).sum())}
    lock = yaml.safe_load((tmp_path / "out" / "study.lock.yaml").read_text())
    assert (lock["data"][0]["sequences"], lock["designs"], lock["experiments"]) == ("ready_made", {"sequences": {}}, [])


OWN = """
import numpy as np

class Stay:
    def fit(self, log):
        self.items = log.n_items
        return self

    def next_probabilities(self, histories):
        rows = np.full((len(histories), self.items), 0.5 / self.items)
        rows[np.arange(len(rows)), histories.last(1, pad=-1)[:, 0]] += 0.5
        return rows
"""


def test_file_models_and_models_of_logs_can_generate_sequences(write, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    change = (
        '{chance: Uniform, common: Unigram, chain: "NGram(order=2)"}',
        '{chance: Uniform, stay: "own.py:Stay()", after: Markov}',
    )
    results = ra.run_study(write(replace=[change]), tmp_path / "out")
    assert results.failures == ()
    assert {row["system"] for row in results.rows if row["fold"] == "all"} == {"chance", "stay", "after"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((", sequences: sessions(gap=4000000)", ""), "rule that makes sequences"),
        (("sessions(gap=4000000)", "random_sequences"), "does not make them"),
        (("split: sequence_folds(k=2)", "split: sessions(gap=5)"), "does not split them"),
        (("protocol: sequence(k=3, seeds=2)", "designs: TI-AR-AN\nprotocol: sequence(k=3)"), "`designs` is for ranked"),
        (("protocol: sequence(k=3, seeds=2)", "protocol: ranking"), "`sequences` is for generated"),
        (("chance: Uniform", "chance: Unifrom"), "there is no model of sequences"),
    ],
)
def test_invalid_settings_are_errors_with_a_line(write, change, message):
    with pytest.raises(UsageError, match=message) as caught:
        planned(write(replace=[change]))
    assert "line" in str(caught.value)


def test_a_protocol_of_lists_rejects_sequences(study):
    path = study(
        replace=[
            ('"log(users=60, items=40, events=900)"', '"log(users=60, items=40, events=900)", sequences: ready_made')
        ]
    )
    with pytest.raises(UsageError, match="ranked lists"):
        planned(path)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("seq_precision@3", "ndcg@3"), "U181"),
        (("seq_precision@3", "seq_precision@9"), "U103"),
        (("gap=4000000", "gap=1"), "U116"),
    ],
)
def test_errors_are_found_before_anything_is_written(write, tmp_path, change, code):
    with pytest.raises(RecassayError, match=code):
        ra.run_study(write(replace=[change]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_short_generated_lists_survive_storage():
    items = np.array([[2, 0, -1], [-1, -1, -1]], np.int32)
    chances = np.where(items < 0, np.nan, 0.25)
    runs = [Generated("a", items, chances, np.array([np.inf, np.nan]), seed) for seed in (4, 2)]
    vocabulary = Vocabulary(pl.Series(["x", "y", "z"]))
    again = generated_of("a", generated_frame(runs, vocabulary, 7), vocabulary)
    assert [one.seed for one in again] == [4, 2]
    for one in again:
        assert one.items.dtype == np.int32
        np.testing.assert_array_equal(one.items, items)
        np.testing.assert_array_equal(one.chances, chances)
        np.testing.assert_array_equal(one.surprise, [np.inf, np.nan])


def test_a_system_that_cannot_be_scored_is_recorded_and_the_others_are_scored(write, tmp_path, monkeypatch):
    from recassay.study.run import sequences

    score = sequences.scored

    def failing(fold, answers, *arguments, **options):
        if "common" in answers and len(fold.train) > 20:  # not in the dry run
            raise ValueError("too common to score")
        return score(fold, answers, *arguments, **options)

    monkeypatch.setattr(sequences, "DRY_RUN_SEQUENCES", 20)
    monkeypatch.setattr(sequences, "scored", failing)
    results = ra.run_study(write(), tmp_path / "out")
    assert {row["message"] for row in results.failures} == {"too common to score"}
    assert {row["system"] for row in results.rows} == {"chance", "chain"}


def test_the_most_popular_items_of_sequences_longer_than_the_catalogue(study, tmp_path):
    """Every item has probability 0 past the end of the list, so perplexity is infinite, and the study goes on."""
    rng = np.random.default_rng(1)
    rows = [(user, f"i{rng.integers(3)}", place) for user in range(20) for place in range(6)]
    pl.DataFrame(rows, ["user", "item", "timestamp"], orient="row").write_csv(tmp_path / "long.csv")
    text = STUDY.replace(STUDY.splitlines()[1], "data: {path: long.csv, sequences: ready_made}")
    text = text.replace("chance: Uniform", "popular: MostPopular, chance: Uniform")
    results = ra.run_study(study(text), tmp_path / "out")
    assert results.failures == ()
    perplexity = {row["system"]: restored(row)["mean"] for row in results.rows if row["metric"] == "seq_perplexity"}
    assert perplexity["popular"] == np.inf
    assert perplexity["chance"] == pytest.approx(3)


def test_features_similarities_and_a_primitive_of_a_study_are_those_of_the_function(study, tmp_path):
    items = [f"i{code}" for code in range(40)]
    made = log(users=60, items=40, events=900)
    ids = made.item_vocabulary.ids.to_list()
    pl.DataFrame({"item_id": ids, "category": [f"c{code % 7}" for code in range(40)]}).write_csv(tmp_path / "cats.csv")
    pairs = pl.DataFrame({"item_id": ids[:-1], "other_id": ids[1:], "similarity": [0.5] * 39})
    pairs.write_csv(tmp_path / "pairs.csv")
    given = "items: cats.csv, similarities: pairs.csv, primitive: NGram"
    metrics = [
        "seq_diversity(similarity='features')@3",
        "seq_diversity(similarity='given')@3",
        "seq_serendipity(primitive='given')@3",
    ]
    text = STUDY.replace("sequences: sessions(gap=4000000)", f"sequences: sessions(gap=4000000), {given}")
    text = text.replace("sequence(k=3, seeds=2)", "sequence(k=3)").replace("sequence_folds(k=2)", "latest_sequences")
    text = text.replace(text.splitlines()[5], f"metrics: {json.dumps(metrics)}")
    results = ra.run_study(study(text), tmp_path / "out")
    fold = ra.split.latest_sequences()(ra.split.sessions(gap=4_000_000)(made))[0]
    generated = ra.sequences.generate(NGram(), fold, ra.protocols.sequence(k=3), name="chain")
    scores = ra.sequences.score_sequences(
        fold, generated, metrics, items=tmp_path / "cats.csv", similarities=pairs, primitive=NGram(), interval=None
    )
    found = {row["metric"]: row["mean"] for row in results.rows if row["system"] == "chain" and row["fold"] == 0}
    assert found == {row.metric: row.mean for row in scores.rows}
    assert (tmp_path / "out/exhibits/generated/latest_sequences/by-position.csv").is_file()
    assert len(items) == made.n_items


def test_what_metrics_of_sequences_read_is_refused_in_other_studies(study):
    text = STUDY.replace("split: sequence_folds(k=2)\nprotocol: sequence(k=3, seeds=2)", "split: random(test=0.2)")
    text = text.replace("sequences: sessions(gap=4000000)", "primitive: MostPopular").replace("Uniform", "Random")
    with pytest.raises(UsageError, match="`primitive` is for generated sequences"):
        planned(study(text.replace('chain: "NGram(order=2)"', "chain: Markov").replace("Unigram", "Popular")))
