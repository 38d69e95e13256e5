"""Output says queries, or sessions, where the input does; keys of JSON and names of columns stay."""

from __future__ import annotations

import json
import re

import pytest

USERS = re.compile(r"(?<![\w'\"=_-])users?\b(?![=_-])", re.IGNORECASE)
TREC = {"qrels": "{q} 0 {d} 1\n", "run": "{q} Q0 {d} {rank} {score} sys\n", "head": ("", "")}
SESSIONS = {"qrels": "{q},{d}\n", "run": "{q},{d},{score}\n", "head": ("session_id,item\n", "session_id,item,score\n")}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a truth of 60 queries and three runs; 40 of the lists are too short, one is missing, one is not judged."""
    monkeypatch.chdir(tmp_path)

    def files(form=TREC):
        (tmp_path / "truth").write_text(
            form["head"][0] + "".join(form["qrels"].format(q=f"q{q}", d="x") for q in range(60))
        )
        for name, hits in {"old": 30, "new": 40, "bad": 3}.items():
            rows = [
                form["run"].format(q=f"q{q}", d=d, rank=rank, score=9 - rank)
                for q in range(1, 61)
                for rank, d in enumerate(["x", "y", "z"] if q < hits else ["y", "x"], start=1)
            ]
            (tmp_path / name).write_text(form["head"][1] + "".join(rows))
        return "truth", "old", "new", "bad"

    return files


def said(text: str) -> str:
    """Return a text with one kind of blank between words, and without tags, scripts and settings of a page."""
    text = re.sub(r"<(script|style|pre)\b.*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
    return " ".join(text.split())


@pytest.mark.parametrize(("form", "word"), [(TREC, "queries"), (SESSIONS, "sessions")])
def test_scores_are_of_what_the_truth_has(recassay, write, tmp_path, form, word):
    truth, *runs = write(form)
    for options in ([], ["--table", "markdown"], ["--table", "latex"]):
        out = said(recassay("score", truth, *runs, "-m", "hit@1 recall@3", "-o", "out", *options).out)
        assert not USERS.search(out)
        assert f"over 60 {word}" in out
    assert f"Lists for {word} that are not in the truth" in said(recassay("score", truth, *runs, "-m", "hit@1").out)
    page = said((tmp_path / "out" / "report.html").read_text())
    assert not USERS.search(page)
    assert word in page
    assert not USERS.search((tmp_path / "out" / "findings.jsonl").read_text())
    settings = json.loads((tmp_path / "out" / "summary.json").read_text())["settings"]
    assert (settings["unit"], settings["truth"]["users"]) == (word.replace("ies", "y").rstrip("s"), 60)
    for options in (["--details", "--power"], ["--table", "markdown"], ["--sudden-death", "1"]):
        assert not USERS.search(said(recassay("compare", "out", *options).out))


def test_the_gate_and_the_history_say_queries(recassay, write, tmp_path):
    truth, old, new, bad = write()
    for candidate in (new, bad):
        ended = recassay(
            "gate", truth, candidate, "--baseline", old, "-m", "hit@1", "--margin", "45%", "-o", f"{candidate}-gate"
        )
        assert not USERS.search(said(ended.out))
        assert not USERS.search((tmp_path / f"{candidate}-gate" / "gate.xml").read_text())
    assert "queries" in said(recassay("gate", truth, bad, "--baseline", old, "-m", "hit@1", "--margin", "0.45").out)
    assert not USERS.search(said(recassay("history", "new-gate", "bad-gate").out))


def test_a_memory_budget_says_sessions_too(recassay, write, tmp_path):
    write(SESSIONS)
    for name in ("truth", "old"):
        (tmp_path / name).rename(tmp_path / f"{name}.csv")
    assert "over 60 sessions" in said(recassay("score", "truth.csv", "old.csv", "-m", "hit@1", "--memory", "8GB").out)
