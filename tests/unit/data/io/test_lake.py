"""Tables at an address: queries of DuckDB; Delta, Iceberg and object stores by what they raise without a library."""

from __future__ import annotations

import sys

import duckdb
import polars as pl
import pytest

import recassay as ra
from recassay.data import synthetic


@pytest.fixture
def warehouse(tmp_path):
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as database:
        database.sql(
            "create table lists as from (values ('ann', 'x', 0.9), ('ann', 'y', 0.5), ('bob', 'z', 0.4)) t(u, i, p)"
        )
        database.sql("create table bought as from (values ('ann', 'y'), ('bob', 'z')) t(user_id, item_id)")
        database.sql("create table stock as from (values ('x', 'a'), ('y', 'b'), ('z', 'a')) t(sku, genre)")
    return f"duckdb://{path}?query="


def test_a_query_is_a_table(warehouse):
    run = f"{warehouse}select u as user_id, i as item_id, p as score from lists"
    scores = ra.score(run, f"{warehouse}from bought", "mrr", interval=None)
    assert (scores.systems, scores.rows[0].mean) == (("shop",), 0.75)
    named = ra.options.ReadOptions("user=u,item=i,score=p", items_columns="item=sku")
    named = ra.score(
        {"a": f"{warehouse}from lists"},
        f"{warehouse}from bought",
        "ild@2",
        items=f"{warehouse}from stock",
        columns=named,
    )
    assert named.row("a", "ild@2").n == 1
    escaped = f"{warehouse}from%20lists%20where%20p%20%3E%200.45"
    assert ra.read_run(escaped, "a", columns="user=u,item=i,score=p").items.size == 2


def test_the_command_line_takes_addresses(warehouse, capsys, monkeypatch):
    from recassay.cli import main

    call = [
        "score",
        f"{warehouse}from bought",
        f"{warehouse}from lists",
        "-m",
        "mrr",
        "--columns",
        "user=u,item=i,score=p",
    ]
    monkeypatch.setattr(sys, "argv", ["recassay", *call, "--table", "csv"])
    with pytest.raises(SystemExit):
        main()
    assert "shop,mrr,0.75" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("{}no table", "I110", "cannot be opened"),
        ("duckdb:///nowhere/shop.db?query=select 1", "I110", "cannot be opened"),
        ("duckdb:///nowhere/shop.db", "U102", "without a query"),
        ("delta:///nowhere", "U112", "recassay[lake]"),
        ("iceberg:///nowhere", "U112", "recassay[lake]"),
    ],
)
def test_refusals(warehouse, source, code, words, monkeypatch):
    for library in ("deltalake", "pyiceberg"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ra.RecassayError, match=code) as caught:
        ra.read_run(source.format(warehouse))
    assert words in str(caught.value)


def test_secrets_are_not_printed():
    with pytest.raises(ra.InputError) as caught:
        ra.read_run("s3://key:secret@nowhere.invalid/run.parquet")
    assert "secret" not in str(caught.value)


def test_a_memory_budget_needs_files(warehouse):
    run = f"{warehouse}select u as user_id, i as item_id from lists"
    with pytest.raises(ra.UsageError, match="U223"):
        ra.score({"a": run}, {"ann": ["y"]}, "mrr", execution=ra.options.Execution(memory="2GB"))


def test_items_of_a_study_have_columns_of_their_own(tmp_path):
    pl.DataFrame({"sku": range(40), "kind": ["a", "b"] * 20}).write_csv(tmp_path / "items.csv")
    (tmp_path / "study.yaml").write_text(
        "study: s\ndata:\n  generate: log(users=60, items=40, events=1200)\n"
        "  items: {path: items.csv, columns: {item: sku}}\n"
        "split: random(test=0.2)\nmodels: {pop: Popular}\nmetrics: [ild@5]\n"
    )
    result = ra.run_study(tmp_path / "study.yaml", tmp_path / "out")
    assert result.rows


