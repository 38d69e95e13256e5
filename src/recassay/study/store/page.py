"""Writing of the HTML page of a study: its folder of results, together with the times of its systems."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from recassay.report.folder.page import write_page
from recassay.report.folder.read import read_results
from recassay.study.store.times import NAME, calls_exhibit, times_exhibit
from recassay.threads import StageProgress


def write_report(folder: str | Path, to: str | Path | None = None, *, progress: StageProgress | None = None) -> Path:
    """Write the HTML page of a folder of results, made from its files, and return the path of the page.

    ``to`` is the path to write; None: the usual place in the folder.
    """
    found = read_results(folder)
    path = found.path / NAME
    noted = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    exhibits = times_exhibit(noted.get("rows", [])), calls_exhibit(noted.get("calls", []))
    found = dataclasses.replace(found, command=found.command or noted.get("command", ""))
    return write_page(found, to, more=[exhibit for exhibit in exhibits if exhibit is not None], progress=progress)
