"""Tables at an address: queries of DuckDB; Delta, Iceberg and object stores by what they raise without a library."""

from __future__ import annotations

import sys

import duckdb
import polars as pl
import pytest

import recassay as ra


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
