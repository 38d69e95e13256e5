"""`recassay score --by` and `--by-item`: what is printed, written to a folder, and shown on the page."""

import json

import polars as pl
import pytest

import recassay as ra

METRICS = "hit@1 recall@2 precision@2"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Create a truth, two runs, users and items; the first half of the users is served worse by both systems."""
    users, items = range(60), ["x", "y", "z"]
    relevant = {user: items[user % 3] for user in users}
    lists = {
        "als": {user: [relevant[user] if user % 4 < (1 if user < 30 else 3) else "q", "y"] for user in users},
        "pop": {user: ["x", "z"] for user in users},
    }
    pl.DataFrame({"user_id": users, "item_id": [relevant[user] for user in users]}).write_csv(tmp_path / "truth.csv")
    (tmp_path / "runs").mkdir()
    for name, own in lists.items():
        rows = [(user, item, rank) for user, pair in own.items() for rank, item in enumerate(pair, start=1)]
        frame = pl.DataFrame(rows, schema=["user_id", "item_id", "rank"], orient="row")
        frame.write_csv(tmp_path / "runs" / f"{name}.csv")
    country = ["de" if user < 30 else "fr" if user < 57 else "mt" for user in users]
    pl.DataFrame({"uid": users, "country": country}).write_csv(tmp_path / "users.csv")
    pl.DataFrame({"iid": items, "genre": ["war", "war|noir", "noir"]}).write_csv(tmp_path / "items.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def by_country(recassay, *more):
    options = ("-m", METRICS, "--interval", "normal", "--users", "users.csv", "--by", "country")
    return recassay("score", "truth.csv", "runs", *options, *more)


def test_the_terminal_shows_gaps_then_groups(recassay, shop):
    answer = by_country(recassay)
    assert answer.code == 0, answer.err
    assert "By country (users)" in answer.out
    assert "2 groups. 1 group of fewer than 10 users is not shown (3 users in all)." in answer.out
    (line,) = (
        line for line in answer.out.splitlines() if line.startswith("hit@1   ") and "als" in line and "de" in line
    )
    assert line.split()[-4:] == ["de", "0.2667", "fr", "0.7407"]
    assert "2 more metrics by group: -o FOLDER or --json" in answer.out


def test_the_table_of_users_may_have_other_column_names(recassay, shop):
    expected = by_country(recassay).out
    pl.read_csv("users.csv").rename(lambda name: "wer" if name != "country" else name).write_csv("users.csv")
    refused = by_country(recassay)
    assert (refused.code, "--users-columns user=wer" in refused.err) == (2, True)
    assert by_country(recassay, "--users-columns", "user=wer").out == expected


def test_the_folder_has_groups_as_parquet_csv_and_json(recassay, shop):
    assert by_country(recassay, "-o", "out").code == 0
    rows = pl.read_parquet("out/groups.parquet")
    assert rows.columns[:5] == ["by", "kind", "system", "metric", "group"]
    assert rows.height == 2 * 3 * 2
    assert pl.read_csv("out/groups.csv").height == rows.height
    gaps = pl.read_csv("out/group-gaps.csv")
    assert gaps.filter(system="als", metric="hit@1").select("worst", "best").row(0) == ("de", "fr")
    (stored,) = json.loads((shop / "out" / "summary.json").read_text())["groups"]
    assert (stored["dataset"], stored["by"], stored["hidden"]) == ("truth", "country", 1)
    assert ra.types.GroupScores.from_dict(stored).frame().equals(rows)
    by_country(recassay, "-o", "again")
    assert (shop / "again" / "groups.parquet").read_bytes() == (shop / "out" / "groups.parquet").read_bytes()


def test_the_page_has_a_section_with_noise_in_grey(recassay, shop):
    by_country(recassay, "-o", "out")
    page = (shop / "out" / "report.html").read_text()
    section = page[page.index('id="groups"') : page.index('id="made"')]
    assert "By country (users)" in section
    assert 'class="noise"' in section
    assert '<span class="badge warning">worst</span>' in section
    assert 'href="#groups"' in page
    recassay("report", "out", "-o", "again.html", "-q")
    assert (shop / "again.html").read_text() == page


def test_compare_shows_the_groups_of_a_folder_on_demand(recassay, shop):
    assert by_country(recassay, "-o", "out").code == 0
    brief, whole = recassay("compare", "out"), recassay("compare", "out", "--details")
    assert brief.out.splitlines()[-1] == "The folder has means by group (country): --details"
    assert "By country (users)" not in brief.out
    assert "By country (users)" in whole.out
    (found,) = recassay("compare", "out", "--json").json["groups"]
    assert found["by"] == "country"


def test_by_item_leaves_out_metrics_that_groups_cannot_have(recassay, shop):
    answer = recassay("score", "truth.csv", "runs", "-m", METRICS, "--items", "items.csv", "--by-item", "genre")
    assert answer.code == 0, answer.err
    assert "By genre (relevant items)" in answer.out
    assert "precision@2 is left out: it has a best value that depends on the number of relevant items." in answer.out


def test_mistakes_are_named(recassay, shop):
    wrong = recassay("score", "truth.csv", "runs", "-m", METRICS, "--users", "users.csv", "--by", "contry")
    assert wrong.code == 2
    assert "did you mean 'country'?" in wrong.err
    assert "U105" in recassay("score", "truth.csv", "runs", "-m", METRICS, "--by", "country").err
    assert "U215" in by_country(recassay, "--smallest-group", "40").err
