"""``recassay gate``: exit status, the file of settings, and what it writes for a build."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

GATE = """
truth: truth.csv
baseline: runs/old.csv
metrics: {hit@1: 40%, mrr: 0.3}
require: [mrr >= 0.1]
believable: 200%
"""


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Create a truth of 60 users and runs that hit with the share in their name, and work in their folder."""
    users = range(60)
    (tmp_path / "truth.csv").write_text("user,item\n" + "".join(f"{u},x\n" for u in users))
    (tmp_path / "runs").mkdir()
    for name, hits in {"old": 30, "same": 30, "new": 40, "bad": 3}.items():
        rows = "".join(f"{u},{'x' if u < hits else 'y'},2\n{u},{'y' if u < hits else 'x'},1\n" for u in users)
        (tmp_path / "runs" / f"{name}.csv").write_text("user,item,score\n" + rows)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_table_may_have_columns_of_its_own(recassay, runs):
    for name in ("truth.csv", "runs/old.csv"):
        path = runs / name
        path.write_text(path.read_text().replace("user,item", "who,what" if name == "truth.csv" else "a,b", 1))
    (runs / "groups.csv").write_text("id,land\n" + "".join(f"{u},{'ab'[u % 2]}\n" for u in range(60)))
    call = (
        "gate",
        "truth.csv",
        "runs/old.csv",
        "--baseline",
        "runs/old.csv",
        "-m",
        "hit@1",
        "--columns",
        "user=a,item=b",
    )
    own = (
        "--truth-columns",
        "user=who,item=what",
        "--users",
        "groups.csv",
        "--users-columns",
        "user=id",
        "--by",
        "land",
    )
    ended = recassay(*call, *own, "--json")
    assert ended.code == 0, ended.err
    assert [row["group"] for row in ended.json["criteria"]][1:] == ["land=a", "land=b"]


@pytest.mark.parametrize(
    ("candidate", "options", "verdict", "code"),
    [
        ("new", ["--believable", "90%"], "pass", 0),
        ("same", [], "pass", 0),
        ("bad", [], "fail", 1),
        ("bad", ["--margin", "0.45"], "undecided", 1),
        ("bad", ["--margin", "0.45", "--undecided", "pass"], "undecided", 0),
        ("new", ["--believable", "1%"], "suspicious", 1),
    ],
)
def test_the_exit_status_says_the_verdict(recassay, runs, candidate, options, verdict, code):
    call = ("gate", "truth.csv", f"runs/{candidate}.csv", "--baseline", "runs/old.csv", "-m", "hit@1", *options)
    ended = recassay(*call, "--json")
    assert (ended.json["verdict"], ended.code) == (verdict, code)
    assert recassay(*call).out.startswith(verdict.capitalize())


def test_a_file_has_all_settings_and_options_replace_them(recassay, runs):
    (runs / "ci").mkdir()
    (runs / "ci" / "gate.yaml").write_text(GATE.replace(": truth", ": ../truth").replace(": runs", ": ../runs"))
    ended = recassay("gate", "ci/gate.yaml", "runs/new.csv", "--json")
    rules = [(row["metric"], row["rule"]) for row in ended.json["criteria"]]
    assert rules == [("hit@1", "loses at most 40 %"), ("mrr", "loses at most 0.3"), ("mrr", "at least 0.1")]
    assert ended.code == 0
    assert recassay("gate", "ci/gate.yaml", "runs/new.csv", "--believable", "1%").code == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [(GATE + "margn: 1%\n", "U132"), ("truth: truth.csv\n", "U105"), (GATE + "level: high\n", "U102"), ("- a", "U131")],
)
def test_mistakes_in_the_file(recassay, runs, text, code):
    (runs / "gate.yaml").write_text(text)
    ended = recassay("gate", "gate.yaml", "runs/new.csv")
    assert ended.code == 2
    assert ended.err.startswith(f"[{code}]")


def test_the_folder_has_files_for_a_build_and_is_the_next_baseline(recassay, runs):
    call = ("-m", "hit@1", "--believable", "10%", "-o", "out")
    assert recassay("gate", "truth.csv", "runs/new.csv", "--baseline", "runs/old.csv", *call).code == 1
    assert json.loads((runs / "out" / "gate.json").read_text())["verdict"] == "suspicious"
    assert (runs / "out" / "gate.md").read_text().startswith("**Suspicious.")
    suite = ElementTree.parse(runs / "out" / "gate.xml").getroot()
    assert [case.find("failure") is None for case in suite] == [True, False]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert (runs / "out" / "report.html").exists()
    rows = json.loads((runs / "out" / "summary.json").read_text())["rows"]
    assert [row["low"] < row["mean"] < row["high"] for row in rows] == [True, True]
    again = recassay("gate", "truth.csv", "runs/old.csv", "--baseline", "out", "-m", "hit@1", "--json")
    assert (again.json["verdict"], again.json["criteria"][0]["against"]) == ("fail", 40 / 60)


def test_groups_and_markdown(recassay, runs):
    (runs / "users.csv").write_text("user,country\n" + "".join(f"{u},{'de' if u < 30 else 'fr'}\n" for u in range(60)))
    ended = recassay(
        "gate", "truth.csv", "runs/new.csv", "--baseline", "runs/old.csv", "-m", "hit@1", "--users", "users.csv",
        "--by", "country=90%", "--table", "markdown",
    )  # fmt: skip
    assert "| country=de" in ended.out
    assert "(90 %)" in ended.out


def test_a_junit_file_skips_what_may_be_undecided(recassay, runs):
    call = ("gate", "truth.csv", "runs/bad.csv", "--baseline", "runs/old.csv", "-m", "hit@1", "--margin", "0.45")
    assert recassay(*call, "--undecided", "pass", "-o", "out").code == 0
    suite = ElementTree.parse(runs / "out" / "gate.xml").getroot()
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    assert suite[0].find("skipped").get("type") == "undecided"
