"""Scorings joined to be compared: the same truth and metrics, or an error that says how they differ."""

import json

import polars as pl
import pytest

import recassay as ra
from recassay.engine.lists.score_sets import read_all, read_scores
from recassay.errors import InputError, UsageError
from recassay.report.folder.results import write_results
from recassay.results.score_set import Place

from ....scoring import score

TRUTH = {"ann": ["x"], "bob": ["y", "z"], "eve": ["x"]}
ALS = {"ann": ["x", "y"], "bob": ["z", "x"], "eve": ["y", "x"]}
POP = {"ann": ["y", "x"], "bob": ["y", "x"], "eve": ["z", "y"]}


def scored(runs, truth=None, metrics="ndcg@2 hit@1", **options):
    return score(runs, truth or TRUTH, metrics, interval=None, **options)


def folder(home, scores, dataset="truth"):
    write_results(scores, None, home, {"dataset": dataset})
    return home


def only(scores):
    ((place, one),) = scores
    return place, one


def test_two_scorings_of_one_truth_are_compared_as_if_scored_together(tmp_path):
    first, second = folder(tmp_path / "a", scored({"als": ALS})), folder(tmp_path / "b", scored({"pop": POP}))
    place, joined = only(read_all([first, second]))
    together = scored({"als": ALS, "pop": POP})
    assert place == Place("truth")
    assert ra.compare(joined).frame().equals(ra.compare(together).frame())


def test_the_truth_counts_and_not_the_name_of_its_file(tmp_path):
    first = folder(tmp_path / "a", scored({"als": ALS}), dataset="test")
    second = folder(tmp_path / "b", scored({"pop": POP}), dataset="truth")
    assert only(read_all([first, second]))[1].systems == ("als", "pop")


def test_other_truths_are_refused_with_what_differs(tmp_path):
    first = folder(tmp_path / "a", scored({"als": ALS}))
    larger = folder(tmp_path / "b", scored({"pop": POP}, TRUTH | {"eve": ["x", "z"]}))
    with pytest.raises(InputError, match=r"I311(.|\n)*3 users with 4 judged items against 3 users with 5 judged items"):
        read_all([first, larger])
    other = folder(tmp_path / "c", scored({"pop": POP}, TRUTH | {"eve": ["y"]}))
    with pytest.raises(InputError, match="both have 3 users with 4 judged items, but not the same ones"):
        read_all([first, other])


def test_other_parameters_and_conventions_are_refused_with_what_differs(tmp_path):
    first = folder(tmp_path / "a", scored({"als": ALS}))
    other = folder(tmp_path / "b", scored({"pop": POP}, no_relevant="zero"))
    with pytest.raises(UsageError, match=r"U204(.|\n)*ndcg@2 is ndcg@2 against ndcg\(no_relevant='zero'\)@2"):
        read_all([first, other])
    ties = folder(tmp_path / "c", scored({"pop": POP}, ties="optimistic"))
    with pytest.raises(UsageError, match="ties is id against optimistic"):
        read_all([first, ties])
    disjoint = folder(tmp_path / "d", scored({"pop": POP}, metrics="mrr"))
    with pytest.raises(UsageError, match="share no metric: ndcg@2, hit@1 against mrr"):
        read_all([first, disjoint])


def test_a_system_in_both_must_have_the_same_values(tmp_path):
    first = folder(tmp_path / "a", scored({"als": ALS, "pop": POP}))
    same = folder(tmp_path / "b", scored({"pop": POP, "knn": ALS}))
    assert only(read_all([first, same]))[1].systems == ("als", "pop", "knn")
    with pytest.raises(UsageError, match=r"U109(.|\n)*'pop', with different values"):
        read_all([first, folder(tmp_path / "c", scored({"pop": ALS}))])


def test_only_metrics_of_both_are_kept(tmp_path):
    first = folder(tmp_path / "a", scored({"als": ALS}, metrics="ndcg@2 mrr"))
    second = folder(tmp_path / "b", scored({"pop": POP}, metrics="mrr hit@1"))
    assert only(read_all([first, second]))[1].metrics == ("mrr",)


def test_tables_are_joined_by_their_users():
    als = pl.DataFrame({"user": [1, 2, 3], "system": "als", "mrr": [0.5, 0.2, 0.1]})
    pop = pl.DataFrame({"user": [3, 1, 2], "system": "pop", "mrr": [0.3, 0.1, 0.9]})
    assert only(read_all([als, pop]))[1].values("pop", "mrr").tolist() == [0.1, 0.9, 0.3]
    with pytest.raises(InputError, match="1 of 3 users are only in the first, 0 of 2 users only in the second"):
        read_all([als, pop.head(2)])


def test_the_same_systems_on_other_truths_are_two_data_sets(tmp_path):
    first = folder(tmp_path / "ml-1m", scored({"als": ALS, "pop": POP}))
    second = folder(tmp_path / "steam", scored({"als": ALS, "pop": POP}, {"ann": ["y"], "bob": ["x"]}))
    assert [place.dataset for place, _ in read_all([first, second])] == ["truth", "steam"]


def test_the_fingerprint_of_a_truth_is_kept(tmp_path):
    home = folder(tmp_path / "a", scored({"als": ALS}))
    kept = json.loads((home / "summary.json").read_text())["settings"]["truth"]
    assert kept == {"fingerprint": ra.read_truth(TRUTH).fingerprint, "users": 3, "judged": 4}
    assert read_scores(home).sheets[Place("truth")].settings["truth"] == kept


def test_a_fingerprint_depends_on_ids_gains_and_types_alone():
    rows = pl.DataFrame({"user_id": [1, 1, 2], "item_id": [5, 6, 5], "gain": [1.0, 2.0, 1.0]})
    own = ra.read_truth(rows).fingerprint
    assert ra.read_truth(rows[::-1]).fingerprint == own
    assert ra.read_truth(rows.with_columns(pl.col("item_id") + 2**40)).fingerprint != own
    assert ra.read_truth(rows.with_columns(pl.lit(1.0).alias("gain"))).fingerprint != own
    assert ra.read_truth(rows.with_columns(pl.col("item_id").cast(pl.String))).fingerprint != own
