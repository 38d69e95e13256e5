"""Mistakes in a study file and in its data: each is an error with its line, before any model is fitted."""

import polars as pl
import pytest

import recassay as ra
from recassay.errors import RecassayError
from recassay.models.baselines import Popular

STUDY = """\
study: small
data: {path: log.csv}
split: random(test=0.2)
models: [Popular]
metrics: [recall@5]
"""
ROWS = "user,item\n" + "".join(f"{n % 9},{n}\n" for n in range(99))


@pytest.fixture
def refused(tmp_path, monkeypatch):
    """Run a study in which no model may be fitted; return its error."""

    def run(*replace, log=ROWS, items=None):
        (tmp_path / "log.csv").write_text(log)
        if items is not None:
            (tmp_path / "items.csv").write_text(items)
        text = STUDY
        for old, new in replace:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "study.yaml").write_text(text)
        monkeypatch.setattr(Popular, "fit", lambda *_: pytest.fail("a model was fitted"))
        with pytest.raises(RecassayError) as caught:
            ra.run_study(tmp_path / "study.yaml", tmp_path / "out")
        assert not (tmp_path / "out").exists()
        return caught.value

    return run


@pytest.mark.parametrize(
    ("replace", "code", "line"),
    [
        (("random(test=0.2)", "last(n=1)"), "I201", "line 3, split"),
        (("{path: log.csv}", "{path: log.csv, split: 'last(n=1)'}"), "I201", "line 2, data.split"),
        (("{path: log.csv}", "{path: log.csv, times: clock}"), "U102", "line 2, data"),
        (("{path: log.csv}", "{path: logs.csv}"), "I101", "line 2, data"),
        (("{path: log.csv}", "{path: log.csv, columns: {user: uid}}"), "I201", "line 2, data"),
        (("{path: log.csv}", "{path: log.csv, items: items.csv}"), "I101", "line 2, data.items"),
        (("[recall@5]", "[recall@5, ild@5]"), "U105", "line 5, metrics.1"),
        (("[Popular]", "[Popular, BiasedMF]"), "I307", "line 4, models.1"),
        (("[Popular]", "[Popular, \"MMR(of='Popular')\"]"), "U201", "line 4, models.1"),
        (("[Popular]", "[Popular, \"DPP(of='Popular')\"]"), "U201", "line 4, models.1"),
        (("[Popular]", "[Popular, \"Calibrated(of='Popular')\"]"), "U201", "line 4, models.1"),
        (("[Popular]", "[Popular, Populer]"), "U115", "line 4, models.1"),
        (("[recall@5]", "[recal@5]"), "U101", "line 5, metrics.0"),
        (("study: small", "study: small\nprotocol: ranking(relevant_from=4)"), "I307", "line 2, protocol"),
    ],
)
def test_a_mistake_is_told_with_its_line_before_a_model_is_fitted(refused, replace, code, line):
    error = refused(replace)
    assert error.code == code
    assert line in error.where


def test_a_missing_column_comes_with_what_to_write_in_the_study(refused):
    error = refused(log=ROWS.replace("user,item", "who,what"))
    assert (error.code, "columns: {user: who, item: what}" in error.hint) == ("I201", True)
    assert "line 2, data" in error.where


def test_an_items_table_without_ids_is_told(refused):
    error = refused(("{path: log.csv}", "{path: log.csv, items: items.csv}"), items="name,genre\nUp,A\n")
    assert (error.code, "line 2, data.items" in error.where) == ("I201", True)


def test_the_kind_of_times_that_the_study_states_is_compared_with_its_split(refused):
    log = "user,item,nr\n" + "".join(f"{n % 9},{n},{n}\n" for n in range(99))
    stated = ("{path: log.csv}", "{path: log.csv, columns: {timestamp: nr}, times: user}")
    error = refused(stated, ("random(test=0.2)", "global_time(quantile=0.8)"), log=log)
    assert (error.code, "line 3, split" in error.where) == ("I385", True)


def test_times_are_required_of_parquet_files_too(refused, tmp_path):
    pl.DataFrame({"user": [1], "item": [2]}).write_parquet(tmp_path / "log.parquet")
    error = refused(("log.csv", "log.parquet"), ("random(test=0.2)", "last(n=1)"))
    assert "line 3, split" in error.where


def test_a_split_of_one_data_set_replaces_that_of_the_study(tmp_path):
    (tmp_path / "study.yaml").write_text("""\
study: two
data:
  - {name: one, generate: "log(users=60, items=40, events=900)"}
  - {name: two, generate: "log(users=60, items=40, events=900, seed=1)", split: [last(n=1), "k_folds(k=2)"]}
split: random(test=0.2)
models: [Popular]
metrics: [recall@5]
judge: {resamples: 100}
""")
    results = ra.run_study(tmp_path / "study.yaml", tmp_path / "out")
    places = {(row["dataset"], row["split"]) for row in results.rows}
    assert places == {("one", "random(test=0.2)"), ("two", "last"), ("two", "k_folds(k=2)")}
