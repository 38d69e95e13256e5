"""CSV files for people: no name from a file is run by the spreadsheet or the terminal that shows it.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-`` or ``@``: such a text gets an apostrophe in front, unless
it is a number. A terminal obeys control characters: they are written as escapes. Runs, folds and scores are for
programs, and are written unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from recassay.data.io import write_json, write_text
from recassay.data.io.manifest import recording
from recassay.data.io.write import file_name
from recassay.errors import printable
from recassay.results.exhibit import Exhibit

EXHIBITS = "exhibits"  # folder with a CSV and a JSON file for each

CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"  # all but tabs and line ends
FORMULA = r"^[=+\-@\t\r]"
NUMBER = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$"


def csv_text(frame: pl.DataFrame) -> str:
    """Return a data frame as CSV, with formulas and control characters in texts made harmless.

    >>> csv_text(pl.DataFrame({"system": ["=cmd()", "als", "-1.5"], "mean": [0.5, -0.5, 1.0]}))
    "system,mean\\n'=cmd(),0.5\\nals,-0.5\\n-1.5,1.0\\n"
    """
    texts = [column for column in frame.iter_columns() if column.dtype == pl.String]
    risky = [column for column in texts if column.str.contains(f"{FORMULA}|{CONTROL}").any()]
    safe = frame.with_columns(pl.Series(column.name, [cell(text) for text in column], pl.String) for column in risky)
    return safe.rename({name: str(cell(name)) for name in safe.columns}).write_csv()


def csv_of_rows(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> str:
    """Return rows as CSV with the columns ``names``; what is undefined or None is an empty field.

    >>> csv_of_rows([{"fold": 0, "mean": 0.5, "n": 9}, {"fold": "all", "mean": float("nan")}], ["fold", "mean"])
    'fold,mean\\n0,0.5\\nall,\\n'
    """
    every = list(rows)
    table = pl.DataFrame({name: [row.get(name) for row in every] for name in names}, strict=False)
    return csv_text(table.with_columns(cs.float().fill_nan(None)))


def cell(value: Any) -> Any:
    """Return a value as it is written into a CSV cell: text that a spreadsheet or terminal would run is made harmless.

    >>> cell("@SUM(A1)"), cell("-0.5"), cell(-0.5), cell("\x1b[2J")
    ("'@SUM(A1)", '-0.5', -0.5, '\\\\x1b[2J')
    """
    if not isinstance(value, str):
        return value
    text = re.sub(CONTROL, lambda found: printable(found[0]), value)
    return f"'{text}" if re.match(FORMULA, text) and not re.match(NUMBER, text) else text


def write_tables(
    folder: str | Path, name: str, document: Any, frames: Mapping[str, pl.DataFrame], exhibits: Sequence[Exhibit]
) -> Path:
    """Write a JSON document, a CSV file for each frame, and exhibits (tables to draw); return the folder.

    ``recassay report`` draws the exhibits, from the subfolder ``exhibits``: each is written as CSV, and its title,
    caption and axes as JSON. Raise U111 if the folder has files of another program.
    """
    target = Path(folder)
    with recording(target) as manifest:
        write_json(document, target / name)
        for stem, frame in frames.items():
            write_text(csv_text(frame), target / f"{stem}.csv")
        for exhibit in exhibits:
            home = target / EXHIBITS
            home.mkdir(exist_ok=True)
            stem = file_name(exhibit.name, (other.name for other in exhibits))
            write_json(exhibit.to_dict(), home / f"{stem}.json")
            write_text(csv_text(exhibit.table), home / f"{stem}.csv")
        manifest.write()
    return target
