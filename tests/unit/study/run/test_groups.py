"""Means by group of users in a study: of the pooled folds of every place, in all of its files."""

from __future__ import annotations

import json

import polars as pl
import pytest

import recassay as ra
from recassay.errors import UsageError
from recassay.results.score_set import Place

from ....refusals import refused

STUDY = """\
study: groups
data: {path: log.csv, users: users.csv}
split: [k_folds(k=2), last(n=2)]
models: [Popular, Random]
metrics: [recall@5]
by: country
judge: {interval: normal}
"""


@pytest.fixture
def home(tmp_path):
    log = [(user, f"i{(user * step + step * step) % 17}") for user in range(40) for step in range(1, 9)]
    pl.DataFrame(
        [(user, item, at) for at, (user, item) in enumerate(log)],
        schema=["user_id", "item_id", "timestamp"],
        orient="row",
    ).unique(["user_id", "item_id"], keep="first", maintain_order=True).write_csv(tmp_path / "log.csv")
    countries = pl.DataFrame({"user_id": range(40), "country": ["de" if user % 2 else "fr" for user in range(40)]})
    countries.write_csv(tmp_path / "users.csv")
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path


def test_a_study_shows_groups_at_every_place(home):
    results = ra.run_study(home / "study.yaml", home / "out")
    assert [row["split"] for row in results.groups] == ["k_folds(k=2)", "last(n=2)"]
    summary = json.loads((home / "out" / "summary.json").read_text())
    assert summary["groups"] == list(results.groups)
    table = pl.read_parquet(home / "out" / "groups.parquet")
    assert table.columns[:5] == ["dataset", "split", "protocol", "design", "seed"]
    assert table.height == 2 * 2 * 2
    assert 'id="groups"' in (home / "out" / "report.html").read_text()
    scores = ra.read_scores(home / "out")
    place = Place(*(results.groups[0][axis] for axis in Place._fields))
    values = scores.sheets[place].values("Popular", "recall@5")
    own = pl.DataFrame({"user": scores.sheets[place].units, "value": values}).filter(pl.col("user") % 2 == 1)
    found = ra.types.GroupScores.from_dict(results.groups[0]).row("Popular", "recall@5", "de")
    assert found.n == own.height
    assert found.low <= found.mean <= found.high


def test_the_table_of_users_may_have_the_column_names_of_the_log(home):
    expected = ra.run_study(home / "study.yaml", home / "out").groups
    for name in ("log.csv", "users.csv"):
        pl.read_csv(home / name).rename({"user_id": "wer"}).write_csv(home / name)
    (home / "study.yaml").write_text(STUDY.replace("users: users.csv}", "users: users.csv, columns: {user: wer}}"))
    assert ra.run_study(home / "study.yaml", home / "again").groups == expected


def test_the_log_itself_may_have_the_column(home):
    expected = ra.run_study(home / "study.yaml", home / "out").groups
    log = pl.read_csv(home / "log.csv").join(pl.read_csv(home / "users.csv"), on="user_id", maintain_order="left")
    log.write_csv(home / "log.csv")
    (home / "study.yaml").write_text(STUDY.replace(", users: users.csv", ""))
    assert ra.run_study(home / "study.yaml", home / "again").groups == expected


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (("by: country", "by: contry"), "I201", "did you mean 'country'"),
        (("{path: log.csv, users: users.csv}", '{generate: "log(users=40, items=30, events=400)"}'), "U105", "users"),
        (("users: users.csv", "users: nobody.csv"), "I101", "nobody.csv"),
    ],
)
def test_mistakes_are_found(home, change, code, words):
    (home / "study.yaml").write_text(STUDY.replace(*change))
    with refused(code, match=words):
        ra.run_study(home / "study.yaml", home / "out")


@pytest.fixture
def genres(home):
    """Add a table of items with genres to the data, and ask for groups by genre in place of those by country."""
    pl.DataFrame(
        {"item_id": [f"i{n}" for n in range(17)], "genre": ["war", "war|noir", "noir"] * 5 + ["war"] * 2}
    ).write_csv(home / "items.csv")
    text = STUDY.replace("users: users.csv", "items: items.csv").replace("by: country", "by_item: genre")
    (home / "study.yaml").write_text(text.replace("[recall@5]", "[recall@5, precision@5]"))
    return home


def test_a_study_shows_groups_of_items_as_score_does(genres):
    results = ra.run_study(genres / "study.yaml", genres / "out")
    (pooled, last) = map(ra.types.GroupScores.from_dict, results.groups)
    assert (last.kind, last.groups, list(last.left_out)) == ("items", ("noir", "war"), ["precision@5"])
    assert 'id="groups"' in (genres / "out" / "report.html").read_text()
    assert "by_item" in (genres / "out" / "study.lock.yaml").read_text()

    def scored(split, fold):
        runs = {
            name: genres / "out/runs/log" / split / f"fold-{fold.number}/seed-0/{name}.parquet"
            for name in ("Popular", "Random")
        }
        found = ra.score(runs, fold, "recall@5", items=genres / "items.csv", by_item="genre", interval="normal")
        return found.groups[0]

    log = ra.read_interactions(genres / "log.csv")
    assert last.rows == scored("last(n=2)", ra.split.last(n=2)(log)[0]).rows
    folds = [scored("k_folds(k=2)", fold) for fold in ra.split.k_folds(k=2)(log)]
    for row in pooled.rows:
        parts = [fold.row(row.system, row.metric, row.group) for fold in folds]
        expected = sum(part.n * part.mean for part in parts) / sum(part.n for part in parts)
        assert row.mean == pytest.approx(expected, abs=1e-12)
        assert row.n >= max(part.n for part in parts)
        assert row.low < row.mean < row.high


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (("genre\n", "genres\n"), "I201", "did you mean 'genre'"),
        ((", items: items.csv", ""), "U105", "need the table of items"),
        (("[recall@5, precision@5]", "[precision@5]"), "U215", "no metric has a value by group of items"),
        (("judge:", "designs: TI-AR-AN\njudge:"), "U132", "groups of items are of ranked lists"),
    ],
)
def test_mistakes_about_groups_of_items_are_found(genres, change, code, words):
    (genres / "study.yaml").write_text((genres / "study.yaml").read_text().replace(*change))
    with pytest.raises(ra.RecassayError, match=words) as caught:
        ra.run_study(genres / "study.yaml", genres / "out")
    assert (caught.value.code, (genres / "out").exists()) == (code, False)


def test_studies_of_streams_have_no_groups(home):
    changed = STUDY.replace("split: [k_folds(k=2), last(n=2)]\n", "protocol: prequential(at=5)\n")
    (home / "study.yaml").write_text(changed.replace("[Popular, Random]", "[StreamPopular]"))
    with pytest.raises(UsageError, match="`by` is for ranked lists"):
        ra.run_study(home / "study.yaml", home / "out")
