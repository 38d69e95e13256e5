"""The page of a folder, with what only studies note: how long systems took."""

from __future__ import annotations

import json
from pathlib import Path

from recassay.report.pages import Report, write_page
from recassay.report.reading import read_results
from recassay.study.times import NAME, calls_exhibit, times_exhibit


def write_report(folder: str | Path, to: str | Path | None = None, *, progress: Report | None = None) -> Path:
    """Write the page of a folder of results again, from its files alone, and say where it is."""
    found = read_results(folder)
    path = found.folder / NAME
    noted = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    exhibits = times_exhibit(noted.get("rows", [])), calls_exhibit(noted.get("calls", []))
    return write_page(found, to, more=[one for one in exhibits if one is not None], progress=progress)
