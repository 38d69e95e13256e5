"""Check a file format of your own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recassay.data.io.formats import FORMATS, Format, formats
from recassay.data.io.head import read_head
from recassay.data.read import read_interactions
from recassay.errors import RecassayError
from recassay.testing.promise import require


def check_format(format: Format, path: str | Path, rows: Sequence[tuple[object, object]]) -> None:
    """Raise AssertionError, with the reason, unless a format recognises a file and reads its (user, item) rows.

    The format must be known by its name, be the first to recognise the file, and read the same rows whether it is named
    or recognised.
    """
    path = Path(path)
    require(
        FORMATS.kinds.get(format.name) is format, f"no format is known as {format.name}: register it with ra.register"
    )
    head = read_head(path)
    first = next((one for one in formats() if one.matches(head)), None)
    recognised = "no format" if first is None else first.name
    require(first is format, f"{path.name} is recognised by {recognised}, not by {format.name}")
    for named in (None, format.name):
        try:
            log = read_interactions(path, format=named)
        except RecassayError as error:
            raise AssertionError(f"{format.name} cannot read {path.name}: {error}") from error
        found = sorted(map(repr, log.frame().select("user_id", "item_id").rows()))
        wanted = sorted(repr(tuple(row)) for row in rows)
        require(found == wanted, f"{format.name} reads {len(found)} rows of {path.name}, {found[:3]}, not {wanted[:3]}")
