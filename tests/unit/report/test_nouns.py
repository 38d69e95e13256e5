"""Every noun prints as a few lines, whatever its size, and shows itself in notebooks as HTML."""

import functools
import re

import polars as pl
import pytest

import recassay as ra
from recassay.data.synthetic import item_features, log

LOG = log(users=80, items=60, events=1500, seed=1)
FOLD = ra.split.global_time(quantile=0.8)(LOG)[0]
RANKING = ra.protocols.ranking(bins=0)
HOSTILE = "<img src=x onerror=alert(1)>"

NAMES = (
    "log", "fold", "truth", "run", "standings", "features", "scores", "comparison", "design scores", "score set",
    "stream", "sudden death", "exhibit", "sequences",
)  # fmt: skip


@functools.cache
def values():
    """Return nouns by their names, with words that they print."""
    run = ra.play("Popular", FOLD, RANKING)
    scores = ra.score([run, ra.play("Random", FOLD, RANKING)], FOLD, "ndcg@10 coverage@10", interval="normal")
    designs = ra.judge(run, "TI-AR-AN, AI-AR-AN", "ndcg@10", interval=None)
    stream = ra.play(ra.models.incremental.StreamPopular(), LOG, ra.protocols.prequential(at=10))
    contest = ra.sudden_death([run], FOLD, at=10)
    shown = [
        (LOG, ["log of 1,500 events", "80", "60", "clock times"]),
        (FOLD, ["fold 0 of global_time(quantile=0.8)", "1,200 events of", "300 events of", "leakage"]),
        (ra.read_truth(FOLD), ["truth of 300 judged items", "all 1"]),
        (run, ["run Popular", "by rank", "relevant items, for ra.judge"]),
        (run.standings, ["standings of 300 relevant items for Popular"]),
        (ra.read_items(item_features(items=60)), ["features of 60 items"]),
        (scores, ["scores of 2 systems under 2 metrics", "ndcg@10", "Random"]),
        (ra.compare(scores), ["comparison of 1 pair", "Popular - Random", "Holm"]),
        (designs, ["scores of 1 system under 2 designs", "TI-AR-AN"]),
        (ra.read_scores(scores.frame()), ["scores in 1 setting"]),
        (stream, ["on a stream", "1,500 events"]),
        (contest, ["Sudden Death", "Popular"]),
        (contest.curve(), ["Sudden Death"]),
        (ra.split.sessions(gap=86_400)(LOG), ["sequences of"]),
    ]
    return dict(zip(NAMES, shown, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_it_prints_in_a_few_lines(name):
    value, words = values()[name]
    text = repr(value)
    assert str(value) == text
    assert [word for word in words if word not in text] == []
    assert len(text.splitlines()) <= 30
    assert "array(" not in text


def test_leakage_is_unknown_without_times():
    (fold,) = ra.split.random(test=0.5)(ra.read_interactions([("ann", item) for item in "abcdefgh"]))
    assert "leakage  unknown: the log has no times" in repr(fold)


@pytest.mark.parametrize("name", NAMES)
def test_it_shows_itself_in_notebooks(name):
    html = values()[name][0]._repr_html_()
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
    runs = {f"system {at}": values()["run"][0] for at in range(30)}
    text = repr(ra.score(runs, FOLD, "hit@1", interval=None))
    assert text.endswith("... 6 more rows: .summary()")
