"""Every noun prints as a few lines, whatever its size, and shows itself in notebooks as HTML."""

import re

import polars as pl
import pytest

import recassay as ra
from recassay.data.synthetic.tastes import item_features, log

LOG = log(users=80, items=60, events=1500, seed=1)
FOLD = ra.split.global_time(quantile=0.8)(LOG)[0]
RANKING = ra.protocols.ranking(bins=0)
RUN = ra.play("Popular", FOLD, RANKING)
SCORES = ra.score([RUN, ra.play("Random", FOLD, RANKING)], FOLD, "ndcg@10 coverage@10", interval="normal")
DESIGNS = ra.judge(RUN, "TI-AR-AN, AI-AR-AN", "ndcg@10", interval=None)
STREAM = ra.play(ra.models.incremental.StreamPopular(), LOG, ra.protocols.prequential(at=10))
SEQUENCES = ra.split.sessions(gap=86_400)(LOG)
HOSTILE = "<img src=x onerror=alert(1)>"

VALUES = {
    "log": (LOG, ["log of 1,500 events", "80", "60", "clock times"]),
    "fold": (FOLD, ["fold 0 of global_time(quantile=0.8)", "1,200 events of", "300 events of", "leakage"]),
    "truth": (ra.read_truth(FOLD), ["truth of 300 judged items", "all 1"]),
    "run": (RUN, ["run Popular", "by rank", "relevant items, for ra.judge"]),
    "standings": (RUN.standings, ["standings of 300 relevant items for Popular"]),
    "features": (ra.read_items(item_features(items=60)), ["features of 60 items"]),
    "scores": (SCORES, ["scores of 2 systems under 2 metrics", "ndcg@10", "Random"]),
    "comparison": (ra.compare(SCORES), ["comparison of 1 pair", "Popular - Random", "Holm"]),
    "design scores": (DESIGNS, ["scores of 1 system under 2 designs", "TI-AR-AN"]),
    "score set": (ra.read_scores(SCORES.frame()), ["scores in 1 setting"]),
    "stream": (STREAM, ["on a stream", "1,500 events"]),
    "sudden death": (ra.sudden_death([RUN], FOLD, at=10), ["Sudden Death", "Popular"]),
    "exhibit": (ra.sudden_death([RUN], FOLD, at=10).curve(interval=False), ["Sudden Death"]),
    "sequences": (SEQUENCES, ["sequences of"]),
}


@pytest.mark.parametrize("name", VALUES)
def test_it_prints_in_a_few_lines(name):
    value, words = VALUES[name]
    text = repr(value)
    assert str(value) == text
    assert [word for word in words if word not in text] == []
    assert len(text.splitlines()) <= 30
    assert "array(" not in text


def test_leakage_is_unknown_without_times():
    (fold,) = ra.split.random(test=0.5)(ra.read_interactions([("ann", item) for item in "abcdefgh"]))
    assert "leakage  unknown: the log has no times" in repr(fold)


@pytest.mark.parametrize("name", VALUES)
def test_it_shows_itself_in_notebooks(name):
    html = VALUES[name][0]._repr_html_()
    assert html.startswith("<")
    assert len(html) < 40_000
    assert not re.search(r"array\(|object at", html)


def test_names_from_files_are_escaped_in_notebooks():
    run = ra.read_run({HOSTILE: [HOSTILE]}, HOSTILE)
    assert "<img" not in run._repr_html_()


def test_a_log_without_times_and_with_ratings_says_so():
    text = repr(ra.read_interactions([("ann", "x", 4.0), ("bob", "y", 1.0)]))
    assert re.search(r"times +none", text)
    assert re.search(r"ratings +1 to 4, mean 2.5", text)


def test_a_part_of_a_log_counts_its_own_users_and_items():
    assert re.search(r"users +1\n +items +1", repr(LOG.take(pl.Series([0]).to_numpy())))


def test_a_long_table_says_how_many_rows_it_leaves_out():
    runs = {f"system {at}": RUN for at in range(30)}
    text = repr(ra.score(runs, FOLD, "hit@1", interval=None))
    assert text.endswith("... 6 more rows: .summary()")
