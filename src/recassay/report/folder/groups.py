"""Files of means by group in a folder of results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from recassay.data.io import write_parquet, write_text
from recassay.data.io.manifest import manifest_of
from recassay.report.content.csv_text import csv_text
from recassay.results.group_scores import GroupScores


def write_groups(groups: Sequence[GroupScores], target: Path, **identity: Sequence[Any]) -> None:
    """Write means by group and their gaps as Parquet and CSV; without groups, remove files of earlier scores.

    ``identity`` are columns to put in front, such as ``dataset``, with a value for each of ``groups``.
    """
    for name, frames in (
        ("groups", [one.frame() for one in groups]),
        ("group-gaps", [one.gaps_frame() for one in groups]),
    ):
        parquet, text = target / f"{name}.parquet", target / f"{name}.csv"
        if not frames:
            manifest_of(target).remove(parquet)
            manifest_of(target).remove(text)
            continue
        stamped = [
            frame.select(*(pl.lit(values[at]).alias(column) for column, values in identity.items()), pl.all())
            for at, frame in enumerate(frames)
        ]
        table = pl.concat(stamped, how="vertical_relaxed")
        write_parquet(table, parquet)
        write_text(csv_text(table.with_columns(cs.float().fill_nan(None))), text)