STUDY = """
study: shop
data: {{name: shop, path: "{log}", items: "{items}", users: "{users}"}}
split: random(test=0.3)
models: {{pop: Popular}}
metrics: [ndcg@5, ild@5]
by: country
"""


@pytest.fixture
def shop(tmp_path):
    """Create a database of a log, items and users, with the same tables as files, and return its path."""
    log = synthetic.log(users=60, items=40, events=900).frame()
    tables = {
        "log": log.select("user_id", "item_id", "timestamp"),
        "items": pl.DataFrame({"item_id": range(40), "kind": ["a", "b"] * 20}),
        "users": pl.DataFrame({"user_id": range(60), "country": ["de", "fr", "it"] * 20}),
    }
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as database:
        for name, frame in tables.items():
            frame.write_csv(tmp_path / f"{name}.csv")
            database.sql(f"create table {name} as from read_csv('{tmp_path / name}.csv')")
    return tmp_path


def run_shop(folder, out, **names):
    """Run the study on tables of these names, by default addresses beside the study, and return its means."""
    address = "duckdb://shop.duckdb?query=select * from ({})"
    (folder / "study.yaml").write_text(
        STUDY.format(**{name: names.get(name, address.format(f"from {name}")) for name in ("log", "items", "users")})
    )
    results = ra.run_study(folder / "study.yaml", folder / out)
    assert not results.failures
    return [(row["metric"], row["mean"]) for row in results.rows], results


def test_a_study_reads_tables_at_addresses(shop):
    means, results = run_shop(shop, "out")
    assert means == run_shop(shop, "files", log="log.csv", items="items.csv", users="users.csv")[0]
    assert (results.folder / "groups.csv").read_text().count("country,users") == 6
    again, results = run_shop(shop, "out")  # what is at an address may have changed, so it is read again
    assert again == means
    assert [line.split(" ")[0] for line in results.work] == ["1", "0", "0"]  # an answer is taken, nothing computed


def test_a_study_whose_address_has_other_rows_is_another_study(shop):
    run_shop(shop, "out")
    with duckdb.connect(str(shop / "shop.duckdb")) as database:
        database.sql("delete from log where user_id = 3")
    with pytest.raises(ra.UsageError, match="U134"):
        run_shop(shop, "out")


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("duckdb://shop.duckdb", "U102", "without a query"),
        ("duckdb://shp.duckdb?query=from log", "I110", "cannot be opened"),
        ("duckdb://shop.duckdb?query=from lgo", "I110", "lgo"),
        ("duckdb:shop.duckdb?query=from log", "I101", "no file matches"),
        ("duckdb://shop.duckdb?query=select user_id from log", "I201", "item_id"),
        (
            f"duckdb://shop.duckdb?query=from log where user_id > 0 {'and item_id >= 0 ' * 20}and 1 = 0",
            "I102",
            "no rows",
        ),
    ],
)
def test_near_misses_of_addresses_in_studies(shop, path, code, words):
    with pytest.raises(ra.RecassayError, match=code) as caught:
        run_shop(shop, "out", log=path)
    assert words in str(caught.value)
    assert "study.yaml" in str(caught.value)


def test_a_study_refuses_addresses_of_lists(shop):
    (shop / "study.yaml").write_text(
        "study: s\ndata: {path: log.csv}\nsplit: random(test=0.2)\nmetrics: mrr\n"
        "models: {mine: 'duckdb://shop.duckdb?query=select * from log'}\n"
    )
    with pytest.raises(ra.UsageError, match="from files, not from an address"):
        ra.run_study(shop / "study.yaml", shop / "out")


def test_a_gate_file_may_name_addresses(shop):
    from recassay.cli.gate import read_gate_file

    (shop / "gate.yaml").write_text("truth: duckdb://shop.duckdb?query=from log\nbaseline: s3://shop/old.parquet\n")
    settings = read_gate_file(shop / "gate.yaml", ("truth", "baseline"))
    assert settings == {
        "truth": f"duckdb://{shop}/shop.duckdb?query=from log",
        "baseline": "s3://shop/old.parquet",
    }
