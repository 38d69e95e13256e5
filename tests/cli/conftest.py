"""Fixtures that run the command line in this process, and small files to run it on."""

import json
import sys
from dataclasses import dataclass

import pytest

from recassay.cli import main

TRUTH = "user_id,item_id,gain\n1,10,1\n1,11,2\n2,10,1\n2,13,0\n3,12,1\n4,10,3\n"
FIRST = "user_id,item_id,score\n1,10,0.9\n1,99,0.5\n2,11,0.3\n2,10,0.2\n3,12,0.7\n3,10,0.6\n4,13,0.9\n4,11,0.8\n"
SECOND = "user_id,item_id,score\n1,11,0.9\n1,10,0.5\n2,10,0.3\n2,12,0.1\n3,12,0.4\n3,11,0.3\n4,10,0.9\n4,12,0.8\n"
LOG = "user_id,item_id,rating,timestamp\n1,12,4,100\n1,13,5,200\n2,12,3,150\n3,13,2,300\n3,12,2,310\n4,11,5,400\n"
ITEMS = "item_id,genres\n10,a|b\n11,a\n12,b\n13,c\n99,a|c\n"


@dataclass(frozen=True)
class Completed:
    """The exit status and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def rows(self):
        """The rows of a JSON document of scores by system and metric."""
        systems = {}
        for row in self.json["rows"]:
            systems.setdefault(row["system"], {})[row["metric"]] = row
        return systems


@pytest.fixture
def recassay(monkeypatch, capfd):
    """Run the command line: ``recassay("list", "metrics")``."""
    monkeypatch.setenv("COLUMNS", "200")
    # whichever test needs a kernel first compiles it
    monkeypatch.setattr("recassay.cli.note_compilation", lambda: None)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["recassay", *map(str, arguments)])
        capfd.readouterr()
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
        out, err = capfd.readouterr()
        return Completed(code, out, err)

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Create a folder with a truth, two runs, a log and item features, and make it the working directory."""
    (tmp_path / "truth.csv").write_text(TRUTH)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "first.csv").write_text(FIRST)
    (tmp_path / "runs" / "second.csv").write_text(SECOND)
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "items.csv").write_text(ITEMS)
    monkeypatch.chdir(tmp_path)
    return tmp_path
