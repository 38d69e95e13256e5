"""CSV files for people: no name from a file is run by the spreadsheet or the terminal that shows it.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-`` or ``@``: such a text gets an apostrophe in front, unless
it is a number. A terminal obeys control characters: they are written as escapes. Runs, folds and scores are for
programs, and are written unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from recassay.data.io import write_json, write_text
from recassay.data.io.file_names import file_name
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


def cell(value: Any) -> Any:
    """Return a value as it is written into a CSV cell: text that a spreadsheet or terminal would run is made harmless.

    >>> cell("@SUM(A1)"), cell("-0.5"), cell(-0.5), cell("\x1b[2J")
    ("'@SUM(A1)", '-0.5', -0.5, '\\\\x1b[2J')
    """
    if not isinstance(value, str):
        return value
    text = re.sub(CONTROL, lambda found: printable(found[0]), value)
    return f"'{text}" if re.match(FORMULA, text) and not re.match(NUMBER, text) else text


def write_exhibits(exhibits: Sequence[Exhibit], folder: Path) -> None:
    """Write exhibits (tables to draw) into the subfolder ``exhibits``, from which ``recassay report`` draws them.

    Each is written as CSV, and its title, caption and axes as JSON.
    """
    home = folder / EXHIBITS
    for exhibit in exhibits:
        home.mkdir(exist_ok=True)
        name = file_name(exhibit.name, (other.name for other in exhibits))
        write_json(exhibit.to_dict(), home / f"{name}.json")
        write_text(csv_text(exhibit.table), home / f"{name}.csv")
