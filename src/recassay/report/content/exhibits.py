"""Writing of exhibits (tables with a figure) into a folder of results, from which ``recassay report`` draws them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recassay.data.io import write_json, write_text
from recassay.data.io.file_names import file_name
from recassay.report.content.csv_text import csv_text
from recassay.results.exhibit import Exhibit

EXHIBITS = "exhibits"  # folder with a CSV and a JSON file for each


def write_exhibits(exhibits: Sequence[Exhibit], folder: Path) -> None:
    """Write exhibits (tables to draw) into the subfolder ``exhibits``.

    Each is written as CSV, and its title, caption and axes as JSON.
    """
    home = folder / EXHIBITS
    for exhibit in exhibits:
        home.mkdir(exist_ok=True)
        name = file_name(exhibit.name, (other.name for other in exhibits))
        write_json(exhibit.to_dict(), home / f"{name}.json")
        write_text(csv_text(exhibit.table), home / f"{name}.csv")
